"""Trainings in which some labels are unknown: the likelihood of the known ones, summed over the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldcraft.errors import InputError

if TYPE_CHECKING:
    from fieldcraft.models.training import Training


def sum_over_missing(training: Training) -> None:
    """Choose the marginal likelihood if no objective was given; refuse one that needs all labels."""
    if training.settings.objective is None:
        training.settings.objective = "marginal_likelihood"
        training._choose(None)
    if not training.objective.partial:
        raise InputError(
            f"some labels are unknown, and {training.objective.name} needs all of them; leave objective out, "
            "or use 'marginal_likelihood'"
        )

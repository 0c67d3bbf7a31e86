"""Losses on the data, chosen by object or by name. Each works in potential space."""

from __future__ import annotations

from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.objectives.likelihood import Likelihood

OBJECTIVES: dict[str, type[Likelihood]] = {"likelihood": Likelihood}


def resolve_objective(given: Any) -> Likelihood:
    """An objective from an object, a name or None (the optimiser's natural one)."""
    if given is None:
        return Likelihood()
    if isinstance(given, Likelihood):
        return given
    if isinstance(given, str) and given in OBJECTIVES:
        return OBJECTIVES[given]()
    raise InputError(f"objective={given!r}; give None, an objective or one of {', '.join(OBJECTIVES)}")


__all__ = ["OBJECTIVES", "Likelihood", "resolve_objective"]

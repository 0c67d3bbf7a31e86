"""The two terms of the marginal likelihood, each by itself, as EM needs them.

LogSum      log Z                    gradient: marginals
AllowedSum  log Z of what the labels allow    gradient: marginals among these
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.objective import Evaluated, Floats, Objective, soft
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class LogSum(Objective):
    """log Z of each sequence."""

    name: ClassVar[str] = "log_sum"
    partial: ClassVar[bool] = True

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del gold, label_weights
        return soft(structure, potentials)


@dataclass(frozen=True)
class AllowedSum(LogSum):
    """log Z over the labellings that the labels allow."""

    name: ClassVar[str] = "allowed_sum"

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        return soft(structure, structure.restrict(potentials, gold))

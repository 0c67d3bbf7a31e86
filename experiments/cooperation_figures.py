"""Figures of chapter 7: the score of a pool while its members are trained together, by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.cooperation import Cooperation
from experiments.families import expert_members

TASK = "entities"
THESIS = (
    "The thesis prints curves, not numbers: directions are compared. There members that are trained together "
    "are above those that go on alone, which are above the plain pool."
)


@dataclass(frozen=True)
class CooperationFigure:
    """A figure of the thesis.

    Parameters
    ----------
    number, title : as there
    runs : (name, co-operation) of each curve that is trained together
    part : "development" or "test"
    notes : what a reader must know
    """

    number: str
    title: str
    runs: tuple[tuple[str, Cooperation], ...]
    part: str
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the command line knows it."""
        return f"figure-{self.number}"


def with_experts(experts: str, *, regularised: bool = False, **settings: Any) -> Cooperation:
    """Members that are trained together."""
    return Cooperation(expert_members(TASK, experts, regularised=regularised), **settings)


MANY: dict[str, Any] = {"gammas": (1e-4, 1e-3, 0.01), "iterations": 80}  # for larger sets of experts
REGULARISED = (1e-3, 0.01, 0.03, 0.1, 0.3, 1.0)  # members with priors are not as sure, and differ more
SQUARED = (1e-5, 1e-4, 1e-3)
WEIGHTED = (1e-4, 1e-3)
DEFAULT = ("together", with_experts("simple"))


def figure(number: str, title: str, part: str, *runs: tuple[str, Cooperation]) -> CooperationFigure:
    """A figure with the default configuration first."""
    return CooperationFigure(number, f"{title}, {part} data", runs or (DEFAULT,), part, (THESIS,))

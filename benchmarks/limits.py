"""Figures that must stay on one side of a bound, whatever the peer does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.measurements import Run


class Limit(NamedTuple):
    """A figure that must stay on one side of a bound."""

    title: str
    unit: str
    value: Callable[[Sequence[Run]], float]
    bound: float
    at_most: bool = True

    def met(self, value: float) -> bool:
        """Whether ``value`` is on the right side."""
        return value <= self.bound if self.at_most else value >= self.bound


def _one(runs: Sequence[Run], side: str, task: str, figure: str) -> float:
    return next(float(r[figure]) for r in runs if (r["side"], r["task"]) == (side, task))


def _gap(runs: Sequence[Run]) -> float:
    return abs(_one(runs, "peer", "optimum", "f1") - _one(runs, "ours", "optimum", "f1"))


LIMITS: tuple[Limit, ...] = (
    Limit("import fieldcraft", "s", lambda r: _one(r, "startup", "imports", "import"), 0.3),
    Limit("W1 at the optimum: F1 apart from CRFsuite's", "points", _gap, 0.05),
    Limit(
        "CoNLL-2003 test, entities templates",
        "F1",
        lambda r: _one(r, "accuracy", "entities", "test_f1"),
        83.5,
        at_most=False,
    ),
)

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


def _file(figure: str) -> Callable[[Sequence[Run]], float]:
    """The best of W1's runs."""

    def best(runs: Sequence[Run]) -> float:
        found = [float(r[figure]) for r in runs if (r["side"], r.get("workload")) == ("files", "W1")]
        if not found:
            raise StopIteration  # not measured
        return min(found)

    return best


LIMITS: tuple[Limit, ...] = (
    Limit("import fieldcraft", "s", lambda r: _one(r, "startup", "imports", "import"), 0.05),
    Limit("fieldcraft --help", "s", lambda r: _one(r, "startup", "imports", "help"), 0.3),
    *(
        Limit(f"W1 model file of {given}: {title}", unit, _file(f"{given}_{figure}"), bound)
        for given in ("lists", "columns")
        for figure, title, unit, bound in (
            ("share", "size as a share of CRFsuite's", "", 0.6),
            ("load", "time to load", "s", 0.010),
            ("first", "then the first sentence", "s", 0.005),
        )
    ),
    Limit("W1 at the optimum: F1 apart from CRFsuite's", "points", _gap, 0.05),
    Limit(
        "CoNLL-2003 test, entities templates",
        "F1",
        lambda r: _one(r, "accuracy", "entities", "test_f1"),
        83.5,
        at_most=False,
    ),
)

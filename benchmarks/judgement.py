"""Runs set against the table of measurements: rows to show, floors that are missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.limits import LIMITS
from benchmarks.measurements import FIGURES, MEASURES, Measure, Run


class Row(NamedTuple):
    """One comparison on one workload."""

    workload: str
    title: str
    unit: str
    peer: float
    ours: float
    ratio: float
    floor: float | None
    aim: float | None
    peer_spread: float
    ours_spread: float

    @property
    def verdict(self) -> str:
        """What the ratio is worth."""
        if self.floor is not None and self.ratio < self.floor:
            return "below the floor"
        if self.aim is not None and self.ratio < self.aim:
            return "short of the aim"
        return "" if self.floor is None else "met"


class Bound(NamedTuple):
    """One limit."""

    title: str
    unit: str
    value: float
    bound: float
    met: bool


def _row(measure: Measure, workload: str, peer: list[float], ours: list[float]) -> Row:
    a, b = measure.best(peer), measure.best(ours)
    ratio = b / a if measure.best is max else a / b
    spreads = [max(values) / min(values) - 1.0 for values in (peer, ours)]
    goal = measure.goals[workload]
    return Row(workload, measure.title, measure.unit, a, b, ratio, *goal, *spreads)


def rows(runs: Sequence[Run]) -> Iterator[Row]:
    """Every comparison for which both sides were measured, workload by workload."""
    for workload in dict.fromkeys(r["workload"] for r in runs if "workload" in r):
        for measure in MEASURES:
            if workload in measure.goals:
                peer, ours = measure.peer.of(runs, workload), measure.ours.of(runs, workload)
                if peer and ours:
                    yield _row(measure, workload, peer, ours)


def figures(runs: Sequence[Run]) -> Iterator[tuple[str, str, float, float]]:
    """(workload, title, peer's, ours) of what is shown without a ratio; the last run's figures."""
    for workload in dict.fromkeys(r["workload"] for r in runs if "workload" in r):
        for figure in FIGURES:
            try:
                sides = figure.peer.of(runs, workload), figure.ours.of(runs, workload)
            except KeyError:  # no F1 where labels are no spans
                continue
            if all(sides):
                yield workload, figure.title, sides[0][-1], sides[1][-1]


def bounds(runs: Sequence[Run]) -> Iterator[Bound]:
    """The limits that were measured."""
    for limit in LIMITS:
        try:
            value = limit.value(runs)
        except StopIteration:
            continue
        yield Bound(limit.title, limit.unit, value, limit.bound, limit.met(value))


def missed(runs: Sequence[Run]) -> list[str]:
    """A sentence for each floor and limit that is not met."""
    below = [
        f"{r.workload}, {r.title}: {r.ratio:.2f}x where {r.floor:.3g}x is the floor"
        for r in rows(runs)
        if r.verdict == "below the floor"
    ]
    return below + [
        f"{b.title}: {b.value:.4g} {b.unit}, the limit is {b.bound:g}" for b in bounds(runs) if not b.met
    ]

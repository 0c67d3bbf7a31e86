"""Runs set against the table of measurements: rows to show, floors that are missed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.limits import LIMITS
from benchmarks.measurements import FIGURES, MEASURES, Measure, Run
from benchmarks.races import EVERYWHERE, MEANS, to_optimum


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
    peer_spread: float = 0.0
    ours_spread: float = 0.0
    peer_cpu: float | None = None  # seconds
    ours_cpu: float | None = None

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


def _row(measure: Measure, workload: str, runs: Sequence[Run]) -> Row | None:
    """The comparison, if both sides were measured."""
    peer, ours = measure.peer.of(runs, workload), measure.ours.of(runs, workload)
    if not peer or not ours:
        return None
    a, b = measure.best(peer), measure.best(ours)
    ratio = b / a if measure.best is max else a / b
    spreads = [max(values) / min(values) - 1.0 for values in (peer, ours)]
    cpu = [min(pick.cpu(runs, workload), default=None) for pick in (measure.peer, measure.ours)]
    goal = measure.goals[workload]
    return Row(workload, measure.title, measure.unit, a, b, ratio, *goal, *spreads, *cpu)


def rows(runs: Sequence[Run]) -> Iterator[Row]:
    """Every comparison for which both sides were measured, workload by workload; means come last."""
    found = []
    for workload in dict.fromkeys(r["workload"] for r in runs if "workload" in r):
        for measure in MEASURES:
            row = _row(measure, workload, runs) if workload in measure.goals else None
            found += [] if row is None else [row]
    return iter([*found, *means(found)])


def means(found: Sequence[Row]) -> Iterator[Row]:
    """Geometric means of the races to the optimum over all workloads, where all were run."""
    for c2, goal in MEANS.items():
        title = to_optimum(c2)
        of = {row.workload: row for row in found if row.title == title}
        if set(EVERYWHERE) <= of.keys():
            peer, ours = (_mean([getattr(r, side) for r in of.values()]) for side in ("peer", "ours"))
            yield Row("mean", f"{title}, geometric mean", "s", peer, ours, peer / ours, *goal)


def _mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def figures(runs: Sequence[Run]) -> Iterator[tuple[str, str, float, float]]:
    """(workload, title, peer's, ours) of what is shown without a ratio; the last run's figures."""
    for workload in dict.fromkeys(r["workload"] for r in runs if "workload" in r):
        for figure in FIGURES:
            sides = figure.peer.of(runs, workload), figure.ours.of(runs, workload)
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

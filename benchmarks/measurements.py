"""The table of measurements: which figures of which runs are compared, and the floors.

A ratio says how many times better fieldcraft is: seconds and memory are divided peer by ours, rates
ours by peer. A floor must be met, an aim is hoped for. Figures are the best of all passes on each
side; the spread is how far the worst pass was from the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.races import RACES, Goal

Run = dict[str, Any]
USUAL: dict[str, Any] = {"given": "lists", "threads": 1}  # where a run does not say
ALL = ("W1", "W2", "W3")


class Pick(NamedTuple):
    """A figure of the runs that have these settings."""

    side: str
    task: str
    figure: str
    settings: dict[str, Any] = {}  # noqa: RUF012 (never changed)

    def of(self, runs: Sequence[Run], workload: str) -> list[float]:
        """The figure of each such run."""
        wanted = {**USUAL, "workload": workload, "side": self.side, "task": self.task}
        wanted |= self.settings
        matching = (r for r in runs if all(r.get(k, USUAL.get(k)) == v for k, v in wanted.items()))
        return [r[self.figure] for r in matching]


class Measure(NamedTuple):
    """One comparison, on several workloads."""

    title: str
    unit: str
    peer: Pick
    ours: Pick
    goals: dict[str, Goal]
    best: Callable[[list[float]], float] = min


def _both(task: str, figure: str, peer_figure: str = "", **settings: Any) -> tuple[Pick, Pick]:
    ours = Pick("ours", task, figure, settings)
    return Pick("peer", task, peer_figure or figure), ours


def _everywhere(floor: float | None, aim: float | None) -> dict[str, Goal]:
    return dict.fromkeys(ALL, (floor, aim))


MOST_MEMORY = 0.6  # of the peer's
_COLUMNS = {"given": "columns", "threads": 2}

MEASURES: tuple[Measure, ...] = (
    Measure(
        "evaluation, 1 thread",
        "s",
        *_both("train", "evaluation"),
        {"W1": (4, 6), "W2": (4, 6), "W3": (3, 4), "S200": (5, None), "S500": (None, None)},
    ),
    Measure(
        "evaluation, 2 threads",
        "s",
        *_both("train", "evaluation", threads=2),
        {"W1": (7, 12), "W2": (7, 12), "W3": (5, 7.5), "S200": (None, None), "S500": (None, None)},
    ),
    Measure(
        "evaluation, median iteration, 1 thread",
        "s",
        *_both("train", "evaluation_median"),
        _everywhere(None, None),
    ),
    Measure(
        "evaluation, median iteration, 2 threads",
        "s",
        *_both("train", "evaluation_median", threads=2),
        _everywhere(None, None),
    ),
    Measure(
        "lists to saved model, 2 threads",
        "s",
        *_both("train", "total", threads=2),
        _everywhere(6, 8),
    ),
    Measure("ingestion of lists, 1 thread", "s", *_both("train", "ingestion"), _everywhere(8, 20)),
    Measure(
        "ingestion of lists, 2 threads",
        "s",
        *_both("train", "ingestion", threads=2),
        _everywhere(8, 20),
    ),
    Measure(
        "ingestion of raw columns, 2 threads",
        "s",
        *_both("train", "ingestion", "ingestion_from_columns", **_COLUMNS),
        _everywhere(None, None),
    ),
    Measure(
        "ours alone: ingestion of lists / of raw columns",
        "s",
        Pick("ours", "train", "ingestion", {"threads": 2}),
        Pick("ours", "train", "ingestion", _COLUMNS),
        _everywhere(1, None),
    ),
    Measure(
        "memory added, 2 threads (at most 60 %)",
        "MiB",
        *_both("train", "memory", threads=2),
        _everywhere(1 / MOST_MEMORY, None),
    ),
    Measure("tagging lists", "tokens/s", *_both("tag", "strings"), _everywhere(5, 8), max),
    Measure(
        "tagging raw columns",
        "tokens/s",
        *_both("tag", "columns", given="columns"),
        _everywhere(12, 25),
        max,
    ),
    Measure("marginals", "tokens/s", *_both("tag", "marginals"), _everywhere(5, None), max),
    *(
        Measure(
            race.title,
            "s",
            Pick("peer", "race", "seconds", {"name": race.name}),
            Pick("ours", "race", "seconds", {"name": race.name, "threads": 2}),
            {race.workload: race.goal},
        )
        for race in RACES.values()
    ),
)


class Figure(NamedTuple):
    """A figure shown for both sides without a ratio."""

    title: str
    peer: Pick
    ours: Pick


FIGURES: tuple[Figure, ...] = (
    Figure("objective at the end", *_both("train", "objective", threads=2)),
    Figure("features", *_both("train", "features", threads=2)),
    Figure("evaluations", *_both("train", "evaluations", threads=2)),
    Figure("test accuracy, %", *_both("tag", "accuracy")),
    Figure("test F1, %", *_both("tag", "f1")),
    *(
        Figure(
            f"{race.title}: {title}",
            Pick("peer", "race", figure, {"name": race.name}),
            Pick("ours", "race", figure, {"name": race.name, "threads": 2}),
        )
        for race in RACES.values()
        for figure, title in (("objective", "objective"), ("f1", "test F1, %"))
        if not (race.passes and figure == "objective")
    ),
)

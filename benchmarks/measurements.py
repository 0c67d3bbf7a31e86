"""The table of measurements: which figures of which runs are compared, and the floors.

A ratio says how many times better fieldcraft is: seconds and memory are divided peer by ours, rates
ours by peer. A floor must be met, an aim is hoped for. Figures are the best of all passes on each
side; the spread is how far the worst pass was from the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.races import EVERYWHERE, RACES, Goal, to_optimum

Run = dict[str, Any]
USUAL: dict[str, Any] = {"given": "lists", "threads": 1}  # where a run does not say


class Pick(NamedTuple):
    """A figure of the runs that have these settings."""

    side: str
    task: str
    figure: str
    settings: dict[str, Any] = {}  # noqa: RUF012 (never changed)

    def of(self, runs: Sequence[Run], workload: str) -> list[float]:
        """The figure of each such run that has it."""
        return self._matching(runs, workload, self.figure)

    def cpu(self, runs: Sequence[Run], workload: str) -> list[float]:
        """The same in CPU seconds."""
        return self._matching(runs, workload, f"{self.figure}_cpu")

    def _matching(self, runs: Sequence[Run], workload: str, figure: str) -> list[float]:
        wanted = {**USUAL, "workload": workload, "side": self.side, "task": self.task}
        wanted |= self.settings
        matching = (r for r in runs if all(r.get(k, USUAL.get(k)) == v for k, v in wanted.items()))
        return [r[figure] for r in matching if figure in r]


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


def _on(*workloads: str, floor: float | None = None, aim: float | None = None) -> dict[str, Goal]:
    return dict.fromkeys(workloads, (floor, aim))


FIRST, COMPLETE = EVERYWHERE[:3], EVERYWHERE[:4]
NO_GOAL: Goal = (None, None)
MOST_MEMORY = 0.6  # of the peer's
_COLUMNS = {"given": "columns", "threads": 2}


def _race(name: str, figure: str) -> tuple[Pick, Pick]:
    """Both sides of a race."""
    settings = {"name": name}
    return Pick("peer", "race", figure, settings), Pick("ours", "race", figure, {**settings, "threads": 2})


MEASURES: tuple[Measure, ...] = (
    Measure(
        "evaluation, 1 thread",
        "s",
        *_both("train", "evaluation"),
        {
            **{"W1": (8, 9.5), "W2": (8.5, 11), "W3": (6, 8), "W4": (8, 11)},
            **{"S200": (5, None), "S500": NO_GOAL},
        },
    ),
    Measure(
        "evaluation, 2 threads",
        "s",
        *_both("train", "evaluation", threads=2),
        {
            **{"W1": (14, 18), "W2": (14, 20), "W3": (11, 15), "W4": (14, 20)},
            **_on("S200", "S500"),
        },
    ),
    Measure(
        "evaluation, median iteration, 1 thread",
        "s",
        *_both("train", "evaluation_median"),
        _on(*COMPLETE),
    ),
    Measure(
        "evaluation, median iteration, 2 threads",
        "s",
        *_both("train", "evaluation_median", threads=2),
        _on(*COMPLETE),
    ),
    Measure(
        "lists to saved model, 2 threads",
        "s",
        *_both("train", "total", threads=2),
        {**_on(*FIRST, floor=6, aim=8), "W4": NO_GOAL},
    ),
    Measure(
        "ingestion of lists, 1 thread",
        "s",
        *_both("train", "ingestion"),
        {**_on(*EVERYWHERE), **_on(*FIRST, floor=8, aim=20)},
    ),
    Measure(
        "ingestion of lists, 2 threads",
        "s",
        *_both("train", "ingestion", threads=2),
        _on(*EVERYWHERE, floor=15, aim=20),
    ),
    Measure(
        "ingestion of raw columns, 2 threads",
        "s",
        *_both("train", "ingestion", "ingestion_from_columns", **_COLUMNS),
        _on(*COMPLETE),
    ),
    Measure(
        "ours alone: ingestion of lists / of raw columns",
        "s",
        Pick("ours", "train", "ingestion", {"threads": 2}),
        Pick("ours", "train", "ingestion", _COLUMNS),
        {**_on(*FIRST, floor=1), "W4": NO_GOAL},
    ),
    Measure(
        "memory added by LBFGS(memory=6), 2 threads (at most 60 %)",
        "MiB",
        *_both("train", "memory", threads=2),
        _on(*EVERYWHERE, floor=1 / MOST_MEMORY),
    ),
    Measure(
        "tagging lists, 1 thread",
        "tokens/s",
        *_both("tag", "strings"),
        {**_on(*FIRST, floor=5, aim=8), "W4": NO_GOAL},
        max,
    ),
    Measure(
        "tagging lists, 2 threads",
        "tokens/s",
        *_both("tag", "strings", threads=2),
        _on(*COMPLETE, floor=11, aim=14),
        max,
    ),
    Measure(
        "tagging raw columns, 1 thread",
        "tokens/s",
        *_both("tag", "columns", given="columns"),
        {**_on(*FIRST, floor=12, aim=25), "W4": NO_GOAL},
        max,
    ),
    Measure(
        "marginals, 1 thread",
        "tokens/s",
        *_both("tag", "marginals"),
        {**_on(*FIRST, floor=5), "W4": NO_GOAL},
        max,
    ),
    *(
        Measure(race.title, "s", *_race(race.name, "seconds"), {race.workload: race.goal})
        for race in RACES.values()
    ),
    *(
        Measure(
            f"memory added {race.title}, 2 threads (at most 100 %)",
            "MiB",
            *_race(race.name, "memory"),
            {race.workload: (1, None)},
        )
        for race in RACES.values()
        if race.title == to_optimum(1.0)
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
            *_race(race.name, figure),
        )
        for race in RACES.values()
        for figure, title in (("objective", "objective"), ("f1", "test F1, %"))
        if not (race.passes and figure == "objective")
    ),
)

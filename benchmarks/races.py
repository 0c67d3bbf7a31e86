"""Trainings to the point where CRFsuite ends: which, and how each side is set up.

Both sides begin with attribute lists in memory. CRFsuite runs to its own stopping rule (or as many iterations
as the race says) and its clock stops with its last iteration; ours stops when the objective, exactly
evaluated, is first at or below CRFsuite's last one. Where the two do not minimise the same thing (the
perceptron) both do the same number of passes.

A race to CRFsuite's optimum is run by us, by CRFsuite, by us. Our first run does not know CRFsuite's last
objective yet: it goes to its own end, and its path, [seconds, CPU seconds, objective] for each exact
evaluation, tells afterwards when it was there (``settled``).

Hazard: nothing but the standard library is imported here, since memory is measured around it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

Goal = tuple[float | None, float | None]  # floor, aim
Path = Sequence[tuple[float, float, float]]
LONG = 60.0  # seconds: a race in which CRFsuite takes longer is run in one pass only
OPTIMUM: dict[float, Goal] = {1.0: (15, 25), 0.1: (12, 20), 0.01: (8, 15)}  # c2: goal on each workload
MEANS: dict[float, Goal] = {1.0: (25, 45), 0.1: (18, 35)}  # c2: goal of the geometric mean
EVERYWHERE, WEAKEST = ("W1", "W2", "W3", "W4", "W5", "W6"), ("W1", "W2")


class Race(NamedTuple):
    """One training; c1 and c2 as CRFsuite has them, 0 for none."""

    name: str
    workload: str
    title: str
    goal: Goal
    c1: float = 0.0
    c2: float = 0.0
    iterations: int = 1000
    passes: int = 0  # of the averaged perceptron; 0 for the likelihood

    def peer(self) -> tuple[str, dict[str, Any]]:
        """Algorithm and parameters of CRFsuite."""
        if self.passes:
            return "ap", {"max_iterations": self.passes, "epsilon": 0.0}
        return "lbfgs", {"c1": self.c1, "c2": self.c2, "max_iterations": self.iterations}

    @property
    def to_the_end(self) -> bool:
        """Whether CRFsuite goes on until its own stopping rule ends it."""
        return not self.c1 and not self.passes


def to_optimum(c2: float) -> str:
    """The title of the races with this penalty."""
    return f"to CRFsuite's optimum, c2 = {c2:g}"


RACES: dict[str, Race] = {
    race.name: race
    for race in (
        *(
            Race(f"{workload}-c2={c2:g}", workload, to_optimum(c2), goal, c2=c2)
            for c2, goal in OPTIMUM.items()
            for workload in (EVERYWHERE if c2 in MEANS else WEAKEST)
        ),
        Race("sparse", "W1", "to CRFsuite's objective after 50 iterations, c1 = 1", (8, None), 1.0, 0.0, 50),
        Race("perceptron", "W1", "averaged perceptron, 20 passes", (5, None), passes=20),
    )
}


def crossing(path: Path, target: float) -> tuple[float, float]:
    """Seconds and CPU seconds when the objective was first at or below ``target``; infinite if never."""
    return next(((seconds, cpu) for seconds, cpu, at in path if at <= target), (math.inf, math.inf))


def settled(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs, with paths replaced by the time to CRFsuite's last objective, where that was measured."""
    targets = {r["name"]: r["objective"] for r in runs if (r["side"], r["task"]) == ("peer", "race")}
    done = []
    for run in runs:
        kept = {k: v for k, v in run.items() if k != "path"}
        if "path" in run and run["name"] in targets:
            kept["seconds"], kept["seconds_cpu"] = crossing(run["path"], targets[run["name"]])
        done.append(kept)
    return done

"""Trainings to the point where CRFsuite ends: which, and how each side is set up.

Both sides begin with attribute lists in memory. CRFsuite runs to its own stopping rule (or as many iterations
as the race says) and its clock stops with its last iteration; ours stops when the objective, exactly
evaluated, is first at or below CRFsuite's last one. Where the two do not minimise the same thing (the
perceptron) both do the same number of passes.

Hazard: nothing but the standard library is imported here, since memory is measured around it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Goal = tuple[float | None, float | None]  # floor, aim


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


RACES: dict[str, Race] = {
    race.name: race
    for race in (
        Race("strong", "W1", "to CRFsuite's optimum, c2 = 1", (20, None), c2=1.0),
        Race("tags", "W3", "to CRFsuite's optimum, c2 = 1", (10, None), c2=1.0),
        Race("weak", "W1", "to CRFsuite's optimum, c2 = 0.1", (6, 10), c2=0.1),
        Race("sparse", "W1", "to CRFsuite's objective after 50 iterations, c1 = 1", (8, None), 1.0, 0.0, 50),
        Race("perceptron", "W1", "averaged perceptron, 20 passes", (5, None), passes=20),
    )
}

"""Initial weights of a training, from the weights of neighbours in the space.

The optimum w(p) moves smoothly with the point p. From the nearest point a, and a second one b on the same
line through p, it is extrapolated to first order:

    w(p) ~ w(a) + s (w(a) - w(b)),    s = (p - a) / (a - b)

which halves the work of starting from w(a) along a path of variances. |s| is at most 1: further extrapolation
is not reliable. A weight that is zero at both stays zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers import resolve
from fieldcraft.tuning.space import Dimension, Settings

Floats = NDArray[np.float64]
MOST = 4  # points whose weights are stored
FURTHEST = 1.0 + 1e-9
TOLERANCE = 1e-3  # of "auto"


def restartable(crf: ChainCRF) -> ChainCRF:
    """Replace "auto" by an optimiser that takes initial weights, with one tolerance for all; quiet."""
    _, optimiser, _ = resolve(crf.objective, crf.optimiser, crf.prior)
    if isinstance(crf.optimiser, str) and crf.optimiser == "auto":
        optimiser = replace(optimiser, tolerance=TOLERANCE, objective_tolerance=0.0)
    return crf.set_params(optimiser=optimiser, verbose=False)


class Stop(NamedTuple):
    """A trained point."""

    number: int  # of its row
    encoding: str
    place: Floats  # [dimensions]
    weights: Floats


class Path:
    """The last few points with their weights."""

    def __init__(self, space: Sequence[Dimension]) -> None:
        self.space = space
        self.stops: list[Stop] = []

    def add(self, number: int, encoding: str, settings: Settings, weights: Floats) -> None:
        """Add a trained point."""
        self.stops = [*self.stops, Stop(number, encoding, self._place(settings), weights)][-MOST:]

    def start(self, encoding: str, settings: Settings) -> Floats | None:
        """[F] initial weights, or None without a neighbour."""
        place = self._place(settings)
        near = [stop for stop in reversed(self.stops) if stop.encoding == encoding]
        near.sort(key=lambda stop: float(np.linalg.norm(stop.place - place)))  # the latest of equal ones
        if not near:
            return None
        nearest = near[0]
        for other in near[1:]:
            step = _along(place - nearest.place, nearest.place - other.place)
            if step is not None:
                return nearest.weights + step * (nearest.weights - other.weights)
        return nearest.weights

    def state(self) -> dict[str, Any]:
        """Arrays for ``restore``."""
        named = {f"weights_{i}": stop.weights for i, stop in enumerate(self.stops)}
        return {**named, "places": np.array([stop.number for stop in self.stops])}

    def restore(self, trained: Sequence[tuple[str, Settings]], state: dict[str, Any]) -> None:
        """Undo ``state``; ``trained`` has encoding and settings of each row."""
        for i, number in enumerate(state["places"].tolist()):
            encoding, settings = trained[number]
            self.add(number, encoding, settings, state[f"weights_{i}"])

    def _place(self, settings: Settings) -> Floats:
        return np.array([dimension.place(settings[dimension.name]) for dimension in self.space])


def _along(ahead: Floats, behind: Floats) -> float | None:
    """s with ahead = s * behind, if both differ from zero in the same single dimension; else None."""
    moved = np.flatnonzero(behind)
    if len(moved) != 1 or np.any(np.delete(ahead, moved)):
        return None
    step = float(ahead[moved[0]] / behind[moved[0]])
    return step if abs(step) <= FURTHEST else None

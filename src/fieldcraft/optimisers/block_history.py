"""A memory of L-BFGS for each group of variables: the inverse Hessian is taken to be block-diagonal.

Members of a pool that are trained together have weights of their own, and only the ambiguity couples them.
The sizes of their Hessians may differ by orders of magnitude: a model that fits its training data has hardly
any curvature left, a small one has. One memory has one size for all and spends its pairs on the differences.
With one for each group every member gets the direction that it would have alone; the length of the step is
the same for all. A problem that wants it has ``groups``, slices that cover its variables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldcraft.optimisers.history import Floats, History

Pair = tuple[Floats, Floats]


class BlockHistory(History):
    """The last ``memory`` pairs of each group of variables.

    Parameters
    ----------
    memory, n_jobs : as for History
    groups : slices, one after the other, that cover all variables
    """

    def __init__(self, memory: int, groups: Sequence[slice], n_jobs: int) -> None:
        super().__init__(memory, 0, n_jobs)
        self._parts = [(at, History(memory, at.stop - at.start, n_jobs)) for at in groups]

    def add(self, before: Pair, after: Pair) -> None:
        for at, part in self._parts:
            part.add((before[0][at], before[1][at]), (after[0][at], after[1][at]))
        self.order = self._parts[0][1].order

    def clear(self) -> None:
        for _, part in self._parts:
            part.clear()
        super().clear()

    def direction(
        self, gradient: Floats, out: Floats, start: Floats | None = None, trial: Floats | None = None
    ) -> float:
        """As in History. A group without pairs has no size: then all are forgotten."""
        slopes = [part.direction(gradient[at], out[at]) for at, part in self._parts]
        if not all(part.order for _, part in self._parts):
            self.clear()
            return super().direction(gradient, out, start, trial)
        self.order = self._parts[0][1].order
        if start is not None and trial is not None:
            np.add(start, out, out=trial)
        return sum(slopes)

    def repeat(self, gradient: Floats, out: Floats) -> None:
        for at, part in self._parts:
            part.repeat(gradient[at], out[at])

    def state(self) -> dict[str, NDArray[np.generic]]:
        """That of each group, under its number."""
        return {
            f"{name}_{i}": x for i, (_, part) in enumerate(self._parts) for name, x in part.state().items()
        }

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        for i, (_, part) in enumerate(self._parts):
            part.restore({name: state[f"{name}_{i}"] for name in part.state()})
        self.order = self._parts[0][1].order

"""The memory of L-BFGS, divided among the ranks of an MPI job (distributed.py).

Each rank has the steps and gradient changes of its own part of the variables: it stores and reads 1 / R of
the 2 m vectors. Inner products are sums over the ranks, in their order; the parts of a direction are
gathered. All ranks have the same table of products, and so the same direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.optimisers.history import Floats, History


class DividedHistory(History):
    """The last ``memory`` pairs, of which this rank has a part.

    Parameters
    ----------
    memory, n, n_jobs : as for History, n counting the variables of all ranks
    ranks : the processes that share it
    """

    def __init__(self, memory: int, n: int, n_jobs: int, ranks: Any) -> None:
        self._ranks, self._part = ranks, ranks.part_of(n)
        super().__init__(memory, self._part.stop - self._part.start, n_jobs)
        self._origin = np.empty(n), np.empty(n)  # weights and gradient that a step leaves

    def _keep(self, weights: Floats, gradient: Floats) -> None:
        for kept, vector in zip(self._origin, (weights, gradient)):
            _core.copy(vector, kept, self.n_jobs)

    def origin(self) -> tuple[Floats, Floats]:
        return self._origin

    def close(self, weights: Floats, gradient: Floats) -> None:
        part, k = self._part, self._open
        np.subtract(weights[part], self._origin[0][part], out=self.s[k])
        np.subtract(gradient[part], self._origin[1][part], out=self.y[k])
        self.order.append(k)

    def _products(self, m: int, k: int, gradient: Floats) -> Any:
        found = np.array(super()._products(m, k, gradient[self._part]))
        self._ranks(0.0, found.reshape(-1))
        return found

    def _combine(self, used: Floats, gradient: Floats, m: int, out: Floats) -> None:
        super()._combine(used, gradient[self._part], m, out[self._part])
        self._ranks.join(out)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """That of the whole, on rank 0; all ranks must ask for it."""
        state = super().state()
        for name in ("history_s", "history_y"):
            parts = self._ranks.collect(state[name])
            state[name] = np.concatenate(parts, axis=1) if parts else state[name]
        return state

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        mine = {name: state[name][:, self._part] for name in ("history_s", "history_y")}
        super().restore({**state, **mine})

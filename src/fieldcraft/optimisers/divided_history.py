"""The memory of L-BFGS, divided among the ranks of an MPI job (distributed.py).

Each rank has the steps and gradient changes of its own part of the variables: it stores and reads 1 / R of
the 2 m vectors. Inner products are sums over the ranks, in their order; the parts of a direction are
gathered. All ranks have the same table of products, and so the same direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def add(self, before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> None:
        part = self._part
        super().add((before[0][part], before[1][part]), (after[0][part], after[1][part]))

    def _products(self, slots: list[int], gradient: Floats) -> Any:
        found = np.array(super()._products(slots, gradient[self._part]))
        self._ranks(0.0, found.reshape(-1))
        return found

    def _combine(
        self,
        used: Floats,
        gradient: Floats,
        slots: list[int],
        out: Floats,
        start: Floats | None,
        trial: Floats | None,
    ) -> float:
        super()._combine(used, gradient[self._part], slots, out[self._part], None, None)
        self._ranks.join(out)
        slope = self._dot(gradient, out)
        if start is not None and trial is not None:
            np.add(start, out, out=trial)
        return slope

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

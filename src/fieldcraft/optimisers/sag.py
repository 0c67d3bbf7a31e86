"""SAG: stochastic average gradient with non-uniform sampling (Schmidt et al. 2015).

The gradient of every sequence is remembered as it was last met, and a step follows their mean: linear
convergence at the cost of a stochastic step. It needs no learning rate. Its memory is 4 bytes per token and
label and per sequence and pair of labels; ``budget`` is the most that it may take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.optimisers.run import Floats, Run, State
from fieldcraft.optimisers.stochastic import Stochastic, StochasticRun, mask_of
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class SAG(Stochastic):
    """Settings of SAG; the prior's precision must be one number.

    Parameters
    ----------
    budget : bytes that the remembered gradients may take

    Examples
    --------
    >>> SAG().bytes(n_tokens=1000, n_sequences=50, n_states=10)
    62000
    """

    budget: int = 2**30

    name = "sag"

    def check(self) -> None:
        super().check()
        self.positive("budget")

    def bytes(self, n_tokens: int, n_sequences: int, n_states: int) -> int:
        """Memory that the remembered gradients take."""
        return int(_core.sag_bytes(n_tokens, n_sequences, n_states))

    def start(self, problem: Passes, weights: Floats) -> Run:
        """A run from ``weights``; InputError where the gradients take more memory than the budget."""
        needed = problem.remembered_bytes()
        if needed > self.budget:
            raise InputError(
                f"SAG would remember {needed} bytes of gradients, its budget is {self.budget}; "
                "raise budget=, or use 'sgd' or 'lbfgs'"
            )
        if np.ptp(problem.quadratic[1]) > 0:
            raise InputError("SAG needs one precision for all weights; use 'sgd', 'adagrad' or 'lbfgs'")
        return SAGRun(self, problem, weights)

    def make(self, problem: Passes, rate: float) -> Any:
        del rate
        mean, precision = problem.quadratic
        return _core.sag(problem.passes(), mask_of(problem), float(precision[0]), mean)


class SAGRun(StochasticRun):
    """SAG under way."""

    def order(self) -> NDArray[np.int64]:
        """The first pass meets every sequence once; later ones draw."""
        if self.iteration == 0:
            return super().order()
        n = self.problem.n_sequences
        drawn: NDArray[np.int64] = self._random().integers(0, n, n, dtype=np.int64)
        return drawn

    def _random(self) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, self.iteration])

    def run_pass(self, order: NDArray[np.int64]) -> float:
        rng = np.random.default_rng([self.settings.seed, self.iteration, 1])
        self.native.use(rng.random(2 * len(order)))
        return super().run_pass(order)

    def state(self) -> State:
        remembered = {f"sag_{name}": part for name, part in self.native.memory().items()}
        return {**super().state(), **remembered}

    def restore(self, state: State) -> None:
        super().restore(state)
        parts = ("parts", "curvature", "trusted", "waiting")
        self.native.restore_memory(*(np.ascontiguousarray(state[f"sag_{name}"]) for name in parts))

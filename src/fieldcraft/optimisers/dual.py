"""What the dual methods share: runs that close the gap between a primal and a dual objective.

    primal P(w) >= dual D(q) everywhere,     w is a function of q        (problems/dual.py)

So the gap P(w) - D(q) is an upper bound on the distance of the objective to its minimum, and these methods
stop by it. The loop's rules on gradients do not fit them (the margin has kinks) and are switched off.

Hazard: runs begin at the prior's means, whatever the start is, since the weights follow from q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.optimisers.run import Optimiser, Run, State
from fieldcraft.problems.protocols import Dual


@dataclass(frozen=True)
class DualOptimiser(Optimiser):
    """Settings that all dual methods share.

    Parameters
    ----------
    max_iterations : passes over the corpus
    gap : stop when the duality gap is at most this fraction of the objective
    seed : of the order in which a pass visits the sequences
    """

    max_iterations: int = 500
    gap: float = 1e-3
    seed: int = 0

    name: ClassVar[str]
    needs: ClassVar[str] = "dual"
    tolerance: ClassVar[float] = 0.0
    objective_tolerance: ClassVar[float] = -math.inf
    period: ClassVar[int] = 1
    most_tokens: ClassVar[float] = math.inf  # larger corpora are refused

    def check(self) -> None:
        if not (isinstance(self.gap, (int, float, np.number)) and self.gap >= 0):
            raise InputError(f"{type(self).__name__}: gap is {self.gap!r}; it must be a number >= 0")
        if not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise InputError(f"{type(self).__name__}: seed is {self.seed!r}; it must be a whole number >= 0")

    def check_whole(self, *names: str) -> None:
        """Refuse settings that must be whole numbers >= 1 and are not."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise InputError(
                    f"{type(self).__name__}: {name} is {value!r}; it must be a whole number >= 1"
                )

    def fits(self, size: Any) -> bool:
        """Is it meant for a training of this size; memory beyond the budget is refused by ``start``."""
        return bool(size.tokens <= self.most_tokens)

    def suits(self, size: Any) -> bool:
        del size
        return False

    def refuse_beyond(self, needed: int, budget: int) -> None:
        """InputError where the dual variables need more memory (bytes) than the budget (megabytes)."""
        if needed > budget * 2**20:
            raise InputError(
                f"{self.name} needs {needed / 2**20:.0f} MB for its dual variables, more than its budget of "
                f"{budget} MB; raise it with {type(self).__name__}(budget=...), or use another optimiser"
            )


class DualRun(Run):
    """Weights, primal and dual value of a method under way.

    ``native`` stores the dual variables: its ``weights`` and ``dual`` belong together at any time, and it has
    ``state`` and ``restore``.
    """

    parts: ClassVar[tuple[str, ...]]  # names of what native.state() returns

    def __init__(self, settings: Any, problem: Dual, native: Any) -> None:
        super().__init__(settings, problem, problem.mean)
        self.native = native
        self.dual = -math.inf

    def begin(self) -> None:
        """Evaluate the starting point (a restored run has it already)."""
        if math.isnan(self.value):
            self.refresh()

    def refresh(self) -> None:
        """Weights, primal and dual value of the present dual variables."""
        self.take_weights()
        self.value = self.evaluate(self.weights, self.gradient)
        self.dual = self.native.dual() + self.problem.constant

    def take_weights(self) -> None:
        """Copy the weights that belong to the dual variables."""
        self.native.weights(self.weights)

    @property
    def gap(self) -> float:
        """P(w) - D, an upper bound on the distance of the objective to its minimum; nan without a dual."""
        return math.nan if self.native is None else self.value - self.dual

    def order(self) -> NDArray[np.int64]:
        """[N] in which order this iteration visits the sequences."""
        rng = np.random.default_rng([self.settings.seed, self.iteration])
        return rng.permutation(self.problem.n_sequences)

    def step(self) -> bool:
        """One pass; False when the gap is closed."""
        if self.gap <= self.settings.gap * abs(self.objective()):
            self.why_stuck = "duality gap small enough"
            return False
        self.advance()
        self.iteration += 1
        return True

    def advance(self) -> None:
        """One pass over the corpus, and the evaluation after it."""
        self.native.run(self.order())
        self.refresh()

    def state(self) -> State:
        own = {f"dual_{name}": np.asarray(part) for name, part in zip(self.parts, self.native.state())}
        return {**super().state(), "dual": np.array([self.dual]), **own}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.dual = float(np.asarray(state["dual"], np.float64)[0])
        self.native.restore(*(state[f"dual_{name}"] for name in self.parts))

"""What the dual methods share: a problem that has a dual, and runs that close the gap between the two.

    primal   P(w) = sum of c_i loss_i(w) + sum of precision (w - mean)^2 / 2
    dual     D(q) = sum of c_i term_i(q_i) - sum of precision v (mean + v / 2),     w = mean + v(q)

with a distribution q_i over the labelings of each sequence, of which w is a function (native/dual_point.hpp);
term_i is the expected cost for the margin and the entropy for the likelihood. D <= P everywhere, so the gap
P(w) - D(q) bounds how far the objective is from its minimum: that is what these methods stop by. The loop's
rules on gradients do not fit them (the margin has kinks) and are switched off.

Hazard: runs begin at the prior's means, whatever weights they are given, since the weights follow from q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design, native_columns, native_tokens
from fieldcraft.errors import InputError
from fieldcraft.priors import Prior

Floats = NDArray[np.float64]
State = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class DualOptimiser:
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
    tolerance: ClassVar[float] = 0.0
    objective_tolerance: ClassVar[float] = -math.inf
    period: ClassVar[int] = 1
    most_tokens: ClassVar[float] = math.inf  # larger corpora are refused

    def check(self) -> None:
        """Refuse settings that make no sense."""
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
        """Would "auto" pick it at this size; see Optimiser."""
        del size
        return False

    def stored_bytes(self, size: Any) -> int:
        """Bytes that it keeps besides vectors over the weights, where that is known beforehand."""
        del size
        return 0

    def problem(self, design: Design, n_states: int, prior: Prior, **options: Any) -> DualProblem:
        """What is minimised, with its dual; options are those of DualProblem."""
        return DualProblem(design, n_states, prior, **options)

    def start(self, problem: DualProblem, weights: Floats) -> DualRun:
        """A run; ``weights`` do not matter, since it begins at the prior's means."""
        raise NotImplementedError

    def refuse_beyond(self, needed: int, budget: int) -> None:
        """InputError where the dual variables need more memory (bytes) than the budget (megabytes)."""
        if needed > budget * 2**20:
            raise InputError(
                f"{self.name} needs {needed / 2**20:.0f} MB for its dual variables, more than its budget of "
                f"{budget} MB; raise it with {type(self).__name__}(budget=...), or use another optimiser"
            )


class DualProblem:
    """A loss of chains with a Gaussian prior, as the dual methods need it.

    Parameters
    ----------
    design : encoded corpus with its feature index
    n_states : number of states
    prior : a quadratic penalty on every weight
    objective : the loss, by its name: "margin" (None too) or "likelihood"
    costs : [Y, Y] by gold label and label; None for 1 for each wrong label
    label_weights : [Y] >= 0, how much the costs of gold labels count
    sequence_weights : [N] >= 0, how much each sequence counts
    mask : [F] True where a weight may differ from zero
    """

    l1: tuple[Floats, Floats] | None = None

    def __init__(
        self,
        design: Design,
        n_states: int,
        prior: Prior,
        *,
        objective: Any = None,
        costs: Floats | None = None,
        label_weights: Floats | None = None,
        sequence_weights: Floats | None = None,
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.n_variables, self.n_states, self.n_jobs = len(design.index), n_states, n_jobs
        self.mask = mask
        self.gold = design.gold
        self.offsets = design.encoded.offsets
        self.looks_at_edges = bool(np.any((design.index.previous >= 0) & (design.index.attribute >= 0)))
        self.gaussian = _quadratic(prior, self.n_variables)
        self.mean, self.precision, self.constant = _masked(self.gaussian, mask, self.n_variables)
        self.native: Any = _core.chain_problem(
            native_columns(design.index),
            n_states,
            native_tokens(design.encoded),
            design.gold,
            sequence_weights,
            n_jobs,
        )
        self.costs: Floats | None = None  # [S, S] label weights included; None for the likelihood
        if objective is None or objective.name == "margin":
            plain = 1.0 - np.eye(n_states) if costs is None else np.ascontiguousarray(costs, np.float64)
            self.native.use("margin", design.gold, plain, label_weights, None)
            self.costs = plain if label_weights is None else plain * np.asarray(label_weights)[:, None]

    @property
    def n_sequences(self) -> int:
        """How many sequences there are."""
        return len(self.offsets) - 1

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        """P(w); a sub-gradient is written into ``gradient``."""
        value = self.native.evaluate(weights, gradient, None)
        value += _core.gaussian(weights, *self.gaussian, gradient, self.n_jobs)
        if self.mask is not None:
            gradient[~self.mask] = 0.0
        return float(value)

    def l1_value(self, weights: Floats) -> float:
        """There is no absolute-value part."""
        del weights
        return 0.0

    def pieces(self, optimiser: str) -> tuple[Any, ...]:
        """What native dual methods are made of."""
        if self.looks_at_edges:
            raise InputError(
                f"{optimiser} is not for features of label pairs that look at the input; "
                "leave edge_prefix out, or use optimiser='cutting_plane' or 'subgradient'"
            )
        return self.native, self.gold, self.mean, self.precision


def _quadratic(prior: Prior, n: int) -> tuple[Floats, Floats]:
    found = prior.quadratic_part(n)
    if found is None or np.any(found[1] <= 0) or prior.l1_part(n) is not None:
        raise InputError(
            f"{type(prior).__name__}: a dual needs a Gaussian penalty on every weight and nothing else; "
            "use prior=Gaussian(variance=...) with finite variances"
        )
    return found


def _masked(
    gaussian: tuple[Floats, Floats], mask: NDArray[np.bool_] | None, n: int
) -> tuple[Floats, Floats, float]:
    """Mean and precision [F], infinitely precise at 0 where masked, and the penalty that this leaves out."""
    mean, precision = (np.array(np.broadcast_to(part, n)) for part in gaussian)
    if mask is None:
        return mean, precision, 0.0
    constant = float(np.sum(precision[~mask] * mean[~mask] ** 2) / 2)
    mean[~mask], precision[~mask] = 0.0, np.inf
    return mean, precision, constant


class DualRun:
    """Weights, primal and dual value of a method under way.

    ``native`` holds the dual variables: its ``weights`` and ``dual`` belong together at any time, and it has
    ``state`` and ``restore``.
    """

    parts: ClassVar[tuple[str, ...]]  # names of what native.state() gives
    since = 0  # see Run

    def __init__(self, settings: Any, problem: DualProblem, native: Any) -> None:
        self.settings, self.problem, self.native = settings, problem, native
        self.weights: Floats = problem.mean.copy()
        self.gradient = np.empty_like(self.weights)
        self.iteration = 0
        self.evaluations = 0
        self.value = math.nan
        self.dual = -math.inf
        self.why_stuck = ""

    def begin(self) -> None:
        """Evaluate the starting point (a restored run has it already)."""
        if math.isnan(self.value):
            self.evaluate()

    def evaluate(self) -> None:
        """Weights, primal and dual as they are now."""
        self.evaluations += 1
        self.take_weights()
        self.value = self.problem.value_and_gradient(self.weights, self.gradient)
        self.dual = self.native.dual() + self.problem.constant

    def take_weights(self) -> None:
        """Those that belong to the dual variables."""
        self.native.weights(self.weights)

    @property
    def gap(self) -> float:
        """P(w) - D, an upper bound of how far the objective is from its minimum; nan without a dual."""
        return math.nan if self.native is None else self.value - self.dual

    def objective(self) -> float:
        """The primal value at the weights."""
        return self.value

    def gradient_norm(self) -> float:
        """Length of a sub-gradient at the weights; with kinks it need not go to zero."""
        return math.sqrt(_core.dot(self.gradient, self.gradient, self.problem.n_jobs))

    def weight_norm(self) -> float:
        """Length of the weight vector."""
        return math.sqrt(_core.dot(self.weights, self.weights, self.problem.n_jobs))

    def order(self) -> NDArray[np.int64]:
        """[N] in which order this iteration visits the sequences."""
        rng = np.random.default_rng([self.settings.seed, self.iteration])
        return rng.permutation(self.problem.n_sequences)

    def step(self) -> bool:
        """One pass; False when the gap is closed."""
        if self.gap <= self.settings.gap * abs(self.value):
            self.why_stuck = "duality gap small enough"
            return False
        self.advance()
        self.iteration += 1
        return True

    def advance(self) -> None:
        """One pass over the corpus, and the evaluation after it."""
        self.native.run(self.order())
        self.evaluate()

    def solution(self) -> Floats:
        """[F] the model's weights."""
        return self.weights

    def extras(self) -> dict[str, Any]:
        """Nothing besides the weights."""
        return {}

    def state(self) -> State:
        """Arrays from which ``restore`` goes on bit for bit."""
        numbers = np.array([self.value, self.dual, self.iteration, self.evaluations])
        own = {f"dual_{name}": np.asarray(part) for name, part in zip(self.parts, self.native.state())}
        return {"weights": self.weights, "gradient": self.gradient, "numbers": numbers, **own}

    def restore(self, state: State) -> None:
        """Undo ``state``."""
        self.weights[:], self.gradient[:] = state["weights"], state["gradient"]
        self.value, self.dual, iteration, evaluations = np.asarray(state["numbers"], np.float64).tolist()
        self.iteration, self.evaluations = int(iteration), int(evaluations)
        self.native.restore(*(state[f"dual_{name}"] for name in self.parts))

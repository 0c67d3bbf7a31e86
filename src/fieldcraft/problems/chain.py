"""Chains of plain labels: the loss and its gradient in one native sweep over the corpus.

The same numbers as the composed problem (composed.py), to 1e-10, a hundred times faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design, native_columns, native_tokens
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.objectives import Likelihood, Objective
from fieldcraft.priors import Prior
from fieldcraft.problems.curvatures import crowd, curvatures
from fieldcraft.problems.penalised import Penalised, Reduce
from fieldcraft.structures.linear_chain import LinearChain

Floats = NDArray[np.float64]


class ChainProblem(Penalised):
    """Penalised loss of a chain over a design; offers Gradient, Passes and Expectation.

    Parameters
    ----------
    structure : a chain of plain labels
    design : encoded corpus with its feature index
    prior : penalty on the weights
    objective : the loss; None for the likelihood
    costs : [Y, Y] for the margins
    label_weights : [Y] >= 0, how much the terms of gold labels count
    sequence_weights : [N] >= 0, how much each sequence counts
    mask : [F] True where a weight may differ from zero
    curved : will the optimiser ask for curvatures
    """

    def __init__(
        self,
        structure: LinearChain,
        design: Design,
        prior: Prior,
        *,
        objective: Objective | None = None,
        costs: Floats | None = None,
        label_weights: Floats | None = None,
        sequence_weights: Floats | None = None,
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
        reduce: Reduce | None = None,
        curved: bool = False,
    ) -> None:
        n_states = structure.n_states
        super().__init__(
            len(design.index),
            prior,
            mask=mask,
            n_jobs=n_jobs,
            reduce=reduce,
            curvatures=curvatures(design, structure, prior) if curved else None,
            crowd=crowd(design),
        )
        self.n_sequences = design.n_sequences
        self.sizes = (len(design.gold), design.n_sequences, n_states)
        self.looks_at_edges = looks_at_edges(design)
        self._native = native_problem(structure, design, sequence_weights, n_jobs)
        self.objective: Objective = Likelihood() if objective is None else objective
        self.convex = self.objective.convex
        self._gold = np.ascontiguousarray(design.gold, np.int32)
        self._allowed = design.partial.allowed(n_states) if design.partial is not None else None
        if self.objective.partial and self._allowed is None:
            self._allowed = np.eye(n_states, dtype=np.uint8)[design.gold]
        if not isinstance(self.objective, Likelihood):
            self._native.use(self.objective.name, self._gold, costs, label_weights, self._allowed)

    def loss(self, weights: Floats, gradient: Floats) -> float:
        return float(self._native.evaluate(weights, gradient, None))

    def overflow(self, weights: Floats) -> FieldcraftError:
        """Names the first sequence whose loss is not finite, or the largest where only the sum is not."""
        losses = np.empty(self.n_sequences)
        self._native.evaluate(weights, np.empty(self.n_variables), losses)
        return self.objective.overflow(int(np.argmax(np.where(np.isfinite(losses), losses, np.inf))))

    def passes(self) -> Any:
        return _core.chain_passes(self._native, self._gold)

    def remembered_bytes(self) -> int:
        if self.looks_at_edges:
            raise InputError("SAG cannot learn from edges that look at the input; use 'sgd' or 'adagrad'")
        return int(_core.sag_bytes(*self.sizes))

    def expect(self, weights: Floats) -> float:
        """E-step: complete the partial labels by their expectation at ``weights``.

        From here on ``value_and_gradient`` is Q(w) = log Z - <w, expected counts> + quadratic prior. The
        number returned, added to Q, equals the marginal likelihood's loss at ``weights`` and is an upper
        bound on it elsewhere.
        """
        counts = np.empty(self.n_variables)
        self._native.use("expectation", self._gold, None, None, self._allowed)
        value = self._native.evaluate(weights, counts, None)
        if self._reduce is not None:
            value, counts = self._reduce(value, counts)
        np.negative(counts, out=counts)
        self._native.expect(counts)
        return float(value + _core.dot(weights, counts, self.n_jobs))

    @property
    def empirical(self) -> Floats:
        """[F] what the gold labelling's features add up to (likelihood)."""
        return np.asarray(self._native.empirical)


def native_problem(
    structure: LinearChain, design: Design, sequence_weights: Floats | None, n_jobs: int
) -> Any:
    """The core's problem for a design: the likelihood, until another loss is chosen."""
    return _core.chain_problem(
        native_columns(design.index),
        structure.n_states,
        native_tokens(design.encoded),
        design.gold,
        sequence_weights,
        n_jobs,
    )


def looks_at_edges(design: Design) -> bool:
    """Do features of label pairs look at the input."""
    return bool(np.any((design.index.previous >= 0) & (design.index.attribute >= 0)))

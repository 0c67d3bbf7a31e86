"""Chains of plain labels: the loss and its gradient in one native sweep over the corpus.

An optimisation of the composed problem (composed.py); a test checks that both agree to 1e-10.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design, native_columns
from fieldcraft.errors import InputError
from fieldcraft.objectives import Likelihood
from fieldcraft.priors import Prior
from fieldcraft.problems.penalised import Penalised
from fieldcraft.problems.shared_weights import SharedWeights
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]


class NativeChain(Penalised):
    """A problem whose loss the core evaluates: the likelihood, until another loss is chosen."""

    by_sequence: ClassVar[bool] = False  # is the corpus also laid out for one sequence after the other

    def __init__(self, structure: Structure, design: Design, prior: Prior, **options: Any) -> None:
        super().__init__(structure, design, prior, **options)
        self.looks_at_edges = bool(np.any(design.index.is_edge & (design.index.attribute >= 0)))
        self._gold = np.ascontiguousarray(design.gold, np.int32)
        self._native = _core.chain_problem(
            native_columns(design.index),
            structure.n_states,
            design.tokens(),
            self._gold,
            self._sequence_weights,
            self.n_jobs,
            self.by_sequence,
            not self.objective.smooth,
            design.gold_counts() if self._sequence_weights is None else None,
        )

    def loss(self, weights: Floats, gradient: Floats) -> float:
        return float(self._native.evaluate(weights, gradient, None))

    def prepare(self) -> None:
        if not self.by_sequence:
            self._native.prepare()

    def quadratic_loss(self, weights: Floats, gradient: Floats) -> float:
        if self._quadratic is None or self.ranks is not None:
            return super().quadratic_loss(weights, gradient)
        loss, penalty = self._native.evaluate_penalised(weights, gradient, *self._quadratic)
        self.refuse_overflow(loss, weights)
        return float(loss + penalty)

    def value(self, weights: Floats) -> float:
        if not self.by_sequence or self.ranks is not None:
            return super().value(weights)
        value, slope = float(self._native.value(weights)), np.zeros_like(weights)
        self.refuse_overflow(value, weights)
        if self._quadratic is not None:
            value += _core.gaussian(weights, *self._quadratic, slope, self.n_jobs)
        return value if self._smooth is None else value + self._smooth(weights, slope)

    def losses(self, weights: Floats) -> Floats:
        each = np.empty(self.n_sequences)
        self._native.evaluate(weights, np.empty(self.n_variables), each)
        return each


class ChainProblem(NativeChain):
    """Penalised loss of a chain of plain labels; offers Gradient and Expectation."""

    def __init__(self, structure: Structure, design: Design, prior: Prior, **options: Any) -> None:
        super().__init__(structure, design, prior, **options)
        self._allowed = design.partial.allowed(structure.n_states) if design.partial is not None else None
        if self.objective.partial and self._allowed is None:
            self._allowed = np.eye(structure.n_states, dtype=np.uint8)[design.gold]
        if not isinstance(self.objective, Likelihood):
            extras = self._costs, self._label_weights, self._allowed
            self._native.use(self.objective.name, self._gold, *extras)

    def shared(self, start: Floats) -> tuple[SharedWeights, Floats] | None:
        penalty = self._single_penalty()
        if self.by_sequence or penalty is None or not isinstance(self.objective, Likelihood):
            return None
        variables = self._native.share(start)
        if variables is None:
            return None
        return SharedWeights(self, self._native, penalty, len(variables)), variables

    def _single_penalty(self) -> tuple[float, float] | None:
        """Mean and precision of a Gaussian that is the only penalty, the same for all weights; else None."""
        if any(part is not None for part in (self.ranks, self.mask, self.l1, self.bounds, self._smooth)):
            return None
        if self._scales is not None or self._quadratic is None:
            return None
        mean, precision = self._quadratic
        return (float(mean[0]), float(precision[0])) if len(mean) == len(precision) == 1 else None

    def expect(self, weights: Floats) -> float:
        """E-step: complete the partial labels by their expectation at ``weights``.

        From here on ``value_and_gradient`` is Q(w) = log Z - <w, expected counts> + quadratic prior. The
        number returned, added to Q, equals the marginal likelihood's loss at ``weights`` and is an upper
        bound on it elsewhere.
        """
        counts = np.empty(self.n_variables)
        self._native.use("expectation", self._gold, None, None, self._allowed)
        value = self._native.evaluate(weights, counts, None)
        if self.ranks is not None:
            value = self.ranks(value, counts)
        np.negative(counts, out=counts)
        self._native.expect(counts)
        return float(value + _core.dot(weights, counts, self.n_jobs))

    @property
    def empirical(self) -> Floats:
        """[F] what the gold labelling's features add up to (likelihood)."""
        return np.asarray(self._native.empirical)


class ChainPasses(ChainProblem):
    """The same for optimisers that go from sequence to sequence; offers Passes."""

    by_sequence = True

    def passes(self) -> Any:
        return _core.chain_passes(self._native, self._gold)

    def remembered_bytes(self) -> int:
        if self.looks_at_edges:
            raise InputError("SAG cannot learn from edges that look at the input; use 'sgd' or 'adagrad'")
        return int(_core.sag_bytes(*self.sizes))

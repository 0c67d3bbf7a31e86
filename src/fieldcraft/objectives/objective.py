"""What every objective shares: a loss per sequence with its gradient in potential space.

Losses are differences of three kinds of terms, each a value per sequence with its gradient:

    soft    log of the sum over labelings of exp(score)        marginals
    hard    the best labelling's score                         its indicator
    known   the gold labelling's score                         its indicator

They are written with a structure's public operations (``fieldcraft.structures.chain`` and whatever has
functions of the same names), so one statement serves every structure. Training evaluates the native twin,
which has the objective's name; a law holds the two together to 1e-10.

Layout: ``node`` [tokens, S], ``edge`` [E] or [tokens, E]; gradients always [tokens, E].
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
Gold = NDArray[np.int32]


class Block(NamedTuple):
    """Potentials of some sequences: the leading arguments of a structure's operations."""

    node: Floats
    edge: Floats
    offsets: NDArray[np.int64]
    states: StateSpace

    def plus(self, node: Floats) -> Block:
        """With other node scores added; -inf forbids."""
        return self._replace(node=self.node + node)


class PotentialGradient(NamedTuple):
    """Loss per sequence [N] and its gradient: node [tokens, S], edge [tokens, E]."""

    value: Floats
    node: Floats
    edge: Floats

    def minus(self, other: PotentialGradient) -> PotentialGradient:
        return PotentialGradient(*(mine - its for mine, its in zip(self, other)))

    def times(self, value: Floats, gradient: Floats, offsets: NDArray[np.int64]) -> PotentialGradient:
        """Values and gradients multiplied by a number per sequence each; 0 makes 0 of anything."""
        rows = np.repeat(gradient, np.diff(offsets))[:, None]
        parts = ((self.value, value), (self.node, rows), (self.edge, rows))
        return PotentialGradient(*(np.where(by == 0, 0.0, by * part) for part, by in parts))


def soft(structure: Any, block: Block) -> PotentialGradient:
    """log Z and the marginals."""
    found = structure.marginals(*block)
    return PotentialGradient(found.log_partition, found.node, found.edge)


def hard(structure: Any, block: Block) -> PotentialGradient:
    """The best score and the indicator of a labelling that has it."""
    best, score = structure.argmax(*block)
    return PotentialGradient(score, *structure.indicator(best, block.offsets, block.states))


def known(structure: Any, block: Block, gold: Gold) -> PotentialGradient:
    """Score and indicator of the gold labelling."""
    parts = structure.indicator(gold, block.offsets, block.states)
    return PotentialGradient(structure.score(*block, gold), *parts)


def by_sequence(per_token: Floats, offsets: NDArray[np.int64]) -> Floats:
    """Sums [N] of a number per token."""
    return np.array([per_token[a:b].sum() for a, b in zip(offsets[:-1], offsets[1:])])


class Objective:
    """A loss on labelled sequences. Subclasses are frozen dataclasses: settings, flags and ``loss``."""

    name: ClassVar[str]  # of its row in OBJECTIVES and of its native twin
    smooth: ClassVar[bool] = True  # has a gradient everywhere
    convex: ClassVar[bool] = True  # in the weights
    weighs_labels: ClassVar[bool] = False  # label weights make sense
    partial: ClassVar[bool] = False  # labels may be unknown or sets

    def loss(
        self, structure: Any, block: Block, gold: Any, label_weights: Floats | None
    ) -> PotentialGradient:
        """Loss per sequence and its gradient in the potentials."""
        raise NotImplementedError

    def costs(self, names: Any) -> Floats | None:
        """[Y, Y] cost of each label (column) where another is right (row); None without costs."""
        del names
        return None

    def value_and_gradient(
        self,
        states: StateSpace,
        node: Floats,
        edge: Floats,
        offsets: NDArray[np.int64],
        gold: Any,
        sequence_weights: Floats | None = None,
        label_weights: Floats | None = None,
        *,
        structure: ModuleType = chain,
    ) -> PotentialGradient:
        """Loss and gradient in potential space for a block of sequences.

        ``gold`` is [tokens] states, or for partial labels [tokens, S] true where a state is allowed;
        ``sequence_weights`` [N] and ``label_weights`` [Y] multiply losses and the terms of gold labels.
        """
        if label_weights is not None and not self.weighs_labels:
            raise self.refuse_label_weights()
        ends = np.asarray(offsets, np.int64)
        block = Block(np.asarray(node, np.float64), np.asarray(edge, np.float64), ends, states)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is reported below
            found = self.loss(structure, block, gold, label_weights)
            if sequence_weights is not None:
                found = found.times(sequence_weights, sequence_weights, ends)
        lost = np.flatnonzero(~np.isfinite(found.value))
        if len(lost):
            raise self.overflow(int(lost[0]))
        return found

    def overflow(self, sequence: int) -> FieldcraftError:
        """What to say of a sequence whose loss is not finite."""
        return FieldcraftError(
            f"sequence {sequence}: its loss ({self.name}) is not finite; the potentials are too large, or "
            "they forbid the gold labels: scale the features, or look at the -inf"
        )

    def refuse_label_weights(self) -> InputError:
        """What to say of label weights that cannot be used."""
        return InputError(
            f"label weights have no meaning for the objective {self.name}, whose loss is no sum over tokens; "
            "weigh sequences with sample_weight, or use pointwise, pointwise_exponential, pseudo_likelihood, "
            "margin or softmax_margin"
        )


def weight_of(label_weights: Floats | None, states: StateSpace, gold: Gold) -> Floats:
    """[tokens] the weight of each gold label."""
    if label_weights is None:
        return np.ones(len(gold))
    return np.asarray(label_weights, np.float64)[states.label_of[gold]]


def restricted(block: Block, gold: Any) -> Block:
    """The potentials with everything forbidden that partial (or full) labels exclude."""
    allowed = np.asarray(gold)
    if allowed.ndim == 1:
        allowed = np.arange(block.states.n_states) == allowed[:, None]
    return block.plus(np.where(allowed, 0.0, -np.inf))

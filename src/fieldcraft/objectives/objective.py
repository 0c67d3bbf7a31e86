"""What every objective shares: a loss per sequence with its gradient in potential space.

Losses are differences of three kinds of terms, each a value per sequence with its gradient:

    soft    log of the sum over labellings of exp(score)       marginals
    hard    the best labelling's score                         its indicator
    known   the gold labelling's score                         its indicator

They are written with a structure's operations and arithmetic (structures/structure.py), so one statement
serves every structure: the composed problem (problems/composed.py) trains with it. For chains of plain labels
training evaluates a native implementation of the same name; a test checks that both agree to 1e-10.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures import chain
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
Gold = NDArray[np.int32]


class Evaluated(NamedTuple):
    """Loss per sequence [N] and its gradient in the potentials."""

    value: Floats
    gradient: Parts


class PotentialGradient(NamedTuple):
    """The same for a chain: loss per sequence [N], gradient by node [tokens, S] and edge [tokens, E]."""

    value: Floats
    node: Floats
    edge: Floats


def soft(structure: Structure, potentials: Parts) -> Evaluated:
    """log Z and the marginals."""
    result = structure.infer(potentials)
    return Evaluated(result.log_partition, result.marginals)


def hard(structure: Structure, potentials: Parts) -> Evaluated:
    """The best score and the indicator of a labelling that has it."""
    best = structure.decode(potentials)
    return Evaluated(best.value, structure.indicator(best.labels, potentials.offsets))


def known(structure: Structure, potentials: Parts, gold: Gold) -> Evaluated:
    """Score and indicator of the gold labelling."""
    indicator = structure.indicator(gold, potentials.offsets)
    return Evaluated(structure.score(potentials, gold), indicator)


def minus(structure: Structure, first: Evaluated, second: Evaluated) -> Evaluated:
    """The difference of two terms."""
    return Evaluated(first.value - second.value, structure.add(first.gradient, second.gradient, -1.0))


class Objective:
    """A loss on labelled sequences. Subclasses are frozen dataclasses: settings, flags and ``loss``."""

    name: ClassVar[str]  # of its row in OBJECTIVES and of its native implementation
    smooth: ClassVar[bool] = True  # has a gradient everywhere
    convex: ClassVar[bool] = True  # in the weights
    weighs_labels: ClassVar[bool] = False  # label weights make sense
    partial: ClassVar[bool] = False  # labels may be unknown or sets
    needs: ClassVar[tuple[str, ...]] = ()  # operations of the structure besides the five that all have

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        """Loss per sequence and its gradient in the potentials.

        ``gold`` is what ``structure.gold`` returns: states, or for partial labels a table of allowed states.
        """
        raise NotImplementedError

    def costs(self, names: Any) -> Floats | None:
        """[Y, Y] cost of each label (column) where another is right (row); None without costs."""
        del names
        return None

    def evaluate(
        self,
        structure: Structure,
        potentials: Parts,
        gold: Any,
        sequence_weights: Floats | None = None,
        label_weights: Floats | None = None,
    ) -> Evaluated:
        """Loss [N] and gradient of a block of sequences, times ``sequence_weights`` [N]."""
        if label_weights is not None and not self.weighs_labels:
            raise self.refuse_label_weights()
        with np.errstate(invalid="ignore", over="ignore"):  # the caller looks at what is not finite
            result = self.loss(structure, potentials, gold, label_weights)
            if sequence_weights is not None:
                value = np.where(sequence_weights == 0, 0.0, sequence_weights * result.value)
                result = Evaluated(value, structure.scale(result.gradient, sequence_weights))
        return result

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
        structure: Any = chain,
    ) -> PotentialGradient:
        """Loss and gradient in potential space for a block of chains.

        ``gold`` is [tokens] states, or for partial labels [tokens, S] true where a state is allowed;
        ``sequence_weights`` [N] and ``label_weights`` [Y] multiply losses and the terms of gold labels.
        ``structure`` may be a structure with the parts of a chain. A loss that is not finite is an error that
        names the sequence.
        """
        line = LinearChain(states) if structure is chain else structure
        potentials = LinearChain.potentials(node, edge, offsets)
        result = self.evaluate(line, potentials, gold, sequence_weights, label_weights)
        lost = np.flatnonzero(~np.isfinite(result.value))
        if len(lost):
            raise self.overflow(int(lost[0]))
        return PotentialGradient(result.value, result.gradient["node"], result.gradient["edge"])

    def check(self, structure: Structure) -> None:
        """InputError, naming the objectives that remain, if the structure lacks an operation."""
        from fieldcraft.objectives import OBJECTIVES

        lacking = next((name for name in self.needs if not hasattr(structure, name)), None)
        if lacking is None:
            return
        left = [kind.name for kind in OBJECTIVES.values() if all(hasattr(structure, n) for n in kind.needs)]
        raise InputError(
            f"objective={self.name!r}: the structure {structure.name} has no operation {lacking}, which it "
            f"needs; use {', '.join(left[:-1])} or {left[-1]}, or define {lacking} in "
            f"{type(structure).__name__}"
        )

    def overflow(self, sequence: int) -> FieldcraftError:
        """The error for a sequence whose loss is not finite."""
        return FieldcraftError(
            f"sequence {sequence}: its loss ({self.name}) is not finite; the potentials are too large, or "
            "they forbid the gold labels: scale the features, or look at the -inf"
        )

    def refuse_label_weights(self) -> InputError:
        """The error for label weights that cannot be used."""
        return InputError(
            f"label weights have no meaning for the objective {self.name}, whose loss is no sum over tokens; "
            "weigh sequences with sample_weight, or use pointwise, pointwise_exponential, pseudo_likelihood, "
            "margin or softmax_margin"
        )


def weight_of(label_weights: Floats | None, structure: Structure, gold: Gold) -> Floats:
    """[positions] the weight of each gold label."""
    if label_weights is None:
        return np.ones(len(gold))
    return np.asarray(label_weights, np.float64)[structure.label_of[gold]]

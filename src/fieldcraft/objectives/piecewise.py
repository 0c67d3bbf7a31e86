"""Piecewise training: each factor is a model of its own, or each variable of a factor given the others of it.

    piecewise                    loss = sum over factors a of  log Z_a - score_a(gold)
    piecewise_pseudo_likelihood  loss = sum over factors a, variables v of a of  - log p_a(y_v | rest of a)

log Z_a sums over the configurations of one factor alone. Neither needs inference: time is linear in the
number of factors (the second: in their variables and states, not in their configurations).
C. Sutton, A. McCallum, Piecewise training for undirected models, 2005, and Piecewise pseudolikelihood for
efficient training of conditional random fields, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.objectives.objective import Evaluated, Floats, Objective
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure, by_sequence


@dataclass(frozen=True)
class Piecewise(Objective):
    """Minus the sum of the log-probabilities of each factor's labels, each factor by itself.

    >>> import fieldcraft as fc
    >>> pair = {"pair": ([[0, 1]], None)}
    >>> X = [fc.GraphInstance(2, pair, labels) for labels in (["a", "a"], ["b", "b"], ["a", "b"])]
    >>> fc.GraphCRF(["pair"], objective="piecewise").fit(X[:2]).predict(X[2:], clamp=False).tolist()
    [['a', 'a']]
    """

    name: ClassVar[str] = "piecewise"
    needs: ClassVar[tuple[str, ...]] = ("pieces", "piece_cells")

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        cells_of = structure.operation("piece_cells")
        value = np.zeros(potentials.n_sequences)
        arrays = {name: np.zeros_like(potentials[name]) for name in structure.parts}
        for name in structure.operation("pieces")():
            cells = cells_of(name, gold)
            losses, arrays[name] = softmax_losses(potentials[name], cells)
            value += by_sequence(losses, structure.row_offsets(potentials, name))
        return Evaluated(value, Parts(arrays, potentials.offsets))


@dataclass(frozen=True)
class PiecewisePseudoLikelihood(Objective):
    """Minus the sum of the log-probabilities of each variable's label, given the others of one factor."""

    name: ClassVar[str] = "piecewise_pseudo_likelihood"
    needs: ClassVar[tuple[str, ...]] = ("turns",)

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        value = np.zeros(potentials.n_sequences)
        arrays = {name: np.zeros_like(potentials[name]) for name in structure.parts}
        for name, variables, cells in structure.operation("turns")(gold):
            at = np.arange(len(cells))[:, None], cells
            losses, slopes = softmax_losses(potentials[name][at], gold[variables])
            np.add.at(arrays[name], at, slopes)
            value += by_sequence(losses, structure.row_offsets(potentials, name))
        return Evaluated(value, Parts(arrays, potentials.offsets))


def softmax_losses(scores: Floats, right: Any) -> tuple[Floats, Floats]:
    """[rows] log of the sum of exp(scores) less the right one, and its gradient [rows, n].

    >>> losses, slopes = softmax_losses(np.zeros((1, 2)), np.array([1]))
    >>> losses.round(6).tolist(), slopes.tolist()
    ([0.693147], [[0.5, -0.5]])
    """
    at = np.arange(len(scores)), right
    top = np.max(scores, axis=1, initial=-np.inf)
    odds = np.exp(scores - top[:, None])
    total = odds.sum(axis=1)
    slopes = odds / total[:, None]
    slopes[at] -= 1.0
    return top + np.log(total) - scores[at], slopes

"""The likelihood of a chain as iterative scaling needs it: expected counts apart by total feature value.

    T(x) = max over y of the sum over all features of f_k(x, y)

which is the score of the best labelling when every weight is 1. Sequences of similar T are one part with its
largest T (an upper bound is all that the method asks for); each part has its own expected counts.
Hazard: ``expected`` belongs to the weights that were evaluated last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.potentials import ChainWeights
from fieldcraft.priors import NoPrior, Prior
from fieldcraft.problems.chain import ChainProblem
from fieldcraft.problems.penalised import Penalised
from fieldcraft.structures.linear_chain import LinearChain

Floats = NDArray[np.float64]


class ScalingProblem(Penalised):
    """Penalised likelihood in parts.

    Parameters
    ----------
    n_parts : how many groups of sequences with similar T(x); 1 is generalised iterative scaling
    others : those of ChainProblem
    """

    def __init__(
        self, structure: LinearChain, design: Design, prior: Prior, *, n_parts: int, **options: Any
    ) -> None:
        refuse_negative(design.encoded)
        super().__init__(structure, design, prior, **options)
        totals = largest_totals(structure, design, self.mask, self.n_jobs)  # [N]
        groups = _groups(totals, n_parts)
        self.totals = np.array([max(totals[rows].max(initial=0.0), 1e-300) for rows in groups])  # [B]
        weights = self._sequence_weights
        self._parts = [
            ChainProblem(
                structure,
                _part(design, rows),
                NoPrior(),
                sequence_weights=None if weights is None else weights[rows],
                n_jobs=self.n_jobs,
            )
            for rows in groups
        ]
        self._counts = [part.empirical for part in self._parts]
        self.empirical: Floats = np.sum(self._counts, axis=0)  # [F]
        self.expected = np.zeros((len(groups), self.n_variables))  # [B, F] of the weights evaluated last

    def loss(self, weights: Floats, gradient: Floats) -> float:
        """The likelihood's part; ``expected`` is renewed."""
        value = 0.0
        gradient[:] = 0.0
        for part, counts, expected in zip(self._parts, self._counts, self.expected):
            value += part.loss(weights, expected)
            gradient += expected
            expected += counts
        return value

    def losses(self, weights: Floats) -> Floats:
        return np.concatenate([part.losses(weights) for part in self._parts])


def largest_totals(
    structure: LinearChain, design: Design, mask: NDArray[np.bool_] | None, n_jobs: int
) -> Floats:
    """[N] T(x) of each sequence."""
    ones = np.ones(len(design.index)) if mask is None else mask.astype(np.float64)
    scorer = ChainWeights.of(design.index, ones, structure.n_states)
    return structure.using(n_jobs).argmax(scorer.potentials(design.encoded))[1]


def _groups(totals: Floats, n_parts: int) -> list[NDArray[np.int64]]:
    """Sequences by T, cut into parts of about the same summed T."""
    order = np.argsort(totals, kind="stable")
    mass = np.cumsum(totals[order])
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, n_parts) / n_parts)
    return [np.sort(rows) for rows in np.split(order, cuts) if len(rows)]


def _part(design: Design, rows: NDArray[np.int64]) -> Design:
    if len(rows) == design.n_sequences:
        return design
    encoded = design.encoded
    return Design(encoded.take(rows), design.gold[encoded.tokens_of(rows)], design.index)


def refuse_negative(encoded: Encoded) -> None:
    """InputError for feature values below zero, which iterative scaling cannot use."""
    if encoded.values is None or not len(encoded.values) or encoded.values.min() >= 0:
        return
    at = int(np.flatnonzero(encoded.values < 0)[0])
    token = int(np.searchsorted(encoded.token_ptr, at, side="right")) - 1
    sequence = int(np.searchsorted(encoded.offsets, token, side="right")) - 1
    raise InputError(
        f"sequence {sequence}, token {token - int(encoded.offsets[sequence])}: a feature has the value "
        f"{encoded.values[at]:g}; iterative scaling is for values >= 0: shift them, or use another optimiser"
    )

"""Chains over state spaces: likelihood and marginal likelihood in one native sweep over the corpus.

    loss = log Z - log Z(states that the labels allow)

where, with a beam, log Z is that of the paths that it keeps, among them all that the labels allow,
for spaces whose edge classes are pairs of node classes (structures/states.py); other spaces and objectives
use the composed problem, and a test checks that both agree to 1e-10.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design, native_columns, native_tokens
from fieldcraft.errors import InputError
from fieldcraft.features.index import BY_LENGTH
from fieldcraft.objectives import Likelihood, MarginalLikelihood
from fieldcraft.potentials import TUPLE
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.problems.penalised import Penalised
from fieldcraft.structures.beams import ALL
from fieldcraft.structures.linear_chain import LinearChain

Floats = NDArray[np.float64]


def state_gradient(structure: LinearChain, design: Design, prior: Prior, **options: Any) -> Penalised:
    """The native problem where there is one for the objective and the space, else the composed one."""
    objective = options.get("objective")
    native = objective is None or isinstance(objective, (Likelihood, MarginalLikelihood))
    fused = native and structure.is_native
    if structure.beam != ALL and not fused:
        what = "states whose edge weights belong to pairs of labels" if native else "the likelihood"
        raise InputError(
            f"training with a beam is for {what}; leave out beam=, and set it when training is over"
        )
    kind = StateProblem if fused else ComposedProblem
    return kind(structure, design, prior, **options)


class StateProblem(Penalised):
    """Penalised likelihood of a chain over a state space; offers Gradient."""

    def __init__(self, structure: LinearChain, design: Design, prior: Prior, **options: Any) -> None:
        super().__init__(structure, design, prior, **options)
        states, index = structure.states, design.index
        tuples = index.belongs_to(TUPLE)
        order = np.argsort(tuples, kind="stable")  # the core takes tuples last
        self._order = None if np.array_equal(order, np.arange(len(index))) else order
        plain = index.take(np.flatnonzero(~tuples))
        rows = np.full(states.n_tuples + 1, -1, np.int32)  # of each tuple; the last one is that of -1
        rows[index.label[tuples]] = np.arange(np.count_nonzero(tuples))
        allowed = allowed_labels(structure, design)
        check_labels(structure, design, allowed)
        partial = design.partial is not None and bool(np.any(allowed.sum(axis=1) > 1))
        self._beam = structure.beam != ALL
        self._native = _core.state_problem(
            structure.graph(),
            native_columns(replace(plain, parts=BY_LENGTH, codes=None)),
            native_tokens(design.encoded),
            np.ascontiguousarray(rows[states.tuple_class], np.int32).reshape(-1, states.n_transitions),
            int(np.count_nonzero(tuples)),
            allowed,
            self._sequence_weights,
            states.determined and not partial,
            *structure.beam,
            self.n_jobs,
        )

    def loss(self, weights: Floats, gradient: Floats) -> float:
        return self._evaluate(weights, gradient, None)

    def losses(self, weights: Floats) -> Floats:
        each = np.empty(self.n_sequences)
        self._evaluate(weights, np.empty(self.n_variables), each)
        return each

    @property
    def lost_mass(self) -> float | None:
        """Upper bound on the mean share of the paths that the beam dropped in the last evaluation."""
        return float(np.mean(self._native.lost_mass())) if self._beam else None

    def _evaluate(self, weights: Floats, gradient: Floats, each: Floats | None) -> float:
        if self._order is None:
            return float(self._native.evaluate(weights, gradient, each))
        ordered = np.empty(self.n_variables)
        value = float(self._native.evaluate(np.ascontiguousarray(weights[self._order]), ordered, each))
        gradient[self._order] = ordered
        return value


def allowed_labels(structure: LinearChain, design: Design) -> NDArray[np.uint8]:
    """[tokens, Y] the labels that each token may have."""
    Y = len(structure.labels)
    if design.partial is not None:
        return np.ascontiguousarray(design.partial.allowed(Y), np.uint8)
    return np.eye(Y, dtype=np.uint8)[design.gold]


def check_labels(structure: LinearChain, design: Design, allowed: NDArray[np.uint8]) -> None:
    """InputError, naming sequence and token, where the space forbids the training labels."""
    _, stuck = structure.trace(allowed, design.encoded.offsets)
    wrong = np.flatnonzero(stuck >= 0)
    if not len(wrong):
        return
    sequence = int(wrong[0])
    first, last = design.encoded.offsets[sequence : sequence + 2]
    token = int(stuck[sequence])
    known = token < last - first
    label = structure.labels[int(np.argmax(allowed[first + token]))] if known else None
    raise structure.impossible(sequence, token, label)

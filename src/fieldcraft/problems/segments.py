"""Segments: loss and gradient in the core, for the likelihood, the perceptron's loss and the margins.

Sequences are evaluated one after the other: in passes, as stochastic optimisers ask for them, and over the
whole corpus in at most BLOCKS blocks, which threads share. Their gradients [F] are added in their order, so
that the result has the same bits for any number of threads. An optimisation of the composed problem
(composed.py); tests check that both agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design
from fieldcraft.features.encoded import Encoded
from fieldcraft.objectives import Likelihood, Margin, Perceptron, SoftmaxMargin
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem, cuts, in_turn
from fieldcraft.structures.segments import Segments

Floats = NDArray[np.float64]
PARTS = ("node", "edge", "first", "last", "segment")
NATIVE = (Likelihood, Perceptron, Margin, SoftmaxMargin)
BLOCKS, SMALLEST = 16, 2000  # most blocks of a corpus, and positions of a block


def segment_problem(structure: Segments, design: Design, prior: Prior, **options: Any) -> ComposedProblem:
    """The native problem where there is one for the objective, else the composed one."""
    objective = options.get("objective")
    native = objective is None or type(objective) in NATIVE
    if options.get("label_weights") is not None:
        native = native and objective is not None and objective.weighs_labels
    return (SegmentProblem if native else ComposedProblem)(structure, design, prior, **options)


class SegmentProblem(ComposedProblem):
    """Penalised loss of segments; offers Gradient and Passes."""

    structure: Segments

    def loss(self, weights: Floats, gradient: Floats) -> float:
        gradient[:] = 0.0
        total = 0.0
        for losses, slope in self._evaluated(weights):
            total += float(losses.sum())
            gradient += slope
        return total

    def losses(self, weights: Floats) -> Floats:
        return np.concatenate([losses for losses, _ in self._evaluated(weights)])

    def _evaluated(self, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Losses and gradient of each block."""
        passes, given = self.passes(), np.ascontiguousarray(weights, np.float64)

        def work(sequences: tuple[int, int]) -> tuple[Floats, Floats]:
            losses, gradient = passes.gradients(*sequences, given)
            return losses, gradient

        yield from in_turn(work, self._ranges, self.n_jobs)

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        offsets = self._encoded.offsets
        return list(cuts(offsets, max(SMALLEST, -(-int(offsets[-1]) // BLOCKS))))

    def passes(self) -> Any:
        if self._passes is None:
            self._passes = _core.segment_passes(
                self.structure.space.native,
                self.n_variables,
                self._encoded.offsets,
                **{name: self._part(name) for name in PARTS},
                gold=np.ascontiguousarray(self._gold, np.int32),
                sequence_weights=self._sequence_weights,
                objective=self.objective.name,
                cost=self.objective.costs(self.structure.labels),
                label_weights=self._label_weights,
            )
        return self._passes

    def _part(self, name: str) -> Any:
        """The features of a part, with the rows' attributes that have any."""
        table = self._table.parts[name]
        own = _within(self._encoded.for_part(name), np.diff(table.ptr) > 0)
        return _core.SegmentPart(
            own.token_ptr,
            own.attributes,
            own.values,
            table.ptr,
            table.column,
            table.feature.astype(np.int32),
            table.shared_column,
            table.shared_feature.astype(np.int32),
            table.width,
        )

    def _sizes(self) -> NDArray[np.int64]:
        space = self.structure.space
        width = space.n_states + space.chain.n_transitions + space.n_columns
        return np.asarray(np.diff(self._encoded.offsets) * width, np.int64)


def _within(encoded: Encoded, wanted: NDArray[np.bool_]) -> Encoded:
    """The rows with their wanted attributes [A] alone."""
    kept = wanted[encoded.attributes]
    ptr = np.concatenate([[0], np.cumsum(kept)])[encoded.token_ptr].astype(np.int64)
    values = None if encoded.values is None else np.ascontiguousarray(encoded.values[kept])
    return Encoded(encoded.offsets, ptr, np.ascontiguousarray(encoded.attributes[kept]), values)

"""Segments: passes over sequences in the core, for the likelihood, the perceptron's loss and the margins.

The composed problem (composed.py) calls back into Python for every sequence; this does not, and takes the
same steps (a test checks that). Gradients of the whole corpus are those of the composed problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design
from fieldcraft.features.encoded import Encoded
from fieldcraft.objectives import Likelihood, Margin, Perceptron, SoftmaxMargin
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.structures.segments import Segments

PARTS = ("node", "edge", "first", "last", "segment")
NATIVE = (Likelihood, Perceptron, Margin, SoftmaxMargin)


def segment_passes(structure: Segments, design: Design, prior: Prior, **options: Any) -> ComposedProblem:
    """The problem with native passes where there are any for the objective, else the composed one."""
    objective = options.get("objective")
    native = objective is None or type(objective) in NATIVE
    return (SegmentPasses if native else ComposedProblem)(structure, design, prior, **options)


class SegmentPasses(ComposedProblem):
    """Penalised loss of segments; offers Gradient and Passes."""

    structure: Segments

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

"""The training problem of skip chains: the composed one, whose blocks have pairs of their own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.structures.skip_chain import SkipChain

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class SkipProblem(ComposedProblem):
    """Penalised loss of skip chains; offers Gradient and Passes.

    Parameters
    ----------
    remembers : begin each inference with the messages of the last evaluation: fewer iterations, and one fixed
        point is followed from evaluation to evaluation where there are several
    fixed : [F] True for weights that stay as they are; None for none
    others : as for ComposedProblem; skip chains know no curvatures
    """

    block: ClassVar[int] = 8000  # documents are long, and what Python does costs by the block

    def __init__(
        self,
        structure: SkipChain,
        design: Design,
        prior: Prior,
        *,
        remembers: bool = True,
        fixed: Mask | None = None,
        **options: Any,
    ) -> None:
        self._bound: list[SkipChain] = []
        self._remembers, self._fixed = remembers, fixed
        super().__init__(structure.bound_to(design.encoded), design, prior, **{**options, "curved": False})

    def _structure_of(self, rows: NDArray[np.int64]) -> SkipChain:
        structure: Any = self.structure
        bound: SkipChain = structure.bound_to(self._encoded.take(rows))
        bound.remembers = self._remembers
        self._bound.append(bound)
        return bound

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        value = super().value_and_gradient(weights, gradient)
        if self._fixed is not None:
            gradient[self._fixed] = 0.0
        return value

    def unconverged(self) -> int:
        """Sequences whose inference did not converge, since the last call."""
        total = sum(bound.unconverged for bound in self._bound)
        for bound in self._bound:
            bound.unconverged = 0
        return total

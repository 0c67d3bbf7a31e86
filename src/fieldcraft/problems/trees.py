"""The training problem of hidden states on trees: the composed one, whose blocks have trees of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.structures.latent_trees import LatentTrees


class TreeProblem(ComposedProblem):
    """Penalised loss of trees; offers Gradient and Expectation.

    Parameters
    ----------
    structure : the state space
    parents : of each sequence, in the order of the design
    others : as for ComposedProblem
    """

    def __init__(
        self, structure: LatentTrees, design: Design, prior: Prior, *, parents: Sequence[Any], **options: Any
    ) -> None:
        self._parents, self._unbound = parents, structure.using(1)
        super().__init__(structure, design, prior, **options)

    def _structure_of(self, rows: NDArray[np.int64]) -> LatentTrees:
        """Compiled once for each block."""
        return self._unbound.of([self._parents[i] for i in rows])

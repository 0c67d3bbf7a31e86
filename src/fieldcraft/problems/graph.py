"""The training problem of graphs: the composed one, whose blocks have compiled graphs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.structures.clique_graphs import BoundGraphs, CliqueGraphs
from fieldcraft.structures.cliques import GraphInstance


class GraphProblem(ComposedProblem):
    """Penalised loss of graphs; offers Gradient and Passes.

    Parameters
    ----------
    structure : the clique templates
    instances : the graphs, in the order of the design
    others : as for ComposedProblem; graphs know no curvatures
    """

    def __init__(
        self,
        structure: CliqueGraphs,
        design: Design,
        prior: Prior,
        *,
        instances: Sequence[GraphInstance],
        **options: Any,
    ) -> None:
        self._unbound, self._instances = structure.using(1), instances
        self._bound: list[BoundGraphs] = []
        super().__init__(structure.of([]), design, prior, **{**options, "curved": False})

    def _structure_of(self, rows: NDArray[np.int64]) -> BoundGraphs:
        """Compiled once for each block."""
        bound = self._unbound.of([self._instances[i] for i in rows])
        self._bound.append(bound)
        return bound

    def unconverged(self) -> int:
        """Answers of methods that did not converge, since the last call."""
        total = sum(bound.unconverged for bound in self._bound)
        for bound in self._bound:
            bound.unconverged = 0
        return total

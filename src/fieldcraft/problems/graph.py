"""The training problems of graphs: the composed one, whose blocks have compiled graphs of their own.

``GraphDual`` is the margin with a Gaussian prior for methods that close a duality gap. A graph's loss has
planes

    loss_i(w) >= <g, w> + b,     g = indicator(y) - indicator(gold),  b = cost(y)      for any labelling y

of which the one that touches it at w is that of the labelling that violates the margin most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.priors import Prior
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.problems.dual import gaussian_of, masked
from fieldcraft.structures.clique_graphs import BoundGraphs, CliqueGraphs
from fieldcraft.structures.cliques import GraphInstance

Floats = NDArray[np.float64]


class GraphProblem(ComposedProblem):
    """Penalised loss of graphs; offers Gradient, Expectation and Passes.

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


class GraphDual(GraphProblem):
    """The margin of graphs with a Gaussian prior on every weight; offers Dual, by planes.

    Parameters
    ----------
    bounds : (lower, upper) of the weights [F], None without
    others : as for GraphProblem
    """

    by_planes = True
    costs = None  # the planes have them
    crowd, sharing, n_entries = 1.0, 1.0, 0

    def __init__(
        self,
        structure: CliqueGraphs,
        design: Design,
        prior: Prior,
        *,
        bounds: tuple[Floats, Floats] | None = None,
        **options: Any,
    ) -> None:
        self.gaussian = gaussian_of(prior, len(design.index))
        super().__init__(structure, design, prior, **options)
        self.bounds = bounds
        self.mean, self.precision, self.constant = masked(self.gaussian, self.mask, self.n_variables)

    def plane(self, i: int, weights: Floats) -> tuple[NDArray[np.int64], Floats, float]:
        """Weights, slopes g and level b of the plane that touches the loss of graph i at ``weights``."""
        value, slope = self._slope(self._sequence(i), weights)
        ids = self._sequence(i).map.features
        if self.mask is not None:
            slope = np.where(self.mask[ids], slope, 0.0)
        return ids, slope, value - float(slope @ weights[ids])

    def plane_sizes(self) -> NDArray[np.int64]:
        """[N] how many weights the planes of each graph touch."""
        return np.array([len(self._sequence(i).map.features) for i in range(self.n_sequences)], np.int64)

    def pieces(self, optimiser: str) -> tuple[Any, Any, Floats, Floats]:
        """Not for graphs: raises an InputError."""
        raise InputError(
            f"{optimiser} needs the native dual of chains, which graphs do not have; use 'frank_wolfe', or "
            "'cutting_plane' with slack='one'"
        )

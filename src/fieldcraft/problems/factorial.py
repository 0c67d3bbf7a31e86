"""The training problem of factorial chains: the composed one, which counts answers that did not converge."""

from __future__ import annotations

from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.structures.factorial import FactorialChains


class FactorialProblem(ComposedProblem):
    """Penalised loss of factorial chains; offers Gradient, Expectation and Passes."""

    structure: FactorialChains

    def unconverged(self) -> int:
        """Answers of methods that did not converge, since the last call."""
        return self.structure.unconverged()

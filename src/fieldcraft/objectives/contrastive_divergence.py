"""Contrastive divergence: a few sweeps of Gibbs sampling from the gold labels, in place of inference.

    gradient = indicator(labels after k sweeps that begin at gold) - indicator(gold)

The expectation of this gradient tends to the likelihood's as k grows. It is the gradient of no function, so
that only stochastic optimisers minimise by it; the value that is reported is the pseudo-likelihood's, which
shows the progress, and which k = 1 is close to.

The seed of a draw is made of ``seed`` and the potentials: equal weights give equal draws, whatever the
number of threads, and a training that goes on from a snapshot repeats what it would have drawn.
G. E. Hinton, Training products of experts by minimizing contrastive divergence, 2002.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.counts import whole_number
from fieldcraft.objectives.objective import Evaluated, Floats, Objective, known, minus
from fieldcraft.objectives.pseudo_likelihood import PseudoLikelihood
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class ContrastiveDivergence(Objective):
    """Gold labels against labels drawn by a few sweeps of Gibbs sampling that begin at them.

    Parameters
    ----------
    sweeps : over all variables of a graph
    seed : of the draws

    >>> ContrastiveDivergence(sweeps=3).sweeps
    3
    """

    sweeps: int = 1
    seed: int = 0

    name: ClassVar[str] = "contrastive_divergence"
    convex: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("swept", "neighbour_scores", "neighbour_adjoint")

    def __post_init__(self) -> None:
        whole_number(self.sweeps, "sweeps", 1)
        whole_number(self.seed, "seed", 0)

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        value = PseudoLikelihood().loss(structure, potentials, gold, label_weights).value
        drawn = structure.operation("swept")(potentials, gold, self.sweeps, self._seed(structure, potentials))
        pulled = minus(structure, known(structure, potentials, drawn), known(structure, potentials, gold))
        return Evaluated(value, pulled.gradient)

    def _seed(self, structure: Structure, potentials: Parts) -> int:
        digest = hashlib.blake2b(self.seed.to_bytes(16, "little"), digest_size=8)
        for name in structure.parts:
            digest.update(potentials[name].tobytes())
        return int.from_bytes(digest.digest(), "little")

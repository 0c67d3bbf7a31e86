"""Answers about graphs: scored once, then asked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.clique_columns import EncodedCliques
from fieldcraft.models.graph_training import named
from fieldcraft.potentials import FeatureTable, Parts, TableWeights
from fieldcraft.structures.answers import Decoding, GraphMarginals, Inference
from fieldcraft.structures.clique_graphs import BoundGraphs
from fieldcraft.structures.cliques import GraphInstance

Floats = NDArray[np.float64]


class GraphAnswers:
    """Some graphs and a model's features.

    Parameters
    ----------
    structure : bound to the graphs
    table : the features
    encoded : observations of the graphs
    instances : the graphs
    clamp : keep the labels that instances have
    """

    def __init__(
        self,
        structure: BoundGraphs,
        table: FeatureTable,
        encoded: EncodedCliques,
        instances: Sequence[GraphInstance],
        *,
        clamp: bool = False,
    ) -> None:
        self.structure, self.instances, self.clamp = structure, instances, clamp
        self._table, self._encoded = table, encoded

    def states(self) -> NDArray[np.int32]:
        """[variables] the known states, -1 elsewhere."""
        number = {name: s for s, name in enumerate(self.structure.labels)}
        rows = [named(x, i, self.structure.labels) for i, x in enumerate(self.instances)]
        return np.array([-1 if one is None else number[one] for row in rows for one in row], np.int32)

    def potentials(self, weights: Floats) -> Parts:
        """Of the graphs; where labels are kept, other states are excluded."""
        potentials = TableWeights(self._table, weights, self.structure).potentials(self._encoded)
        return self._restricted(potentials) if self.clamp else potentials

    def _restricted(self, potentials: Parts) -> Parts:
        states = self.states()
        allowed = (states[:, None] < 0) | (states[:, None] == np.arange(self.structure.n_states))
        return self.structure.restrict(potentials, allowed)

    def inferences(self, weights: Floats) -> list[Inference]:
        """One per graph; factors are those of its templates, in their order."""
        answers = self.structure.inferences(self.potentials(weights))
        warn_of(answers)
        trimmed = []
        for one, x in zip(answers, self.instances):
            n = len(np.unique(x.sizes(self.structure.n_states)))  # groups of single variables stand first
            trimmed.append(one._replace(marginals=GraphMarginals(one.variables, one.factors[n:])))
        return trimmed

    def decodings(self, weights: Floats) -> list[Decoding]:
        """One per graph: labels, and their log-probability as far as log Z is known."""
        potentials = self.potentials(weights)
        answers, sums = self.structure.decodings(potentials), self.structure.inferences(potentials)
        warn_of([*answers, *sums])
        names = np.array([*self.structure.labels, None], object)
        return [
            one._replace(labels=names[one.assignment].tolist(), value=one.value - float(total.log_partition))
            for one, total in zip(answers, sums)
        ]

    def best(self, weights: Floats, *, warn: bool = True) -> list[NDArray[np.int32]]:
        """The states of each graph's best labelling."""
        answers = self.structure.decodings(self.potentials(weights))
        if warn:
            warn_of(answers)
        return [one.assignment for one in answers]

    def log_probability(self, weights: Floats) -> Floats:
        """[N] of the known labels, whatever the others are."""
        potentials = self.potentials(weights)
        known = self._restricted(potentials)
        return self.structure.log_partition(known) - self.structure.log_partition(potentials)

    def accuracy(self, weights: Floats) -> float:
        """The share of known labels that are predicted; nan without any."""
        gold = self.states()
        found = np.concatenate([np.zeros(0, np.int32), *self.best(weights, warn=False)])
        return float(np.mean(found[gold >= 0] == gold[gold >= 0])) if (gold >= 0).any() else float("nan")


def warn_of(answers: Sequence[Any]) -> None:
    """One warning per call about answers that are not exact or did not converge."""
    rough = [one for one in answers if not (one.exact if isinstance(one, Inference) else one.optimal)]
    failed = sum(not one.converged for one in answers)
    if rough or failed:
        methods = ", ".join(sorted({one.method for one in rough}))
        warnings.warn(
            f"{len(rough)} of {len(answers)} answers are not exact ({methods}), {failed} did not converge; "
            "infer and decode say which",
            stacklevel=6,
        )

"""The training of HiddenCRF: that of a chain over hidden states, on chains or on trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.models.held_out import score_interval
from fieldcraft.models.inputs import encode
from fieldcraft.models.parameters import Scoring
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Facts, Known, Settings
from fieldcraft.optimisers import Optimiser
from fieldcraft.optimisers.loop import Control
from fieldcraft.priors import Prior
from fieldcraft.problems.trees import TreeProblem
from fieldcraft.structures.latent_trees import LatentTrees
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
Trees = tuple[list[Any] | None, list[Any] | None]  # of training and of held-out sequences


class HiddenTraining(Training):
    """One training of a HiddenCRF.

    Parameters
    ----------
    trees : the parents of training and held-out sequences; None for chains
    others : as for Training
    """

    def __init__(
        self,
        settings: Settings,
        structure_for: Callable[[Sequence[str]], Structure],
        known: Known | None,
        *,
        trees: Trees,
    ) -> None:
        self._trees = trees
        super().__init__(settings, structure_for, known)

    def _problem(self, optimiser: Optimiser, design: Design, prior: Prior, **options: Any) -> Any:
        if optimiser.needs not in ("gradient", "expectation"):
            raise InputError(
                f"{optimiser.name} is not for hidden states; use 'lbfgs', 'conjugate_gradient' or 'em'"
            )
        structure, requests = self._structure(), optimiser.requests()
        if isinstance(structure, LatentTrees):
            return TreeProblem(structure, design, prior, parents=self._trees[0] or [], **requests, **options)
        return super()._problem(optimiser, design, prior, **options)

    def _hold_out(
        self, rules: Control, dev: Any, encoder: design_.Encoder, index: FeatureIndex, facts: Facts
    ) -> None:
        X, labels = dev
        structure, scorer = self._structure(), Scoring.of(index, self._structure()).scorer_of
        encoded = encode(X, encoder, grow=False, n_threads=self.n_jobs)
        gold = np.array([self.classes.index(row[0]) if row[0] in self.classes else -1 for row in labels])
        if isinstance(structure, LatentTrees) and self._trees[1] is not None:
            structure = structure.of(self._trees[1])

        def score(weights: Floats) -> float:
            p = class_probabilities(structure, scorer(weights).potentials(encoded), encoded.offsets)
            return float(np.mean(p.argmax(axis=1) == gold))

        rules.held_out = score
        if rules.score_every is None:
            rules.score_every = score_interval(facts.tokens, int(encoded.offsets[-1]))


def class_probabilities(structure: Structure, potentials: Any, offsets: NDArray[np.int64]) -> Floats:
    """[N, Y] those of the labels: all positions of a sequence have the same, so the first one tells."""
    found: Floats = structure.label_marginals(potentials)[offsets[:-1]]
    return found


def lengths_of(X: Any) -> list[int]:
    """[N] how many tokens each sequence has; none may be empty."""
    encoded = getattr(X, "encoded", None)
    lengths = [len(x) for x in X] if encoded is None else np.diff(encoded.offsets).tolist()
    if 0 in lengths:
        raise InputError(f"sequence {lengths.index(0)} has no tokens; leave it out")
    return lengths

"""The ground of trainings: a corpus with the features of one template set, and shares of both.

A member of a pool is trained on a share of the design: its features, and for a bag the sentences that were
drawn, with how often each was. Its weights are placed among those of all features, where the others are 0.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.archive import Model, Part
from experiments.configuration import Configuration
from experiments.corpora import Splits, Task
from experiments.gazetteers import gazetteers
from experiments.masks import Mask, mask_of
from experiments.pool import Pool
from fieldcraft.corpus import Corpus
from fieldcraft.design import Design
from fieldcraft.evaluation import bootstrap
from fieldcraft.evaluation.labellings import Encoded
from fieldcraft.features.templates import Templates
from fieldcraft.labels import encode_labels
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.training_settings import SharedDesign
from fieldcraft.optimisers.loop import Control, Loop, Record
from fieldcraft.pools.discriminative import company
from fieldcraft.pools.linear import LinearOpinionPool
from fieldcraft.pools.restriction import restricted
from fieldcraft.pools.samples import Bag
from fieldcraft.priors import Names, Prior
from fieldcraft.problems import build
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]
COUNTED = {"scheme": "conlleval", "mode": "lenient"}  # spans, as the metrics count them too


class Share(NamedTuple):
    """Some features [F], the design that has them alone, and the weights of its sentences."""

    mask: Mask
    design: Design
    weights: Floats | None

    @classmethod
    def of(cls, design: Design, mask: Mask, bag: int, n_labels: int) -> Share:
        """The features of a mask; of a bag (from 1 on) those that its sentences support."""
        if not bag:
            return cls(mask, restricted(design, mask), None)
        counts = Bag(bag - 1, 0).counts(design.n_sequences)
        drawn = np.flatnonzero(counts)
        sample = restricted(design, None, drawn)
        seen = np.isfinite(company(design.index, sample.encoded, sample.gold, n_labels))
        return cls(mask & seen, restricted(sample, mask & seen), counts[drawn])

    def placed(self, weights: Floats) -> Floats:
        """[F] weights of the share among those of all features."""
        whole = np.zeros(len(self.mask))
        whole[self.mask] = weights
        return whole


class Ground:
    """A corpus with the features of one template set, ready to train and to score on."""

    def __init__(self, task: Task, splits: Splits, configuration: Configuration, data: Path) -> None:
        templates = Templates.named(task.templates[configuration.templates])
        lists = gazetteers(data) if templates.gazetteers else None
        crf = ChainCRF(templates, min_count=configuration.min_count, metric=task.metric, gazetteers=lists)
        training = crf._training()
        self.data: SharedDesign = training.share(splits.train, None)
        self.index = self.data.design.index
        self.names = Names(training.classes, [template.name for template in self.data.encoder.templates])
        self.n_states = len(training.classes)
        self.n_jobs = resolve_jobs(None)
        self.metric = task.metric
        self._training, self._splits, self._crf = training, splits, crf
        self._shares: dict[tuple[str, int], Share] = {}

    def share(self, configuration: Configuration) -> Share:
        """The part of the data that a configuration is trained on."""
        place = (configuration.mask, configuration.bag)
        if place not in self._shares:
            name, classes = configuration.mask, self._training.classes
            mask = mask_of(name, self.data, classes) if name else np.ones(len(self.index), bool)
            self._shares[place] = Share.of(self.data.design, mask, configuration.bag, len(classes))
        return self._shares[place]

    def fitted(self, weights: Floats) -> ChainCRF:
        """A model with these weights."""
        model = ChainCRF(**self._crf.get_params())
        structure = LinearChain(StateSpace.labels(self._training.classes))
        parameters = Parameters.of(self.data.encoder, self.index, weights, structure)
        model._settle(parameters, self._training.classes)
        return model

    @cached_property
    def development(self) -> Any:
        """What scores weights on development data."""
        return self._held_out(self._splits.development)

    @cached_property
    def test(self) -> Any:
        """The same for the test set."""
        return self._held_out(self._splits.test)

    def part(self, held_out: Any, weights: Floats) -> Part:
        """Score and errors of weights on development or test data."""
        return self._scored(held_out, held_out.labels(weights))

    def _scored(self, held_out: Any, states: NDArray[np.int32]) -> Part:
        encoded = Encoded(held_out.names, held_out.gold, states, held_out.encoded.offsets)
        shares = bootstrap.quotient(self.metric, encoded, **COUNTED)
        return Part.of(held_out.score(states), bootstrap.errors_by_sequence(encoded), shares)

    def model(self, weights: Floats, iteration: int, *, reads_test: bool) -> Model:
        """Weights with all their scores."""
        return Model(
            int(np.count_nonzero(weights)),
            iteration,
            self.part(self.development, weights),
            self.part(self.test, weights) if reads_test else None,
        )

    def pooled(self, shares: Floats, vectors: Floats, pool: Pool) -> Model:
        """The pool of members [members, F] with all its scores."""
        if not pool.linear:
            return self.model(shares @ vectors, 0, reads_test=True)
        members = [self.fitted(weights) for weights in vectors]
        mixed = LinearOpinionPool(members, weights=shares.tolist())
        active = int(np.count_nonzero(vectors))
        both = ((self.development, self._splits.development), (self.test, self._splits.test))
        development, test = (self._scored(data, self._mixed(mixed, data, X)) for data, X in both)
        return Model(active, 0, development, test)

    def _mixed(self, pool: LinearOpinionPool, held_out: Any, corpus: Corpus) -> NDArray[np.int32]:
        return encode_labels(pool.predict(corpus), held_out.names, held_out.encoded.offsets)

    def _held_out(self, corpus: Corpus) -> Any:
        return self._training.held_out(self.data.encoder, self.index, corpus, None)


class Trained(NamedTuple):
    """What a training left behind: the weights that count, and those at its end."""

    weights: Floats
    end: Floats
    records: list[Record]
    reason: str
    objective: float


def train(
    ground: Ground,
    prior: Prior,
    optimiser: Any,
    start: Floats,
    configuration: Configuration,
    patience: int | None = None,
) -> Trained:
    """One setting; followed, the weights that count are those with the best development score.

    With ``patience`` it ends so many iterations after that.
    """
    share, follow = ground.share(configuration), configuration.follow
    resolved = prior.resolved(share.design.index, ground.names)
    chain = LinearChain(StateSpace.labels(ground.n_states))
    options = {"n_jobs": ground.n_jobs, "sequence_weights": share.weights, **optimiser.requests()}
    problem = build(chain, optimiser.needs, share.design, resolved, **options)
    run = optimiser.start(problem, start[share.mask])
    scored = (lambda weights: ground.development(share.placed(weights))) if follow else None
    rules = Control(held_out=scored, keep_best=follow, patience=patience if follow else None)
    outcome = Loop(run, rules).go()
    weights, end = share.placed(outcome.weights), share.placed(run.solution())
    return Trained(weights, end, outcome.records, outcome.reason, run.objective())

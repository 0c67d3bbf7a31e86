"""A product of experts, trained by the likelihood of the product (Hinton 1999).

    p(y | x) = product over i of p_i(y | x) / Z(x): the chain with the weights w = sum over i of w_i

where w_i are the weights of expert i, 0 for features that it does not have. The loss of all is the
likelihood's loss of w plus the penalty of each expert; its gradient in w_i is that in w, at the expert's
features. For chains one forward-backward computes it exactly. Without priors the product is one chain with
the features of all experts; how a weight divides among experts that share it is then arbitrary, and
training divides it evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.held_out import HeldOut, score_interval
from fieldcraft.models.inputs import EncodedSequences
from fieldcraft.models.parameters import Parameters, Scoring
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Trained
from fieldcraft.objectives import Likelihood
from fieldcraft.optimisers.loop import Control, Loop, Outcome
from fieldcraft.pools.expert import Expert
from fieldcraft.pools.joint import Floats, Joint, Rows
from fieldcraft.priors import Prior, resolve_prior
from fieldcraft.problems import build, crew


class Product(Joint):
    """The training problem of a product.

    Parameters
    ----------
    whole : the problem of one chain with all features, without a prior
    rows : for each expert the features that it has
    priors : for each expert its prior, with a number for every weight
    """

    def __init__(self, whole: Any, rows: Sequence[Rows], priors: Sequence[Prior]) -> None:
        super().__init__(whole.n_variables, rows, priors, whole.n_jobs)
        self.whole = whole
        self._slope = np.empty(whole.n_variables)

    def collapsed(self, variables: Floats) -> Floats:
        """[F] the weights of the product as one chain."""
        weights = np.zeros(self.n_features)
        for own, part in zip(self.rows, self.slices):
            weights[own] += variables[part]
        return weights

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        value = float(self.whole.value_and_gradient(self.collapsed(weights), self._slope))
        for own, part in zip(self.rows, self.slices):
            gradient[part] = self._slope[own]
        return value + self.add_penalty(weights, gradient)


def train_product(experts: Sequence[Expert], shared: Any, control: dict[str, Any]) -> list[ChainCRF]:
    """The experts, trained together."""
    if any(expert.data is not None for expert in experts):
        raise InputError("product=True trains experts together, on the same sequences: use feature experts")
    data, design = shared.data, shared.data.design
    masks = [expert.mask(shared.view) for expert in experts]
    rows = [np.arange(len(design.index)) if mask is None else np.flatnonzero(mask) for mask in masks]
    trainings = [expert.model._training() for expert in experts]
    for training in trainings:
        training.classes, training.provenance = list(shared.view.labels), data.provenance
    first = trainings[0]
    _check(first)
    priors = [
        training._penalty(data.encoder, design.index.take(own)) for training, own in zip(trainings, rows)
    ]
    options = {"sequence_weights": shared.weights, "n_jobs": first.n_jobs}
    structure = first._structure()
    whole = build(structure, "gradient", design, resolve_prior(None), **options)
    problem = Product(whole, rows, priors)
    held_out, every = (None, None) if shared.dev is None else _hold_out(first, shared, problem)
    rules = Control(held_out=held_out, **control)
    rules.score_every = rules.score_every or every
    run = first.optimiser.start(problem, np.zeros(problem.n_variables))
    with crew(first.n_jobs):
        outcome = Loop(run, rules).go(None)
    return [
        _stored(expert, training, data, own, outcome, outcome.weights[part])
        for expert, training, own, part in zip(experts, trainings, rows, problem.slices)
    ]


def _check(training: Training) -> None:
    """Refuse what is no likelihood with a gradient; the optimiser of the first expert trains all of them."""
    training._choose(None)
    if not isinstance(training.objective, Likelihood) or training.optimiser.needs != "gradient":
        raise InputError(
            f"product=True trains by the likelihood with an optimiser for gradients, not "
            f"{training.objective.name} with {training.optimiser.name}; use 'lbfgs' or 'owlqn'"
        )


def _hold_out(training: Training, shared: Any, problem: Product) -> tuple[Callable[[Floats], float], int]:
    """The score of the product on held-out data, and after how many iterations it is taken."""
    encoder, index = shared.data.encoder, shared.data.design.index
    structure, settings = training._structure(), training.settings
    encoded, labels = shared.dev
    scorer = Scoring.of(index, structure).scorer_of
    names = {"metric": settings.metric, "decoding": settings.decoding}
    held_out = HeldOut(encoder, structure, scorer, EncodedSequences(encoder, encoded), labels, **names)
    every = score_interval(len(shared.data.design.gold), held_out.n_tokens)
    return lambda variables: held_out(problem.collapsed(variables)), every


def _stored(
    expert: Expert, training: Training, data: Any, own: Rows, outcome: Outcome, weights: Floats
) -> ChainCRF:
    """An expert with its weights; records and objective are those of the product."""
    index = data.design.index.take(own)
    parameters = Parameters.of(data.encoder, index, weights, training._structure())
    names = training.objective, training.optimiser, training.prior
    trained = Trained(parameters, training.classes, outcome, *names, data.provenance)
    return type(expert.model)(**expert.model.get_params())._store(trained)

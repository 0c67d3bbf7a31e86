"""Small corpora (synthetic) for the dual methods, each with its enumerated programme."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.optimisers.cutting_plane import CuttingPlane
from fieldcraft.optimisers.dual import DualOptimiser, DualRun
from fieldcraft.optimisers.exponentiated_gradient import ExponentiatedGradient
from fieldcraft.optimisers.frank_wolfe import FrankWolfe
from fieldcraft.optimisers.smo import SMO
from fieldcraft.priors import Gaussian
from fieldcraft.problems import ChainDual
from oracles import structured_margin
from oracles.structured_margin import Constraints
from unit.training import corpora
from unit.training.corpora import problem_for

Floats = NDArray[np.float64]
STATES = 3

# name -> (method, the relative gap that it is asked for)
METHODS: dict[str, DualOptimiser] = {
    "frank_wolfe": FrankWolfe(gap=2e-3, max_iterations=3000),
    "averaged": FrankWolfe(gap=1e-3, max_iterations=3000, average=True),
    "smo": SMO(gap=1e-4, max_iterations=3000),
    "smo, little room": SMO(gap=1e-4, max_iterations=3000, labelings=2),
    "exponentiated_gradient": ExponentiatedGradient(gap=1e-3, max_iterations=3000),
    "one slack": CuttingPlane(gap=1e-6, solver="active_set"),
    "n slacks": CuttingPlane(gap=1e-5, slack="n", max_iterations=3000),
}


class Case(NamedTuple):
    """A corpus with settings of the objective."""

    design: Design
    options: dict[str, Any]
    prior: Gaussian


def _settings(rng: np.random.Generator, n_sequences: int, n_features: int) -> dict[str, Any]:
    cost = np.where(np.eye(STATES, dtype=bool), 0.0, rng.uniform(0.2, 3.0, (STATES, STATES)))
    c = rng.uniform(0.2, 2.0, n_sequences)
    c[1] = 0.0
    return {
        "costs": cost,
        "label_weights": np.array([1.0, 0.5, 2.0]),
        "sequence_weights": c,
        "mask": rng.random(n_features) < 0.8,
    }


@cache
def case(name: str) -> Case:
    """ "plain", "valued" or "everything": costs, weights, a mask, and a prior that differs by weight."""
    rng = np.random.default_rng(7)
    X, y = corpora.draw(rng, STATES, [3, 2, 4, 1, 0, 3, 4], n_names=5, values=name != "plain")
    design = corpora.design_of(X, y, STATES)
    n = len(design.index)
    if name != "everything":
        return Case(design, {}, Gaussian(variance=0.7))
    prior = Gaussian(variance=rng.uniform(0.2, 1.5, n), mean=rng.normal(size=n) * 0.3)
    return Case(design, _settings(rng, len(X), n), prior)


def programme(given: Case) -> tuple[list[Constraints], Floats, Floats, Floats, Floats]:
    """Constraints, sequence weights, mean, precision and the mask (as 0 or 1)."""
    design, options, prior = given
    index, encoded = design.index, design.encoded
    n = len(index)
    names = zip(index.attribute.tolist(), index.previous.tolist(), index.label.tolist())
    table = {name: f for f, name in enumerate(names)}
    cost = options.get("costs", 1.0 - np.eye(STATES)) * options.get("label_weights", np.ones(STATES))[:, None]
    mask = options.get("mask", np.ones(n, bool)).astype(float)
    corpus = []
    for begin, end in zip(encoded.offsets[:-1].tolist(), encoded.offsets[1:].tolist()):
        tokens = [_observed(design, t) for t in range(begin, end)]
        found = structured_margin.constraints(tokens, design.gold[begin:end].tolist(), table, n, cost)
        corpus.append(found._replace(counts=found.counts * mask))
    c = options.get("sequence_weights", np.ones(len(corpus)))
    mean, precision = (np.broadcast_to(part, n) for part in prior.quadratic_part(n))
    return corpus, c, mean, precision, mask


def _observed(design: Design, token: int) -> dict[int, float]:
    encoded = design.encoded
    out: dict[int, float] = {}
    for k in range(int(encoded.token_ptr[token]), int(encoded.token_ptr[token + 1])):
        value = 1.0 if encoded.values is None else float(encoded.values[k])
        attribute = int(encoded.attributes[k])
        out[attribute] = out.get(attribute, 0.0) + value
    return out


def least(given: Case) -> float:
    """The minimum of the objective: masked weights stay at 0, whatever their mean."""
    corpus, c, mean, precision, mask = programme(given)
    free = mask > 0
    found, _ = structured_margin.minimum(
        [one._replace(counts=one.counts[:, free]) for one in corpus], c, mean[free], precision[free]
    )
    return found + float(np.sum((precision * mean**2)[~free]) / 2)


def problem_of(method: DualOptimiser, given: Case, *, n_jobs: int = 1) -> ChainDual:
    return problem_for(method, given.design, STATES, given.prior, n_jobs=n_jobs, **given.options)


def begun(method: DualOptimiser, given: Case, *, n_jobs: int = 1) -> DualRun:
    """A run at its starting point."""
    run = method.start(problem_of(method, given, n_jobs=n_jobs), np.zeros(len(given.design.index)))
    run.begin()
    return run


def implied(given: Case, node: Floats, pairs: Floats) -> Floats:
    """[F] the weights that belong to marginals [tokens, S] and summed pair marginals [N, S, S]."""
    index, offsets = given.design.index, given.design.encoded.offsets
    _, c, mean, precision, mask = programme(given)
    gold = np.eye(STATES)[given.design.gold]
    left, bare = gold - node, index.attribute < 0
    total = np.zeros(len(index))
    for i, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        for t in range(begin, end):
            for attribute, value in _observed(given.design, t).items():
                hit = (index.attribute == attribute) & (index.previous < 0)
                total[hit] += c[i] * value * left[t, index.label[hit]]
        seen = np.einsum("tx,ty->xy", gold[begin : max(begin, end - 1)], gold[begin + 1 : end])
        total[bare] += c[i] * (seen - pairs[i])[index.previous[bare], index.label[bare]]
    return np.asarray((mean + total / precision) * mask)

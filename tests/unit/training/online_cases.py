"""Small synthetic corpora as stochastic optimisers see them and as tests/oracles/online.py does."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from fieldcraft.design import Design
from fieldcraft.objectives import resolve_objective
from fieldcraft.priors import NoPrior, Prior
from oracles.online import Example
from unit.training.corpora import Floats, design_of, draw, problem_for

S = 3


class Case(NamedTuple):
    """A design, its examples, and weights in general position to begin with: no two labelings tie."""

    design: Design
    examples: list[Example]
    start: Floats


def case(seed: int, *, n: int = 12, values: bool = False, edges: bool = False) -> Case:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, size=n)
    X, y = draw(rng, S, lengths, n_names=6, per_token=3, values=values, edges=edges)
    for token in itertools.chain.from_iterable(X):  # no two labelings may have equal counts
        token.update({"n/bias": 1.0}) if values else token.append("n/bias")
    design = design_of(X, y, S, features="all", edges=edges)
    start = 0.3 * rng.normal(size=len(design.index))
    return Case(design, [example(design, i) for i in range(n)], start)


def example(design: Design, i: int) -> Example:
    """Feature counts of all labelings of sequence i."""
    encoded, index = design.encoded, design.index
    first, last = int(encoded.offsets[i]), int(encoded.offsets[i + 1])
    number = {key: f for f, key in enumerate(zip(*map(np.ndarray.tolist, index_columns(index))))}
    labelings = list(itertools.product(range(S), repeat=last - first))
    counts = np.zeros((len(labelings), len(index)))
    for row, labels in enumerate(labelings):
        for t, label in enumerate(labels):
            before = labels[t - 1] if t else None
            if before is not None and (-1, before, label) in number:
                counts[row, number[-1, before, label]] += 1
            for k in range(encoded.token_ptr[first + t], encoded.token_ptr[first + t + 1]):
                a = int(encoded.attributes[k])
                value = 1.0 if encoded.values is None else encoded.values[k]
                for previous in (-1, before):
                    if previous is not None and (a, previous, label) in number:
                        counts[row, number[a, previous, label]] += value
    gold = tuple(design.gold[first:last].tolist())
    wrong = np.array([float(sum(a != b for a, b in zip(labels, gold))) for labels in labelings])
    return Example(counts, labelings.index(gold), wrong)


def index_columns(index: Any) -> tuple[Any, Any, Any]:
    return np.asarray(index.attribute), np.asarray(index.previous), np.asarray(index.label)


def begin(
    settings: Any, case_: Case, *, objective: str | None = None, prior: Prior | None = None, **options: Any
) -> Any:
    """A run of an optimiser from the case's weights."""
    chosen = resolve_objective(objective)
    names = [f"L{k:03d}" for k in range(S)]
    problem = problem_for(
        settings, case_.design, S, prior or NoPrior(), objective=chosen, costs=chosen.costs(names), **options
    )
    run = settings.start(problem, case_.start)
    run.begin()
    return run


def visited(run: Any, examples: list[Example], n_passes: int) -> list[Example]:
    """The examples in the order in which a run meets them."""
    out = []
    for k in range(n_passes):
        run.iteration, kept = k, run.iteration
        out += [examples[i] for i in run.order()]
        run.iteration = kept
    return out

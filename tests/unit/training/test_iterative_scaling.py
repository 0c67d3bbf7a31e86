"""Iterative scaling against the textbook's steps computed by hand, and its promise never to go down."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fieldcraft import GIS, IIS, LBFGS, ChainCRF, FieldcraftError, Gaussian
from fieldcraft.design import Design
from fieldcraft.features.encoded import Encoded
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.priors import NoPrior, Prior
from fieldcraft.problems.scaling import ScalingProblem, largest_totals
from unit.training.corpora import EDGE, Floats, chain_of, design_of, draw, fused, plain, problem_for, same

PLAIN: dict[str, Any] = {"stretch": 1.0, "tolerance": 0.0, "objective_tolerance": -1.0}


@dataclass(frozen=True)
class Finest(IIS):
    """A part for each sequence."""

    n_parts = 10_000


def corpus(seed: int = 4, *, n: int = 12, values: bool = True) -> tuple[list[Any], list[list[str]]]:
    """Values from 0 up, also larger than 1, and edges that look at the input."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, 3, rng.integers(1, 5, size=n), n_names=8, edges=True, values=values)
    if values:
        X = [[{name: abs(value) for name, value in item.items()} for item in items] for items in X]
    return X, y


def totals_by_hand(design: Design) -> list[float]:
    """T(x): the largest sum of feature values over all labelings, by enumeration."""
    index, encoded = design.index, design.encoded
    known = {(a, x, y) for a, x, y in zip(index.attribute, index.previous, index.label)}
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    found = []
    for first, last in itertools.pairwise(encoded.offsets.tolist()):
        sums = []
        for labels in itertools.product(range(3), repeat=last - first):
            total = 0.0
            for t, label in enumerate(labels):
                before = labels[t - 1] if t else -2
                total += (-1, before, label) in known
                for i in range(encoded.token_ptr[first + t], encoded.token_ptr[first + t + 1]):
                    a = encoded.attributes[i]
                    total += values[i] * (((a, -1, label) in known) + ((a, before, label) in known))
            sums.append(total)
        found.append(max(sums))
    return found


def expected_by_hand(design: Design, weights: Floats) -> tuple[Floats, Floats]:
    """Expected counts of each sequence [N, F], and the empirical ones [F]."""
    n = design.n_sequences
    rows = [plain(design, 3, weights, sequence_weights=np.eye(n)[i]).gradient for i in range(n)]
    at_zero = plain(design, 3, np.zeros(len(weights))).gradient
    index = design.index
    shares = np.zeros(len(index))  # expected counts at zero weights: every labelling is as likely
    encoded = design.encoded
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    starts = set(encoded.offsets.tolist())
    for f, (a, x) in enumerate(zip(index.attribute, index.previous)):
        for t in range(len(design.gold)):
            if x >= 0 and t in starts:
                continue
            held = range(encoded.token_ptr[t], encoded.token_ptr[t + 1])
            mass = 1.0 if a < 0 else sum(values[i] for i in held if encoded.attributes[i] == a)
            shares[f] += mass / (9 if x >= 0 else 3)
    empirical = shares - at_zero
    return np.array(rows), empirical


def iterate(settings: Any, design: Design, prior: Prior, n: int) -> Any:
    problem = problem_for(settings, design, 3, prior)
    run = settings.start(problem, np.zeros(problem.n_variables))
    run.begin()
    for _ in range(n):
        assert run.step()
    return run


def test_totals() -> None:
    for values in (True, False):
        X, y = corpus(values=values)
        design = design_of(X, y, 3, edges=True)
        same(largest_totals(chain_of(3), design, None, 1), totals_by_hand(design))


def test_a_mask_lowers_totals() -> None:
    design = design_of(*corpus(), 3, edges=True)
    mask = np.arange(len(design.index)) % 3 > 0
    same(
        largest_totals(chain_of(3), design, mask, 1),
        totals_by_hand(Design(design.encoded, design.gold, design.index.select(mask))),
    )


@pytest.mark.parametrize("n", [1, 3])
def test_gis_by_hand(n: int) -> None:
    """d = log(empirical / expected) / C, without slack feature and without prior."""
    design = design_of(*corpus(), 3, edges=True)
    C = max(totals_by_hand(design))
    w = np.zeros(len(design.index))
    for _ in range(n):
        per_sequence, empirical = expected_by_hand(design, w)
        expected = plain(design, 3, w).gradient + empirical
        w = w + np.log(empirical / expected) / C
    same(iterate(GIS(**PLAIN), design, NoPrior(), n).weights, w, rel=1e-6, abs=1e-9)
    assert len(per_sequence) == design.n_sequences


@pytest.mark.parametrize("variance", [None, 0.7])
def test_iis_by_hand(variance: float | None) -> None:
    """Each weight's equation solved by bisection, one T per sequence."""
    design = design_of(*corpus(), 3, edges=True)
    T = np.array(totals_by_hand(design))
    w = np.zeros(len(design.index))
    precision = 0.0 if variance is None else 1 / variance
    for _ in range(2):
        losses, empirical = expected_by_hand(design, w)
        gold = losses_of_gold(design)
        expected = losses + gold  # [N, F]
        change = np.zeros(len(w))
        for k in range(len(w)):

            def left(d: float, k: int = k, w: Floats = w) -> float:
                grown = float(expected[:, k] @ np.exp(d * T))  # noqa: B023
                return float(empirical[k]) - grown - precision * (w[k] + d)  # noqa: B023

            change[k] = optimize.brentq(left, -5.0, 5.0, xtol=1e-14)
        w = w + change
    prior = NoPrior() if variance is None else Gaussian(variance=variance)
    found = iterate(Finest(**PLAIN), design, prior, 2).weights
    same(found, w, rel=2e-3, abs=1e-5)  # Newton's method stops when T d is known to 1e-3


def losses_of_gold(design: Design) -> Floats:
    """Empirical counts of each sequence [N, F], counted on the gold labels."""
    index, encoded, gold = design.index, design.encoded, design.gold
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    row = {(a, x, y): f for f, (a, x, y) in enumerate(zip(index.attribute, index.previous, index.label))}
    out = np.zeros((design.n_sequences, len(index)))
    for i, (first, last) in enumerate(itertools.pairwise(encoded.offsets.tolist())):
        for t in range(first, last):
            before = gold[t - 1] if t > first else -2
            if (-1, before, gold[t]) in row:
                out[i, row[-1, before, gold[t]]] += 1
            for j in range(encoded.token_ptr[t], encoded.token_ptr[t + 1]):
                for x in (-1, before):
                    if (encoded.attributes[j], x, gold[t]) in row:
                        out[i, row[encoded.attributes[j], x, gold[t]]] += values[j]
    return out


def test_parts_add_up() -> None:
    design = design_of(*corpus(n=40), 3, edges=True)
    w = np.random.default_rng(0).normal(size=len(design.index))
    costs = np.random.default_rng(1).gamma(1.0, size=40)
    whole = fused(design, 3, w, sequence_weights=costs)
    for n_parts in (1, 3, 100):
        problem = ScalingProblem(chain_of(3), design, NoPrior(), n_parts=n_parts, sequence_weights=costs)
        gradient = np.empty(len(w))
        assert problem.value_and_gradient(w, gradient) == pytest.approx(whole.value, rel=1e-12)
        same(gradient, whole.gradient)
        same(problem.expected.sum(axis=0) - problem.empirical, whole.gradient)
        assert np.all(problem.expected >= -1e-12)


@pytest.mark.parametrize("prior", [None, Gaussian(variance=1.0)], ids=["alone", "gaussian"])
@pytest.mark.parametrize("kind", [GIS, IIS, Finest])
class TestNeverDown:
    def test_the_bound_holds(self, kind: Any, prior: Any) -> None:
        """The plain method's steps never need to be cut: one evaluation each, each of them lower."""
        design = design_of(*corpus(n=30), 3, edges=True)
        run = kind(**PLAIN).start(
            problem_for(kind(), design, 3, prior or NoPrior()), np.zeros(len(design.index))
        )
        run.begin()
        values = [run.value]
        for _ in range(60):
            assert run.step()
            values.append(run.value)
        assert run.evaluations == 61
        assert np.all(np.diff(values) < 0)

    def test_stretched(self, kind: Any, prior: Any) -> None:
        X, y = corpus(n=30)
        crf = ChainCRF(prior=prior, edge_prefix=EDGE)
        if kind is Finest:
            problem = problem_for(kind(), design_of(X, y, 3, edges=True), 3, prior or NoPrior())
            log = Loop(kind().start(problem, np.zeros(problem.n_variables)), Control()).go().records
        else:
            log = crf.set_params(optimiser=kind(max_iterations=300)).fit(X, y).training_log_
        assert np.all(np.diff([record.objective for record in log]) < 0)

    def test_unsupported_features(self, kind: Any, prior: Any) -> None:
        """Counts of zero send a weight towards -inf, in finite steps."""
        X, y = corpus(n=10)
        design = design_of(X, y, 3, edges=True, features="all")
        run = iterate(kind(**PLAIN), design, prior or NoPrior(), 30)
        assert np.all(np.isfinite(run.weights))
        assert run.weights[design.index.count == 0].max() < 0


def test_stretching_pays() -> None:
    """The same objective in a fraction of the iterations."""
    X, y = corpus(n=60)
    best = ChainCRF(optimiser=LBFGS(tolerance=1e-8, objective_tolerance=-1.0)).fit(X, y).objective_value_
    near = {"callbacks": [lambda record: record.objective < best * 1.01]}
    slow, quick = (
        ChainCRF(optimiser=GIS(max_iterations=50_000, objective_tolerance=-1.0, stretch=stretch))
        .fit(X, y, **near)
        .n_iter_
        for stretch in (1.0, 1.25)
    )
    assert quick < slow / 3


@pytest.mark.parametrize("optimiser", ["gis", "iis"])
def test_negative_values_are_refused_with_their_place(optimiser: str) -> None:
    X: list[Any] = [[{"a": 1.0}, {"b": 2.0}], [{"a": 1.0}, {"a": 0.0, "b": -0.5}]]
    message = "sequence 1, token 1: a feature has the value -0.5; iterative scaling is for values >= 0"
    with pytest.raises(FieldcraftError, match=message):
        ChainCRF(optimiser=optimiser).fit(X, [["P", "Q"], ["Q", "P"]])


def test_take() -> None:
    """Some sequences of an encoded corpus, one by one the same."""
    encoded = design_of(*corpus(n=20), 3, edges=True).encoded
    rows = np.array([3, 17, 0, 3])
    part = encoded.take(rows)
    for i, row in enumerate(rows):
        mine, theirs = sequence(part, i), sequence(encoded, int(row))
        assert mine == theirs


def sequence(encoded: Encoded, i: int) -> list[Any]:
    assert encoded.values is not None
    return [
        list(zip(encoded.attributes[a:b].tolist(), encoded.values[a:b].tolist()))
        for a, b in itertools.pairwise(
            encoded.token_ptr[encoded.offsets[i] : encoded.offsets[i + 1] + 1].tolist()
        )
    ]


@pytest.mark.parametrize("stretch", [0.5, 5.0, "much", None])
def test_stretch_is_a_factor(stretch: Any) -> None:
    with pytest.raises(FieldcraftError, match="GIS: stretch is .*; give a number from 1"):
        ChainCRF(optimiser=GIS(stretch=stretch)).fit(*corpus())

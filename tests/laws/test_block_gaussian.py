"""The Gaussian in blocks against its covariance matrix, written out and inverted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, BlockGaussian, ChainCRF, FieldcraftError, Gaussian
from fieldcraft.priors import Names
from fieldcraft.priors.groups import by_count_bins, by_dependency, by_label, times_count
from unit.training.corpora import Floats, design_of, draw, plain

N_LABELS = 3
LABELS = ["L000", "L001", "L002"]
EXACT: dict[str, Any] = {
    "max_iterations": 5000,
    "tolerance": 1e-10,
    "objective_tolerance": 0.0,
    "period": 200,
}
BETWEEN = [[1.0, 0.5, -0.2], [0.5, 1.0, 0.3], [-0.2, 0.3, 1.0]]
PRIORS: dict[str, BlockGaussian] = {
    "one block": BlockGaussian(variance=2.0, shared=3.0),
    "nothing shared": BlockGaussian(variance=2.0, mean=0.3, shared=0.0),
    "groups": BlockGaussian(0.5, 0.2, by_dependency(transitions=4.0, emissions=0.7)),
    "groups and the rest": BlockGaussian(1.5, 0.0, by_label({"L000": 2.0}, otherwise=0.0)),
    "between": BlockGaussian(1.0, -0.1, by_label({"L000": 2.0, "L001": 0.5, "L002": 1.0}), BETWEEN),
    "tied": BlockGaussian(1.0, 0.0, by_label({"L000": 2.0, "L001": 0.5, "L002": 1.0}), np.ones((3, 3))),
    "variances by count": BlockGaussian(times_count(0.5), 0.0, by_count_bins({(1, 3): 1.0}, otherwise=2.0)),
}


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(7)
    X, y = draw(rng, N_LABELS, rng.integers(1, 8, size=25), n_names=8, values=True, edges=True)
    y[0][0], y[1][0], y[2][0] = LABELS
    return X, y


def covariance(prior: BlockGaussian, index: Any, names: Names) -> Floats:
    """[F, F] entry by entry, from the groups' definition."""
    n = len(index)
    variance = prior.variance
    own = variance(index, names) if callable(variance) else np.full(n, float(variance))  # type: ignore
    rule = prior.shared
    keys, numbers = ["all"], [rule]
    if callable(rule):
        keys = [key for key, _ in rule.groups] + ["rest"]
        numbers = [number for _, number in rule.groups] + [rule.otherwise]
    group = [keys.index(_key(rule, index, i)) for i in range(n)]
    found = np.diag(own)
    for i in range(n):
        for j in range(n):
            g, h = group[i], group[j]
            r = float(g == h) if prior.between is None else prior.between[g][h]
            found[i, j] += r * np.sqrt(numbers[g] * numbers[h])
    return found


def _key(rule: Any, index: Any, i: int) -> Any:
    """The group of weight i, by hand."""
    if not callable(rule):
        return "all"
    if rule.by == "dependency":
        return "transitions" if index.is_edge[i] else "emissions"
    if rule.by == "label":
        name = LABELS[index.label[i]]
        return name if name in [key for key, _ in rule.groups] else "rest"
    return next((key for key, _ in rule.groups if key[0] <= index.count[i] <= key[1]), "rest")


@pytest.mark.parametrize("name", PRIORS)
def test_penalty_and_minimum(corpus: Any, name: str) -> None:
    prior = PRIORS[name]
    design = design_of(*corpus, N_LABELS, edges=True)
    names = Names(LABELS, ["features", "edges"])
    matrix = covariance(prior, design.index, names)
    crf = ChainCRF(prior=prior, optimiser=LBFGS(**EXACT), edge_prefix="e/").fit(*corpus)
    w = crf.weights_
    away = w - np.asarray(prior.mean)
    pull = np.linalg.solve(matrix, away)
    gradient = np.zeros(len(w))
    value = prior.resolved(design.index, names).smooth_part(len(w))(w, gradient)
    assert value == pytest.approx(0.5 * away @ pull, rel=1e-10)
    np.testing.assert_allclose(gradient, pull, rtol=1e-8, atol=1e-10)
    loss = plain(design, N_LABELS, w)
    assert np.abs(loss.gradient + pull).max() <= 2e-6
    assert crf.objective_value_ == pytest.approx(loss.value + value, rel=1e-11)


def test_nothing_shared_is_the_gaussian(corpus: Any) -> None:
    ours = ChainCRF(prior=BlockGaussian(2.0, 0.3, 0.0), optimiser=LBFGS(**EXACT)).fit(*corpus)
    same = ChainCRF(prior=Gaussian(2.0, 0.3), optimiser=LBFGS(**EXACT)).fit(*corpus)
    np.testing.assert_allclose(ours.weights_, same.weights_, rtol=1e-6, atol=1e-7)


def test_a_large_shared_part_finds_the_mean(corpus: Any) -> None:
    """With a free shared part the prior pulls to the weights' own average, not to zero: pulls cancel."""
    crf = ChainCRF(prior=BlockGaussian(0.05, 0.0, 1e8), optimiser=LBFGS(**EXACT)).fit(*corpus)
    d = -plain(design_of(*corpus, N_LABELS), N_LABELS, crf.weights_).gradient
    assert abs(d.sum()) <= 1e-4
    np.testing.assert_allclose(d, (crf.weights_ - crf.weights_.mean()) / 0.05, atol=1e-4)


def test_snapshots_know_it(corpus: Any, tmp_path: Path) -> None:
    """A training goes on from its own snapshot, and not from that of other blocks."""
    file = tmp_path / "s"
    X, y = corpus

    def fit(prior: Any, iterations: int, **settings: Any) -> ChainCRF:
        crf = ChainCRF(prior=prior, optimiser=LBFGS(**{**EXACT, "max_iterations": iterations}))
        return crf.fit(X, y, snapshot=file, snapshot_every=2, **settings)

    fit(PRIORS["groups"], 5)
    resumed = fit(PRIORS["groups"], 9, resume=True)
    np.testing.assert_array_equal(resumed.weights_, fit(PRIORS["groups"], 9).weights_)
    other = BlockGaussian(0.5, 0.2, by_dependency(transitions=4.0, emissions=0.6))
    with pytest.raises(FieldcraftError, match="snapshot"):
        fit(other, 9, resume=True)


def test_the_file_keeps_it(corpus: Any, tmp_path: Path) -> None:
    crf = ChainCRF(prior=PRIORS["between"]).fit(*corpus)
    crf.save(tmp_path / "m.fc")
    assert fc.load(tmp_path / "m.fc").prior == PRIORS["between"]


@pytest.mark.parametrize(
    ("prior", "complaint"),
    [
        (BlockGaussian(variance=-1.0), "variance is -1"),
        (BlockGaussian(shared=-1.0), "shared is -1; it must be at least 0 and finite"),
        (BlockGaussian(shared=times_count(1.0)), "shared is a Individual; give one number or a rule in"),
        (BlockGaussian(shared=[1.0, 2.0]), "shared is a list; give one number or a rule in groups"),
        (BlockGaussian(shared=lambda index: index.count), "shared is a function"),
        (BlockGaussian(between=[[1.0, 0.0], [0.0, 1.0]]), r"between has shape \(2, 2\); the groups .* are 1"),
        (BlockGaussian(between="much"), "between is 'much'; give a matrix of correlations"),
        (BlockGaussian(between=[[2.0]]), "between is not a matrix of correlations"),
        (
            BlockGaussian(
                shared=by_dependency(transitions=1.0, emissions=1.0), between=[[1.0, 1.5], [1.5, 1.0]]
            ),
            "no negative eigenvalue",
        ),
    ],
)
def test_refusals(prior: Any, complaint: str) -> None:
    with pytest.raises(FieldcraftError, match=complaint):
        ChainCRF(prior=prior).fit(None, None)


def test_optimisers_that_want_a_diagonal_refuse(corpus: Any) -> None:
    with pytest.raises(FieldcraftError, match="BlockGaussian"):
        ChainCRF(prior=BlockGaussian(), optimiser="dual_ascent").fit(*corpus)

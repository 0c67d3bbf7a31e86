"""Settings of priors that make no sense, and penalties under which there is no model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import ChainCRF, FieldcraftError, Gaussian, Hyperbolic, Inequality, Laplacian
from fieldcraft.priors.groups import by_count_bins, by_dependency

X = [[["a", "b"], ["b"]], [["c"], ["a", "c"]]]
Y = [["P", "Q"], ["Q", "P"]]
INF = np.inf


@pytest.mark.parametrize(
    ("prior", "complaint"),
    [
        (Gaussian(variance=-1.0), "variance is -1; it must be greater than 0"),
        (Gaussian(variance=0.0), "variance is 0"),
        (Gaussian(variance=[1.0, -2.0]), r"variance\[1\] is -2"),
        (Gaussian(mean=INF), "mean is inf; it must be finite"),
        (Gaussian(variance="much"), "variance is 'much'"),
        (Laplacian(scale=-1.0), "scale is -1"),
        (Hyperbolic(scale=0.0), "scale is 0"),
        (fc.ElasticNet(variance=np.nan), "variance is nan"),
        (Inequality(positive=-0.1), "positive is -0.1; it must be at least 0 and finite"),
        (Inequality(negative=INF), "negative is inf; it must be at least 0 and finite"),
        (Inequality(quadratic=0.0), "quadratic is 0"),
        (Inequality(quadratic_negative=-1.0), "quadratic_negative is -1"),
    ],
)
def test_settings(prior: Any, complaint: str) -> None:
    """Before any work: the data would be refused, too, had anyone looked at it."""
    with pytest.raises(FieldcraftError, match=complaint):
        ChainCRF(prior=prior).fit(None, None)


def test_a_vector_of_another_length() -> None:
    with pytest.raises(
        FieldcraftError, match=r"variance has shape \(2,\); give one number or one per weight"
    ):
        ChainCRF(prior=Gaussian(variance=[1.0, 2.0])).fit(X, Y)


FREE: dict[str, Any] = {
    "gaussian": Gaussian(variance=INF),
    "laplacian": Laplacian(scale=INF),
    "hyperbolic": Hyperbolic(scale=INF),
    "inequality": Inequality(positive=1.0, negative=0.0),
    "bins": Gaussian(variance=by_count_bins({(1, 9): 4}, otherwise=INF)),
}


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("features", ["all", "all_states"])
def test_unsupported_features_without_penalty(name: str, features: str) -> None:
    with pytest.raises(FieldcraftError, match="would run to minus infinity; pass a finite variance"):
        ChainCRF(prior=FREE[name], features=features).fit(X, Y)


def test_selected_features_without_penalty() -> None:
    """Labels by chance: the young model is unsure everywhere, and unsupported features are selected."""
    rng = np.random.default_rng(0)
    X_chance = [[["a"], ["b"], [f"w{i}"]] for i in range(20)]
    y = [rng.choice(["P", "Q", "R"], size=3).tolist() for _ in X_chance]
    with pytest.raises(FieldcraftError, match="would run to minus infinity"):
        ChainCRF(prior=FREE["bins"], features="selected").fit(X_chance, y)


def test_what_is_held_may_be_unsupported() -> None:
    """By another part of the penalty, a mask, values of both signs; or no prior is wished at all."""
    for prior in (
        fc.ElasticNet(scale=INF, variance=1.0),
        fc.ElasticNet(scale=1.0, variance=INF),
        Inequality(positive=0.0, negative=1.0),
        Inequality(positive=1.0, negative=0.0, quadratic=2.0),
        None,
    ):
        ChainCRF(prior=prior, features="all", optimiser=fc.OWLQN(max_iterations=3)).fit(X, Y)
    free = Gaussian(variance=INF)
    short = fc.LBFGS(max_iterations=3)
    ChainCRF(prior=free, optimiser=short).fit(X, Y)  # all supported
    crf = ChainCRF(prior=free, features="all", optimiser=short)
    crf.fit(X, Y, feature_mask=lambda index: index.count > 0)
    signs = [[{"a": 1.0}, {"a": -2.0}], [{"b": -1.0}, {"b": 0.5}]]
    crf.fit(signs, Y)


def test_a_weight_that_nothing_touches_is_no_danger() -> None:
    """An attribute on edges that only first tokens have: its features never hold."""
    prior = Gaussian(variance=by_dependency(transitions=INF, emissions=1.0))
    X_edge = [[["a", "e/x"], ["b"]], [["b"], ["a"]], [["a"], ["a"]], [["b"], ["b"]]]
    y = [["P", "Q"], ["Q", "P"], ["P", "P"], ["Q", "Q"]]
    crf = ChainCRF(prior=prior, features="all", edge_prefix="e/", optimiser=fc.LBFGS(max_iterations=3))
    assert (crf.fit(X_edge, y).features_.family == 0).any()


def test_optimisers_that_cannot() -> None:
    for optimiser in ("sgd", "sag", "gis", "dual_ascent"):
        with pytest.raises(FieldcraftError, match="Hyperbolic has a smooth part that is not quadratic"):
            ChainCRF(prior=Hyperbolic(), optimiser=optimiser).fit(X, Y)
    with pytest.raises(FieldcraftError, match="Inequality has an absolute-value part"):
        ChainCRF(prior=Inequality(), optimiser="lbfgs").fit(X, Y)
    with pytest.raises(FieldcraftError, match="smooth part that is not quadratic"):
        ChainCRF(prior=Inequality(quadratic=1.0), optimiser="sgd").fit(X, Y)
    ChainCRF(prior=Inequality(), optimiser=fc.SGD(max_iterations=2)).fit(X, Y)

"""Experts: which features each has, what its training costs, and that it does not matter how they are run."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pool_cases import data

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.optimisers.loop import Loop, Outcome
from fieldcraft.pools.experts import SETS, by_name
from fieldcraft.pools.restriction import restricted
from fieldcraft.pools.samples import Bag, Part, reweighted
from fieldcraft.pools.training import Data, Shared, _task, run_task

TEMPLATES = """\
edge
first
last
edge: word
word[-2..2]
word[-1] & word
word[1] & word[2]
word[-2] & word[-1]
suffix(word, 2)
"""
CORPUS = fc.datasets.addresses(70)
TRAIN, DEV = CORPUS[:50], CORPUS[50:]
LABELS = sorted({label for row in TRAIN.labels for label in row})


def crf(**settings: Any) -> fc.ChainCRF:
    settings = {"optimiser": fc.LBFGS(max_iterations=10), "prior": None, **settings}
    return fc.ChainCRF(templates=TEMPLATES, n_jobs=1, **settings)


@pytest.fixture(scope="module")
def shared() -> Shared:
    return Shared.of(crf(), Data(TRAIN, None, None, None))


def names(shared: Shared, mask: Any) -> set[str]:
    """The templates of the features of a mask."""
    view = shared.view
    return {view.templates[t].name if t >= 0 else "pairs" for t in np.unique(view.index.template[mask])}


ALWAYS = {"pairs", "first", "last"}
POSITIONAL = {
    "behind": {"word[-2]", "word[-1]", "word[-2] & word[-1]"},
    "at": {"edge: word", "word", "word[-1] & word", "suffix(word, 2)"},
    "ahead": {"word[1]", "word[2]", "word[1] & word[2]"},
}


def test_positional_experts_part_the_templates(shared: Shared) -> None:
    experts = fc.experts.positional(crf())
    assert [expert.name for expert in experts] == ["full", "behind", "at", "ahead"]
    assert experts[0].mask(shared.view) is None
    masks = {expert.name: expert.mask(shared.view) for expert in experts[1:]}
    for name, mask in masks.items():
        assert names(shared, mask) == POSITIONAL[name] | ALWAYS
    times = sum(mask.astype(int) for mask in masks.values() if mask is not None)
    common = shared.view.shared()
    assert np.all(times[~common] == 1)
    assert np.all(times[common] == 3)


def test_transitions_can_be_in_every_expert(shared: Shared) -> None:
    for expert in fc.experts.positional(crf(), transitions="all", full=False):
        mask = expert.mask(shared.view)
        assert names(shared, mask) == POSITIONAL[expert.name] | ALWAYS | {"edge: word"}
    with pytest.raises(InputError, match="choose 'window' or 'all'"):
        fc.experts.positional(crf(), transitions="some")


def test_label_experts_involve_their_label(shared: Shared) -> None:
    experts = fc.experts.label(crf(), LABELS, full=False)
    kinds = {label.partition("-")[2] or label for label in LABELS}
    assert {expert.name for expert in experts} == kinds
    index = shared.view.index
    for expert in experts:
        mask = expert.mask(shared.view)
        assert mask is not None
        for row in range(0, len(index), 7):
            involved = [shared.view.labels[y] for y in index.labels[row] if y >= 0]
            mine = any((y.partition("-")[2] or y) == expert.name for y in involved)
            assert mask[row] == (mine or bool(shared.view.shared()[row]))


def test_label_experts_find_the_labels_in_the_data() -> None:
    pool = fc.LogOpinionPool(fc.experts.label(crf(optimiser=fc.LBFGS(max_iterations=2)))).fit(TRAIN)
    given = fc.LogOpinionPool(fc.experts.label(crf(optimiser=fc.LBFGS(max_iterations=2)), LABELS)).fit(TRAIN)
    assert pool.member_names_ == given.member_names_
    assert np.array_equal(pool.weights_, given.weights_)


def test_other_sets(shared: Shared) -> None:
    simple = fc.experts.simple(crf())[1].mask(shared.view)
    assert names(shared, simple) == {"word"} | ALWAYS
    by = fc.experts.by_template(crf(), {"s": ["suffix*"], "w": "word"}, full=False)
    assert [names(shared, e.mask(shared.view)) - ALWAYS for e in by] == [{"suffix(word, 2)"}, {"word"}]
    frequent = fc.experts.masked(crf(), {"frequent": lambda index: index.count > 2})[1].mask(shared.view)
    assert np.array_equal(frequent, (shared.view.index.count > 2) | shared.view.shared())
    parts = [e.mask(shared.view) for e in fc.experts.random(crf(), 3, full=False)]
    common = shared.view.shared()
    sizes = [int((part & ~common).sum()) for part in parts if part is not None]
    assert sum(sizes) == int((~common).sum())
    assert max(sizes) - min(sizes) <= 1
    again = [e.mask(shared.view) for e in fc.experts.random(crf(random_state=1), 3, full=False)]
    assert not np.array_equal(parts[0], again[0])


def test_a_restricted_design_is_a_masked_training(shared: Shared) -> None:
    """The same minimum as with today's feature_mask, on a fraction of the features."""
    expert = fc.experts.positional(crf(), full=False)[0]
    mask = expert.mask(shared.view)
    own = restricted(shared.data.design, mask)
    assert len(own.index) == int(np.count_nonzero(mask))
    assert len(own.encoded.attributes) < len(shared.data.design.encoded.attributes)
    strict = fc.Gaussian(variance=1.0)
    settings = {"prior": strict, "optimiser": fc.LBFGS(tolerance=1e-9, objective_tolerance=1e-15)}
    masked = crf(**settings).fit(TRAIN, feature_mask=mask)
    pool = fc.LogOpinionPool(fc.experts.positional(crf(**settings), full=False)[:1]).fit(TRAIN)
    np.testing.assert_allclose(pool.weights_, masked.weights_[mask], atol=1e-6)
    y = TRAIN.labels
    np.testing.assert_allclose(pool.log_probability(TRAIN), masked.log_probability(TRAIN, y), atol=1e-6)


def test_the_design_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = Shared.of.__func__  # type: ignore[attr-defined]

    def count(cls: Any, *args: Any) -> Shared:
        calls.append(args)
        return original(cls, *args)

    monkeypatch.setattr(Shared, "of", classmethod(count))
    pool = fc.LogOpinionPool(fc.experts.positional(crf())).fit(TRAIN)
    assert len(calls) == 1
    assert len({id(model.encoder_) for model in pool.members_}) == 1


def test_a_task_can_be_sent_to_another_process(shared: Shared) -> None:
    expert = fc.experts.positional(crf(), full=False)[1]
    task = _task(expert, shared, {})
    there = run_task(pickle.loads(pickle.dumps(task)))
    assert np.array_equal(there.outcome.weights, run_task(task).outcome.weights)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_parallel_training_is_the_same(backend: str) -> None:
    joblib = pytest.importorskip("joblib")
    experts = fc.experts.simple(crf(optimiser=fc.LBFGS(max_iterations=4)))
    serial = fc.LogOpinionPool(experts).fit(TRAIN, X_dev=DEV, keep_best=True)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        parallel = fc.LogOpinionPool(experts).fit(TRAIN, X_dev=DEV, keep_best=True, parallel=True)
    assert np.array_equal(serial._side_by_side().weights, parallel._side_by_side().weights)


def test_an_interrupted_training_leaves_the_pool_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Loop.go

    def interrupted(self: Loop, resumed: Any) -> Outcome:
        outcome = original(self, resumed)
        return replace(outcome, reason="interrupted")

    monkeypatch.setattr(Loop, "go", interrupted)
    pool = fc.LogOpinionPool(fc.experts.simple(crf(optimiser=fc.LBFGS(max_iterations=1))))
    with pytest.raises(KeyboardInterrupt):
        pool.fit(TRAIN)
    assert not hasattr(pool, "_parameters")


def test_keep_best_and_converged_members() -> None:
    """Members of the best development iteration are those that ChainCRF keeps; others are the last ones."""
    experts = fc.experts.simple(crf())
    best = fc.LogOpinionPool(experts).fit(TRAIN, X_dev=DEV, keep_best=True).members_[0]
    last = fc.LogOpinionPool(experts).fit(TRAIN).members_[0]
    single = crf().fit(TRAIN, X_dev=DEV, keep_best=True)
    np.testing.assert_allclose(best.weights_, single.weights_, rtol=1e-12)
    np.testing.assert_allclose(last.weights_, crf().fit(TRAIN).weights_, rtol=1e-12)


def test_bags_count_sequences_and_know_their_features() -> None:
    X, y = data(30, seed=3)
    model = fc.ChainCRF(n_jobs=1, labels=["A", "B", "C"], edge_prefix="edge:")
    pool = fc.LogOpinionPool(fc.experts.bagged(model, 2)).fit(X, y)
    assert pool.member_names_ == ("bag1", "bag2")
    for i, member in enumerate(pool.members_):
        counts = Bag(i, 0).counts(len(X))
        assert counts.sum() == len(X)
        repeated = [j for j, n in enumerate(counts.astype(int)) for _ in range(n)]
        alone = fc.ChainCRF(n_jobs=1, labels=["A", "B", "C"], edge_prefix="edge:")
        alone.fit([X[j] for j in repeated], [y[j] for j in repeated])
        active = member.weights_ != 0
        assert np.count_nonzero(active) == len(alone.weights_)
        np.testing.assert_allclose(
            member.log_probability(X, y), alone.log_probability(X, y), atol=1e-3
        )  # the default tolerance of training


def test_parts_are_a_partition() -> None:
    parts = [Part(i, 3, 7).counts(20) for i in range(3)]
    assert sum(parts).tolist() == [1.0] * 20
    others = [Part(i, 3, 7, others=True).counts(20) for i in range(3)]
    assert all(np.array_equal(a + b, np.ones(20)) for a, b in zip(parts, others))
    X, y = data(30, seed=3)
    pool = fc.LogOpinionPool(fc.experts.partitioned(fc.ChainCRF(n_jobs=1), 3)).fit(X, y)
    assert len(pool.members_) == 3


def test_boosting_follows_the_formula() -> None:
    weights, losses = np.array([1.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.25])
    error = (0.0 + 1.0 + 0.5) / 4
    beta = error / (1 - error)
    raw = [1.0 * beta, 1.0, 2.0 * beta**0.75]
    expected = np.array(raw) * 4 / sum(raw)
    np.testing.assert_allclose(reweighted(weights, losses), expected, rtol=1e-12)
    assert reweighted(weights, np.zeros(3)) is weights
    assert reweighted(weights, np.ones(3)) is weights
    X, y = data(40, seed=3)
    model = fc.ChainCRF(prior=fc.Gaussian(variance=0.5), n_jobs=1)
    pool = fc.LogOpinionPool(fc.experts.boosted(model, 2)).fit(X, y)
    first = fc.ChainCRF(prior=fc.Gaussian(variance=0.5), n_jobs=1).fit(X, y)
    wrong = [np.mean([a != b for a, b in zip(*pair)]) for pair in zip(first.predict(X), y)]
    again = fc.ChainCRF(prior=fc.Gaussian(variance=0.5), n_jobs=1)
    again.fit(X, y, sample_weight=reweighted(np.ones(40), np.array(wrong)))
    np.testing.assert_allclose(pool.members_[1].weights_, again.weights_, rtol=1e-9)


def test_hybrids_of_features_and_data() -> None:
    members = fc.experts.bagged(fc.experts.simple(crf(), full=False), 2)
    assert [member.name for member in members] == ["simple bag1", "simple bag2"]
    pool = fc.LogOpinionPool(members).fit(TRAIN)
    assert {t.template for t in pool.inspect().templates if t.features} <= {
        "word",
        "first",
        "last",
        "label pairs",
    }


def test_trained_models_and_experts_mix() -> None:
    ready = crf().fit(TRAIN)
    pool = fc.LogOpinionPool([ready, fc.experts.simple(crf())[1]]).fit(TRAIN)
    np.testing.assert_allclose(pool._side_by_side().weights[0], ready.weights_, rtol=1e-15)
    assert pool.member_names_ == ("0", "simple")


def test_names_of_sets() -> None:
    model = crf()
    for name in SETS:
        text = f"{name}:2" if name in ("random", "bagged", "partitioned", "boosted") else name
        assert by_name(model, text)
    for wrong in ("positional:2", "random", "random:x", "unknown"):
        with pytest.raises(InputError, match="choose one of"):
            by_name(model, wrong)


def test_product_of_experts_is_one_model() -> None:
    """Without priors the product's likelihood is that of one model with the features of all experts."""
    X, y = data(60, seed=3)  # noisy labels: the optimum is finite
    strict = fc.LBFGS(tolerance=1e-9, objective_tolerance=1e-15)
    model = fc.ChainCRF(prior=None, optimiser=strict, n_jobs=1, edge_prefix="edge:")
    rules = {"words": lambda i: i.attribute % 2 == 0, "others": lambda i: i.attribute % 2 == 1}
    product = fc.LogOpinionPool(fc.experts.masked(model, rules, full=False), product=True).fit(X, y)
    single = fc.ChainCRF(prior=None, optimiser=strict, n_jobs=1, edge_prefix="edge:").fit(X, y)
    np.testing.assert_allclose(product.log_probability(X, y), single.log_probability(X, y), atol=1e-6)
    assert product.pool_weights_.tolist() == [1.0, 1.0]
    pairs = product.features_.attribute < 0  # shared by both experts: divided evenly
    members = product._side_by_side().weights[:, pairs]
    np.testing.assert_allclose(members[0], members[1], atol=1e-9)


@pytest.mark.parametrize(
    "prior", [fc.Gaussian(variance=2.0), fc.Laplacian(scale=1.0), fc.Hyperbolic(scale=1.0)]
)
def test_product_with_priors_is_stationary(prior: Any) -> None:
    """The objective of the members' weights cannot be lowered: small changes of any expert raise it."""
    X, y = data(40, seed=3)
    optimiser = "auto" if isinstance(prior, fc.Laplacian) else fc.LBFGS(tolerance=1e-8)
    model = fc.ChainCRF(prior=prior, optimiser=optimiser, n_jobs=1)
    product = fc.LogOpinionPool(fc.experts.random(model, 2), product=True).fit(X, y)
    combined = product._side_by_side()

    def objective(weights: Any) -> float:
        whole = fc.LogOpinionPool(members=[])
        whole._become(combined, np.ones(3))
        whole._settle(combined.parameters(weights.sum(axis=0)), combined.classes)
        return -float(whole.log_probability(X, y).sum()) + sum(map(penalty, weights))

    def penalty(row: Any) -> float:
        if isinstance(prior, fc.Gaussian):
            return float((row**2).sum() / 4)
        return float(np.abs(row).sum() if isinstance(prior, fc.Laplacian) else np.log(np.cosh(row)).sum())

    best = objective(combined.weights)
    rng = np.random.default_rng(0)
    owned = combined.weights != 0
    for _ in range(10):
        away = combined.weights + 0.01 * rng.normal(size=owned.shape) * owned
        assert objective(away) >= best - 1e-6


def test_product_scores_held_out_data() -> None:
    pool = fc.LogOpinionPool(fc.experts.simple(crf()), product=True, metric="token_accuracy")
    product = pool.fit(TRAIN, X_dev=DEV, keep_best=True)
    log = product.members_[0]
    assert product.score(DEV) > 0.3
    assert log.weights_.shape == product.weights_.shape


def test_bad_experts() -> None:
    free = fc.ChainCRF(n_jobs=1)
    X, y = data(10)
    cases: list[tuple[Any, str]] = [
        (fc.experts.positional(free), "the expert behind has no features"),
        (fc.experts.masked(free, {"none": lambda index: index.count < 0}), "the expert none has no features"),
        (fc.experts.masked(free, {"short": np.ones(3, bool)}), "a mask of shape"),
        (fc.experts.by_template(free, {"x": ["word*"]}), "no template matches 'word"),
        ([fc.Expert("a", free), fc.Expert("a", free)], "the same name"),
        ([3], "member 0 is a int"),
        ([fc.LogOpinionPool([free])], "is not trained; fit it first"),
        (fc.experts.simple(fc.ChainCRF(features="selected")), "features='selected'"),
    ]
    for members, message in cases:
        with pytest.raises(InputError, match=message):
            fc.LogOpinionPool(members).fit(X, y)
    with pytest.raises(InputError, match="without members"):
        fc.LogOpinionPool([]).fit(X, y)
    with pytest.raises(InputError, match="a ChainCRF; a str was given"):
        fc.experts.positional("crf")  # type: ignore[arg-type]
    for wrong in (0, 1.5, "two"):
        with pytest.raises(InputError):
            fc.experts.bagged(free, wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="feature experts"):
        fc.LogOpinionPool(fc.experts.bagged(free, 2), product=True).fit(X, y)
    with pytest.raises(InputError, match="not perceptron"):
        fc.LogOpinionPool(
            fc.experts.random(fc.ChainCRF(optimiser="averaged_perceptron"), 2), product=True
        ).fit(X, y)

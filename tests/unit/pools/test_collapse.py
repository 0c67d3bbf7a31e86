"""Members side by side: one feature index, one weight vector, and the code of one model."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from pool_cases import LABELS, WORDS, data, trained

import fieldcraft as fc
from fieldcraft.errors import InputError, NotFittedError
from fieldcraft.features.several import SeveralFeatures
from fieldcraft.models.blocks import Block
from fieldcraft.models.scored import Scored
from fieldcraft.potentials import ChainWeights

X, Y = data(8, seed=5)
COLUMNS = fc.datasets.addresses(60)
TRAIN, REST = COLUMNS[:40], COLUMNS[40:]


def columns_model(templates: str, corpus: Any = TRAIN, **settings: Any) -> fc.ChainCRF:
    labels = sorted({label for row in COLUMNS.labels for label in row})
    optimiser = fc.LBFGS(max_iterations=8)
    return fc.ChainCRF(templates=templates, labels=labels, optimiser=optimiser, n_jobs=1, **settings).fit(
        corpus
    )


def test_members_with_one_index_have_the_arrays_of_one_model() -> None:
    a, b = trained(variance=1.0), trained(variance=50.0)
    pool = fc.LogOpinionPool([a, b], weights=[0.25, 0.75])
    assert pool.features_.digest == a.features_.digest
    assert pool.weights_.shape == a.weights_.shape
    np.testing.assert_allclose(pool.weights_, 0.25 * a.weights_ + 0.75 * b.weights_, rtol=1e-14)
    assert type(pool._parameters) is type(a._parameters)
    assert type(pool._parameters.scorer) is type(a._parameters.scorer) is ChainWeights
    for ours, theirs in zip(pool._parameters.packed.arrays.values(), a._parameters.packed.arrays.values()):
        assert ours.shape == theirs.shape


def test_answers_are_those_of_the_scored_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log pool has no answers of its own: predictions make the same blocks as those of one model."""
    made: list[Any] = []
    original = Block.of

    def note(predictor: Any, *args: Any, **options: Any) -> Block:
        made.append(type(predictor.scorer))
        return original(predictor, *args, **options)

    pool = fc.LogOpinionPool([trained(0), trained(1)])
    monkeypatch.setattr(Block, "of", note)
    pool.predict(X)
    assert made == [ChainWeights]
    assert type(pool.scored(X)) is Scored


def test_separately_trained_models_have_the_union_of_features() -> None:
    a, b = trained(0, words="pqrs"), trained(1, words="rstu")
    pool = fc.LogOpinionPool([a, b])
    texts = [set(m.encoder_.attribute_text(range(m.encoder_.n_attributes))) for m in (a, b, pool)]
    assert texts[2] == texts[0] | texts[1]
    known = [set(named(m)) for m in (a, b, pool)]
    assert known[2] == known[0] | known[1]
    assert len(pool.weights_) == len(known[2])


def named(model: Any) -> list[tuple[Any, ...]]:
    index, texts = model.features_, model.encoder_.attribute_text(range(model.encoder_.n_attributes))
    rows = zip(index.attribute.tolist(), index.previous.tolist(), index.label.tolist())
    return [(texts[a] if a >= 0 else None, p, y) for a, p, y in rows]


TEMPLATES = (
    "word[-1..1]\nedge\nfirst\nlast\nedge: word\nsuffix(word, 2) & word[1] & is_title(word)\nshape(word)"
)


def test_template_models_have_one_table_of_attributes() -> None:
    a, b = columns_model(TEMPLATES, TRAIN[:25]), columns_model(TEMPLATES, TRAIN[15:])
    pool = fc.LogOpinionPool([a, b])
    texts = [m.encoder_.attribute_text(range(m.encoder_.n_attributes)) for m in (a, b, pool)]
    assert set(texts[2]) == set(texts[0]) | set(texts[1])
    assert len(texts[2]) == len(set(texts[2]))
    assert_sum_of_scores(pool, [a, b])


def test_template_models_with_gazetteers() -> None:
    places = fc.Gazetteer("places", ["new york", "Main", "Street"])
    texts = "word\nedge\npart(places, word)\nin(places, word[-1]) & word"
    a, b = (columns_model(texts, part, gazetteers=[places]) for part in (TRAIN[:25], TRAIN[15:]))
    pool = fc.LogOpinionPool([a, b])
    assert not isinstance(pool.encoder_, SeveralFeatures)
    assert_sum_of_scores(pool, [a, b])


def test_models_with_different_templates_stand_side_by_side() -> None:
    a, b = columns_model("word\nedge"), columns_model("word[1]\nsuffix(word, 3)\nedge: word")
    pool = fc.LogOpinionPool([a, b])
    assert isinstance(pool.encoder_, SeveralFeatures)
    assert_sum_of_scores(pool, [a, b])
    assert {t.template for t in pool.inspect().templates} >= {"word", "word[1]", "suffix(word, 3)"}
    assert pool.explain(REST[0]).to_dict()
    whole = fc.LogOpinionPool([pool, a])  # a pool is a model: it can be a member
    assert_sum_of_scores(whole, [pool, a])


def assert_sum_of_scores(pool: Any, members: list[Any]) -> None:
    """log p = sum of v_i log p_i up to a constant per sequence: differences between labellings agree."""
    y = [members[0].predict(REST).tolist(), members[1].predict(REST).tolist()]
    ours = pool.log_probability(REST, y[0]) - pool.log_probability(REST, y[1])
    each = [m.log_probability(REST, y[0]) - m.log_probability(REST, y[1]) for m in members]
    np.testing.assert_allclose(ours, pool.pool_weights_ @ np.array(each), atol=1e-9)
    assert np.any(np.abs(ours) > 1e-3)


def test_values_of_features_and_hashing() -> None:
    rows = [[{"w": word, "n": 0.5 + i} for i, word in enumerate("abc")], [{"w": "b", "n": 2.0}]]
    y = [["A", "B", "A"], ["B"]]
    members = [fc.ChainCRF(prior=fc.Gaussian(variance=v), hash_size=64).fit(rows, y) for v in (1.0, 9.0)]
    pool = fc.LogOpinionPool(members)
    assert pool.encoder_.n_attributes == 64
    each = np.array([m.log_probability(rows, y) + m.log_partition(rows) for m in members])  # scores
    np.testing.assert_allclose(
        pool.log_probability(rows, y) + pool.log_partition(rows), each.mean(0), rtol=1e-9
    )


def test_a_pool_becomes_fitted_when_asked() -> None:
    pool = fc.LogOpinionPool([trained(0), trained(1)])
    assert "_parameters" not in vars(pool)
    assert pool.classes_.tolist() == list(LABELS)
    assert pool.member_names_ == ("0", "1")
    assert fc.LogOpinionPool({"x": trained(0), "y": trained(1)}).member_names_ == ("x", "y")
    with pytest.raises(NotFittedError, match="fit finds its weights='likelihood'"):
        fc.LogOpinionPool([trained(0)], weights="likelihood").predict(X)
    with pytest.raises(NotFittedError, match="not trained yet"):
        fc.LogOpinionPool([fc.ChainCRF()]).predict(X)


def test_parameters_that_change_later() -> None:
    a, b = trained(0), trained(1)
    pool = fc.LogOpinionPool([a, b])
    before = pool.weights_
    pool.set_params(weights=[0.2, 0.8])
    np.testing.assert_allclose(pool.weights_, fc.LogOpinionPool([a, b], weights=[0.2, 0.8]).weights_)
    assert not np.array_equal(pool.weights_, before)
    pool.set_params(members=[a, a], weights="uniform")
    assert pool.predict(X).tolist() == a.predict(X).tolist()
    with pytest.raises(InputError, match="sum to one"):
        pool.set_params(weights=[1.0, 1.0])


def test_pickling_and_copies() -> None:
    pool = fc.LogOpinionPool([trained(0), trained(1)], weights=[0.3, 0.7])
    again = pickle.loads(pickle.dumps(pool))
    assert again.predict(X).tolist() == pool.predict(X).tolist()
    assert len(again.members_) == 2
    assert repr(fc.LogOpinionPool(weights=[0.5, 0.5])) == "LogOpinionPool(weights=[0.5, 0.5])"


def test_state_spaces() -> None:
    """Members with the same constraints keep them; others are refused."""
    sources, targets = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    spaces = [
        fc.StateSpace(
            2, sources[keep], targets[keep], np.ones(2, bool), np.ones(2, bool), np.arange(2), ("A", "B")
        )
        for keep in (np.array([0, 1, 3]), np.array([0, 2, 3]))
    ]
    rows, y = [[["a"], ["b"], ["b"]]], [["A", "B", "B"]]
    a, b = (fc.ChainCRF(states=spaces[0], prior=fc.Gaussian(variance=v)).fit(rows, y) for v in (1.0, 5.0))
    pool = fc.LogOpinionPool([a, b])
    assert pool.log_probability(rows, [["B", "A", "A"]])[0] == -np.inf
    assert pool.log_probability(rows, y)[0] == pytest.approx(
        np.log(np.exp(fc.LinearOpinionPool([pool, pool]).log_probability(rows, y)[0])), rel=1e-9
    )
    other = fc.ChainCRF(states=spaces[1]).fit(rows, [["B", "A", "A"]])
    with pytest.raises(InputError, match="different state spaces"):
        fc.LogOpinionPool([a, other]).predict(rows)


def test_words_are_in_the_cases() -> None:
    assert len(WORDS) == 6  # the unions above overlap in two of them

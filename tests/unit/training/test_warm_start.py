"""warm_start and partial_fit: training that goes on from a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, FieldcraftError, Gaussian, Laplacian
from unit.training.corpora import Floats, draw, same

EXACT: dict[str, Any] = {"max_iterations": 3000, "tolerance": 1e-9, "objective_tolerance": -1.0}
Corpus = tuple[list[Any], list[list[str]]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rng = np.random.default_rng(8)
    return draw(rng, 4, rng.integers(1, 9, size=60), n_names=25)


def named(crf: ChainCRF) -> dict[tuple[str, str, str], float]:
    """Weights by content: attribute, previous label, label."""
    index, labels = crf.features_, [*crf.classes_.tolist(), "-"]
    texts = [*crf.encoder_.attribute_text(range(crf.encoder_.n_attributes)), "-"]
    rows = zip(index.attribute.tolist(), index.previous.tolist(), index.label.tolist())
    return {(texts[a], labels[x], labels[y]): w for (a, x, y), w in zip(rows, crf.weights_.tolist())}


class TestWarmStart:
    def test_the_same_data_ends_at_once(self, corpus: Corpus) -> None:
        crf = ChainCRF(optimiser=LBFGS(tolerance=1e-6, objective_tolerance=-1.0), warm_start=True).fit(
            *corpus
        )
        weights = crf.weights_.copy()
        crf.fit(*corpus)
        assert crf.n_iter_ <= 1
        same(crf.weights_, weights, rel=1e-4, abs=1e-6)

    def test_without_it_a_fit_starts_afresh(self, corpus: Corpus) -> None:
        crf = ChainCRF(warm_start=False).fit(*corpus)
        first, log = crf.weights_.tobytes(), len(crf.training_log_)
        crf.fit(*corpus)
        assert (crf.weights_.tobytes(), crf.n_iter_) == (first, log)

    def test_other_data_begins_with_matching_weights(self, corpus: Corpus) -> None:
        """Other sequences in another order, one label gone, one new: numbers differ, contents match."""
        X, y = corpus
        crf = ChainCRF(warm_start=True).fit(X, y)
        before = named(crf)
        rename = {"L000": "A-NEW"}
        other = [
            (items, [rename.get(label, label) for label in labels])
            for items, labels in reversed(list(zip(X, y)))
            if "L003" not in labels
        ]
        crf.optimiser = LBFGS(max_iterations=0)
        crf.fit([items for items, _ in other], [labels for _, labels in other])
        assert crf.classes_.tolist() == ["A-NEW", "L001", "L002"]
        after = named(crf)
        kept = {key for key in after if key in before}
        assert len(kept) > 20
        assert all(after[key] == before[key] for key in kept)
        assert all(after[key] == 0.0 for key in set(after) - kept)
        assert any("A-NEW" in key[1:] for key in set(after) - kept)

    def test_templates(self) -> None:
        train = fc.datasets.addresses(n=60)
        crf = ChainCRF("word[-1..1]\nedge", warm_start=True).fit(train)
        before = named(crf)
        crf.optimiser = LBFGS(max_iterations=0)
        crf.fit(train[30:])
        after = named(crf)
        assert len(after) < len(before)
        assert {key: before[key] for key in after} == after

    def test_hashed(self, corpus: Corpus) -> None:
        X, y = corpus
        crf = ChainCRF(hash_size=64, warm_start=True).fit(X, y)
        before = named(crf)
        crf.optimiser = LBFGS(max_iterations=0)
        crf.fit(X[20:], y[20:])
        assert {key: before[key] for key in named(crf)} == named(crf)

    def test_of_a_loaded_model(self, corpus: Corpus, tmp_path: Any) -> None:
        ChainCRF(optimiser=LBFGS(tolerance=1e-6, objective_tolerance=-1.0)).fit(*corpus).save(
            tmp_path / "m.fc"
        )
        crf = fc.load(tmp_path / "m.fc").set_params(warm_start=True)
        crf.fit(*corpus)
        assert crf.n_iter_ <= 1

    def test_a_snapshot_knows_where_it_began(self, corpus: Corpus, tmp_path: Any) -> None:
        path = tmp_path / "s.fc"
        crf = ChainCRF(warm_start=True).fit(*corpus, snapshot=path, snapshot_every=1)
        with pytest.raises(FieldcraftError, match="snapshot of another training"):
            crf.fit(*corpus, snapshot=path, resume=True)


class TestPartialFit:
    def test_the_first_call_is_fit(self, corpus: Corpus) -> None:
        one, other = ChainCRF().partial_fit(*corpus), ChainCRF().fit(*corpus)
        assert one.weights_.tobytes() == other.weights_.tobytes()

    def test_old_places_stay(self, corpus: Corpus) -> None:
        X, y = corpus
        crf = ChainCRF().fit(X[:20], y[:20])
        before, old, classes = named(crf), crf.features_, crf.classes_.tolist()
        crf.partial_fit([[["n/new"], ["n/0"]]], [["ZERO", "L001"]])
        assert crf.classes_.tolist() == [*classes, "ZERO"]
        grown = crf.features_
        for name in ("attribute", "previous", "label", "template"):
            np.testing.assert_array_equal(getattr(grown, name)[: len(old)], getattr(old, name))
        assert set(before) < set(named(crf))
        assert ("n/new", "-", "ZERO") in named(crf)
        assert len(crf.weights_) == len(grown)

    def test_counts_add_up(self, corpus: Corpus) -> None:
        X, y = corpus
        crf = ChainCRF().fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
        whole = ChainCRF().fit(X, y)
        counts = [
            dict(zip(named(model), zip(model.features_.count.tolist(), model.features_.family.tolist())))
            for model in (crf, whole)
        ]
        assert {key: row[0] for key, row in counts[0].items()} == {
            key: row[0] for key, row in counts[1].items()
        }

    def test_new_labels_and_features_are_learnt(self) -> None:
        X, y = [[["a"], ["b"]]] * 5, [["P", "Q"]] * 5
        crf = ChainCRF().partial_fit(X, y)
        crf.partial_fit([[["c"], ["b"]]] * 5, [["R", "Q"]] * 5)
        assert crf.predict([[["a"], ["b"]], [["c"], ["b"]]]).tolist() == [["P", "Q"], ["R", "Q"]]
        (p,) = crf.predict_proba([[["c"]]])
        assert p.shape == (1, 3)

    def test_it_minimises_the_new_loss_around_the_old_weights(self, corpus: Corpus) -> None:
        """Nothing new to admit: the same as fit with the Gaussian that the first fit left behind."""
        X, y = corpus
        settings: dict[str, Any] = {"features": "all", "optimiser": LBFGS(**EXACT)}
        crf = ChainCRF(prior=Gaussian(variance=3.0), **settings).fit(X, y)
        mean, index = crf.weights_.copy(), crf.features_
        share = (index.count + 0.5) / (index.family + 1)
        precision = 1 / 3.0 + index.family * share * (1 - share) / 4
        crf.partial_fit(X[:7], y[:7])
        other = ChainCRF(prior=Gaussian(variance=1 / precision, mean=mean), **settings)
        # the same index for seven sequences: the others stay with a weight of 0
        costs = np.zeros(len(X))
        costs[:7] = 1.0
        other.fit(X, y, sample_weight=costs)
        same(crf.weights_, other.weights_, rel=1e-5, abs=1e-6)
        assert crf.prior_ == Gaussian(variance=3.0)

    def test_pieces_come_near_the_whole(self) -> None:
        """Pieces one after the other score on new data as one fit does, the last piece alone far less."""
        train, test = fc.datasets.split(fc.datasets.addresses(n=360), fraction=0.8, seed=0)
        templates = "lower(word[-1..1])\nshape(word)\nedge"
        whole = ChainCRF(templates).fit(train)
        pieces = ChainCRF(templates)
        for k in range(0, len(train), 48):
            pieces.partial_fit(train[k : k + 48])
        assert pieces.score(test) > whole.score(test) - 0.02
        assert ChainCRF(templates).fit(train[-48:]).score(test) < whole.score(test) - 0.1
        assert pieces.provenance_["sequences"] == len(train)

    def test_declared_labels(self) -> None:
        X, y = [[["a"], ["b"]]], [["P", "Q"]]
        crf = ChainCRF().partial_fit(X, y, classes=["R", "Q"])
        assert crf.classes_.tolist() == ["P", "Q", "R"]
        crf.partial_fit([[["c"]]], [["R"]], classes=["A"])
        assert crf.classes_.tolist() == ["P", "Q", "R", "A"]
        assert crf.predict([[["c"]]]).tolist() == [["R"]]

    def test_a_failure_changes_nothing(self, corpus: Corpus) -> None:
        X, y = corpus
        crf = ChainCRF().fit(X[:20], y[:20])
        answers, n = crf.predict(X).tolist(), crf.encoder_.n_attributes

        def fail(record: Any) -> None:
            raise RuntimeError(str(record.iteration))

        for wrong in ({"callbacks": [fail]}, {"sample_weight": [1.0]}):
            with pytest.raises((RuntimeError, FieldcraftError)):
                crf.partial_fit([[["brand-new"], ["n/0"]]] * 2, [["NEW", "L001"]] * 2, **wrong)
        assert crf.encoder_.n_attributes == n
        assert crf.predict(X).tolist() == answers

    def test_of_a_loaded_model(self, corpus: Corpus, tmp_path: Any) -> None:
        X, y = corpus
        crf = ChainCRF().fit(X[:20], y[:20])
        crf.save(tmp_path / "m.fc", zeros=True)
        loaded = fc.load(tmp_path / "m.fc")
        crf.partial_fit(X[20:], y[20:])
        loaded.partial_fit(X[20:], y[20:])
        same(loaded.weights_, crf.weights_)
        loaded.save(tmp_path / "again.fc")
        again = fc.load(tmp_path / "again.fc")
        assert again.predict(X).tolist() == loaded.predict(X).tolist()
        np.testing.assert_array_equal(again.classes_, loaded.classes_)

    @pytest.mark.parametrize("templates", ["word[-1..1]\nedge", "word & lower(word[1])\nedge: shape(word)"])
    def test_templates_grow(self, templates: str, tmp_path: Any) -> None:
        train = fc.datasets.addresses(n=80)
        crf = ChainCRF(templates).fit(train[:40])
        n = crf.encoder_.n_attributes
        old = crf.encoder_.attribute_text(range(n))
        crf.partial_fit(train[40:])
        assert crf.encoder_.n_attributes > n
        assert crf.encoder_.attribute_text(range(n)) == old
        assert crf.score(train) > 0.9
        crf.save(tmp_path / "m.fc")
        assert fc.load(tmp_path / "m.fc").predict(train).tolist() == crf.predict(train).tolist()

    def test_hashing_and_other_priors(self, corpus: Corpus) -> None:
        X, y = corpus
        crf = ChainCRF(hash_size=128, prior=Laplacian(scale=2.0))
        crf.partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
        assert crf.encoder_.n_attributes == 128
        assert 0 < np.count_nonzero(crf.weights_) < len(crf.weights_)


def test_rows_of() -> None:
    """Against a dict of tuples."""
    rng = np.random.default_rng(0)
    X, y = draw(rng, 5, rng.integers(1, 9, size=40), n_names=30)
    index = ChainCRF().fit(X, y).features_
    table = {key: i for i, key in enumerate(zip(index.attribute, index.previous, index.label))}
    asked: list[Any] = [rng.integers(-1, high, size=500).astype(np.int32) for high in (30, 5, 5)]
    found = index.rows_of(*asked)
    assert found.tolist() == [table.get(key, -1) for key in zip(*asked)]
    assert (found >= 0).sum() > 10
    empty: Floats = index.select(np.zeros(len(index), bool)).rows_of(*asked)
    assert np.all(empty == -1)

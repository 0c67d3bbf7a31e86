"""Odd but honest input gets the right answer: empty and endless sequences, unseen attributes, ±500."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, FieldcraftError, Gaussian
from fieldcraft.models.parameters import Parameters
from fieldcraft.potentials import ChainWeights
from fieldcraft.structures.states import StateSpace
from oracles import chain_reference as reference

X: list[Any] = [[["a"], ["b"]], [["a", "c"], ["b"], ["d"]]]
Y: list[list[str]] = [["P", "Q"], ["P", "Q", "Q"]]


@pytest.fixture(scope="module")
def crf() -> ChainCRF:
    return ChainCRF(optimiser=LBFGS(max_iterations=20), n_jobs=1).fit(X, Y)


def test_empty_batch(crf: ChainCRF) -> None:
    assert crf.predict([]).shape == (0,)
    assert crf.predict([]).dtype == object
    assert crf.predict_proba([]).shape == (0,)
    assert crf.log_partition([]).shape == (0,)
    assert crf.entropy([]).shape == (0,)
    assert crf.log_probability([], []).shape == (0,)
    assert (crf.k_best([], 2), crf.sample([], 2), crf.predict_marginals([])) == ([], [], [])
    assert (crf.decode([]), crf.span_probability([], [])) == ([], [])


def test_empty_sequence_in_predict(crf: ChainCRF) -> None:
    batch: list[Any] = [[], X[0], []]
    assert crf.predict(batch).tolist() == [[], crf.predict([X[0]])[0], []]
    assert [p.shape for p in crf.predict_proba(batch)] == [(0, 2), (2, 2), (0, 2)]
    assert crf.log_partition(batch)[[0, 2]].tolist() == [0.0, 0.0]
    assert crf.entropy([[]]).tolist() == [0.0]
    assert crf.log_probability([[]], [[]]).tolist() == [0.0]
    assert crf.k_best([[]], 3) == [[([], 0.0)]]
    assert crf.sample([[]], 2) == [[[], []]]


def test_empty_sequence_in_fit(crf: ChainCRF) -> None:
    padded = ChainCRF(optimiser=LBFGS(max_iterations=20), n_jobs=1)
    padded.fit([[], X[0], [], X[1], []], [[], Y[0], [], Y[1], []])
    np.testing.assert_allclose(padded.weights_, crf.weights_, rtol=1e-12, atol=1e-14)


def test_one_token() -> None:
    crf = ChainCRF().fit([[["a"]], [["b"]]], [["P"], ["Q"]])
    assert crf.predict([[["a"]], [["b"]]]).tolist() == [["P"], ["Q"]]
    (p,) = crf.predict_proba([[["a"]]])
    assert p.shape == (1, 2)
    assert p.sum() == pytest.approx(1.0)
    alone = ChainCRF().fit([[["a"]]], [["P"]])
    assert alone.predict([[["a"]]]).tolist() == [["P"]]
    assert alone.predict_proba([[["z"]]])[0].tolist() == [[1.0]]


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_tokens_in_one_sequence(n: int) -> None:
    rng = np.random.default_rng(0)
    gold = [f"L{k}" for k in rng.integers(3, size=n)]
    noisy = np.where(rng.random(n) < 0.8, gold, "L0").tolist()
    items = [[name] for name in noisy]
    crf = ChainCRF(prior=Gaussian(variance=1.0), optimiser=LBFGS(max_iterations=15)).fit([items], [gold])
    assert math.isfinite(crf.objective_value_)
    (predicted,) = crf.predict([items])
    assert len(predicted) == n
    (p,) = crf.predict_proba([items])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    encoded = crf.encoder_.encode([items], grow=False)
    node, edge = ChainWeights.of(crf.features_, crf.weights_, 3).arrays(encoded)
    states = StateSpace.labels(3)
    chain = reference.dense(node, edge, states.sources, states.targets, states.starts, states.stops)
    assert crf.log_partition([items])[0] == pytest.approx(reference.log_partition(chain), rel=1e-9)
    best, _ = reference.argmax(chain)
    assert predicted == crf.classes_[best].tolist()
    score = crf.log_probability([items], [gold])[0]
    assert -crf.objective_value_ == pytest.approx(score - (crf.weights_**2).sum() / 2, rel=1e-9)


def test_unseen_attributes_count_for_nothing(crf: ChainCRF) -> None:
    known: list[Any] = [[["a"], [], ["b"]]]
    strange: list[Any] = [[["a", "new"], ["newer"], {"b": 1.0, "n": 5.0, "k": "v"}]]
    np.testing.assert_array_equal(crf.predict_proba(strange)[0], crf.predict_proba(known)[0])
    assert crf.features_.n_attributes == 4
    assert crf.predict([[["new"]] * 5])[0] == crf.predict([[[]] * 5])[0]


def test_unseen_labels_in_score_are_errors_of_the_model(crf: ChainCRF) -> None:
    assert crf.score([X[0]], [["P", "Z"]]) == 0.5


@pytest.mark.parametrize("size", [500.0, 5000.0])
def test_weights_of_500(crf: ChainCRF, size: float) -> None:
    """Set by hand: probabilities stay probabilities, and agree with log space."""
    rng = np.random.default_rng(1)
    hard = ChainCRF(optimiser=LBFGS(max_iterations=1)).fit(X, Y)
    weights = size * rng.choice([-1.0, 1.0], size=len(hard.weights_))
    hard._settle(
        Parameters.of(hard.encoder_, hard.features_, weights, hard._parameters.structure),
        hard.classes_.tolist(),
    )
    batch: list[Any] = [X[1] * 7, X[0]]
    for p in hard.predict_proba(batch):
        assert np.all((p >= 0) & (p <= 1 + 1e-12))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    found = [hard.log_partition(batch), hard.entropy(batch)]
    found.append(hard.log_probability(batch, [["P"] * 21, ["Q", "Q"]]))
    assert np.all(np.isfinite(found))
    assert np.all(found[1] >= -1e-6)
    states = StateSpace.labels(2)
    encoded = hard.encoder_.encode(batch, grow=False)
    node, edge = ChainWeights.of(hard.features_, weights, 2).arrays(encoded)
    for i, (a, b) in enumerate([(0, 21), (21, 23)]):
        chain = reference.dense(node[a:b], edge, states.sources, states.targets, states.starts, states.stops)
        assert found[0][i] == pytest.approx(reference.log_partition(chain), rel=1e-12)
        np.testing.assert_allclose(
            hard.predict_proba(batch)[i], reference.marginals(chain)[0], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("value", [1e-300, 1e-8, 500.0, 1e8, 1e150, 1e300])
def test_huge_and_tiny_values(value: float) -> None:
    """A model without NaN, whatever the scale."""
    first = [{"f": value}, {"g": -value}, {"f": 1.0}]
    data: list[Any] = [first, [{"g": 2.0}, {"f": value, "g": 1.0}]]
    crf = ChainCRF().fit(data, [["P", "Q", "P"], ["Q", "P"]])
    assert np.all(np.isfinite(crf.weights_))
    assert math.isfinite(crf.objective_value_)
    for p in crf.predict_proba(data):
        assert np.all(np.isfinite(p))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)


def test_weights_of_zero_are_the_prior_alone() -> None:
    crf = ChainCRF().fit(X, Y, sample_weight=[0, 0])
    assert not crf.weights_.any()


class Lazy:
    """Iterable once per call, with a length: a stand-in for dataset classes."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


def objects(rows: list[Any]) -> Any:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


FORMS: dict[str, Any] = {
    "tuples": lambda rows: tuple(tuple(row) for row in rows),
    "object array": objects,
    "lazy": Lazy,
    "object arrays inside": lambda rows: [objects(list(row)) for row in rows],
}


@pytest.mark.parametrize("name", FORMS)
def test_other_containers(crf: ChainCRF, name: str) -> None:
    form = FORMS[name]
    again = ChainCRF(optimiser=LBFGS(max_iterations=20), n_jobs=1).fit(form(X), form(Y))
    assert again.weights_.tobytes() == crf.weights_.tobytes()
    assert again.predict(form(X)).tolist() == crf.predict(X).tolist()


def test_labels_as_numpy_text(crf: ChainCRF) -> None:
    again = ChainCRF(optimiser=LBFGS(max_iterations=20), n_jobs=1).fit(X, [np.array(y) for y in Y])
    assert again.weights_.tobytes() == crf.weights_.tobytes()
    assert all(type(label) is str for label in again.classes_)
    assert all(type(label) is str for labels in again.predict(X) for label in labels)


def test_generators(crf: ChainCRF) -> None:
    """Inside X they are read; y may be one; predict reads one through."""
    again = ChainCRF(optimiser=LBFGS(max_iterations=20), n_jobs=1)
    again.fit([(item for item in items) for items in X], (labels for labels in Y))
    assert again.weights_.tobytes() == crf.weights_.tobytes()
    assert crf.predict(items for items in X).tolist() == crf.predict(X).tolist()


def test_sixteen_threads_predict_with_one_model() -> None:
    rng = np.random.default_rng(0)
    data = [[[f"w{k}"] for k in rng.integers(50, size=rng.integers(1, 40))] for _ in range(120)]
    labels = [[f"L{hash_of(item[0]) % 4}" for item in items] for items in data]
    crf = ChainCRF(optimiser=LBFGS(max_iterations=10), n_jobs=2).fit(data, labels)
    expected = crf.predict(data).tolist()
    marginals = np.concatenate(list(crf.predict_proba(data))).tobytes()
    wrong: list[Any] = []
    gate = threading.Barrier(16)

    def work(n: int) -> None:
        gate.wait()
        for _ in range(5):
            ok = crf.predict(data).tolist() == expected
            ok = ok and np.concatenate(list(crf.predict_proba(data))).tobytes() == marginals
            if not ok:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def hash_of(name: str) -> int:
    return sum(map(ord, name))


CONTENT = "the\tDET\ndog\tNOUN\n\na\tDET\ncat\tNOUN\n"


def test_crlf_is_lf(tmp_path: Path) -> None:
    for name, text in [("lf", CONTENT), ("crlf", CONTENT.replace("\n", "\r\n"))]:
        (tmp_path / name).write_bytes(text.encode())
    lf, crlf = (fc.read(tmp_path / name, columns=["word", "tag"], label="tag") for name in ("lf", "crlf"))
    assert list(map(list, lf.labels)) == list(map(list, crlf.labels))
    models = [ChainCRF(templates="word", n_jobs=1).fit(corpus) for corpus in (lf, crlf)]
    assert models[0].weights_.tobytes() == models[1].weights_.tobytes()


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.conll"
    path.write_bytes(CONTENT.encode() + b"\ncaf\xe9\tNOUN\n")
    with pytest.raises(FieldcraftError, match=r"latin\.conll:7: byte 0xe9 is not utf-8 text; pass enc"):
        list(fc.read(path, columns=["word", "tag"], label="tag"))


def test_ragged_columns(tmp_path: Path) -> None:
    path = tmp_path / "ragged.conll"
    path.write_text("the\tDET\ndog\n")
    expected = r"ragged\.conll:2: 1 columns? where 2 were expected \(word, tag\); "
    with pytest.raises(FieldcraftError, match=expected):
        list(fc.read(path, columns=["word", "tag"], label="tag"))


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.conll"
    path.write_text("")
    with pytest.raises(FieldcraftError, match=r"empty\.conll:1: no sequence was found; give a file"):
        fc.read(path, columns=["word", "tag"], label="tag")


def test_a_model_of_features_refuses_columns(tmp_path: Path) -> None:
    path = tmp_path / "small.conll"
    path.write_text(CONTENT)
    corpus = fc.read(path, columns=["word", "tag"], label="tag")
    with pytest.raises(FieldcraftError, match="a corpus of columns needs templates: pass templates="):
        ChainCRF().fit([[["w=the"]]], [["DET"]]).predict(corpus)


def test_an_unlabelled_corpus_cannot_train(tmp_path: Path) -> None:
    path = tmp_path / "small.conll"
    path.write_text(CONTENT)
    corpus = fc.read(path, columns=["word", "tag"], label=None)
    with pytest.raises(FieldcraftError, match="label"):
        ChainCRF(templates="word").fit(corpus)

"""Models over state spaces: every answer against an enumeration of labellings."""

from __future__ import annotations

import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.structures.state_text import parse_states
from oracles import tuples as oracle

NAMES = ["B-X", "I-X", "O"]
TEXTS = ["labels", "labels+observed", "ngrams:2", "ngrams:3", "ngrams:2+observed", "ngrams:2+iob2", "iob2"]


def corpus(n: int = 14, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """A synthetic corpus of valid IOB2 labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(1, 6, n):
        labels: list[str] = []
        for _ in range(length):
            inside = ["I-X"] if labels and labels[-1] != "O" else []
            labels.append(str(rng.choice(["O", "B-X", *inside])))
        X.append([[f"w={label}{rng.integers(2)}", f"r={rng.integers(3)}"] for label in labels])
        y.append(labels)
    return X, y


def enumerated(crf: fc.ChainCRF, sequence: Any, longest: int, valid: Any) -> dict[Any, float]:
    """The distribution that the weights of a model define, by enumeration."""
    names, index = crf.classes_.tolist(), crf.features_
    texts = list(crf.encoder_.attribute_text(range(crf.encoder_.n_attributes)))
    node: dict[tuple[str, str], float] = {}
    tuples: dict[tuple[str, ...], float] = {}
    space = crf.states_
    spelled = {}
    for level in space.tuple_class:
        for e, number in enumerate(level.tolist()):
            if number >= 0:
                spelled[number] = e
    for row, weight in enumerate(crf.weights_.tolist()):
        if index.belongs_to("tuple")[row]:
            tuples[tuple_labels(crf, int(index.label[row]))] = weight
        elif index.previous[row] >= 0:
            tuples[names[index.previous[row]], names[index.label[row]]] = weight
        else:
            node[texts[index.attribute[row]], names[index.label[row]]] = weight
    scores = [{y: sum(node.get((a, y), 0.0) for a in token) for y in names} for token in sequence]
    return oracle.distribution(oracle.scored(scores, tuples, longest, valid))


def tuple_labels(crf: fc.ChainCRF, number: int) -> tuple[str, ...]:
    """The labels of a tuple class: those of all ways that lead to and through its transition."""
    space, names = crf.states_, crf.classes_.tolist()
    level = int(np.flatnonzero((space.tuple_class == number).any(axis=1))[0])
    e = int(np.flatnonzero(space.tuple_class[level] == number)[0])
    labels = [space.label_of[space.targets[e]], space.label_of[space.sources[e]]]
    state = space.sources[e]
    while len(labels) < level + 3:
        state = space.sources[np.flatnonzero(space.targets == state)[0]]
        labels.append(space.label_of[state])
    return tuple(names[y] for y in labels[::-1])


def is_valid(text: str, y: list[list[str]]) -> Any:
    """Which labellings a text allows, told by the training labels."""
    parsed = parse_states(text)
    seen = {tuple(row[a:b]) for row in y for a in range(len(row)) for b in range(a + 1, len(row) + 1)}

    def valid(labels: tuple[str, ...]) -> bool:
        n = parsed.n + 1
        grams = [labels[max(0, t + 1 - n) : t + 1] for t in range(1, len(labels))]
        if parsed.observed and not all(gram in seen for gram in grams):
            return False
        return parsed.scheme is None or not fc.schemes.validate(list(labels), parsed.scheme)

    return valid


@pytest.mark.parametrize("text", TEXTS)
def test_every_answer_is_that_of_enumeration(text: str) -> None:
    X, y = corpus()
    crf = fc.ChainCRF(states=text, prior=fc.Gaussian(variance=1.0), n_jobs=1).fit(X, y)
    order = parse_states(text).n
    sequence = X[int(np.argmax([len(row) for row in X]))][:4]
    expected = enumerated(crf, sequence, order + 1, is_valid(text, y))
    ranked = sorted(expected.items(), key=lambda item: -item[1])
    found = crf.k_best([sequence], 6)[0]
    np.testing.assert_allclose([v for _, v in found], [math.log(p) for _, p in ranked[:6]], rtol=1e-9)
    assert [tuple(labels) for labels, _ in found] == [labels for labels, _ in ranked[:6]]
    (decoded,) = crf.decode([sequence])
    assert (tuple(decoded.labels), decoded.optimal) == (ranked[0][0], True)
    every = list(product(crf.classes_.tolist(), repeat=len(sequence)))
    values = crf.log_probability([sequence] * len(every), [list(labels) for labels in every])
    np.testing.assert_allclose(np.exp(values), [expected.get(labels, 0.0) for labels in every], rtol=1e-9)
    table = oracle.marginals(expected, crf.classes_.tolist())
    np.testing.assert_allclose(crf.predict_proba([sequence])[0], table, rtol=1e-9, atol=1e-12)
    entropy = -math.fsum(p * math.log(p) for p in expected.values())
    np.testing.assert_allclose(crf.entropy([sequence]), [entropy], rtol=1e-9)
    assert all(tuple(labels) in expected for labels in crf.sample([sequence], 50)[0])
    inside = math.fsum(p for labels, p in expected.items() if fc.Span(0, 2, "X") in fc.schemes.spans(labels))
    np.testing.assert_allclose(crf.span_probability([sequence], [[(0, 2, "X")]])[0], [inside], rtol=1e-9)


def test_a_second_order_space_with_first_order_weights_is_the_first_order_chain() -> None:
    X, y = corpus(30)
    second = fc.StateSpace.ngrams(NAMES, 2)
    columns = {name: getattr(second, name) for name in ("sources", "targets", "starts", "stops", "label_of")}
    tied = fc.StateSpace(second.n_states, **columns, names=second.names, node_class=second.node_class,
                         edge_class=second.edge_class)  # fmt: skip
    first, other = (fc.ChainCRF(states=s, n_jobs=1, optimiser=fc.LBFGS(tolerance=1e-10)).fit(X, y)
                    for s in ("labels", tied))  # fmt: skip
    np.testing.assert_allclose(other.objective_value_, first.objective_value_, rtol=1e-9)
    for a, b in zip(first.predict_proba(X), other.predict_proba(X)):
        np.testing.assert_allclose(a, b, atol=1e-6)


def possible(text: str, labels: list[str], y: list[list[str]]) -> bool:
    """Whether a labelling has a probability: observed pairs, or I-X only after B-X and I-X."""
    seen = {pair for row in y for pair in zip(row, row[1:])}
    if "observed" in text:
        return all(pair in seen for pair in zip(labels, labels[1:]))
    return "iob2" not in text or all(b != "I-X" or a != "O" for a, b in zip(["O", *labels], labels))


def test_one_latent_state_is_none() -> None:
    X, y = corpus()
    plain, latent = (fc.ChainCRF(states=s, n_jobs=1).fit(X, y) for s in ("labels", "latent:1"))
    np.testing.assert_array_equal(plain.weights_, latent.weights_)


@pytest.mark.parametrize("text", ["latent:2", "latent:2+iob2", "latent:2+observed"])
def test_latent_states_are_summed(text: str) -> None:
    X, y = corpus()
    crf = fc.ChainCRF(states=text, n_jobs=1, random_state=3).fit(X, y)
    assert crf.objective_.name == "marginal_likelihood"
    sequence = next(x for x in X if len(x) == 4)
    every = [list(labels) for labels in product(NAMES, repeat=4)]
    p = np.exp(crf.log_probability([sequence] * len(every), every))
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-9)
    table = [[p[[row[t] == name for row in every]].sum() for name in NAMES] for t in range(4)]
    np.testing.assert_allclose(crf.predict_proba([sequence])[0], table, rtol=1e-9, atol=1e-12)
    best = crf.k_best([sequence], 5)[0]
    assert len({tuple(labels) for labels, _ in best}) == 5
    assert all((q > 0) == possible(text, row, y) for q, row in zip(p, every))
    by_labels = {tuple(row): math.log(q) for row, q in zip(every, p) if q > 0}
    np.testing.assert_allclose([v for _, v in best], [by_labels[tuple(row)] for row, _ in best], rtol=1e-9)
    assert crf.decode([sequence])[0].optimal is False
    again = fc.ChainCRF(states=text, n_jobs=2, random_state=3).fit(X, y)
    np.testing.assert_array_equal(crf.weights_, again.weights_)


@pytest.mark.parametrize("text", [*TEXTS, "latent:2", "latent:2+observed"])
def test_a_file_keeps_the_states(text: str, tmp_path: Any) -> None:
    X, y = corpus()
    crf = fc.ChainCRF(states=text, n_jobs=1, prior=fc.Laplacian(scale=2.0)).fit(X, y)
    crf.save(tmp_path / "model.fc")
    loaded: Any = fc.load(tmp_path / "model.fc")
    assert loaded.states == text
    copied = pickle.loads(pickle.dumps(crf))
    np.testing.assert_array_equal(copied.log_probability(X, y), crf.log_probability(X, y))
    np.testing.assert_array_equal(loaded.log_probability(X, y), crf.log_probability(X, y))
    assert loaded.predict(X).tolist() == crf.predict(X).tolist()


def test_any_number_of_threads_gives_the_same_weights() -> None:
    X, y = corpus(400, seed=5)
    one, four = (fc.ChainCRF(states="ngrams:2", n_jobs=n).fit(X, y).weights_ for n in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_other_objectives_and_optimisers_train_over_states() -> None:
    X, y = corpus(20)
    for settings in ({"optimiser": "sgd"}, {"optimiser": "averaged_perceptron"}, {"objective": "pointwise"}):
        crf = fc.ChainCRF(states="ngrams:2+iob2", n_jobs=1, **settings).fit(X, y)
        assert not any(fc.schemes.validate(row, "iob2") for row in crf.predict(X))


def test_counters_learn_how_long_runs_are() -> None:
    y = [["O", "O", "O", "I"] * 3 for _ in range(10)]
    X = [[["."] for _ in row] for row in y]
    crf = fc.ChainCRF(states=fc.StateSpace.counter(["I", "O"], "O", 4), n_jobs=1).fit(X, y)
    assert crf.predict([X[0]])[0] == y[0]
    assert fc.ChainCRF(n_jobs=1).fit(X, y).predict([X[0]])[0] != y[0]


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("bigrams", "write labels, ngrams:2"),
        ("ngrams", "write labels"),
        ("latent:0", "write labels"),
        ("latent:2+iob7", "write labels"),
        ("labels+iob7", "write labels"),
        (3, "write labels"),
    ],
)
def test_a_text_that_is_none(states: Any, message: str) -> None:
    X, y = corpus()
    with pytest.raises(InputError, match=message):
        fc.ChainCRF(states=states).fit(X, y)


def test_training_labels_that_a_scheme_forbids_are_named() -> None:
    X, y = corpus()
    y[3] = ["I-X", *y[3][1:]]
    with pytest.raises(InputError, match=r"sequence 3, token 0: label 'I-X' is impossible.*schemes.convert"):
        fc.ChainCRF(states="iob2").fit(X, y)


def test_an_automaton_that_accepts_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="accepts no sequence"):
        fc.StateSpace.automaton(["a", "b"], [{"a": 1}, {"b": 0}], accepting=[])


def test_labels_that_were_not_observed_have_probability_0() -> None:
    X, y = [[["a"], ["b"]]] * 3, [["A", "B"]] * 3
    crf = fc.ChainCRF(states="labels+observed", n_jobs=1).fit(X, y)
    assert crf.log_probability(X[:1], [["B", "A"]])[0] == -np.inf
    assert crf.log_probability(X[:1], [["A", "B"]])[0] == 0.0


def test_auto_trains_a_large_corpus() -> None:
    """Dual ascent, which `auto` takes for large corpora of plain labels, is not for other states."""
    X, y = corpus(12_000, seed=1)
    crf = fc.ChainCRF(states="ngrams:2", n_jobs=1).fit(X, y)
    assert (sum(map(len, X)) > 30_000, crf.optimiser_.name, crf.converged_) == (True, "lbfgs", True)


def test_a_pool_of_clones_over_states_is_the_clone() -> None:
    X, y = corpus()
    crf = fc.ChainCRF(states="ngrams:2", n_jobs=1).fit(X, y)
    pool = fc.LogOpinionPool([crf, crf], weights=[0.5, 0.5]).fit(X, y)
    np.testing.assert_allclose(pool.log_probability(X, y), crf.log_probability(X, y), rtol=1e-12)

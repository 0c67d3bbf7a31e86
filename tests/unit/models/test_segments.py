"""SegmentCRF: training, answers and files; its structure is tested in tests/laws/test_segment_laws.py."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.corpus.schemes import convert
from fieldcraft.errors import InputError
from fieldcraft.models.segments import SegmentCRF
from fieldcraft.problems import build
from fieldcraft.structures.segments import SegmentSpace

CITIES = ["New York", "York", "San Francisco", "Bad Homburg vor der Höhe"]
X = [
    ["Ann", "lives", "in", "New", "York"],
    ["in", "San", "Francisco", "Bob", "Ann", "sings"],
    ["Mary", "Ann", "Lee", "left", "York"],
    ["rain"],
]
Y = [
    ["B-PER", "O", "O", "B-LOC", "I-LOC"],
    ["O", "B-LOC", "I-LOC", "B-PER", "B-PER", "O"],
    ["B-PER", "I-PER", "I-PER", "O", "B-LOC"],
    ["O"],
]
EVERYTHING = """
segment.length
segment.length_range
segment.text
segment.lower
segment.shape
first(word)
last(suffix(word, 2))
before(word)
after(word)
near(cities, word)
near(cities, word, edit)
"""
ASKED = [["in", "New", "York", "Ann"], ["Mary", "Lee"], [], ["San"]]
TIGHT = fc.LBFGS(max_iterations=300, tolerance=1e-9, objective_tolerance=0.0)


def trained(y: Any = Y, **settings: Any) -> SegmentCRF:
    given: dict[str, Any] = {"segment_templates": EVERYTHING, "gazetteers": [fc.Gazetteer("cities", CITIES)]}
    return SegmentCRF("word\nedge", prior=fc.Gaussian(variance=1.0), **{**given, **settings}).fit(X, y)


def enumerated(crf: SegmentCRF, words: list[str]) -> dict[tuple[str, ...], float]:
    """The probabilities of all labellings."""
    return {tuple(labels): np.exp(share) for labels, share in crf.k_best([words], 100_000)[0]}


@pytest.mark.parametrize("objective", ["likelihood", "softmax_margin"])
def test_the_gradient_is_that_of_finite_differences(objective: str) -> None:
    """In every kind of feature: of tokens, label pairs, sides and whole segments."""
    crf = trained(objective=objective, optimiser=fc.LBFGS(max_iterations=2))
    training = crf._training()
    training.run(X, Y, control={})
    labels = training.coding.named_states(Y)
    training.classes = training._labels(labels, ())
    design = training._segment_design(training._encoder(), X, labels)
    prior = training._penalty(training._encoder(), design.index)
    problem = build(training._structure(), "gradient", design, prior, objective=training.objective)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(design.index))
    gradient, unused = np.zeros((2, len(weights)))
    problem.value_and_gradient(weights, gradient)
    parts = set(design.index.part.tolist())
    assert parts == {0, 1, 2, 3, 4}
    for f in rng.permutation(len(weights))[:60]:
        step = np.zeros_like(weights)
        step[f] = 1e-5
        ends = [problem.value_and_gradient(weights + sign * step, unused) for sign in (1, -1)]
        assert gradient[f] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-7)


def test_segments_of_one_token_train_the_chain() -> None:
    y = [["A", "B", "B", "A", "A"], ["B", "A", "C", "C", "A", "A"], ["A", "C", "B", "A", "B"], ["A"]]
    prior = fc.Gaussian(variance=1.0)
    chain = fc.ChainCRF("word\nedge", prior=prior, optimiser=TIGHT).fit(X, y)
    segments = SegmentCRF("word\nedge", prior=prior, optimiser=TIGHT, max_length=1).fit(X, y)
    assert len(segments.weights_) == len(chain.weights_)
    np.testing.assert_allclose(segments.log_probability(X, y), chain.log_probability(X, y), rtol=1e-7)
    for a, b in zip(segments.predict_proba(ASKED), chain.predict_proba(ASKED)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    assert segments.predict(ASKED).tolist() == chain.predict(ASKED).tolist()


def test_without_segment_features_it_trains_the_chain_of_valid_labels() -> None:
    """Of the labels B- and I-, where I- follows only labels of its type."""
    prior = fc.Gaussian(variance=1.0)
    segments = SegmentCRF(
        "word\nedge", prior=prior, optimiser=TIGHT, segment_templates=None, max_length=6
    ).fit(X, Y)
    states = SegmentSpace(["LOC", "PER", "O"], [6, 6, 1]).chain
    names = ["B-LOC", "B-PER", "O", "I-LOC", "I-PER"]
    space = fc.StateSpace(
        5, states.sources, states.targets, states.starts, states.stops, states.label_of, tuple(names)
    )
    chain = fc.ChainCRF("word\nedge", prior=prior, optimiser=TIGHT, states=space, labels=names).fit(X, Y)
    assert len(segments.weights_) == len(chain.weights_)
    np.testing.assert_allclose(segments.log_probability(X, Y), chain.log_probability(X, Y), rtol=1e-7)
    order = [names.index(name) for name in segments.classes_]
    for a, b in zip(segments.predict_proba(ASKED), chain.predict_proba(ASKED)):
        np.testing.assert_allclose(a, b[:, order], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(segments.log_partition(ASKED), chain.log_partition(ASKED), rtol=1e-6)


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "iobes", "bilou", "io", None])
def test_answers_are_sums_over_all_labellings(scheme: str | None) -> None:
    """Token marginals, spans, boundaries and log-probabilities, in every scheme and without one."""
    if scheme is None:
        y = [[label.partition("-")[2] or "O" for label in row] for row in Y]
    else:
        y = convert(Y, "iob2", scheme)
    crf = trained(y)
    assert crf.coding_.scheme == scheme
    assert crf.predict(X).tolist() == y
    for words, proba in zip(ASKED, crf.predict_proba(ASKED)):
        labellings = enumerated(crf, words)
        assert sum(labellings.values()) == pytest.approx(1.0, abs=1e-9)
        expected = np.zeros((len(words), len(crf.classes_)))
        for labels, p in labellings.items():
            for t, name in enumerate(labels):
                expected[t, crf.classes_.tolist().index(name)] += p
        np.testing.assert_allclose(proba, expected, atol=1e-9)
        shares = crf.log_probability([words] * len(labellings), [list(row) for row in labellings])
        np.testing.assert_allclose(np.exp(shares), [*labellings.values()], atol=1e-9)
    assert crf.log_partition(ASKED).shape == (4,)
    drawn = crf.sample(ASKED, 20)
    assert all(np.isfinite(crf.log_probability([w] * 20, rows)).all() for w, rows in zip(ASKED, drawn))


def test_spans_and_boundaries_are_sums_over_segmentations() -> None:
    crf = trained()
    words = ASKED[0]
    spans: dict[Any, float] = defaultdict(float)
    bounds = np.zeros(len(words) + 1)
    for labels, p in enumerated(crf, words).items():
        for span in crf.coding_.segments(labels):
            spans[span] += p
            bounds[span.start] += p
        bounds[-1] += p
    inside = [span for span in spans if span.label != "O"]
    found = crf.span_probability([words], [inside])[0]
    np.testing.assert_allclose(found, [spans[span] for span in inside], atol=1e-9)
    np.testing.assert_allclose(crf.boundary_probability([words])[0], bounds, atol=1e-9)
    for span, p in crf.predict_spans([words])[0]:
        assert p == pytest.approx(spans[span], abs=1e-9)
    assert crf.span_probability([words], [[(0, 4, "LOC")]])[0][0] == pytest.approx(
        spans[fc.Span(0, 4, "LOC")]
    )
    best = crf.decode([words])[0]
    assert best.labels == crf.predict([words])[0]
    assert best.value == pytest.approx(crf.log_probability([words], [best.labels])[0])


def test_batches_and_scored_batches_give_the_same() -> None:
    crf = trained()
    scored = crf.scored(ASKED)
    assert scored.predict().tolist() == crf.predict(ASKED).tolist()
    np.testing.assert_array_equal(
        scored.label_numbers(),
        [crf.classes_.tolist().index(name) for row in crf.predict(ASKED) for name in row],
    )
    for i, words in enumerate(ASKED):
        np.testing.assert_allclose(crf.predict_proba([words])[0], scored.predict_proba()[i], atol=1e-12)
    for n_jobs in (1, 3):
        crf.n_jobs = n_jobs
        np.testing.assert_array_equal(crf.log_partition(ASKED), scored.log_partition())


def test_threads_train_the_same_bits() -> None:
    many = [row for _ in range(400) for row in X]
    y = [row for _ in range(400) for row in Y]
    short = {"optimiser": fc.LBFGS(max_iterations=3), "segment_templates": "segment.length\nsegment.text"}
    one, several = (SegmentCRF("word", n_jobs=n, **short).fit(many, y).weights_ for n in (1, 3))
    np.testing.assert_array_equal(one, several)


@pytest.mark.parametrize(
    ("objective", "optimiser"),
    [("perceptron", "averaged_perceptron"), ("margin", "subgradient"), ("likelihood", "sgd")],
)
def test_other_objectives_learn_the_training_data(objective: str, optimiser: str) -> None:
    crf = SegmentCRF("word\nedge", objective=objective, optimiser=optimiser).fit(X, Y)
    assert crf.score(X, Y) > 0.85


def shape_of(sequence: Any, start: int, end: int) -> list[str]:
    words = sequence[start:end]
    return ["all upper"] if all(word[0].isupper() for word in words) else []


def test_functions_of_users(tmp_path: Path) -> None:
    crf = trained(segment_features=shape_of, segment_templates=None, gazetteers=None)
    assert "all upper" in crf.encoder_.attribute_text(range(crf.encoder_.n_attributes))
    path = tmp_path / "model.fc"
    crf.save(path)
    with pytest.raises(InputError, match="fc.load\\(path, segment_features=function\\)"):
        fc.load(path).predict(X)
    again = fc.load(path, segment_features=shape_of)
    np.testing.assert_array_equal(again.log_partition(X), crf.log_partition(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(crf)).log_partition(X), crf.log_partition(X))
    with pytest.raises(InputError, match="must return a list of texts"):
        trained(segment_features=lambda *_: [3])
    with pytest.raises(InputError, match="is a str; give a function"):
        trained(segment_features="no")
    fc.ChainCRF("word").fit(X, Y).save(path)
    with pytest.raises(fc.FieldcraftError, match="segment_features is for models of segments"):
        fc.load(path, segment_features=shape_of)


def test_features_of_users_have_lengths_too() -> None:
    features = [[[f"w={word}"] for word in row] for row in X]
    crf = SegmentCRF(prior=fc.Gaussian(variance=1.0)).fit(features, Y)
    assert crf.predict(features).tolist() == Y
    with pytest.raises(InputError, match="look at columns, and X holds features"):
        SegmentCRF(segment_templates="segment.text").fit(features, Y)


def test_files_give_the_same_answers(tmp_path: Path) -> None:
    crf = trained()
    crf.save(tmp_path / "model.fc")
    again = fc.load(tmp_path / "model.fc")
    assert type(again) is SegmentCRF
    assert again.max_length_ == crf.max_length_ == {"LOC": 4, "PER": 6, "O": 1}
    assert again.classes_.tolist() == crf.classes_.tolist()
    for ask in ("log_partition", "entropy"):
        np.testing.assert_array_equal(getattr(again, ask)(ASKED), getattr(crf, ask)(ASKED))
    assert again.k_best(ASKED, 3) == crf.k_best(ASKED, 3)
    refitted = again.fit(X, Y)
    np.testing.assert_allclose(refitted.weights_, crf.weights_, atol=1e-6)


def test_held_out_scores_are_those_of_the_labels() -> None:
    crf = SegmentCRF("word").fit(X, Y, X_dev=ASKED[:1], y_dev=[["O", "B-LOC", "I-LOC", "B-PER"]])
    assert crf.training_log_[-1].held_out == pytest.approx(1.0)


def test_lengths() -> None:
    assert trained(max_length=3).max_length_ == {"LOC": 3, "PER": 3, "O": 1}
    assert trained(max_length={"PER": 3, "O": 2}).max_length_ == {"LOC": 4, "PER": 3, "O": 2}
    with pytest.raises(
        InputError, match="sequence 2, tokens 0 to 3: a segment 'PER' of 3 tokens, where max_length allows 2"
    ):
        trained(max_length=2)
    for wrong in (0, 1.5, "short", {"ORG": 2}, {"PER": 0}):
        with pytest.raises(InputError, match="max_length"):
            trained(max_length=wrong)
    long = [["Ann"] * 9]
    gold = [["B-PER"] + ["I-PER"] * 8]
    assert trained().log_probability(long, gold) == -np.inf
    assert trained().log_probability(X[:1], [["I-PER", "O", "O", "O", "O"]]) == -np.inf  # spelled by no span


@pytest.mark.parametrize(
    ("templates", "match"),
    [
        ("segment.colour", "no template 'segment.colour'"),
        ("segment.length(word)", "has none"),
        ("near(cities)", "no template of segments"),
        ("near(cities, word, hamming)", "no similarity 'hamming'"),
        ("near(towns, word)", "no such gazetteer"),
        ("first(edge: word)", "label pairs"),
        ("word", "no template of segments"),
        (3, "give a text"),
    ],
)
def test_templates_that_are_none(templates: Any, match: str) -> None:
    with pytest.raises(fc.FieldcraftError, match=match):
        trained(segment_templates=templates)


def test_templates_of_segments_may_stand_among_those_of_tokens() -> None:
    crf = SegmentCRF("word\nsegment.shape\nlast(word)", segment_templates=None).fit(X, Y)
    assert [t.name for t in crf.encoder_.templates] == ["word", "last(word)", "segment.shape"]


def test_refusals() -> None:
    crf = trained()
    for ask, match in (
        (lambda: crf.partial_fit(X, Y), "partial_fit"),
        (lambda: crf.explain(X[0]), "explain is for chains"),
        (lambda: crf.span_probability([X[0]], [[(0, 1, "ORG")]]), "no such type"),
        (lambda: crf.span_probability([X[0]], [[(0, 9, "LOC")]]), "positions"),
        (lambda: SegmentCRF("word", states=SegmentSpace(["a"], [1]).chain).fit(X, Y), "states"),
        (lambda: SegmentCRF("word").fit(X, [[None] * len(row) for row in Y]), "not a string"),
        (lambda: SegmentCRF("word", decoding="posterior").fit(X, Y), "form no segments"),
        (lambda: SegmentCRF("word\nfirst(pos)").fit(X, Y), "plain strings"),
        (lambda: SegmentCRF("word\nsegment.text(pos)").fit(X, Y), "plain strings"),
        (lambda: SegmentCRF("columns word\nword\nlast(pos)").fit([[("Ann",)]], [["O"]]), "'pos' is not decl"),
        (lambda: fc.LogOpinionPool([crf, crf]).predict(X), "not one chain"),
    ):
        with pytest.raises(InputError, match=match):
            ask()  # type: ignore[no-untyped-call]


def test_tuples_have_the_columns_of_the_templates_of_tokens() -> None:
    tagged = [[(word, word[0].upper()) for word in row] for row in X]
    templates = "word\npos\nlast(pos)\nsegment.text(pos)"
    crf = SegmentCRF(templates, segment_templates=None).fit(tagged, Y)
    assert crf.predict(tagged).tolist() == Y
    texts = crf.encoder_.attribute_text(range(crf.encoder_.n_attributes))
    assert {"last(pos=Y)", "segment.text(pos)=N Y"} <= set(texts)


def test_raw_strings() -> None:
    found = trained().predict_text(["Ann lives in New York"])[0]
    assert [(span.text, span.label) for span in found] == [("Ann", "PER"), ("New York", "LOC")]

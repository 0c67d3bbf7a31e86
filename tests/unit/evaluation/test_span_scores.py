"""Span scores against the independent conlleval, seqeval, and published figures."""

from __future__ import annotations

import gzip
import random
import warnings
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fieldcraft.corpus import schemes
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import SpanScorer, span_scores
from oracles import conlleval

IOB = ["O", "B-X", "I-X", "B-Y", "I-Y"]
ALL_LETTERS = ["O", *(f"{letter}-{type_}" for type_ in ("X", "Y-Z") for letter in "BIESLU")]


def assert_same_scores(scores, tally, *, tolerance=1e-12):
    seen = set(tally.gold) | set(tally.predicted)
    assert set(scores.by_type) == {type_ for type_ in seen if any(tally.counts(type_)[:2])}
    for type_, row in scores.by_type.items():
        assert (row.gold, row.predicted, row.correct) == tally.counts(type_)
    rows = [(scores.micro, tally.totals())]
    rows += [(row, tally.counts(type_)) for type_, row in scores.by_type.items()]
    for row, counts in rows:
        assert (row.precision, row.recall, row.f) == pytest.approx(conlleval.prf(*counts), rel=tolerance)


def labellings(labels: list[str]) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    pair = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    return st.lists(st.lists(pair, max_size=12), max_size=6)


@pytest.mark.parametrize("length", [1, 2])
def test_every_short_pair_of_labellings(length):
    for gold in product(IOB, repeat=length):
        for predicted in product(IOB, repeat=length):
            pair = [list(gold)], [list(predicted)]
            assert_same_scores(span_scores(*pair), conlleval.tally(*pair))


def test_every_pair_of_length_three_has_the_right_number_of_correct_spans():
    pairs = list(product(product(IOB, repeat=3), repeat=2))
    offsets = np.arange(0, 3 * len(pairs) + 1, 3)
    place = {label: index for index, label in enumerate(IOB)}
    gold, predicted = (np.array([place[y] for pair in pairs for y in pair[k]]) for k in (0, 1))
    scorer = SpanScorer(IOB)
    spans = [scorer.spans(side, offsets) for side in (gold, predicted)]
    found = [list(zip(*(column.tolist() for column in side))) for side in spans]
    common = Counter(start // 3 for start, _, _ in set(found[0]) & set(found[1]))
    for index, (a, b) in enumerate(pairs):
        tally = conlleval.tally([list(a)], [list(b)])
        assert common[index] == tally.totals()[2]


@given(labellings(ALL_LETTERS))
def test_any_letters_also_ill_formed(pairs):
    gold = [[a for a, _ in pair] for pair in pairs]
    predicted = [[b for _, b in pair] for pair in pairs]
    assert_same_scores(span_scores(gold, predicted), conlleval.tally(gold, predicted))


def random_labellings(labels, *, seed, n=1500, noise=0.3):
    """Ill-formed gold sequences and predictions that share most of their labels."""
    rng = random.Random(seed)
    gold = [[rng.choice(labels) for _ in range(rng.randrange(13))] for _ in range(n)]
    predicted = [[rng.choice(labels) if rng.random() < noise else y for y in row] for row in gold]
    return gold, predicted


@pytest.mark.parametrize(
    "labels", [IOB, ["O", "I-X", "I-Y", "B-Y"], ALL_LETTERS], ids=["iob2", "iob1", "all"]
)
def test_random_ill_formed_sequences(labels):
    gold, predicted = random_labellings(labels, seed=len(labels))
    assert_same_scores(span_scores(gold, predicted), conlleval.tally(gold, predicted))
    for pair in list(zip(gold, predicted))[:300]:
        one = [[side] for side in pair]
        assert_same_scores(span_scores(*one), conlleval.tally(*one))


@given(labellings(["O", "NN", "VB"]))
def test_raw_labels_are_spans_of_one_token(pairs):
    gold = [[a for a, _ in pair] for pair in pairs]
    predicted = [[b for _, b in pair] for pair in pairs]
    prefixed = [
        [["O" if y == "O" else f"B-{y}" for y in labels] for labels in side] for side in (gold, predicted)
    ]
    assert span_scores(gold, predicted, scheme="raw") == span_scores(*prefixed)


@st.composite
def well_formed(draw, n_tokens):
    labels: list[str] = []
    while len(labels) < n_tokens:
        room = n_tokens - len(labels)
        size = draw(st.integers(1, min(3, room)))
        type_ = draw(st.sampled_from(["O", "X", "Y"]))
        if type_ == "O":
            labels += ["O"] * size
        else:
            labels += [f"B-{type_}"] + [f"I-{type_}"] * (size - 1)
    return labels


@given(st.data(), st.lists(st.integers(1, 10), min_size=1, max_size=5))
def test_agrees_with_seqeval_on_well_formed_labels(data, lengths):
    from seqeval.metrics import f1_score, precision_score, recall_score

    gold = [data.draw(well_formed(n)) for n in lengths]
    predicted = [data.draw(well_formed(n)) for n in lengths]
    scores = span_scores(gold, predicted)
    assume(scores.by_type)  # without a span seqeval's macro average is not a number
    for average, row in (("micro", scores.micro), ("macro", scores.macro)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # seqeval warns where a quotient has no divisor
            expected = [
                function(gold, predicted, average=average)
                for function in (precision_score, recall_score, f1_score)
            ]
        assert [row.precision, row.recall, row.f] == pytest.approx(expected, rel=1e-12)


SEQEVAL = {"iob1": "BI", "iob2": "BI", "ioe1": "IE", "ioe2": "IE", "iobes": "BIES", "bilou": "BILU"}


def assert_equals_seqeval(scores, gold, predicted, *, tolerance=1e-12, **how):
    from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as lenient
    from seqeval.metrics.v1 import precision_recall_fscore_support as strict

    function = strict if how else lenient
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seqeval warns where a quotient has no divisor
        for average, beta in product(("micro", "macro", "weighted"), (0.5, 1.0, 2.0)):
            expected = function(gold, predicted, average=average, beta=beta, **how)
            row = scores.of(average=average)
            found = [row.precision, row.recall, scores.f_score(average=average, beta=beta)]
            assert found == pytest.approx(expected[:3], rel=tolerance)
        by_type = function(gold, predicted, average=None, **how)
    rows = scores.by_type.values()
    assert [row.gold for row in rows] == list(by_type[3])
    assert [row.f for row in rows] == pytest.approx(list(by_type[2]), rel=tolerance)


@pytest.mark.parametrize("scheme", SEQEVAL)
def test_strict_mode_is_seqevals_on_ill_formed_labels(scheme):
    import seqeval.scheme

    labels = ["O", *(f"{letter}-{type_}" for letter in SEQEVAL[scheme] for type_ in ("X", "Y"))]
    how = {"scheme": getattr(seqeval.scheme, scheme.upper())}
    gold, predicted = random_labellings(labels, seed=7, n=400)
    assert_equals_seqeval(span_scores(gold, predicted, mode="strict", scheme=scheme), gold, predicted, **how)
    for first in range(0, 300, 30):
        few = gold[first : first + 3], predicted[first : first + 3]
        scores = span_scores(*few, mode="strict", scheme=scheme)
        if scores.by_type:
            assert_equals_seqeval(scores, *few, **how)


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "iobes", "bilou"])
def test_well_formed_labels_score_alike_strict_or_not(scheme):
    import seqeval.scheme

    gold, predicted = (
        schemes.convert(side, "conlleval", scheme) for side in random_labellings(IOB, seed=3, n=400)
    )
    scores = span_scores(gold, predicted)
    assert scores == span_scores(gold, predicted, mode="strict", scheme=scheme.upper())
    assert_equals_seqeval(scores, gold, predicted, scheme=getattr(seqeval.scheme, scheme.upper()))
    if scheme != "bilou":  # which seqeval reads in strict mode only
        assert_equals_seqeval(scores, gold, predicted)


def test_strict_mode_drops_what_the_scheme_does_not_allow():
    gold, predicted = [["B-X", "I-X", "O", "B-X"]], [["I-X", "I-X", "O", "B-X"]]
    assert span_scores(gold, predicted).micro.correct == 2
    strict = span_scores(gold, predicted, mode="strict", scheme="iob2").micro
    assert (strict.gold, strict.predicted, strict.correct) == (2, 1, 1)


def test_spans_never_cross_sequences_and_empty_ones_are_skipped():
    scorer = SpanScorer(["O", "I-X"])
    spans = scorer.spans([1, 1, 1], offsets=[0, 0, 1, 1, 3, 3])
    assert spans.start.tolist() == [0, 1]
    assert spans.end.tolist() == [1, 3]


def test_nothing_to_score_gives_zero_not_nan():
    for empty in ([], [[]], [["O", "O"]]):
        scores = span_scores(empty, empty)
        assert (scores.micro.f, scores.macro.f, scores.by_type) == (0.0, 0.0, {})
    assert SpanScorer(["O"]).f([0], [0], offsets=[0, 1]) == 0.0
    assert SpanScorer([]).f([], [], offsets=[0]) == 0.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: span_scores([["NN"]], [["NN"]]), "label 'NN' is neither O nor"),
        (lambda: span_scores([["O"]], [["O"]], scheme="iob9"), "scheme='iob9' is not one of"),
        (lambda: span_scores([["O"]], [["O"]], mode="stern"), "mode='stern' is not one of lenient, strict"),
        (lambda: span_scores([["O"]], [["O"]], mode="strict"), "needs scheme= one of iob1, iob2"),
        (
            lambda: span_scores([["S-X"]], [["O"]], mode="strict", scheme="iob2"),
            "'S-X' does not belong to scheme iob2",
        ),
        (lambda: span_scores(["O"], ["O"]), "gold labels, sequence 0: 'O' is a string"),
        (lambda: span_scores([["O"]], [["O", "O"]]), "sequence 0: 2 predicted labels"),
        (lambda: span_scores([["O"]], []), "0 predicted sequences where gold has 1"),
        (lambda: SpanScorer(["O"]).f([1], [0], offsets=[0, 1]), r"label ids must lie in 0\.\.0"),
        (lambda: SpanScorer(["O"]).f([0], [-1], offsets=[0, 1]), r"label ids must lie in 0\.\.0"),
        (lambda: SpanScorer(["O"]).f([0], [0, 0], offsets=[0, 1]), "offsets must rise from 0"),
        (lambda: SpanScorer(["O"]).f([0, 0], [0, 0], offsets=[0, 3, 2]), "offsets must rise"),
        (lambda: SpanScorer(["O"]).f([0.5], [0], offsets=[0, 1]), "must be integers"),
    ],
)
def test_bad_input_is_explained(call, text):
    with pytest.raises(InputError, match=text):
        call()


def read_columns(path: Path) -> list[list[list[str]]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        blocks = lines.read().strip("\n").split("\n\n")
    return [[line.split() for line in block.splitlines()] for block in blocks if block.strip()]


def test_entities_of_conll_2003_are_counted_as_published(data_file):
    labels = [[row[-1] for row in rows] for rows in read_columns(data_file("conll2003/eng.testb"))]
    scores = span_scores(labels, labels)
    counts = {type_: row.gold for type_, row in scores.by_type.items()}
    assert counts == {"LOC": 1668, "MISC": 702, "ORG": 1661, "PER": 1617}
    assert scores.f == 1.0


def test_baseline_of_the_conll_2000_task_has_its_published_scores(data_file):
    """The commonest chunk label of each part of speech: 72.58 / 82.14 / 77.07."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for rows in read_columns(data_file("conll2000/train.txt.gz")):
        for _, pos, label in rows:
            votes[pos][label] += 1
    test = read_columns(data_file("conll2000/test.txt"))
    gold = [[row[2] for row in rows] for rows in test]
    predicted = [[votes[row[1]].most_common(1)[0][0] for row in rows] for rows in test]
    micro = span_scores(gold, predicted).micro
    assert micro.gold == 23852
    assert [round(100 * value, 2) for value in (micro.precision, micro.recall, micro.f)] == [
        72.58,
        82.14,
        77.07,
    ]
    assert_same_scores(span_scores(gold, predicted), conlleval.tally(gold, predicted))

"""Token and sequence accuracy, F with a balance, the report, and the choice by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft.errors import InputError
from fieldcraft.evaluation import metrics as evaluation
from fieldcraft.evaluation.metrics import (
    METRICS,
    Metric,
    SpanScorer,
    f_score,
    forms_scheme,
    report,
    resolve_metric,
    sequence_accuracy,
    span_scores,
    token_accuracy,
)

GOLD = [["B-LOC", "I-LOC", "O"], ["B-PER"], []]
PREDICTED = [["B-LOC", "I-LOC", "B-PER"], ["B-PER"], []]
NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def as_ids(labellings):
    return np.array([NAMES.index(y) for labels in labellings for y in labels], dtype=np.int32)


def offsets_of(labellings):
    return np.concatenate(([0], np.cumsum([len(labels) for labels in labellings])))


def test_accuracies_of_a_small_case():
    assert token_accuracy(GOLD, PREDICTED) == 3 / 4
    assert sequence_accuracy(GOLD, PREDICTED) == 2 / 3
    assert token_accuracy([], []) == sequence_accuracy([], []) == token_accuracy([[]], [[]]) == 0.0


def test_macro_is_the_mean_over_types_that_occur():
    scores = span_scores(GOLD, PREDICTED)
    assert scores.by_type["PER"].precision == 1 / 2
    assert scores.macro.precision == (1 + 1 / 2) / 2
    assert scores.micro.precision == 2 / 3
    assert scores.micro.recall == 1.0
    assert scores.f == scores.micro.f == pytest.approx(0.8)
    assert scores.by_type["PER"].f_score(beta=0) == 1 / 2


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 1))
def test_f_score_is_the_weighted_harmonic_mean(precision, recall, alpha):
    value = f_score(precision, recall, alpha=alpha)
    assert min(precision, recall) * (1 - 1e-12) <= value <= max(precision, recall) * (1 + 1e-12)
    assert 1 / value == pytest.approx(alpha / precision + (1 - alpha) / recall)


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 4))
def test_beta_is_alpha_in_other_words(precision, recall, beta):
    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    assert f_score(precision, recall, beta=beta) == pytest.approx(expected)


def test_f_score_at_zero_and_bad_balance():
    assert f_score(0.0, 0.0) == f_score(0.0, 1.0) == 0.0
    for settings in ({"alpha": 1.5}, {"beta": -1.0}, {"alpha": 0.5, "beta": 1.0}):
        with pytest.raises(InputError, match=r"alpha|beta"):
            f_score(0.5, 0.5, **settings)


def test_report_shows_the_scores_in_per_cent():
    lines = report(GOLD, PREDICTED).splitlines()
    assert lines[0].split() == ["precision", "recall", "F", "gold", "predicted", "correct"]
    assert lines[1].split() == ["LOC", "100.00", "100.00", "100.00", "1", "1", "1"]
    assert lines[2].split() == ["PER", "50.00", "100.00", "66.67", "1", "2", "1"]
    assert lines[3].split() == ["micro", "66.67", "100.00", "80.00", "2", "3", "2"]
    assert lines[4].split()[:4] == ["macro", "75.00", "100.00", "83.33"]
    assert lines[5].split()[:4] == ["weighted", "75.00", "100.00", "83.33"]
    assert lines[6] == "token accuracy 75.00 (4 tokens), sequence accuracy 66.67 (3 sequences)"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["O", "I-PER", "B-PER"], True),
        (["O", "S-PER", "B-PER", "E-PER", "I-PER"], True),
        (["B-NP", "I-NP"], True),
        (["B", "I", "O"], True),
        ([["O", "B-PER"], ["O"]], True),
        (["O"], False),
        (["B", "S"], False),
        (["NN", "VB", "O"], False),
        (["B-PER", "O", "misc"], False),
        ([["N", "V"], ["N"]], False),
        ([0, 1], False),
        ([], False),
    ],
)
def test_auto_scores_spans_only_where_labels_form_a_scheme(labels, expected):
    assert forms_scheme(labels) is expected
    name = resolve_metric("auto", labels).name
    assert name == ("span_f" if expected else "token_accuracy")


@pytest.mark.parametrize("name", METRICS)
def test_named_metrics_agree_on_lists_and_on_ids(name):
    metric = resolve_metric(name, NAMES)
    on_ids = metric.on_ids(NAMES)
    arrays = as_ids(GOLD), as_ids(PREDICTED), offsets_of(GOLD)
    assert metric(GOLD, PREDICTED) == on_ids(*arrays)
    assert metric(GOLD, GOLD) == 1.0


def test_functions_are_metrics_too():
    def share_of_outside(gold, predicted):
        assert gold == GOLD
        return sum(y == "O" for labels in predicted for y in labels)

    metric = resolve_metric(share_of_outside, NAMES)
    assert metric.name == "share_of_outside"
    assert metric(GOLD, GOLD) == 1
    assert metric.on_ids(NAMES)(as_ids(GOLD), as_ids(GOLD), offsets_of(GOLD)) == 1.0
    assert resolve_metric(metric, NAMES) is metric
    assert isinstance(metric, Metric)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match="metric='f1' is not one of auto, token_accuracy"):
        resolve_metric("f1", NAMES)
    with pytest.raises(InputError, match=r"metric=\['span_f'\] is not one of"):
        resolve_metric(["span_f"], NAMES)


def test_object_arrays_of_lists_are_labellings():
    predicted = np.empty(3, dtype=object)
    predicted[:] = PREDICTED
    assert span_scores(GOLD, predicted) == span_scores(GOLD, PREDICTED)


def test_f_of_ids_is_the_overall_f():
    arrays = as_ids(GOLD), as_ids(PREDICTED), offsets_of(GOLD)
    scorer = SpanScorer(NAMES)
    assert scorer.f(*arrays) == scorer.scores(*arrays).f == pytest.approx(0.8)


def test_every_public_name_is_there():
    for name in evaluation.__all__:
        assert hasattr(evaluation, name)

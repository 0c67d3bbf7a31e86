"""conlleval's printed report, the dict for JSON, and scorers for scikit-learn."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF, datasets, metrics
from fieldcraft.errors import InputError
from oracles import conlleval

GOLD = [["B-LOC", "I-LOC", "O"], ["B-PER"], []]
PREDICTED = [["B-LOC", "I-LOC", "B-PER"], ["B-PER"], []]
PRINTED = """\
processed 4 tokens with 2 phrases; found: 3 phrases; correct: 2.
accuracy:  75.00%; precision:  66.67%; recall: 100.00%; FB1:  80.00
              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2"""


def test_conllevals_layout():
    assert metrics.report(GOLD, PREDICTED, format="conlleval") == PRINTED
    nothing = "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0."
    assert metrics.report([], [], format="conlleval") == nothing
    long = metrics.report([["B-" + "x" * 20]], [["O"]], format="conlleval").splitlines()[-1]
    assert long == "x" * 20 + ": precision:   0.00%; recall:   0.00%; FB1:   0.00  0"


@pytest.mark.parametrize("seed", range(5))
def test_reports_of_ill_formed_labels_are_those_of_the_oracle(seed):
    rng = random.Random(seed)
    labels = ["O", "B-X", "I-X", "B-Y-Z", "I-Y-Z", "I-É"]
    gold = [[rng.choice(labels) for _ in range(rng.randrange(15))] for _ in range(200)]
    predicted = [[rng.choice(labels) if rng.random() < 0.3 else y for y in row] for row in gold]
    expected = conlleval.printed(conlleval.tally(gold, predicted))
    assert metrics.report(gold, predicted, format="conlleval") == expected


def test_raw_and_strict_reports():
    raw = metrics.report([["NN", "VB"]], [["NN", "NN"]], format="conlleval", scheme="raw")
    assert "found: 2 phrases; correct: 1." in raw
    strict = metrics.report([["I-X"]], [["I-X"]], format="conlleval", scheme="iob2", mode="strict")
    assert "with 0 phrases" in strict
    with pytest.raises(InputError, match="format='latex' is not one of table, conlleval"):
        metrics.report(GOLD, PREDICTED, format="latex")


def test_summary_is_json_and_says_what_the_scores_say():
    found = json.loads(json.dumps(metrics.summary(GOLD, PREDICTED)))
    scores = metrics.span_scores(GOLD, PREDICTED)
    assert found["tokens"] == 4
    assert found["sequences"] == 3
    assert found["token_accuracy"] == metrics.token_accuracy(GOLD, PREDICTED)
    assert found["sequence_accuracy"] == metrics.sequence_accuracy(GOLD, PREDICTED)
    assert found["spans"] == scores.to_dict()
    assert found["spans"]["by_type"]["PER"] == {
        **{"precision": 0.5, "recall": 1.0, "f": 2 / 3},
        **{"gold": 1, "predicted": 2, "correct": 1},
    }
    assert set(found["spans"]) == {"by_type", "micro", "macro", "weighted"}


class Parrot:
    """Predicts what it is given."""

    def predict(self, X):
        return np.array([*X, None], object)[:-1]


def score(*names, **settings):
    return metrics.scorer(*names, **settings)(Parrot(), PREDICTED, GOLD)


def test_scorers_give_the_scores():
    scores = metrics.span_scores(GOLD, PREDICTED)
    assert score() == score("auto") == score("span_f") == score("span_f1") == scores.micro.f
    assert score("span_f1", average="macro") == score("span_macro_f") == scores.macro.f
    assert score("span_recall", average="weighted") == scores.weighted.recall
    assert score("span_precision", type="PER") == scores.by_type["PER"].precision
    assert score("span_f", type="PER", beta=2) == scores.by_type["PER"].f_score(beta=2)
    assert score("span_f", alpha=0.9, average="macro") == scores.f_score(alpha=0.9, average="macro")
    assert score("span_f", type="ORG") == 0.0
    assert score("token_accuracy") == 0.75
    assert score(metrics.sequence_accuracy) == 2 / 3
    assert score("span_f", mode="strict", scheme="iob2") == scores.micro.f


def test_averages_of_f_are_those_of_each_types_f():
    scores = metrics.span_scores(GOLD, PREDICTED)
    per_type = [row.f_score(beta=2) for row in scores.by_type.values()]
    assert scores.f_score(average="macro", beta=2) == pytest.approx(np.mean(per_type))
    assert scores.f_score(average="weighted", beta=2) == pytest.approx(
        np.mean(per_type)
    )  # one gold span each


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"metric": "f"}, "metric='f' is not one of auto"),
        ({"metric": "token_accuracy", "average": "macro"}, "settings of span_f"),
        ({"metric": "auto", "type": "PER"}, "settings of span_f"),
        ({"metric": "span_f", "average": "mean"}, "average='mean' is not one of micro, macro, weighted"),
        ({"metric": "span_f", "average": "macro", "type": "PER"}, "pass one"),
        ({"metric": "span_recall", "beta": 2}, "has no use for them"),
        ({"metric": "span_f", "alpha": 2}, "alpha must lie between 0 and 1"),
        ({"metric": "span_f", "mode": "strict"}, "needs scheme="),
        ({"metric": "span_f", "scheme": "iob9"}, "scheme='iob9' is not one of"),
    ],
)
def test_bad_scorers_are_refused_when_they_are_made(settings, text):
    with pytest.raises(InputError, match=text):
        metrics.scorer(**settings)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scorers_in_cross_validation_and_search(n_jobs):
    model_selection = pytest.importorskip("sklearn.model_selection")
    corpus = datasets.addresses(n=60)
    X = [sequence.columns["word"] for sequence in corpus]
    crf = ChainCRF("word\nshape(word)\nedge", optimiser=LBFGS(max_iterations=10), n_jobs=1)
    scoring = metrics.scorer("span_f1", type="postcode")
    assert pickle.loads(pickle.dumps(scoring)) == scoring
    found = model_selection.cross_val_score(crf, X, corpus.labels, scoring=scoring, cv=3, n_jobs=n_jobs)
    folds = model_selection.KFold(3).split(X)
    for value, (train, test) in zip(found, folds, strict=True):
        fitted = ChainCRF(**crf.get_params()).fit([X[i] for i in train], [corpus.labels[i] for i in train])
        predicted = fitted.predict([X[i] for i in test])
        scores = metrics.span_scores([corpus.labels[i] for i in test], predicted)
        assert value == scores.by_type["postcode"].f
    search = model_selection.GridSearchCV(
        crf,
        {"min_count": [1, 2]},
        scoring={
            "macro": metrics.scorer("span_f1", average="macro"),
            "tokens": metrics.scorer("token_accuracy"),
        },
        refit="macro",
        cv=2,
        n_jobs=n_jobs,
    ).fit(X, corpus.labels)
    assert np.isfinite(search.cv_results_["mean_test_macro"]).all()
    assert search.best_score_ > 0


def test_a_corpus_brings_its_labels():
    corpus = datasets.addresses(n=30)
    crf = ChainCRF("word\nedge", optimiser=LBFGS(max_iterations=5)).fit(corpus)
    expected = metrics.span_scores(corpus.labels, crf.predict(corpus)).micro.f
    assert metrics.scorer("span_f")(crf, corpus) == expected


def test_metrics_do_not_import_scikit_learn():
    code = (
        "import sys; import fieldcraft; fieldcraft.metrics.scorer('span_f1'); print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

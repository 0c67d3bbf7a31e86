"""Predictions of cross-validation: of every sequence once, by a model that did not see it."""

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold
from sklearn.model_selection import cross_val_predict as sklearns

import fieldcraft as fc
from fieldcraft.errors import InputError
from unit.models.small import LABELS, corpus

X, Y = (rows[:12] for rows in corpus(LABELS["plain"], n=12))
CRF = fc.ChainCRF(optimiser=fc.LBFGS(max_iterations=20))
NAMES = sorted({label for row in Y for label in row})


def by_hand(test: list[int]) -> Any:
    train = [i for i in range(len(X)) if i not in test]
    crf = fc.ChainCRF(optimiser=CRF.optimiser, labels=NAMES).fit([X[i] for i in train], [Y[i] for i in train])
    return crf.predict_proba([X[i] for i in test])


@pytest.mark.parametrize("cv", [3, KFold(3), list(KFold(3).split(X))])
def test_probabilities_are_those_of_models_trained_on_the_other_folds(cv: Any) -> None:
    found = fc.cross_val_predict(CRF, X, Y, cv=cv, method="predict_proba")
    for test in (range(0, 4), range(4, 8), range(8, 12)):
        for i, expected in zip(test, by_hand([*test])):
            np.testing.assert_array_equal(found[i], expected)
    assert not hasattr(CRF, "classes_")


def test_labels_are_scikit_learns() -> None:
    folds = KFold(4, shuffle=True, random_state=1)
    assert fc.cross_val_predict(CRF, X, Y, cv=folds).tolist() == sklearns(CRF, X, Y, cv=folds).tolist()


def test_a_label_that_a_fold_lacks_has_a_column_everywhere() -> None:
    rows = [["a"], ["b"], ["c"], ["a"]]
    gold = [["A"], ["B"], ["C"], ["A"]]
    found = fc.cross_val_predict(fc.ChainCRF("word"), rows, gold, cv=4, method="predict_proba")
    assert [row.shape for row in found] == [(1, 3)] * 4
    assert found[2][0, 2] < found[0][0, 0]


def test_corpora_and_groups() -> None:
    data = fc.Corpus.from_columns(
        {"word": [["in", "Rome"], ["in", "May"], ["Rome"], ["May"]]}, [["O", "X"], ["O", "Y"], ["X"], ["Y"]]
    )
    found = fc.cross_val_predict(fc.ChainCRF("word"), data, cv=GroupKFold(2), groups=[0, 1, 1, 0])
    assert [len(row) for row in found] == [2, 2, 1, 1]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv is 1; the number of folds"),
        (13, "13 folds of 12 sequences"),
        ([([0], [1])], "every sequence once"),
        (0.5, "cv is a float"),
    ],
)
def test_what_is_no_partition_is_refused(cv: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fc.cross_val_predict(CRF, X, Y, cv=cv)


def test_numbers_that_scikit_learn_made_of_labels_are_explained() -> None:
    even = [[["a"], ["b"]]] * 4, [["P", "Q"]] * 4
    with pytest.raises(InputError, match="fc.cross_val_predict"):
        sklearns(fc.ChainCRF(), *even, cv=2, method="predict_proba")

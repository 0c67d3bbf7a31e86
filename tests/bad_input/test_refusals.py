"""Bad input to an estimator: one row each, and the message says where, the rule, what, the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fieldcraft import LBFGS, ChainCRF, ElasticNet, FieldcraftError, Gaussian, Laplacian

X: list[Any] = [[["a"], ["b"]], [["a", "c"], ["b"], ["d"]]]
Y: list[list[str]] = [["P", "Q"], ["P", "Q", "Q"]]
N_WEIGHTS = 6  # a-P, b-Q, c-P, d-Q, and the pairs P-Q and Q-Q
NAN, INF = float("nan"), float("inf")


def one(item: Any) -> list[Any]:
    """The item at sequence 1, token 1."""
    return [[["a"]], [["a"], item]]


ONE_Y = [["P"], ["P", "Q"]]

# name -> (X, y, what the message must hold)
CORPORA: dict[str, tuple[Any, Any, str]] = {
    "empty corpus": ([], [], "nothing to learn from: X has no tokens"),
    "empty sequences only": ([[], []], [[], []], "nothing to learn from: X has no tokens"),
    "no attributes": ([[[]]], [["P"]], "no feature is left to learn; lower min_count or add"),
    "nan": (one({"f": NAN}), ONE_Y, "sequence 1, token 1: feature 'f' has the value nan; values must"),
    "inf": (one({"f": INF}), ONE_Y, "sequence 1, token 1: feature 'f' has the value inf; values must"),
    "-inf": (one({"f": -INF}), ONE_Y, "sequence 1, token 1: feature 'f' has the value -inf"),
    "nested nan": (one({"f": {"g": NAN}}), ONE_Y, "token 1: feature 'f:g' has the value nan"),
    "float32 nan": (one({"f": np.float32(NAN)}), ONE_Y, "token 1: feature 'f' has the value nan"),
    "nan in a matrix": (
        [np.ones((1, 2)), np.array([[1.0, 1.0], [1.0, NAN]])],
        ONE_Y,
        "sequence 1, token 1: column 1 is nan; values must be finite",
    ),
    "inf in a sparse matrix": (
        [sparse.csr_matrix([[1.0, 1.0]]), sparse.csr_matrix([[0.0, 0.0], [0.0, INF]])],
        ONE_Y,
        "sequence 1, token 1: column 1 is inf; values must be finite",
    ),
    "too shallow": (["ab", "cd"], [["P"], ["Q"]], "sequence 0: a sequence must be a list of items"),
    "too deep": ([[[["a"]]]], [["P"]], "sequence 0, token 0: .* got list; X has one level too many"),
    "too deep dict": ([[[{"a": 1}]]], [["P"]], "token 0: .* got dict; X has one level too many"),
    "text": ("ab", ["P"], "X is a str; it must be a list of sequences"),
    "dict": ({"a": 1}, [["P"]], "X is a dict; it must be a list of sequences"),
    "X is None": (None, Y, "X is a NoneType; it must be a list of sequences"),
    "X is a number": (3, Y, "X is a int; it must be a list of sequences"),
    "X is a generator": ((x for x in X), Y, r"X is a generator; .* \(turn generators into lists\)"),
    "a sequence is None": ([None], [["P"]], "sequence 0: .* got NoneType"),
    "a token is None": (one(None), ONE_Y, "sequence 1, token 1: an item must be .* got NoneType"),
    "a token is a number": (one(3), ONE_Y, "token 1: .* got int; numbers need a name"),
    "a token is bytes": (one(b"a"), ONE_Y, "sequence 1, token 1: an item must be .* got bytes"),
    "a value is None": (one({"f": None}), ONE_Y, "token 1: feature 'f' has a value of type NoneType; "),
    "a value is an object": (one({"f": object()}), ONE_Y, "token 1: feature 'f' .* of type object"),
    "a value is a vector": (one({"f": np.ones(3)}), ONE_Y, "feature 'f' .*not one number; flatten"),
    "a value beyond float": (one({"f": 10**400}), ONE_Y, "feature 'f' .*not one number"),
    "a name is a number": (one({1: "f"}), ONE_Y, "token 1: a feature name must be a str, got int"),
    "a number in a list": (one(["f", 3]), ONE_Y, "token 1: a list of features must contain str, got int"),
    "bytes in a list": (one([b"f"]), ONE_Y, "token 1: a list of features must contain str, got bytes"),
    "lone surrogate": (one(["f\udcff"]), ONE_Y, "token 1: .* lone surrogate.*errors='replace'"),
    "matrix of one dimension": ([np.ones(3)], [["P"] * 3], "sequence 0: an array of 1 dimensions; exp"),
    "matrix of text": ([np.array([["a"]])], [["P"]], "sequence 0: a matrix of type <U1; its cells must"),
    "complex matrix": ([np.ones((1, 1), complex)], [["P"]], "a matrix of type complex128; its cells"),
    "two widths": ([np.ones((1, 2)), np.ones((1, 3))], [["P"], ["P"]], r"widths \[2, 3\]; all need one"),
    "list among matrices": ([np.ones((1, 2)), [["a"]]], [["P"], ["P"]], "sequence 1: list among matr"),
    "matrix among lists": ([[["a"]], np.ones((1, 2))], [["P"], ["P"]], "sequence 1, token 0: .*ndarray"),
    "fewer labels": (X, Y[:1], "X has 2 sequences and y has 1; they must agree"),
    "more labels": (X, [*Y, ["P"]], "X has 2 sequences and y has 3; they must agree"),
    "short sequence of labels": (X, [["P", "Q"], ["P"]], "sequence 1: 1 labels for 3 tokens; each"),
    "long sequence of labels": (X, [["P"] * 3, ["P"] * 3], "sequence 0: 3 labels for 2 tokens; each"),
    "labels for an empty sequence": ([[], [["a"]]], [["P"], ["P"]], "sequence 0: 1 labels for 0 tok"),
    "flat labels": (X, ["P", "Q"], r"y\[0\] is a str; each sequence needs a list of labels"),
    "text as labels": (X, "PQ", "y is a str; it must be a list of label lists"),
    "labels missing": (X, None, r"y is missing: pass fit\(X, y\), or fit\(corpus\) with a labelled"),
    "labels of a sequence missing": (X, [None, Y[1]], r"y\[0\] is a NoneType; each sequence needs"),
    "whole numbers": (X, [[0, 1], [0, 1, 1]], r"sequence 0, token 0: label 0 is a int; .* str\(label"),
    "NumPy numbers": (X, [np.array([0, 1]), ["P"] * 3], "sequence 0, token 0: label .*0.* is a int64"),
    "a label is None": (X, [["P", None], Y[1]], "sequence 0, token 1: label None is not a string; "),
    "a label is bytes": (X, [["P", b"Q"], Y[1]], "sequence 0, token 1: label b'Q' is a bytes; labels"),
    "surrogate in a label": (X, [["P", "\udcff"], Y[1]], "sequence 0, token 1: label .* lone surrogate"),
    "a set of labels": (X, [{"P", "Q"}, Y[1]], r"y\[0\] is a set; each sequence needs a list of lab"),
    "a dict of labels": (X, [{"P": 1, "Q": 2}, Y[1]], r"y\[0\] is a dict; each sequence needs a list"),
    "a generator of labels": (X, [(c for c in "PQ"), Y[1]], r"y\[0\] is a generator; each sequence n"),
}


@pytest.mark.parametrize("name", CORPORA)
def test_corpora(name: str) -> None:
    given_X, given_y, message = CORPORA[name]
    crf = ChainCRF()
    with pytest.raises(FieldcraftError, match=message):
        crf.fit(given_X, given_y)
    assert not hasattr(crf, "weights_")


def test_the_number_of_weights() -> None:
    assert len(fitted().weights_) == N_WEIGHTS


def fitted() -> ChainCRF:
    return ChainCRF(optimiser=LBFGS(max_iterations=20)).fit(X, Y)


def test_a_failed_fit_leaves_the_old_model() -> None:
    crf = fitted()
    before = crf.weights_.tobytes(), crf.predict(X).tolist()
    with pytest.raises(FieldcraftError, match="value nan"):
        crf.fit(one({"f": NAN}), ONE_Y)
    assert (crf.weights_.tobytes(), crf.predict(X).tolist()) == before


def test_the_place_of_a_bad_sequence_is_told_without_a_token() -> None:
    """The sequence is wrong, not the token that the one before it ended with."""
    with pytest.raises(FieldcraftError, match="sequence 1: a sequence must be a list of items"):
        ChainCRF().fit([[["a"], ["b"]], "ab"], [["P", "Q"], ["P", "Q"]])


ASKING: dict[str, tuple[Callable[[ChainCRF], Any], str]] = {
    "nan": (lambda crf: crf.predict(one({"f": NAN})), "sequence 1, token 1: feature 'f' has the va"),
    "too shallow": (lambda crf: crf.predict(["ab"]), "sequence 0: a sequence must be a list of item"),
    "too deep": (lambda crf: crf.predict([X]), "X has one level too many"),
    "one sequence": (lambda crf: crf.predict("ab"), "X is a str; it must be a list of sequences"),
    "None": (lambda crf: crf.predict(None), "X is a NoneType; it must be a list of sequences"),
    "unseen label": (
        lambda crf: crf.log_probability(X, [["P", "Z"], Y[1]]),
        "sequence 0, token 1: label 'Z' was not seen in training; relabel it or train with it",
    ),
    "labels too few": (lambda crf: crf.log_probability(X, [["P"], Y[1]]), "1 labels for 2 tokens"),
    "labels for score": (lambda crf: crf.score(X, Y[:1]), "X has 2 sequences and y has 1"),
    "no labels": (lambda crf: crf.score(X), "y is missing"),
    "k of 0": (lambda crf: crf.k_best(X, 0), "k is 0; "),
    "k of 1.5": (lambda crf: crf.k_best(X, 1.5), "k is 1.5; "),  # type: ignore[arg-type]
    "samples": (lambda crf: crf.sample(X, -1), "n is -1; the number of samples must "),
    "lists of spans": (lambda crf: crf.span_probability(X, [[]]), "1 lists of spans for 2 sequences"),
    "span outside": (
        lambda crf: crf.span_probability(X, [[(0, 3, "P")], []]),
        r"span \(0, 3, 'P'\): positions must satisfy 0 <= start < end <= 2",
    ),
    "empty span": (lambda crf: crf.span_probability(X, [[(1, 1, "P")], []]), "0 <= start < end <= 2"),
    "negative span": (lambda crf: crf.span_probability(X, [[(-1, 1, "P")], []]), "0 <= start < end"),
    "no span": (lambda crf: crf.span_probability(X, [[], [(0, 1)]]), r"sequence 1: \(0, 1\) is not a"),
}


@pytest.mark.parametrize("name", ASKING)
def test_questions(name: str) -> None:
    ask, message = ASKING[name]
    with pytest.raises(FieldcraftError, match=message):
        ask(fitted())


UNFITTED: list[Callable[[ChainCRF], Any]] = [
    lambda crf: crf.predict(X),
    lambda crf: crf.predict_proba(X),
    lambda crf: crf.predict_marginals(X),
    lambda crf: crf.decode(X),
    lambda crf: crf.k_best(X, 2),
    lambda crf: crf.sample(X, 2),
    lambda crf: crf.log_partition(X),
    lambda crf: crf.log_probability(X, Y),
    lambda crf: crf.entropy(X),
    lambda crf: crf.span_probability(X, [[], []]),
    lambda crf: crf.score(X, Y),
    lambda crf: crf.save("never.fc"),
]


@pytest.mark.parametrize("ask", UNFITTED)
def test_before_fit(ask: Callable[[ChainCRF], Any]) -> None:
    with pytest.raises(FieldcraftError, match="ChainCRF is not trained yet; call fit or load") as info:
        ask(ChainCRF())
    assert isinstance(info.value, AttributeError)  # scikit-learn's NotFittedError is one too


FIT: dict[str, tuple[dict[str, Any], str]] = {
    "negative": ({"sample_weight": [1, -1]}, r"sample_weight\[1\] is -1.0; weights must be finite and"),
    "nan": ({"sample_weight": [NAN, 1]}, r"sample_weight\[0\] is nan; weights must be finite"),
    "inf": ({"sample_weight": [1, INF]}, r"sample_weight\[1\] is inf; weights must be finite"),
    "short": ({"sample_weight": [1]}, r"shape \(1,\); one number per sequence \(2\) is needed"),
    "two-dimensional": ({"sample_weight": [[1, 1]]}, r"shape \(1, 2\); one number per sequence"),
    "text": ({"sample_weight": "ab"}, "sample_weight is not a list of numbers; one per sequence"),
    "mask of another length": ({"feature_mask": [True]}, r"shape \(1,\) and type bool; one bool per"),
    "mask of numbers": ({"feature_mask": [1] * 6}, "type int64; one bool per weight"),
    "held-out labels alone": ({"y_dev": Y}, "y_dev is given without X_dev; pass both"),
    "held-out data without labels": ({"X_dev": X}, "y is missing"),
    "held-out lengths": ({"X_dev": X, "y_dev": Y[:1]}, "X has 2 sequences and y has 1"),
}


@pytest.mark.parametrize("name", FIT)
def test_arguments_of_fit(name: str) -> None:
    arguments, message = FIT[name]
    with pytest.raises(FieldcraftError, match=message):
        ChainCRF().fit(X, Y, **arguments)


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"prior": Gaussian(variance=0)}, r"variance is 0; it must be greater than 0"),
    ({"prior": Gaussian(variance=-1)}, r"variance is -1; it must be greater than 0"),
    ({"prior": Gaussian(variance=NAN)}, r"variance is nan; it must be greater than 0"),
    ({"prior": Gaussian(variance=[1, 2])}, r"variance has shape \(2,\); give one number or one per w"),
    ({"prior": Gaussian(variance=np.ones((6, 1)))}, r"variance has shape \(6, 1\); give one number"),
    ({"prior": Gaussian(variance="large")}, "variance is 'large'; give one number or one per weight"),
    ({"prior": Gaussian(mean=INF)}, r"mean is inf; it must be finite"),
    ({"prior": Gaussian(mean=np.ones(N_WEIGHTS + 1))}, r"mean has shape \(7,\); .* one per weight \(6\)"),
    ({"prior": Laplacian(scale=0)}, r"scale is 0; it must be greater than 0"),
    ({"prior": Laplacian(scale=[1, 1, 0, 1, 1, 1])}, r"scale\[2\] is 0; it must be greater than 0"),
    ({"prior": ElasticNet(variance=-2)}, r"variance is -2; it must be greater than 0"),
    ({"prior": "flat"}, "prior='flat'; give 'auto', None, a prior object or one of gaussian, block_gaussian"),
    ({"prior": Gaussian}, "give 'auto', None, a prior object or one of"),
    ({"optimiser": "sgd9"}, "optimiser='sgd9'; give 'auto', an optimiser object or one of dual_ascent"),
    ({"optimiser": LBFGS(memory=0)}, "LBFGS: memory is 0; it must be a whole number >= 1"),
    ({"optimiser": LBFGS(max_iterations=-1)}, "LBFGS: max_iterations is -1; it must be a whole"),
    ({"optimiser": LBFGS(tolerance=NAN)}, "LBFGS: tolerance is nan; it must be a number"),
    ({"optimiser": "lbfgs", "prior": "laplacian"}, "absolute-value part, .* use optimiser='owlqn'"),
    ({"objective": "hinge"}, "objective='hinge'; give None, an objective or one of likelihood"),
    ({"features": "some"}, "features='some'; choose one of supported, all, all_states"),
    ({"min_count": 0}, "min_count is 0; it must be a whole number, at least 1"),
    ({"min_count": "2"}, "min_count is '2'; it must be a whole number, at least 1"),
    ({"min_count": 99}, "no feature is left to learn; lower min_count"),
    ({"states": "latent"}, "states='latent'; write labels, ngrams:2 or latent:3"),
    ({"decoding": "greedy"}, "decoding='greedy'; choose one of viterbi, posterior"),
    ({"metric": "f9"}, "metric='f9' is not one of auto, token_accuracy"),
    ({"hash_size": 0}, "hash_size is 0; it must be a whole number between 1 and"),
    ({"hash_size": 2.5}, "hash_size is 2.5; it must be a whole number between 1 and"),
    ({"hash_size": 8, "edge_prefix": "e"}, "edge_prefix needs the attributes' names, which hashing"),
    ({"edge_prefix": 5}, "edge_prefix is 5; it must be a str"),
    ({"n_jobs": 0}, "n_jobs is 0; it must be a whole number >= 1, -1 for all cores, or None"),
    ({"n_jobs": -3}, "n_jobs is -3; it must be a whole number >= 1"),
    ({"n_jobs": "2"}, "n_jobs is '2'; it must be a whole number >= 1"),
    ({"n_jobs": 1.5}, "n_jobs is 1.5; it must be a whole number >= 1"),
    ({"features": "all", "min_count": 2}, "min_count=2 with features='all'"),
    ({"templates": 5}, "templates must be"),
    ({"templates": "simple", "edge_prefix": "e"}, "edge_prefix is for free features; in templates"),
    ({"gazetteers": {}}, "gazetteers are used by templates; pass templates="),
]


@pytest.mark.parametrize(("settings", "message"), SETTINGS, ids=lambda value: str(value)[:40])
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(FieldcraftError, match=message):
        ChainCRF(**settings).fit(X, Y)


def test_a_parameter_that_does_not_exist() -> None:
    with pytest.raises(FieldcraftError, match="ChainCRF has no parameter 'c2'; write prior=fc.Gaussian"):
        ChainCRF().set_params(c2=1.0)


def test_sampling_needs_a_seed() -> None:
    crf = fitted()
    crf.random_state = None  # type: ignore[assignment]
    with pytest.raises(FieldcraftError, match="random_state is None; sampling needs a whole number"):
        crf.sample(X, 1)

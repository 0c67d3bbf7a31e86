"""sklearn-crfsuite's estimator: parameters, answers, fitted attributes, copies, files, refusals."""

from __future__ import annotations

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.compat import CRF, pycrfsuite
from fieldcraft.errors import InputError, ModelFileError, NotFittedError

WORDS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "barks": "V", "sleeps": "V"}


def sequence(words: str) -> list[dict[str, Any]]:
    return [{"w": w, "long": len(w) > 3, "length": len(w) / 4, "end": {"1": w[-1]}} for w in words.split()]


TEXTS = ["the dog barks", "a cat sleeps", "the cat barks", "dog", "a dog sleeps the cat", "cat sleeps"]
X = [sequence(text) for text in TEXTS]
Y = [[WORDS[w] for w in text.split()] for text in TEXTS]


@pytest.fixture(scope="module")
def crf() -> CRF:
    return CRF(c1=0.01, c2=0.05, max_iterations=100).fit(X, Y)


def test_answers(crf: CRF) -> None:
    assert crf.predict(X).tolist() == Y
    assert crf.predict_single(X[0]) == Y[0]
    assert crf.score(X, Y) == 1.0
    marginals = crf.predict_marginals(X)
    assert marginals.shape == (len(X),)
    assert crf.predict_marginals_single(X[4]) == marginals[4]
    for row in marginals[4]:
        assert list(row) == crf.classes_
        assert sum(row.values()) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("texts", [["dog barks", "cat sleeps"], ["dog"], []])
def test_answers_have_one_dimension_whatever_the_lengths(crf: CRF, texts: list[str]) -> None:
    data = [sequence(text) for text in texts]
    assert crf.predict(data).shape == (len(texts),)
    assert crf.predict_marginals(data).shape == (len(texts),)


def test_item_sequences_are_sequences(crf: CRF) -> None:
    given = [pycrfsuite.ItemSequence(items) for items in X]
    assert crf.predict(given).tolist() == Y
    assert crf.predict_single(given[0]) == Y[0]
    assert CRF(c1=0.01, c2=0.05, max_iterations=100).fit(given, Y).state_features_ == crf.state_features_


def test_fitted_attributes(crf: CRF) -> None:
    assert crf.classes_ == ["D", "N", "V"]
    assert isinstance(crf.tagger_, pycrfsuite.Tagger)
    assert crf.tagger_ is crf.tagger_
    chain = crf.chain_
    active = np.count_nonzero(chain.weights_)
    assert crf.state_features_ is not None
    assert crf.transition_features_ is not None
    assert len(crf.state_features_) + len(crf.transition_features_) == active
    assert 0.0 not in crf.state_features_.values()
    assert crf.state_features_["w:the", "D"] > 0
    assert crf.transition_features_["D", "N"] > 0
    assert crf.attributes_ is not None
    assert set(crf.attributes_) == {name for name, _ in crf.state_features_}
    assert crf.num_attributes_ == len(crf.attributes_)
    assert crf.size_ is not None
    assert crf.size_ > chain.weights_.nbytes
    assert crf.modelfile.auto


def test_weights_are_those_of_the_chain(crf: CRF) -> None:
    chain, states = crf.chain_, crf.state_features_
    assert states is not None
    index = chain.features_
    for a, before, label, weight in zip(index.attribute, index.previous, index.label, chain.weights_):
        if a >= 0 and before < 0 and weight:
            key = chain.encoder_.attribute_text([a])[0], chain.classes_[label]
            assert states[key] == weight


def test_before_training() -> None:
    crf = CRF()
    fitted = "tagger_ classes_ size_ num_attributes_ attributes_ state_features_ transition_features_"
    assert [getattr(crf, name) for name in [*fitted.split(), "training_log_"]] == [None] * 8
    for ask in (crf.predict, crf.predict_marginals):
        with pytest.raises(NotFittedError, match="not trained yet"):
            ask(X)
    with pytest.raises(NotFittedError):
        crf.score(X, Y)


def test_training_log_with_held_out_data() -> None:
    crf = CRF(max_iterations=5).fit(X[:4], Y[:4], X[4:], Y[4:])
    assert crf.training_log_ is not None
    assert [entry["num"] for entry in crf.training_log_.iterations] == [1, 2, 3, 4, 5]
    last = crf.training_log_.last_iteration
    assert last is not None
    assert last["loss"] == crf.chain_.objective_value_
    assert set(last["scores"]) == set(WORDS.values())
    assert last["item_accuracy_float"] == crf.score(X[4:], Y[4:])


def test_verbose_prints_a_line_per_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    CRF(max_iterations=3, verbose=True).fit(X[:4], Y[:4], X[4:], Y[4:])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("Iter")] == ["1", "2", "3"]
    assert any("f1=" in line for line in lines)
    assert any(line.split()[0] == "N" and line.split()[-1] == "3" for line in lines if line)
    CRF(max_iterations=3).fit(X, Y)
    assert capsys.readouterr().out == ""


def test_trainer_class_of_ones_own() -> None:
    seen = []

    class Watching(pycrfsuite.Trainer):
        def on_start(self, log: str) -> None:
            pass

        on_featgen_end = on_prepared = on_optimization_end = on_end = on_start

        def on_iteration(self, log: str, info: dict[str, Any]) -> None:  # noqa: ARG002
            seen.append(info["num"])

    CRF(max_iterations=4, verbose=True, trainer_cls=Watching).fit(X, Y)
    assert seen == [1, 2, 3, 4]
    with pytest.raises(InputError, match="pass a subclass"):
        CRF(trainer_cls=int).fit(X, Y)  # type: ignore[arg-type]


# -- copies and files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda crf: pickle.loads(pickle.dumps(crf))])
def test_copies_answer_alike(crf: CRF, copied: Any) -> None:
    twin = copied(crf)
    assert twin.get_params() == crf.get_params()
    assert twin.predict_marginals(X).tolist() == crf.predict_marginals(X).tolist()
    assert twin.state_features_ == crf.state_features_
    assert twin.training_log_.iterations == crf.training_log_.iterations  # type: ignore[union-attr]


def test_model_file(tmp_path: Path) -> None:
    path = str(tmp_path / "model.fc")
    trained = CRF(c2=0.05, model_filename=path).fit(X, Y)
    assert trained.modelfile.name == path
    opened = CRF(model_filename=path)
    assert opened.predict(X).tolist() == Y
    assert opened.state_features_ == trained.state_features_
    assert fc.load(path).predict(X).tolist() == Y
    assert CRF(model_filename=str(tmp_path / "absent")).classes_ is None
    assert sorted(tmp_path.iterdir()) == [tmp_path / "model.fc"]


def test_model_of_another_tool(tmp_path: Path) -> None:
    path = tmp_path / "model.crfsuite"
    path.write_bytes(b"lCRF" + bytes(60))
    with pytest.raises(ModelFileError, match="looks like a model of CRFsuite, but"):
        CRF(model_filename=str(path)).predict(X)


# -- what parameters do -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "prior", "optimiser"),
    [
        ({}, "Gaussian", "LBFGS"),
        ({"c2": 0.0}, "NoPrior", "LBFGS"),
        ({"c1": 0.5, "c2": 0.0}, "Laplacian", "OWLQN"),
        ({"c1": 0.5, "c2": 0.25}, "ElasticNet", "OWLQN"),
    ],
)
def test_penalties(given: dict[str, float], prior: str, optimiser: str) -> None:
    chain = CRF(max_iterations=3, **given).fit(X, Y).chain_  # type: ignore[arg-type]
    assert type(chain.prior_).__name__ == prior
    assert type(chain.optimiser_).__name__ == optimiser
    settings = chain.prior_.settings()
    if "scale" in settings:
        assert settings["scale"] == 1 / given["c1"]
    if "variance" in settings:
        assert settings["variance"] == 1 / (2 * given.get("c2", 1.0))


def test_optimiser_settings() -> None:
    given = {"max_iterations": 7, "num_memories": 3, "epsilon": 1e-3, "period": 4, "delta": 1e-2}
    chain = CRF(**given, max_linesearch=9).fit(X, Y).chain_  # type: ignore[arg-type]
    expected = fc.LBFGS(
        max_iterations=7, memory=3, tolerance=1e-3, period=4, objective_tolerance=1e-2, max_trials=9
    )
    assert chain.optimiser_ == expected


def test_no_limit_and_no_test_of_the_objective() -> None:
    chain = CRF(max_iterations=0, period=0, delta=0.5, c2=0.01).fit(X, Y).chain_
    assert chain.optimiser_.max_iterations == CRF().fit(X, Y).chain_.optimiser_.max_iterations == 2**31 - 1
    assert chain.stop_reason_ == "gradient small enough"
    assert CRF(delta=0.5, period=1, c2=0.01).fit(X, Y).chain_.n_iter_ < chain.n_iter_


@pytest.mark.parametrize(
    ("given", "features", "least"),
    [
        ({}, "supported", 1),
        ({"all_possible_states": True}, "all_states", 1),
        ({"all_possible_transitions": True}, "all_transitions", 1),
        ({"all_possible_states": True, "all_possible_transitions": True}, "all", 1),
        ({"min_freq": 2, "all_possible_transitions": True}, "supported", 2),
        ({"min_freq": 1.5}, "supported", 2),
    ],
)
def test_features(given: dict[str, Any], features: str, least: int) -> None:
    chain = CRF(max_iterations=2, **given).fit(X, Y).chain_
    assert (chain.features, chain.min_count) == (features, least)


def test_zero_values_support_features() -> None:
    """As in CRFsuite, {"long": False} at a label gives the feature (long, label) a weight."""
    crf = CRF(c2=0.01).fit(X, Y)
    assert crf.state_features_ is not None
    assert crf.state_features_["long", "D"] < 0
    assert CRF(c2=0.01, min_freq=1).fit(X, Y).state_features_.keys() < crf.state_features_.keys()  # type: ignore[union-attr]


# -- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "l2sgd", "calibration_eta": 0.0}, "first_rate is 0.0"),
        ({"algorithm": "pa", "pa_type": 3}, "type is 3; it must be 0, 1 or 2"),
        ({"algorithm": "arow", "gamma": -0.5}, "gamma is -0.5; it must be a number above 0"),
        ({"algorithm": "adam"}, "algorithm='adam' is not known; choose one of lbfgs, l2sgd"),
        ({"c1": -1.0}, "c1 is -1.0; it must be a number, zero or greater"),
        ({"c2": float("nan")}, "c2 is nan"),
        ({"c2": "strong"}, "c2 is 'strong'; pass a number such as 1.0"),
        ({"pa_type": 1}, "pa_type is no parameter of algorithm='lbfgs'; leave it out"),
        ({"linesearch": "Golden"}, "linesearch is 'Golden'; it must be one of MoreThuente"),
        ({"num_memories": 0}, "memory is 0"),
        ({"max_iterations": -3}, "max_iterations is -3"),
        ({"min_freq": float("inf")}, "feature.minfreq is inf"),
        ({"min_freq": 1000}, "no feature is left"),
    ],
)
def test_refused_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CRF(**given).fit(X, Y)


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (X, Y[:-1], "X has 6 sequences and y has 5"),
        (X[:1], [["D", "N"]], "sequence 0: 2 labels for 3 items; each item needs one label"),
        ([], [], "nothing to learn from"),
        ([[]], [[]], "nothing to learn from"),
        (X[:1], [["D", "N", 3]], "label 3 is a int"),
        (X, None, "y is missing"),
        (["the dog"], [["D", "N"]], "xseq is a str; it must be a list of items"),
        (5, Y, "must be a list of sequences"),
        ([[{"w": None}]], [["D"]], "sequence 0, token 0"),
    ],
)
def test_refused_data(data: Any, labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CRF().fit(data, labels)


def test_half_of_the_held_out_data() -> None:
    with pytest.raises(InputError, match="one of X_dev and y_dev is missing"):
        CRF().fit(X, Y, X_dev=X)
    with pytest.raises(InputError, match="X has 6 sequences and y has 2"):
        CRF().fit(X, Y, X, Y[:2])


def test_unknown_parameter() -> None:
    with pytest.raises(InputError, match="CRF has no parameter 'C1'"):
        CRF().set_params(C1=1.0)


def test_a_failed_fit_leaves_the_model_as_it_was(crf: CRF) -> None:
    twin = copy.deepcopy(crf)
    with pytest.raises(InputError):
        twin.fit(X, Y[:-1])
    assert twin.predict(X).tolist() == Y


def test_same_parameters_as_the_original() -> None:
    original = pytest.importorskip("sklearn_crfsuite").CRF
    ours, theirs = (inspect.signature(kind).parameters for kind in (CRF, original))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]
    names = [name for name in dir(original) if not name.startswith("_")]
    inherited = {"get_metadata_routing", "set_fit_request", "set_score_request"}  # scikit-learn's own
    assert [name for name in names if name not in inherited and not hasattr(CRF, name)] == []

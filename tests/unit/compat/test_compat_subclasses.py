"""Subclasses with constructors of their own, scikit-learn's base class, and names that programs import."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.compat import CRF, metrics, pycrfsuite, scorers, utils
from fieldcraft.errors import InputError

X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"], ["w=the"]]]
Y = [["D", "N"], ["D", "N", "D"]]


class OwnParameter(CRF):
    """One more parameter, the others by name."""

    def __init__(self, window: int = 2, c2: float = 0.1) -> None:
        super().__init__(c2=c2, max_iterations=5)
        self.window = window


class Forwarding(CRF):
    """Passes on what it does not know."""

    def __init__(self, window: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.window = window


class WithoutInit(CRF):
    """Does not call the constructor of its base class."""

    def __init__(self, window: int = 2) -> None:
        self.window = window


@pytest.mark.parametrize(
    ("crf", "names", "iterations"),
    [
        (OwnParameter(3), {"window", "c2"}, 5),
        (Forwarding(3, c2=0.1, max_iterations=5), {"window"}, 5),
        (WithoutInit(3), {"window"}, None),
    ],
)
def test_subclasses_train(crf: Any, names: set[str], iterations: int | None) -> None:
    assert set(crf.get_params()) == names
    assert "window=3" in repr(crf)
    assert crf.classes_ is None
    crf.fit(X, Y)
    expected = CRF(c2=crf.c2, max_iterations=iterations).fit(X, Y)
    np.testing.assert_array_equal(crf.chain_.weights_, expected.chain_.weights_)
    assert pickle.loads(pickle.dumps(crf)).predict(X).tolist() == crf.predict(X).tolist()
    assert crf.set_params(window=4).window == 4
    with pytest.raises(InputError, match="has no parameter 'c1'"):
        crf.set_params(c1=1.0)


def test_subclasses_in_scikit_learn() -> None:
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")
    twin = base.clone(OwnParameter(3, c2=0.5))
    assert (twin.window, twin.c2, twin.max_iterations) == (3, 0.5, 5)
    grid = {"window": [1, 2], "c2": [0.1, 1.0]}
    search = selection.GridSearchCV(OwnParameter(), grid, cv=2).fit(X * 4, Y * 4)
    assert set(search.best_params_) == {"window", "c2"}


def test_crf_is_one_of_scikit_learns_estimators() -> None:
    base = pytest.importorskip("sklearn.base")
    crf = CRF(c2=0.5)
    assert isinstance(crf, base.BaseEstimator)
    assert issubclass(CRF, base.BaseEstimator)
    assert not isinstance(fc.ChainCRF(), base.BaseEstimator)
    assert repr(crf) == "CRF(c2=0.5)"
    assert "CRF" in crf._repr_html_()
    assert not base.is_classifier(crf)


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_only_compat_imports_scikit_learn() -> None:
    code = (
        "import sys, fieldcraft as fc\n"
        "crf = fc.ChainCRF().fit([[['a'], ['b']]], [['P', 'Q']]); crf.predict([[['a']]]); crf.get_params()\n"
        "print([name for name in ('sklearn', 'fieldcraft.compat') if name in sys.modules])"
    )
    assert printed(code) == "[]"


def test_compat_works_without_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from fieldcraft.compat import CRF, metrics, pycrfsuite, scorers, utils\n"
        "X, y = [[['a'], ['b']]], [['P', 'Q']]\n"
        "crf = CRF(c2=0.5).fit(X, y)\n"
        "print(crf.score(X, y), scorers.sequence_accuracy(crf, X, y), crf, crf.get_params()['c2'])"
    )
    assert printed(code) == "1.0 1.0 CRF(c2=0.5) 0.5"


# -- trainers -----------------------------------------------------------------------------------------


class Capturing(pycrfsuite.Trainer):
    """Skips the constructor of its base class, as python-crfsuite's own tests do."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, message: str) -> None:
        self.messages.append(message)


def test_a_trainer_that_skips_the_constructor(tmp_path: Path) -> None:
    trainer = Capturing()
    trainer.append(X[0], Y[0])
    trainer.set("max_iterations", 3)
    assert trainer.messages == []
    trainer.train(str(tmp_path / "model"))
    assert "type: CRF1d\n" in trainer.messages
    assert [line for line in trainer.messages if line.startswith("*")] == [
        f"***** Iteration #{k} *****\n" for k in (1, 2, 3)
    ]
    assert trainer.logparser is not None
    assert trainer.logparser.iterations == []  # nobody fed it
    assert fc.load(tmp_path / "model").predict(X[:1]).tolist() == Y[:1]


def test_an_estimator_with_such_a_trainer() -> None:
    events: list[str] = []

    class Fed(pycrfsuite.Trainer):
        def __init__(self, algorithm: str, params: dict[str, Any], verbose: bool) -> None:
            del verbose
            self.select(algorithm)
            self.set_params(params)

        def message(self, message: str) -> None:
            assert self.logparser is not None
            event = self.logparser.feed(message)
            if event:
                events.append(event)

    crf = CRF(max_iterations=2, trainer_cls=Fed).fit(X, Y)
    expected = ["start", "featgen_end", "prepared", "iteration", "iteration", "optimization_end", "end"]
    assert events == expected
    assert crf.training_log_ is not None
    assert crf.training_log_.last_iteration is not None
    assert crf.training_log_.last_iteration["loss"] == crf.chain_.objective_value_


def test_base_trainer_prints_lines(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = pycrfsuite.BaseTrainer("lbfgs", {"max_iterations": 2})
    assert issubclass(pycrfsuite.Trainer, pycrfsuite.BaseTrainer)
    trainer.append(X[0], Y[0])
    trainer.append(X[1], Y[1], 1)
    trainer.train("", holdout=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == ["Holdout group: 1", "", "Feature generation", "type: CRF1d"]
    assert "    D: (2, 2, 2) (1.0000, 1.0000, 1.0000)" in lines
    assert not hasattr(trainer, "logparser")
    assert CRF(trainer_cls=pycrfsuite.BaseTrainer, max_iterations=1).fit(X, Y).training_log_ is None


def test_an_exception_of_message_ends_training() -> None:
    class Failing(pycrfsuite.Trainer):
        def message(self, message: str) -> None:
            if message.startswith("Loss"):
                raise KeyError(message)

    trainer = Failing(params={"max_iterations": 2})
    trainer.append(X[0], Y[0])
    with pytest.raises(KeyError, match="Loss"):
        trainer.train("")


def test_feature_norm_in_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    class Short(pycrfsuite.Trainer):
        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            assert f"Feature norm: {info['feature_norm']:.6f}\n" in log
            print("{num} {feature_norm:.12f}".format(**info))

        def on_start(self, log: str) -> None:
            pass

        on_featgen_end = on_prepared = on_optimization_end = on_end = on_start

    for algorithm in ("lbfgs", "l2sgd", "ap", "pa", "arow"):
        trainer = Short(algorithm, {"max_iterations": 3})
        trainer.append(X[0], Y[0])
        trainer.append(X[1], Y[1])
        trainer.train("")
        last = capsys.readouterr().out.splitlines()[-1].split()
        assert float(last[1]) == pytest.approx(np.linalg.norm(trainer.crf_.weights_), abs=1e-11)


# -- names --------------------------------------------------------------------------------------------


def test_names_of_python_crfsuite() -> None:
    theirs = pytest.importorskip("pycrfsuite")
    modules = {"contextlib", "os", "sys", "tempfile", "_pycrfsuite", "_dumpparser"}
    names = {name for name in dir(theirs) if not name.startswith("__")} - modules
    assert "CRFSuiteError" in names
    assert [name for name in sorted(names) if not hasattr(pycrfsuite, name) and name != "_logparser"] == []
    assert pycrfsuite.CRFSUITE_VERSION == theirs.CRFSUITE_VERSION
    for kind in ("BaseTrainer", "Trainer", "Tagger", "ItemSequence"):
        public = [name for name in dir(getattr(theirs, kind)) if not name.startswith("_")]
        assert [name for name in public if not hasattr(getattr(pycrfsuite, kind), name)] == []


def test_a_training_that_fails_is_a_crfsuite_error() -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    with pytest.raises(pycrfsuite.CRFSuiteError, match="nothing to learn from") as caught:
        trainer.train("")
    assert isinstance(caught.value, InputError)
    assert caught.value.code == -2147483648


def test_a_closed_tagger_raises_either_type_of_the_original() -> None:
    tagger = pycrfsuite.Tagger()
    for kind in (ValueError, RuntimeError, InputError):
        for ask in (tagger.labels, tagger.info, tagger.dump, lambda: tagger.set([["a"]])):
            with pytest.raises(kind, match="no model"):
                ask()  # type: ignore[operator]


def test_names_of_sklearn_crfsuite() -> None:
    from fieldcraft.compat.metrics import flatten
    from fieldcraft.compat.utils import flatten as the_same

    assert flatten is the_same is metrics.flatten is utils.flatten
    assert flatten([[1, 2], (3,), []]) == [1, 2, 3]


def test_make_scorer() -> None:
    pytest.importorskip("sklearn")
    scorer = scorers.make_scorer(metrics.flat_f1_score, average="micro")
    assert scorer(CRF(max_iterations=20).fit(X, Y), X, Y) == 1.0


# -- the file of a model ------------------------------------------------------------------------------


def test_the_model_has_a_file(tmp_path: Path) -> None:
    crf = CRF(max_iterations=5)
    assert crf.modelfile.name is None
    assert crf.modelfile.auto
    crf.fit(X, Y)
    name = crf.modelfile.name
    assert name is not None
    assert crf.modelfile.name == name
    tagger = pycrfsuite.Tagger()
    tagger.open(name)
    assert tagger.tag(X[0]) == Y[0]
    shutil.copy(name, tmp_path / "copy.fc")
    assert fc.load(tmp_path / "copy.fc").predict(X).tolist() == Y


def test_temporary_files_go_with_their_estimator() -> None:
    crf = CRF(max_iterations=5).fit(X, Y)
    first = crf.modelfile.name
    twins = [pickle.loads(pickle.dumps(crf)), copy.deepcopy(crf)]
    names = [first, *(twin.modelfile.name for twin in twins)]
    assert len(set(names)) == 3
    second = crf.fit(X, [labels[::-1] for labels in Y]).modelfile.name
    assert second is not None
    assert first is not None
    gc.collect()
    assert not os.path.exists(first)
    assert fc.load(second).predict(X[:1]).tolist() == [Y[0][::-1]]
    del crf, twins
    gc.collect()
    assert [name for name in [*names, second] if name and os.path.exists(name)] == []


def test_temporary_files_may_be_kept() -> None:
    crf = CRF(max_iterations=5, keep_tempfiles=True).fit(X, Y)
    name = crf.modelfile.name
    assert name is not None
    del crf
    gc.collect()
    assert fc.load(name).predict(X).tolist() == Y
    os.unlink(name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.slow
@pytest.mark.alone
def test_a_forked_process_leaves_the_file_alone() -> None:
    code = (
        "import os, sys\nfrom fieldcraft.compat import CRF\n"
        "crf = CRF(max_iterations=2).fit([[['a'], ['b']]], [['P', 'Q']]); name = crf.modelfile.name\n"
        "child = os.fork()\n"
        "if child == 0:\n    del crf; sys.exit(0)\n"
        "os.waitpid(child, 0); print(os.path.exists(name)); del crf; print(os.path.exists(name))"
    )
    assert printed(code).split() == ["True", "False"]

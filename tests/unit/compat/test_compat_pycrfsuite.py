"""python-crfsuite's classes: data, parameters, events, files, answers, refusals."""

from __future__ import annotations

import copy
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.compat.algorithms import ALGORITHMS
from fieldcraft.compat.pycrfsuite import ItemSequence, Tagger, Trainer, TrainingLog
from fieldcraft.errors import InputError, ModelFileError
from unit.models.counting import Counts

X = [
    [["w=the", "b"], ["w=dog", "b"], ["w=barks", "b"]],
    [{"w": "a", "b": 2.0}, {"w": "cat", "b": 1}],
    [["w=dog"], {"w=barks": True, "b": False}],
]
Y = [["D", "N", "V"], ["D", "N"], ["N", "V"]]


def trainer(**params: Any) -> Trainer:
    found = Trainer(params=params, verbose=False)
    for items, labels in zip(X, Y):
        found.append(items, labels)
    return found


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "model")
    trainer(c2=0.1).train(name)
    return name


def test_item_sequence() -> None:
    items = ItemSequence(
        iter([{"a": 0, "b": True, "c": {"d": ["x", "y"], "e": 1.5}, "f": {"z"}}, "g", ("h", "i")])
    )
    assert len(items) == 3
    assert repr(items) == "<ItemSequence of size 3>"
    first, second, third = items.items()
    assert first == {"a": 0.0, "b": 1.0, "c:d:x": 1.0, "c:d:y": 1.0, "c:e": 1.5, "f:z": 1.0}
    assert second == {"g": 1.0}
    assert third == {"h": 1.0, "i": 1.0}
    assert ItemSequence(items).items() == items.items()


def test_parameters() -> None:
    training = Trainer(verbose=False)
    assert training.get_params() == {name: p.default for name, p in ALGORITHMS["lbfgs"].parameters.items()}
    training.set_params({"c1": "0.5", "feature.possible_states": 1, "max_iterations": "7"})
    training.set("feature.possible_transitions", True)
    assert training.get("c1") == 0.5
    assert training.get("feature.possible_states") is True
    assert training.get("max_iterations") == 7
    for algorithm in ALGORITHMS:
        training.select(algorithm.upper())
        assert all(training.help(name).endswith(".") for name in training.params())
    training.select("passive-aggressive")
    assert training.get("type") == 1
    training.select("lbfgs")
    assert training.get("c1") == 0.0


def test_train_and_tag(path: str) -> None:
    tagger = Tagger()
    with tagger.open(path) as opened:
        assert opened is tagger
        assert [tagger.tag(items) for items in X] == Y
        assert tagger.tag() == Y[-1]
        assert tagger.tag(ItemSequence(X[0])) == Y[0]
        assert tagger.tag(iter(X[0])) == Y[0]
        assert tagger.tag([]) == []
        assert tagger.labels() == ["D", "N", "V"]
    with pytest.raises(InputError, match=r"no model; call open\(path\) first"):
        tagger.tag(X[0])


def test_probabilities_add_up(path: str) -> None:
    tagger = Tagger()
    tagger.open(path)
    tagger.set(X[0])
    paths = [*product(tagger.labels(), repeat=3)]
    p = {labels: tagger.probability(labels) for labels in paths}
    assert math.fsum(p.values()) == pytest.approx(1.0, rel=1e-12)
    assert max(p, key=p.__getitem__) == tuple(tagger.tag())
    for t, label in product(range(3), tagger.labels()):
        expected = math.fsum(value for labels, value in p.items() if labels[t] == label)
        assert tagger.marginal(label, t) == pytest.approx(expected, rel=1e-10)
    tagger.set(X[1])
    assert sum(tagger.marginal(label, 1) for label in tagger.labels()) == pytest.approx(1.0, rel=1e-12)


def test_info_and_dump(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = Tagger()
    tagger.open(path)
    info = tagger.info()
    assert info.labels == {"D": "0", "N": "1", "V": "2"}
    assert set(info.attributes) == {name for name, _ in info.state_features}
    assert list(info.attributes.values()) == [str(i) for i in range(len(info.attributes))]
    assert set(info.transitions) == {("D", "N"), ("N", "V")}
    assert info.header["num_labels"] == "3"
    assert info.header["num_attrs"] == str(len(info.attributes))
    tagger.dump(tmp_path / "dump.txt")
    tagger.dump()
    text = (tmp_path / "dump.txt").read_text()
    assert text == capsys.readouterr().out
    found = re.findall(r"^  \(0\) (.+) --> (.+): (.+)$", text, re.M)
    assert {(a, b): float(w) for a, b, w in found} == {
        key: round(weight, 6) for key, weight in info.state_features.items()
    }


def test_models_open_in_memory_and_elsewhere(path: str) -> None:
    tagger = Tagger()
    tagger.open_inmemory(Path(path).read_bytes())
    assert [tagger.tag(items) for items in X] == Y
    assert [copy.deepcopy(tagger).tag(items) for items in X] == Y
    assert fc.load(path).predict(X).tolist() == Y


def test_lines_and_hooks_in_order() -> None:
    """Every line goes to ``message``; the hook of an event is called when its last line is known."""
    seen: list[str] = []

    class Watching(Trainer):
        def message(self, message: str) -> None:
            seen.append(message)
            super().message(message)

    def hook(name: str) -> Any:
        return lambda self, log, info=None: seen.append(f"-> {name} {info['num'] if info else ''}".strip())

    for name in ("start", "featgen_end", "prepared", "iteration", "optimization_end", "end"):
        setattr(Watching, f"on_{name}", hook(name))
    training = Watching(params={"max_iterations": 2})
    training.append(X[0], Y[0])
    training.train("")
    marks = ("->", "Feature g", "Number", "L-BFGS\n", "*", "L-BFGS terminated", "Storing")
    assert [line for line in seen if line.startswith(marks)] == [
        "Feature generation\n",
        "-> start",
        "Number of features: 8\n",
        "-> featgen_end",
        "L-BFGS\n",
        "***** Iteration #1 *****\n",
        "-> prepared",
        "-> iteration 1",
        "***** Iteration #2 *****\n",
        "-> iteration 2",
        "L-BFGS terminated: maximum number of iterations\n",
        "Storing the model\n",
        "-> optimization_end",
        "-> end",
    ]
    assert all(line.startswith("->") or line.endswith("\n") for line in seen)


def test_the_log_is_read_from_lines_alone() -> None:
    """What a trainer writes, read by another log: the same entries, rounded."""
    training = trainer(max_iterations=4, c1=0.1)
    training.append(X[0], ["D", "N", "N"], group=2)
    training.append(X[0], ["D", "N", "Q"], group=2)
    training.train("", holdout=2)
    written = training.logparser
    assert written is not None
    log = TrainingLog()
    events = [log.feed(line) for line in written.log]
    assert [event for event in events if event] == [name for name, _, _ in written.events]
    assert log.events == written.events
    assert (log.featgen_num_features, log.featgen_percent) == (len(training.crf_.weights_), 100)
    for mine, exact in zip(log.iterations, written.iterations):
        assert mine.keys() == exact.keys()
        for name, value in exact.items():
            if name == "scores":
                assert mine[name].keys() == value.keys()
                for label, score in value.items():
                    assert mine[name][label] == pytest.approx(score, abs=1e-4)
            else:
                assert mine[name] == pytest.approx(value, abs=1e-3)


def test_a_training_without_iterations_ends_too() -> None:
    training = Trainer(params={"c2": 1e9, "epsilon": 1e9}, verbose=False)
    training.append(X[0], Y[0])
    training.train("")
    assert training.logparser is not None
    assert training.logparser.iterations == []
    names = [name for name, _, _ in training.logparser.events]
    assert names == ["start", "featgen_end", "optimization_end", "end"]


def test_log(capsys: pytest.CaptureFixture[str]) -> None:
    training = trainer(max_iterations=3, c1=0.1)
    training.append(X[0], ["D", "N", "N"], group=2)
    assert training.logparser is None
    training.train("", holdout=2)
    log = training.logparser
    assert log is not None
    assert log.featgen_num_features == len(training.crf_.weights_)
    assert [entry["num"] for entry in log.iterations] == [1, 2, 3]
    assert log.last_iteration is log.iterations[-1]
    assert log.last_iteration["linesearch_trials"] >= 1
    assert log.last_iteration["item_accuracy"].denominator == 3
    assert sum(entry["time"] for entry in log.iterations) <= (log.training_seconds or 0) + 1
    assert log.last_log.startswith("Storing the model")
    assert capsys.readouterr().out == ""
    training.verbose = True
    training.train("", holdout=2)
    assert capsys.readouterr().out == "".join(training.logparser.log)  # type: ignore[union-attr]


def test_clear() -> None:
    training = trainer()
    training.clear()
    with pytest.raises(InputError, match="nothing to learn from"):
        training.train("")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda t: t.append(X[0], ["D"]), "sequence 3: 1 labels for 3 items"),
        (lambda t: t.append(X[0], "DNV"), r"y\[0\] is a str"),
        (lambda t: t.append("the dog", ["D", "N"]), "xseq is a str"),
        (lambda t: t.append(X[0], ["D", "N", 5]), "label 5 is a int"),
        (lambda t: t.set("c3", 1), "lbfgs has no parameter 'c3'"),
        (lambda t: t.get("c3"), "lbfgs has no parameter 'c3'"),
        (lambda t: t.help("c3"), "it has feature.minfreq"),
        (lambda t: t.set("c1", "much"), "c1 is 'much'; pass a number"),
        (lambda t: t.set("feature.possible_states", "yes"), "feature.possible_states is 'yes'"),
        (lambda t: t.select("newton"), "algorithm='newton' is not known"),
        (lambda t: t.select("lbfgs", "crf2d"), "type='crf2d'"),
        (lambda t: t.train("", holdout=4), "no sequence has that group"),
    ],
)
def test_refusals(action: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        action(trainer())


def test_refusals_of_the_tagger(path: str, tmp_path: Path) -> None:
    tagger = Tagger()
    tagger.open(path)
    tagger.set(X[0])
    for ask, message in (
        (lambda: tagger.marginal("Q", 0), "label 'Q' is unknown"),
        (lambda: tagger.marginal("D", 3), "position 3 in a sequence of 3"),
        (lambda: tagger.marginal("D", -1), "position -1"),
        (lambda: tagger.probability(["D"]), "1 labels for 3 tokens"),
        (lambda: tagger.probability(["D", "N", "Q"]), "label 'Q' was not seen"),
        (lambda: tagger.set("text"), "xseq is a str"),
    ):
        with pytest.raises(InputError, match=message):
            ask()
    (tmp_path / "theirs").write_bytes(b"lCRF" + bytes(100))
    (tmp_path / "noise").write_bytes(b"something else")
    with pytest.raises(ModelFileError, match="looks like a model of CRFsuite, but"):
        tagger.open(tmp_path / "theirs")
    with pytest.raises(ModelFileError, match="noise"):
        tagger.open(tmp_path / "noise")
    with pytest.raises(ModelFileError, match="CRFsuite"):
        tagger.open_inmemory(b"lCRF")
    with pytest.raises(FileNotFoundError, match="absent"):
        tagger.open(tmp_path / "absent")
    assert tagger.tag(X[0]) == Y[0]  # what was open stays open


def test_a_sequence_is_scored_once_for_all_questions(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = Tagger()
    tagger.open(path)
    counts = Counts(tagger.crf_, monkeypatch)
    labels = tagger.tag(X[0])
    assert tagger.tag() == labels
    assert tagger.probability(labels) > tagger.probability(labels[::-1])
    assert all(tagger.marginal(label, i) > 0.3 for i, label in enumerate(labels))
    assert (counts.encoded, counts.scored, counts.computed) == (1, 1, 0)

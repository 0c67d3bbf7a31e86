"""sklearn-crfsuite and python-crfsuite themselves against fieldcraft.compat: one programme, two imports."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import compat
from fieldcraft.compat import pycrfsuite as ours
from fieldcraft.compat.algorithms import ALGORITHMS

pytest.importorskip("sklearn")
theirs = pytest.importorskip("pycrfsuite")
sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")

ROOT = Path(__file__).resolve().parents[2]
TIGHT: dict[str, Any] = {"epsilon": 1e-9, "delta": 1e-13, "max_iterations": 5000}
Data = tuple[list[list[dict[str, Any]]], list[list[str]]]


def small(seed: int = 0) -> Data:
    """Random items with text, yes or no, numbers (zero among them) and nested values."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for n in rng.integers(1, 9, size=40):
        words = rng.integers(12, size=n)
        X.append(
            [{"w": str(w), "even": w % 2 == 0, "size": w // 4, "in": {"m": [f"{w % 3}"]}} for w in words]
        )
        lean = np.where(rng.random(n) < 0.7, words % 3, rng.integers(3, size=n))
        y.append([f"L{k}" for k in lean])
    return X, y


def word2features(words: list[str], tags: list[str], i: int) -> dict[str, Any]:
    word = words[i]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": tags[i],
    }
    for step in (-1, 1):
        if 0 <= i + step < len(words):
            found[f"{step:+}:word.lower()"] = words[i + step].lower()
            found[f"{step:+}:word.istitle()"] = words[i + step].istitle()
            found[f"{step:+}:postag"] = tags[i + step]
        else:
            found["BOS" if step < 0 else "EOS"] = True
    return found


@pytest.fixture(scope="module")
def chunks(data_file: Callable[[str], Path]) -> Data:
    """200 sentences of CoNLL-2000 with the features of sklearn-crfsuite's tutorial."""
    path = data_file("conll2000/train.txt.gz")
    corpus = fc.read(path, columns=["word", "pos", "chunk"], label="chunk")[:200]
    columns = [(list(s.columns["word"]), list(s.columns["pos"])) for s in corpus]
    X = [[word2features(words, tags, i) for i in range(len(words))] for words, tags in columns]
    return X, [list(s.labels) for s in corpus]


def both(data: Data, **params: Any) -> tuple[compat.CRF, Any]:
    return compat.CRF(**params).fit(*data), sklearn_crfsuite.CRF(**params).fit(*data)


def assert_same_weights(mine: dict[Any, float], peer: dict[Any, float], *, atol: float) -> None:
    """Also which are there; a weight may be zero on one side only if it is nearly so on the other."""
    for key in {*mine, *peer}:
        assert mine.get(key, 0.0) == pytest.approx(peer.get(key, 0.0), abs=atol), key


def assert_same_answers(mine: compat.CRF, peer: Any, X: Any, *, atol: float) -> None:
    assert mine.predict(X).tolist() == [list(labels) for labels in peer.predict(X)]
    for a, b in zip(mine.predict_marginals(X), map(peer.predict_marginals_single, X)):
        for row, expected in zip(a, b):
            assert row == pytest.approx(expected, abs=atol)


# -- sklearn-crfsuite ---------------------------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {"c2": 0.3},
    {"c2": 0.3, "all_possible_states": True},
    {"c2": 0.3, "all_possible_transitions": True},
    {"c2": 0.3, "all_possible_states": True, "all_possible_transitions": True},
    {"c2": 0.3, "min_freq": 3},
    {"c2": 0.3, "min_freq": 3, "all_possible_states": True, "all_possible_transitions": True},
    {"c1": 0.4, "c2": 0.3},
    {"c1": 0.4, "c2": 0.3, "all_possible_transitions": True, "linesearch": "Backtracking"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_fitted_attribute(options: dict[str, Any]) -> None:
    """Weights of the original are printed with six decimals."""
    data = small()
    mine, peer = both(data, **options, **TIGHT)
    assert_same_weights(mine.state_features_ or {}, peer.state_features_, atol=2e-5)
    assert_same_weights(mine.transition_features_ or {}, peer.transition_features_, atol=2e-5)
    assert mine.classes_ == sorted(peer.classes_)
    if "all_possible_states" not in options:  # there some weights are zero but for rounding
        assert set(mine.state_features_ or {}) == set(peer.state_features_)
        assert set(mine.attributes_ or []) == set(peer.attributes_)
        assert mine.num_attributes_ == peer.num_attributes_
    assert_same_answers(mine, peer, data[0], atol=2e-5)
    assert mine.score(*data) == pytest.approx(peer.score(*data), rel=1e-12)
    log, expected = mine.training_log_, peer.training_log_
    assert log is not None
    assert log.featgen_num_features == expected.featgen_num_features
    assert log.last_iteration["loss"] == pytest.approx(expected.last_iteration["loss"], abs=1e-5)


@pytest.mark.parametrize("params", [{"c2": 1.0}, {"c2": 0.1, "all_possible_transitions": True}], ids=str)
def test_real_text_at_the_optimum(chunks: Data, params: dict[str, Any]) -> None:
    X, y = chunks
    mine, peer = both((X[:150], y[:150]), **params, **TIGHT)
    assert set(mine.state_features_ or {}) == set(peer.state_features_)
    assert_same_weights(mine.state_features_ or {}, peer.state_features_, atol=2e-5)
    assert_same_weights(mine.transition_features_ or {}, peer.transition_features_, atol=2e-5)
    assert_same_answers(mine, peer, X[150:200], atol=1e-5)


def test_real_text_as_in_the_tutorial(chunks: Data) -> None:
    """Stopped after 60 iterations of OWL-QN: both are then at the same point, not yet at the optimum."""
    X, y = chunks
    mine, peer = both((X[:150], y[:150]), c1=0.1, c2=0.1, max_iterations=60, all_possible_transitions=True)
    assert mine.chain_.objective_value_ == pytest.approx(peer.training_log_.last_iteration["loss"], rel=1e-4)
    assert_same_answers(mine, peer, X[150:200], atol=1e-3)


@pytest.mark.parametrize(
    "params", [{}, {"c2": 0.05}, {"delta": 1e-3, "period": 5}, {"epsilon": 1e-2}], ids=str
)
def test_training_stops_where_theirs_does(chunks: Data, params: dict[str, Any]) -> None:
    """Same rules: lengths differ by a few iterations at the most, since steps are searched differently."""
    mine, peer = both((chunks[0][:120], chunks[1][:120]), **params)
    log, expected = mine.training_log_, peer.training_log_
    assert log is not None
    assert len(log.iterations) == pytest.approx(len(expected.iterations), rel=0.05, abs=2)
    assert log.last_iteration["loss"] == pytest.approx(expected.last_iteration["loss"], rel=1e-3)


def test_negative_values_differ_as_documented() -> None:
    """CRFsuite drops a feature whose values add up to less than zero; here it keeps its weight."""
    X = [[{"a": 1.0}, {"a": -2.0}, {"a": -1.0}], [{"a": 0.5}, {"a": -1.5}]]
    mine, peer = both((X, [["P", "Q", "Q"], ["P", "Q"]]), **TIGHT)
    assert set(peer.state_features_) == {("a", "P")}
    assert set(mine.state_features_ or {}) == {("a", "P"), ("a", "Q")}
    assert mine.chain_.objective_value_ < peer.training_log_.last_iteration["loss"]


# -- python-crfsuite ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters_and_their_defaults(algorithm: str) -> None:
    mine, peer = ours.Trainer(algorithm, verbose=False), theirs.Trainer(algorithm, verbose=False)
    assert mine.params() == peer.params()
    assert mine.get_params() == peer.get_params()


def test_items() -> None:
    given = [*small()[0][0], ["a", "b"], {"x": {"y": {"z": 2.5}}, "s": {"t"}, "n": 0}]
    assert ours.ItemSequence(given).items() == theirs.ItemSequence(given).items()
    assert len(ours.ItemSequence(given)) == len(theirs.ItemSequence(given))


def train(module: Any, data: Data, path: str, *, held_out: Data, **params: Any) -> Any:
    trainer = module.Trainer(verbose=False)
    for items, labels in zip(*data):
        trainer.append(items, labels)
    for items, labels in zip(*held_out):
        trainer.append(module.ItemSequence(items), labels, 1)
    trainer.set_params(params)
    trainer.train(path, 1)
    return trainer


def test_trainer_and_tagger(tmp_path: Path) -> None:
    (X, y), held_out = small(1), small(2)
    trainers, taggers = [], []
    for name, module in (("ours", ours), ("theirs", theirs)):
        path = str(tmp_path / name)
        trainers.append(train(module, (X, y), path, held_out=held_out, c2=0.2, delta=1e-13, epsilon=1e-9))
        taggers.append(module.Tagger())
        taggers[-1].open(path)
    mine, peer = taggers
    assert sorted(mine.labels()) == sorted(peer.labels())
    info, expected = mine.info(), peer.info()
    assert set(info.labels) == set(expected.labels)
    assert set(info.attributes) == set(expected.attributes)
    assert_same_weights(info.state_features, expected.state_features, atol=1e-5)
    assert_same_weights(info.transitions, expected.transitions, atol=1e-5)
    for items, labels in zip(held_out[0], held_out[1]):
        assert mine.tag(items) == peer.tag(items)
        assert mine.probability(labels) == pytest.approx(peer.probability(labels), rel=1e-4)
        for label in peer.labels():
            t = len(items) - 1
            assert mine.marginal(label, t) == pytest.approx(peer.marginal(label, t), abs=1e-5)
    assert_same_log(*(trainer.logparser for trainer in trainers))


def assert_same_log(mine: Any, peer: Any) -> None:
    """The last iteration; scores of the original have four decimals, averages six."""
    a, b = mine.last_iteration, peer.last_iteration
    assert set(b) - set(a) == {"linesearch_step"}
    assert a["item_accuracy"] == b["item_accuracy"]
    assert a["instance_accuracy"] == b["instance_accuracy"]
    for name in ("loss", "feature_norm", "avg_precision", "avg_recall", "avg_f1"):
        assert a[name] == pytest.approx(b[name], abs=1e-5)
    assert set(a["scores"]) == set(b["scores"])
    for label, score in b["scores"].items():
        assert a["scores"][label]._asdict() == pytest.approx(score._asdict(), abs=1e-4)


def test_dumps_are_read_by_their_parser(tmp_path: Path) -> None:
    """The text of a dump has the original's layout."""
    from pycrfsuite._dumpparser import CRFsuiteDumpParser

    tagger = ours.Tagger(compat.CRF().fit(*small()).chain_)
    tagger.dump(tmp_path / "dump")
    parser = CRFsuiteDumpParser()
    for line in (tmp_path / "dump").read_text().splitlines(keepends=True):
        parser.feed(line)
    info = tagger.info()
    assert parser.result.header == info.header
    assert parser.result.labels == info.labels
    assert parser.result.attributes == info.attributes
    assert parser.result.transitions == pytest.approx(info.transitions, abs=1e-6)
    assert parser.result.state_features == pytest.approx(info.state_features, abs=1e-6)


def test_their_models_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model"
    train(theirs, small(), str(path), held_out=small(3))
    expected, tagger = theirs.Tagger(), ours.Tagger()
    expected.open(str(path))
    X, _ = small()
    for open_ in (lambda: tagger.open(path), lambda: tagger.open_inmemory(path.read_bytes())):
        with open_():
            for items in X:
                assert tagger.tag(items) == expected.tag(items)
                assert tagger.probability(tagger.tag()) == pytest.approx(expected.probability(expected.tag()))


# -- the examples -------------------------------------------------------------------------------------

IMPORTS = {
    "from_pycrfsuite.py": {"from fieldcraft.compat import pycrfsuite": "import pycrfsuite"},
    "from_sklearn_crfsuite.py": {
        "from fieldcraft import compat as sklearn_crfsuite": "import sklearn_crfsuite",
        "from fieldcraft.compat import metrics": "from sklearn_crfsuite import metrics",
    },
}
NUMBER = re.compile(r"-?\d+\.\d+")


def printed_by(script: Path) -> str:
    command = [sys.executable, "-W", "error", str(script)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", IMPORTS)
def test_example_with_either_import(name: str, tmp_path: Path) -> None:
    script = ROOT / "examples" / name
    text = script.read_text(encoding="utf-8")
    for mine, peer in IMPORTS[name].items():
        assert text.count(f"\n{mine}\n") == 1
        text = text.replace(f"\n{mine}\n", f"\n{peer}\n")
    changed = tmp_path / name
    changed.write_text(text, encoding="utf-8")
    found, expected = printed_by(script), printed_by(changed)
    assert NUMBER.sub("", found).split() == NUMBER.sub("", expected).split()
    numbers = [[float(x) for x in NUMBER.findall(printed)] for printed in (found, expected)]
    np.testing.assert_allclose(*numbers, atol=0.021)  # printed with two decimals, not at the optimum

"""Bake-offs: rows agree with what fit alone gives, one failure does not end the rest, tables and files."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.evaluation import matched_pairs
from fieldcraft.plots.contests import _apart
from fieldcraft.tuning import processes
from fieldcraft.tuning.progress import TrialsProgress
from fieldcraft.tuning.results import Result
from fieldcraft.tuning.trial import Point

Data = tuple[list[list[list[str]]], list[list[str]]]


def make(n: int, seed: int) -> Data:
    """Labels that follow a hidden chain, features that tell them with noise."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        labels = [rng.choice("AB")]
        for _ in range(rng.randint(1, 6)):
            labels.append(labels[-1] if rng.random() < 0.7 else rng.choice("ABC"))
        noise = [x if rng.random() < 0.7 else rng.choice("ABC") for x in labels]
        X.append([[f"w={x}", f"v={rng.randint(0, 5)}"] for x in noise])
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def data() -> tuple[Data, Data]:
    return make(80, 0), make(60, 1)


ENTRIES = ["lbfgs", "sgd/laplacian:scale=1", "voted_perceptron", "frank_wolfe"]


@pytest.fixture(scope="module")
def found(data: tuple[Data, Data]) -> fc.BakeOff:
    (X, y), (X_dev, y_dev) = data
    return fc.bake_off(fc.ChainCRF(n_jobs=1), X, y, X_dev=X_dev, y_dev=y_dev, entries=ENTRIES, epochs=8)


def alone(entry: str, data: tuple[Data, Data]) -> tuple[fc.ChainCRF, list[list[str]]]:
    settings: dict[str, Any] = {
        "lbfgs": {"optimiser": fc.LBFGS(max_iterations=8)},
        "sgd/laplacian:scale=1": {"optimiser": fc.SGD(max_iterations=8), "prior": fc.Laplacian(1)},
        "voted_perceptron": {"optimiser": fc.VotedPerceptron(max_iterations=8), "prior": None},
        "frank_wolfe": {"optimiser": fc.FrankWolfe(max_iterations=8)},
    }[entry]
    crf = fc.ChainCRF(n_jobs=1, **settings).fit(*data[0])
    return crf, crf.predict(data[1][0]).tolist()


def test_rows_are_those_of_fit(found: fc.BakeOff, data: tuple[Data, Data]) -> None:
    gold = data[1][1]
    errors = {}
    for row in found.results:
        crf, labels = alone(row.entry, data)
        assert row.error is None
        assert row.value == pytest.approx(crf.objective_value_, rel=1e-12)
        assert row.score == pytest.approx(fc.metrics.token_accuracy(gold, labels), rel=1e-12)
        assert (row.reason, row.iterations, row.converged) == (crf.stop_reason_, crf.n_iter_, crf.converged_)
        assert (row.active, row.features) == (np.count_nonzero(crf.weights_), len(crf.weights_))
        assert [p.objective for p in row.points] == [r.objective for r in crf.training_log_]
        errors[row.entry] = np.array([sum(map(str.__ne__, *pair)) for pair in zip(gold, labels)])
    best, *rest = found.results
    assert found.best is best
    assert best.p_value is None
    for row in rest:
        assert row.score <= best.score
        test = matched_pairs.by_sequence(errors[best.entry], errors[row.entry])
        assert row.p_value == pytest.approx(test.two_sided, rel=1e-12)


def test_rows_tell_gap_seconds_and_memory(found: fc.BakeOff) -> None:
    by_name = {row.entry: row for row in found.results}
    assert by_name["lbfgs"].gap is None
    assert by_name["frank_wolfe"].gap >= 0
    for row in found.results:
        seconds = [point.seconds for point in row.points]
        assert seconds == sorted(seconds)
        assert 0 < seconds[-1] <= row.seconds
        assert row.scoring_seconds > 0
        assert row.memory is None or row.memory >= 0


def test_tables(found: fc.BakeOff) -> None:
    facts = json.loads(json.dumps(found.to_dict()))
    assert [row["entry"] for row in facts["results"]] == [row.entry for row in found.results]
    assert facts["results"][0]["points"][0]["iteration"] == 1
    text, markdown = str(found), found.markdown()
    for name in ENTRIES:
        assert name in text
        assert f"| {name} |" in markdown
    assert len({line.count("|") for line in markdown.splitlines() if line.startswith("|")}) == 1
    assert "token_accuracy" in text


def test_one_failure_does_not_end_the_rest(data: tuple[Data, Data]) -> None:
    (X, y), (X_dev, y_dev) = data
    negative = [[{"a": -1.0, "b": 1.0} for _ in sequence] for sequence in X]
    held_out = [[{"a": -1.0, "b": 1.0} for _ in sequence] for sequence in X_dev]
    entries = ["gis", "lbfgs:max_iterations=2"]
    found = fc.bake_off(fc.ChainCRF(n_jobs=1), negative, y, X_dev=held_out, y_dev=y_dev, entries=entries)
    assert [row.entry for row in found.results] == ["lbfgs:max_iterations=2", "gis"]
    assert "iterative scaling is for values >= 0" in found.results[1].error
    assert found.results[1].score is None
    assert "refused" in str(found)
    assert found.best is found.results[0]


def test_objects_as_entries_and_the_time_limit(data: tuple[Data, Data]) -> None:
    (X, y), (X_dev, y_dev) = data
    entries = [fc.Entry("slow", fc.SGD(max_iterations=1000, objective_tolerance=-1.0))]
    crf = fc.ChainCRF(n_jobs=1)
    found = fc.bake_off(crf, X, y, X_dev=X_dev, y_dev=y_dev, entries=entries, max_seconds=0.0)
    assert (found.results[0].reason, found.results[0].iterations) == ("time is up", 1)
    assert not crf.__sklearn_is_fitted__()


def test_partial_labels(data: tuple[Data, Data]) -> None:
    (X, y), (X_dev, y_dev) = data
    unknown = [[None if t == 0 else label for t, label in enumerate(labels)] for labels in y]
    told = {"X_dev": X_dev, "y_dev": y_dev}
    found = fc.bake_off(fc.ChainCRF(n_jobs=1), X, unknown, entries=["em", "lbfgs"], epochs=3, **told)
    assert {row.objective for row in found.results} == {"marginal_likelihood"}
    assert [row.error for row in found.results] == [None, None]
    with pytest.raises(InputError, match="labels are partly unknown"):
        fc.bake_off(fc.ChainCRF(), X, unknown, entries=["smo"], **told)


@pytest.mark.parametrize(
    ("entries", "part"), [([], "no entry"), (["lbfgs", "lbfgs"], "twice"), (["lbfgs/laplacian"], "absolute")]
)
def test_refused_before_any_work(entries: list[str], part: str, data: tuple[Data, Data]) -> None:
    with pytest.raises(InputError, match=part):
        fc.bake_off(fc.ChainCRF(), *data[0], X_dev=data[1][0], y_dev=data[1][1], entries=entries)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"max_seconds": -1}, "max_seconds"),
        ({"epochs": -1}, "max_iterations"),
        ({"sample_weight": [1.0]}, "shape"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], part: str, data: tuple[Data, Data]) -> None:
    told = {"X_dev": data[1][0], "y_dev": data[1][1], "entries": ["lbfgs"], **settings}
    with pytest.raises(InputError, match=part):
        fc.bake_off(fc.ChainCRF(), *data[0], **told)


def test_sequence_weights_count(data: tuple[Data, Data]) -> None:
    (X, y), (X_dev, y_dev) = data
    weights = np.arange(len(X)) % 3
    told = {"X_dev": X_dev, "y_dev": y_dev, "entries": ["lbfgs"], "epochs": 4}
    found = fc.bake_off(fc.ChainCRF(n_jobs=1), X, y, sample_weight=weights, **told)
    crf = fc.ChainCRF(n_jobs=1, optimiser=fc.LBFGS(max_iterations=4)).fit(X, y, sample_weight=weights)
    assert found.results[0].value == pytest.approx(crf.objective_value_, rel=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.alone
def test_interrupt_ends_the_entry_and_leaves_out_the_rest(data: tuple[Data, Data]) -> None:
    (X, y), (X_dev, y_dev) = data
    endless = [fc.Entry(n, fc.SGD(max_iterations=10**6, objective_tolerance=-1.0)) for n in ("one", "two")]
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = fc.bake_off(fc.ChainCRF(n_jobs=1), X, y, X_dev=X_dev, y_dev=y_dev, entries=endless)
    timer.join()
    assert found.interrupted
    assert [(row.entry, row.reason) for row in found.results] == [("one", "interrupted")]
    assert found.results[0].score is not None


def test_work_that_fails_or_dies() -> None:
    told: list[Any] = []

    def fine(tell: Any, stopped: Any) -> int:
        tell("half")
        return 7

    def wrong(tell: Any, stopped: Any) -> None:
        raise KeyError("lost")

    def gone(tell: Any, stopped: Any) -> None:
        os._exit(3)

    assert processes.run_work(fine, told.append, lambda: False) == 7
    assert told == ["half"]
    with pytest.raises(processes.WorkError, match="KeyError: 'lost'"):
        processes.run_work(wrong, told.append, lambda: False)
    if processes.apart():
        with pytest.raises(processes.WorkError, match="exit code 3"):
            processes.run_work(gone, told.append, lambda: False)


def test_work_without_a_fork(monkeypatch: pytest.MonkeyPatch, data: tuple[Data, Data]) -> None:
    monkeypatch.setattr(processes, "apart", lambda: False)
    (X, y), (X_dev, y_dev) = data
    found = fc.bake_off(fc.ChainCRF(n_jobs=1), X, y, X_dev=X_dev, y_dev=y_dev, entries=["lbfgs"], epochs=2)
    assert found.results[0].error is None


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    progress = TrialsProgress(["a", "b"], shown=True)
    with progress:
        progress.begin("a")
        progress.tell("a", Point(3, 1.5, 12.25, 0.5, 0.75))
        progress.finish(Result("a", "", "", "", score=0.75, seconds=1.5, reason="done"))
        progress.finish(Result("b", "", "", "", error="not meant for this"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a:  training"
    assert lines[1] == "a:  iteration 3  value 12.25  gap 5.0e-01  score 75.00  seconds 1.5  done"
    assert lines[2] == "b:  not meant for this"


def test_progress_on_a_terminal() -> None:
    from io import StringIO

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with TrialsProgress(["a"], shown=True, stream=stream) as progress:
        progress.begin("a")
        progress.tell("a", Point(1, 0.5, 3.0, None, 0.5))
        progress.finish(Result("a", "", "", "", score=0.5, seconds=0.5, reason="done"))
    assert "done" in stream.getvalue()


def test_names_on_the_plot_are_apart() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 20, 40):
        wanted = rng.random(n) ** 8
        places = _apart(wanted, 0.03)
        assert places.min() >= -1e-12
        assert places.max() <= 1 + 1e-12
        assert np.all(np.argsort(-places, kind="stable") == np.argsort(-wanted, kind="stable"))
        if n > 1:
            assert np.min(-np.diff(-np.sort(-places))) >= min(0.03, 1 / (n - 1)) - 1e-9


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_plot_is_a_png(found: fc.BakeOff, tmp_path: Path) -> None:
    found.plot(tmp_path / "scores.png")
    assert (tmp_path / "scores.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_plot_without_matplotlib(found: fc.BakeOff, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldcraft.plots.figures.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install matplotlib"):
        found.plot(tmp_path / "scores.png")

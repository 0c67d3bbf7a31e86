"""Searches: rows are those of fit alone, resuming changes nothing, the best model is kept, bad input."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.priors import groups
from fieldcraft.tuning.ledger import Ledger
from fieldcraft.tuning.path import Path as WarmPath
from fieldcraft.tuning.space import make_space

Data = tuple[list[list[list[str]]], list[list[str]]]
OVER = {"variance": fc.Between(0.05, 50)}


def make(n: int, seed: int) -> Data:
    """Labels that follow a hidden chain, features that tell them with noise; synthetic."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        labels = [rng.choice("ABC")]
        for _ in range(rng.randint(1, 6)):
            labels.append(labels[-1] if rng.random() < 0.7 else rng.choice("ABC"))
        noise = [x if rng.random() < 0.6 else rng.choice("ABC") for x in labels]
        X.append([[f"w={x}", f"v={rng.randint(0, 20)}"] for x in noise])
        y.append(labels)
    return X, y


TRAIN, DEV = make(80, 0), make(60, 1)
TOLD: dict[str, Any] = {"X_dev": DEV[0], "y_dev": DEV[1]}


def model(**settings: Any) -> fc.ChainCRF:
    return fc.ChainCRF(n_jobs=1, **settings)


def alone(prior: Any, **settings: Any) -> fc.ChainCRF:
    """Trained cold, far beyond what tuning asks for."""
    kind = fc.OWLQN if isinstance(prior, (fc.Laplacian, fc.ElasticNet)) else fc.LBFGS
    return model(prior=prior, optimiser=kind(tolerance=1e-9, objective_tolerance=0.0), **settings).fit(*TRAIN)


def facts(found: fc.Tuning) -> list[dict[str, Any]]:
    """All of the rows but their seconds."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in found.to_dict()["rows"]]


def test_a_grid_finds_what_brute_force_finds() -> None:
    found = fc.tune(model(), *TRAIN, **TOLD, over=OVER, points=6)
    scores = []
    for row, variance in zip(found.rows, np.geomspace(0.05, 50, 6)):
        crf = alone(fc.Gaussian(row.settings["prior__variance"]))
        assert row.settings["prior__variance"] == pytest.approx(variance, rel=1e-12)
        assert row.value == pytest.approx(crf.objective_value_, rel=1e-5)
        scores.append(fc.metrics.token_accuracy(DEV[1], crf.predict(DEV[0]).tolist()))
        assert row.score == pytest.approx(scores[-1], rel=1e-12)
        assert (row.features, row.converged) == (len(crf.weights_), True)
    assert len(found.rows) == 6
    assert found.best is found.rows[int(np.argmax(scores))]


@pytest.mark.parametrize(
    ("prior", "over"),
    [
        (fc.Gaussian(), {"variance": fc.Between(0.05, 50)}),
        (fc.Gaussian(variance=2.0), {"mean": fc.Between(-0.5, 0.5)}),
        (fc.Laplacian(), {"scale": fc.Between(0.2, 20)}),
        (fc.ElasticNet(), {"scale": fc.Between(0.2, 20), "variance": [1.0, 10.0]}),
    ],
)
def test_a_warm_path_ends_at_the_cold_optima(prior: Any, over: dict[str, Any]) -> None:
    kind = fc.LBFGS if isinstance(prior, fc.Gaussian) else fc.OWLQN
    optimiser = kind(tolerance=1e-7, objective_tolerance=0.0)
    found = fc.tune(model(prior=prior, optimiser=optimiser), *TRAIN, **TOLD, over=over, points=4)
    cold = 0
    for row in found.rows:
        told = {name.removeprefix("prior__"): value for name, value in row.settings.items()}
        crf = alone(type(prior)(**{**vars(prior), **told}))
        assert row.value == pytest.approx(crf.objective_value_, rel=1e-9)
        assert row.active == pytest.approx(np.count_nonzero(crf.weights_), abs=1)
        cold += model(prior=crf.prior, optimiser=optimiser).fit(*TRAIN).training_log_[-1].evaluations
    most = cold if len(over) == 1 else 1.25 * cold  # of two, neighbours are further, and the end is exact
    assert sum(row.evaluations for row in found.rows) < most


def test_the_best_model_is_kept_as_it_was_trained(tmp_path: Path) -> None:
    crf = model()
    found = fc.tune(crf, *TRAIN, **TOLD, over=OVER, points=5)
    best, kept = found.best, found.model
    assert best is not None
    assert kept is not None
    assert not crf.__sklearn_is_fitted__()
    assert kept.prior == fc.Gaussian(best.settings["prior__variance"])
    assert fc.metrics.token_accuracy(DEV[1], kept.predict(DEV[0]).tolist()) == pytest.approx(best.score)
    assert (kept.objective_value_, kept.n_iter_) == (best.value, best.iterations)
    assert (kept.stop_reason_, kept.converged_, kept.optimiser) == (best.reason, True, "auto")
    kept.save(tmp_path / "best.fc")
    assert fc.load(tmp_path / "best.fc").predict(DEV[0]).tolist() == kept.predict(DEV[0]).tolist()


class KilledError(Exception):
    pass


@pytest.mark.parametrize("after", [0, 1, 3, 5])
@pytest.mark.parametrize("method", ["grid", "golden"])
def test_resumed_is_uninterrupted(
    method: str, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {**TOLD, "over": OVER, "points": 5, "method": method}
    whole = fc.tune(model(), *TRAIN, **told)
    add = Ledger.add

    def killed(self: Ledger, line: Any, state: Any) -> None:
        if len(self.lines) == after:
            raise KilledError
        add(self, line, state)

    path = tmp_path / "rows.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "add", killed)
        if after < 5:
            with pytest.raises(KilledError):
                fc.tune(model(), *TRAIN, **told, results=path)
        else:
            fc.tune(model(), *TRAIN, **told, results=path)
    before = path.read_text().splitlines()
    assert len(before) == 1 + after
    resumed = fc.tune(model(), *TRAIN, **told, results=path)
    assert facts(resumed) == facts(whole)
    assert path.read_text().splitlines()[: 1 + after] == before
    assert whole.model is not None
    assert resumed.model is not None
    assert np.array_equal(resumed.model.weights_, whole.model.weights_)
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert rows == resumed.to_dict()["rows"]


def test_a_line_that_was_cut_off_or_whose_weights_are_lost_is_trained_again(tmp_path: Path) -> None:
    told = {**TOLD, "over": OVER, "points": 3, "results": tmp_path / "rows.jsonl"}
    whole = fc.tune(model(), *TRAIN, **told)
    text = told["results"].read_text()
    told["results"].write_text(text[:-20])
    assert facts(fc.tune(model(), *TRAIN, **told)) == facts(whole)
    (tmp_path / "rows.jsonl.weights").unlink()
    assert facts(fc.tune(model(), *TRAIN, **told)) == facts(whole)


@pytest.mark.parametrize(
    "change",
    [
        {"points": 4},
        {"over": {"variance": fc.Between(0.05, 51)}},
        {"method": "golden"},
        {"X_dev": TRAIN[0], "y_dev": TRAIN[1]},
        {"sample_weight": [2.0] * len(TRAIN[0])},
    ],
)
def test_results_of_another_search_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    told = {**TOLD, "over": OVER, "points": 3, "results": tmp_path / "rows.jsonl"}
    fc.tune(model(), *TRAIN, **told)
    with pytest.raises(InputError, match="another search"):
        fc.tune(model(), *TRAIN, **{**told, **change})
    for other in (model(min_count=2), model(prior=fc.Gaussian(mean=0.1)), model(metric="span_f")):
        with pytest.raises(InputError, match="another search"):
            fc.tune(other, *TRAIN, **told)


@pytest.mark.parametrize(
    ("content", "part"),
    [("not json\n", r"rows.jsonl:1: not a line"), ('{"a": 1}\n', "something else"), ("3\n", "not a line")],
)
def test_files_that_hold_no_results(content: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(content)
    with pytest.raises(InputError, match=part):
        fc.tune(model(), *TRAIN, **TOLD, over=OVER, results=tmp_path / "rows.jsonl")
    assert (tmp_path / "rows.jsonl").read_text() == content


def test_templates_are_a_dimension() -> None:
    corpus = fc.datasets.addresses(n=120)
    train, dev = fc.datasets.split(corpus, fraction=0.75, seed=0)
    over = {"variance": [0.1, 1.0], "templates": ["word", "lower(word[-1..1])\nedge"], "min_count": [1, 2]}
    found = fc.tune(fc.ChainCRF(n_jobs=1), train, X_dev=dev, over=over)
    assert len(found.rows) == 8
    assert found.model is not None
    for row in found.rows:
        kept = {name: row.settings[name] for name in ("templates", "min_count")}
        optimiser = fc.LBFGS(tolerance=1e-8, objective_tolerance=0.0)
        prior = fc.Gaussian(row.settings["prior__variance"])
        crf = fc.ChainCRF(**kept, prior=prior, n_jobs=1, optimiser=optimiser).fit(train)
        assert row.features == len(crf.weights_)
        assert row.value == pytest.approx(crf.objective_value_, rel=1e-5)
    assert found.model.templates == found.best.settings["templates"]  # type: ignore[union-attr]


def test_priors_are_a_dimension() -> None:
    over = {"prior": ["gaussian", fc.Laplacian(2.0), "none"]}
    found = fc.tune(model(), *TRAIN, **TOLD, over=over)
    assert [row.settings["prior"] for row in found.rows] == ["gaussian", "Laplacian(scale=2.0)", "none"]
    assert found.rows[1].active < found.rows[0].active


def test_weights_without_a_penalty_begin_at_zero() -> None:
    """Where the loss is flat they would keep what a neighbour left them."""
    loose = [groups.by_count_cutoff(3, rare=rare, frequent=math.inf) for rare in (0.01, 10.0)]
    found = fc.tune(model(), *TRAIN, **TOLD, over={"variance": [*loose, 1.0]})
    optimiser = fc.LBFGS(tolerance=1e-3, objective_tolerance=0.0)
    cold = [model(prior=fc.Gaussian(variance), optimiser=optimiser).fit(*TRAIN) for variance in (*loose, 1.0)]
    same = [row.value == crf.objective_value_ for row, crf in zip(found.rows, cold)]
    assert same == [True, True, False]


def test_sequence_weights_count() -> None:
    weights = (np.arange(len(TRAIN[0])) % 3).astype(float)
    found = fc.tune(model(), *TRAIN, **TOLD, over={"variance": [1.0]}, sample_weight=weights)
    optimiser = fc.LBFGS(tolerance=1e-8, objective_tolerance=0.0)
    crf = model(prior=fc.Gaussian(1.0), optimiser=optimiser).fit(*TRAIN, sample_weight=weights)
    assert found.rows[0].value == pytest.approx(crf.objective_value_, rel=1e-5)


def test_optimisers_that_begin_at_their_own_place() -> None:
    found = fc.tune(model(optimiser="smo"), *TRAIN, **TOLD, over={"variance": [0.1, 1.0]})
    for row in found.rows:
        crf = model(optimiser="smo", prior=fc.Gaussian(row.settings["prior__variance"])).fit(*TRAIN)
        assert row.value == pytest.approx(crf.objective_value_, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"over": {}}, "nothing to search"),
        ({"over": {"variance": []}}, "empty"),
        ({"over": {"strength": [1]}}, "'strength' cannot be searched over"),
        ({"over": {"variance": [1.0, -1.0]}}, r"variance is -1"),
        ({"over": {"variance": fc.Between(-1, 10)}}, r"variance is -1"),
        ({"over": {"variance": [1.0], "min_count": [1, 99]}}, None),
        ({"over": {"prior": ["gauss"]}}, "prior='gauss'"),
        ({"method": "newton"}, "method='newton'"),
        ({"points": 0}, "points is 0"),
        ({"points": 2.5}, "points is 2.5"),
        ({"X_dev": None, "y_dev": None}, "X_dev is missing"),
        ({"sample_weight": [1.0]}, "shape"),
    ],
)
def test_what_makes_no_sense(settings: dict[str, Any], part: str | None) -> None:
    with pytest.raises(InputError, match=part or "no feature is left"):
        fc.tune(model(), *TRAIN, **{**TOLD, "over": OVER, **settings})


@pytest.mark.alone
def test_interrupt_leaves_rows_and_the_best_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = Ledger.add

    def pressed(self: Ledger, line: Any, state: Any) -> None:
        add(self, line, state)
        if len(self.lines) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    told = {**TOLD, "over": OVER, "points": 5, "results": tmp_path / "rows.jsonl"}
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "add", pressed)
        found = fc.tune(model(), *TRAIN, **told)
    assert found.interrupted
    assert len(found.rows) == 2
    assert found.model is not None
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3
    again = fc.tune(model(), *TRAIN, **told)
    assert not again.interrupted
    assert len(again.rows) == 5
    assert facts(again)[:2] == facts(found)


def test_a_guess_follows_the_line() -> None:
    space = make_space(fc.ChainCRF(), {"variance": fc.Between(1, 10**4)})
    path = WarmPath(space)

    def at(power: float) -> dict[str, float]:
        return {"prior__variance": 10.0**power}

    assert path.start("", at(0)) is None
    path.add(0, "", at(0), np.array([1.0, 0.0]))
    assert path.start("", at(1)).tolist() == [1.0, 0.0]  # type: ignore[union-attr]
    path.add(1, "", at(1), np.array([3.0, 0.0]))
    assert path.start("", at(2)) == pytest.approx([5.0, 0.0])  # carried on
    assert path.start("", at(0.5)) == pytest.approx([2.0, 0.0])  # between them
    assert path.start("", at(3)) == pytest.approx([3.0, 0.0])  # too far for a line
    assert path.start("other", at(2)) is None


def test_tables_and_progress(capsys: pytest.CaptureFixture[str]) -> None:
    found = fc.tune(model(verbose=True), *TRAIN, **TOLD, over=OVER, points=3)
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["settings", "score", "value", "active"]
    assert lines[1].startswith("variance=0.05 ")
    assert "token_accuracy" in lines[-2]
    assert lines[-1].startswith("best: variance=")
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "variance=0.05:  training"
    assert sum(line.endswith("gradient small enough") for line in told) == 3
    json.dumps(found.to_dict())


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_curves(tmp_path: Path) -> None:
    spaces: list[dict[str, Any]] = [OVER, {"prior": ["gaussian", "none"]}, {**OVER, "min_count": [1, 2]}]
    for over in spaces:
        found = fc.tune(model(), *TRAIN, **TOLD, over=over, points=3)
        found.plot(tmp_path / "curve.png")
        assert (tmp_path / "curve.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")
def test_optuna_on_two(tmp_path: Path) -> None:
    over = {"scale": fc.Between(0.1, 10), "variance": fc.Between(0.1, 100)}
    told = {**TOLD, "over": over, "points": 6, "method": "optuna", "results": tmp_path / "rows.jsonl"}
    found = fc.tune(model(prior=fc.ElasticNet()), *TRAIN, **told)
    assert len(found.rows) == 6
    assert facts(fc.tune(model(prior=fc.ElasticNet()), *TRAIN, **told)) == facts(found)

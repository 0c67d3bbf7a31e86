"""Held-out scores every few iterations: when they are taken, what they change and what they do not."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.models.held_out import QUICK, RAREST, score_interval
from unit.training.corpora import draw

pytestmark = pytest.mark.filterwarnings("ignore:training stopped after")  # few passes of dual ascent
ENDLESS: dict[str, Any] = {"tolerance": 0.0, "objective_tolerance": -1.0}
OPTIMISERS: dict[str, Any] = {
    "lbfgs": fc.LBFGS(max_iterations=20, **ENDLESS),
    "sgd": fc.SGD(max_iterations=20, tolerance=0.0, objective_tolerance=-1e300),
    "averaged_perceptron": fc.AveragedPerceptron(max_iterations=20, least_loss=0.0),
    "dual_ascent": fc.DualAscent(max_iterations=20, gap=0.0, patience=10**6),
}


@pytest.fixture(scope="module")
def split() -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    X, y = draw(rng, 4, rng.integers(2, 10, size=80), n_names=15)
    return X[:50], y[:50], X[50:], y[50:]


def fit(split: tuple[Any, ...], optimiser: Any = OPTIMISERS["lbfgs"], **options: Any) -> fc.ChainCRF:
    X, y, X_dev, y_dev = split
    prior = None if isinstance(optimiser, fc.AveragedPerceptron) else fc.Gaussian(variance=100.0)
    crf = fc.ChainCRF(prior=prior, optimiser=optimiser, n_jobs=1)
    return crf.fit(X, y, X_dev=X_dev, y_dev=y_dev, **options)


def scores(crf: fc.ChainCRF) -> list[float | None]:
    return [record.held_out for record in crf.training_log_]


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("every", [1, 3, 20, 50])
def test_each_kth_iteration_and_the_last_have_the_scores_of_every_iteration(
    name: str, every: int, split: tuple[Any, ...]
) -> None:
    all_, some = fit(split, OPTIMISERS[name], score_every=1), fit(split, OPTIMISERS[name], score_every=every)
    expected = [s if k % every == 0 or k == 20 else None for k, s in enumerate(scores(all_), 1)]
    assert scores(some) == expected
    assert None not in scores(all_)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_weights_do_not_depend_on_it(name: str, split: tuple[Any, ...]) -> None:
    bits = {fit(split, OPTIMISERS[name], score_every=k).weights_.tobytes() for k in (None, 1, 4, 100)}
    assert len(bits) == 1


@pytest.mark.parametrize("every", [1, 2, 5])
def test_patience_counts_scores_and_keeps_the_best_of_them(every: int, split: tuple[Any, ...]) -> None:
    patience = 3
    long = fc.LBFGS(max_iterations=120, **ENDLESS)
    seen = [s for s in scores(fit(split, long, score_every=every)) if s is not None]
    best = next(
        k for k in range(len(seen)) if max(seen[k + 1 : k + 1 + patience]) <= max(seen[: k + 1]) == seen[k]
    )
    crf = fit(split, long, score_every=every, patience=patience)
    assert crf.stop_reason_ == "held-out score no longer rises"
    assert crf.n_iter_ == every * (best + 1 + patience)
    assert crf.score(split[2], split[3]) == pytest.approx(seen[best])
    assert crf.objective_value_ == crf.training_log_[every * (best + 1) - 1].objective


def stop(record: Any) -> bool:
    return bool(record.iteration == 5)


ENDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "gradient small enough": (fc.LBFGS(tolerance=0.3, objective_tolerance=-1.0), {}),
    "objective no longer falls": (fc.LBFGS(tolerance=0.0, objective_tolerance=0.01), {}),
    "duality gap small enough": (fc.FrankWolfe(gap=0.5), {}),
    "no step lowers": (fc.ConjugateGradient(max_iterations=3000, **ENDLESS), {}),
    "time is up": (fc.LBFGS(**ENDLESS), {"max_seconds": 0}),
    "maximum number of iterations": (fc.LBFGS(**ENDLESS, max_iterations=7), {}),
    "stopped by a callback": (fc.LBFGS(**ENDLESS), {"callbacks": [stop]}),
}


@pytest.mark.parametrize("reason", ENDS)
def test_the_end_is_scored_whatever_ends_it(reason: str, split: tuple[Any, ...]) -> None:
    optimiser, options = ENDS[reason]
    crf = fit(split, optimiser, score_every=10_000, **options)
    assert crf.stop_reason_.startswith(reason)
    *between, last = scores(crf)
    assert set(between) <= {None}
    assert last == pytest.approx(crf.score(split[2], split[3]))


@pytest.mark.alone
def test_the_end_is_scored_after_ctrl_c(split: tuple[Any, ...]) -> None:
    def interrupt(record: Any) -> None:
        if record.iteration == 5:
            signal.raise_signal(signal.SIGINT)

    crf = fit(split, score_every=10_000, callbacks=[interrupt])
    assert (crf.stop_reason_, crf.n_iter_) == ("interrupted", 5)
    assert crf.training_log_[-1].held_out == pytest.approx(crf.score(split[2], split[3]))


def test_the_end_can_be_the_best(split: tuple[Any, ...]) -> None:
    """With one score alone it is the best, and its weights are those that are kept."""
    kept = fit(split, score_every=10_000, keep_best=True)
    assert kept.weights_.tobytes() == fit(split).weights_.tobytes()
    assert kept.objective_value_ == kept.training_log_[-1].objective


def test_callbacks_see_the_score_of_the_end(split: tuple[Any, ...]) -> None:
    seen: list[Any] = []
    crf = fit(split, score_every=9, callbacks=[seen.append])
    assert seen == crf.training_log_
    assert [record.iteration for record in seen if record.held_out is not None] == [9, 18, 20]


def test_an_interval_by_the_sizes_alone() -> None:
    assert [score_interval(200_000, n) for n in (QUICK - 1, 10_000, 25_000, 100_000)] == [1, 1, 3, 10]
    assert score_interval(203_621, 51_362) == 5
    assert score_interval(100, 10**9) == score_interval(1, QUICK) == RAREST
    assert score_interval(10**9, QUICK) == 1


def test_the_interval_is_chosen_and_told(split: tuple[Any, ...]) -> None:
    X, y, X_dev, y_dev = split
    X_dev, y_dev = X_dev * 20, y_dev * 20
    every = score_interval(sum(map(len, y)), sum(map(len, y_dev)))
    assert every > 20
    remarks: list[str] = []

    class Listener:
        def __call__(self, record: Any) -> None:
            pass

        def tell(self, line: str) -> None:
            remarks.append(line)

    optimiser = fc.LBFGS(max_iterations=60, **ENDLESS)
    logs = [
        fc.ChainCRF(optimiser=optimiser, n_jobs=jobs).fit(
            X, y, X_dev=X_dev, y_dev=y_dev, callbacks=[Listener()]
        )
        for jobs in (1, 2)
    ]
    for crf in logs:
        assert [r.iteration for r in crf.training_log_ if r.held_out is not None] == [every, 60]
    assert remarks == [f"held-out data is scored every {every} iterations, and at the end"] * 2


def test_small_sets_are_scored_after_each_iteration(split: tuple[Any, ...]) -> None:
    assert None not in scores(fit(split))


class KilledError(Exception):
    """In the place of a kill: the training is gone, its snapshot stays."""


def killed_at(iteration: int) -> Any:
    def die(record: Any) -> None:
        if record.iteration == iteration:
            raise KilledError

    return die


def timeless(crf: fc.ChainCRF) -> list[Any]:
    return [repr(replace(record, seconds=0.0)) for record in crf.training_log_]  # not-a-number is like itself


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize(
    "options", [{}, {"keep_best": True}, {"patience": 2}], ids=["plain", "best", "patience"]
)
def test_resumed_between_two_scores(
    name: str, options: dict[str, Any], split: tuple[Any, ...], tmp_path: Path
) -> None:
    """Killed at 9, resumed from 8, with scores at 5, 10 and so on."""
    alone = fit(split, OPTIMISERS[name], score_every=5, **options)
    assert alone.n_iter_ > 9
    options = {**options, "score_every": 5, "snapshot": tmp_path / "s", "snapshot_every": 4}
    with pytest.raises(KilledError):
        fit(split, OPTIMISERS[name], callbacks=[killed_at(9)], **options)
    resumed = fit(split, OPTIMISERS[name], resume=True, **options)
    assert timeless(resumed) == timeless(alone)
    assert resumed.weights_.tobytes() == alone.weights_.tobytes()


@pytest.mark.parametrize("name", OPTIMISERS)
def test_more_iterations_forget_the_score_of_the_earlier_end(
    name: str, split: tuple[Any, ...], tmp_path: Path
) -> None:
    """Ended at 8 of 20, a score out of turn; a training that was never ended has none there."""
    options: dict[str, Any] = {"score_every": 5, "keep_best": True}
    alone = fit(split, OPTIMISERS[name], **options)
    options |= {"snapshot": tmp_path / "s", "snapshot_every": 4}
    ended = fit(split, replace(OPTIMISERS[name], max_iterations=8), **options)
    assert ended.training_log_[-1].held_out is not None
    again = fit(split, replace(OPTIMISERS[name], max_iterations=8), resume=True, **options)
    assert timeless(again) == timeless(ended)
    resumed = fit(split, OPTIMISERS[name], resume=True, **options)
    if name == "dual_ascent":  # its last objective is always evaluated
        assert [r.held_out for r in resumed.training_log_] == [r.held_out for r in alone.training_log_]
    else:
        assert timeless(resumed) == timeless(alone)
    assert resumed.weights_.tobytes() == alone.weights_.tobytes()


def test_another_interval_is_refused_where_it_decides_what_is_kept(
    split: tuple[Any, ...], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"snapshot": tmp_path / "s", "keep_best": True}
    fit(split, score_every=5, **options)
    with pytest.raises(InputError, match="another training"):
        fit(split, score_every=4, resume=True, **options)


@pytest.mark.parametrize("every", [0, -3, 1.5, "2"])
def test_an_interval_is_a_whole_number(every: Any, split: tuple[Any, ...]) -> None:
    text = f"score_every is {every!r}; it must be at least 1, a whole number"
    with pytest.raises(InputError, match=re.escape(text)):
        fit(split, score_every=every)


def test_an_interval_needs_held_out_data(split: tuple[Any, ...]) -> None:
    with pytest.raises(InputError, match="score_every needs a held-out set: pass X_dev and y_dev"):
        fc.ChainCRF().fit(split[0], split[1], score_every=2)

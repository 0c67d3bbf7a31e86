"""Search for hyper-parameters: train at one point of the space after the other, score each on held-out data.

The corpus is encoded once for each template set. A point starts from weights that are extrapolated from its
neighbours (path.py) and is trained until |gradient| <= tolerance max(1, |w|), the same for all. The best
model is kept as it was trained. If the prior leaves weights without a penalty, a point starts from zero,
since the weights of a neighbour may be huge and would stay so.

Hazard: the tolerance is relative to |w|, and weak penalties let weights grow: there, points stop further from
their optimum, and scores depend slightly on the initial weights.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.training_settings import SharedDesign
from fieldcraft.optimisers.loop import Interrupts, Outcome, Record
from fieldcraft.pools.pool import Pool
from fieldcraft.problems import check_weights
from fieldcraft.tuning.ledger import Ledger
from fieldcraft.tuning.methods import METHODS
from fieldcraft.tuning.path import Path, restartable
from fieldcraft.tuning.progress import TrialsProgress
from fieldcraft.tuning.simplex import tune_pool
from fieldcraft.tuning.space import ENCODES, Dimension, Settings, applied, make_space, plain, spelled
from fieldcraft.tuning.trial import point_of
from fieldcraft.tuning.tuned import Tried, Tuning

Floats = NDArray[np.float64]


def tune(
    crf: ChainCRF | Pool,
    X: Any = None,
    y: Any = None,
    *,
    X_dev: Any,
    y_dev: Any = None,
    over: Mapping[str, Any],
    method: str | None = None,
    points: int = 15,
    results: str | os.PathLike[str] | None = None,
    sample_weight: Any = None,
    verbose: bool | None = None,
) -> Tuning:
    """Search for the settings whose model scores best on held-out data.

    Parameters
    ----------
    crf : all other parameters; its ``metric`` is the score, ``random_state`` the seed, ``verbose`` shows
        progress. It is not changed. Of an opinion pool the weights are searched, over={"weights": Simplex()}
    X, y : sequences and label lists; or a labelled Corpus and no y. A trained pool needs none
    X_dev, y_dev : held-out data
    over : the searched parameters by name: a setting of the prior ("variance" or "prior__variance"), "prior",
        "templates", "min_count" …; each with Between(first, last) or a list of values
    method : "grid" (the default), "golden" (one range; the default for pools of two) or "optuna"
    points : values of each range of a grid; number of trainings for the other methods
    results : file of JSON lines, one per finished point; if it exists, the search continues from it
    sample_weight : [N] weight of each sequence
    verbose : show each point as it is trained, and its score; None for what the model says

    Returns
    -------
    Tuning: the rows, and the best model. Ctrl-C omits the current point and those after it.

    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> from fieldcraft import Between
    >>> result = tune(ChainCRF(), X, y, X_dev=X, y_dev=y, over={"variance": Between(0.1, 10)}, points=3)
    >>> [row.entry for row in result.rows], result.model.prior
    (['variance=0.1', 'variance=1', 'variance=10'], Gaussian(variance=0.1, mean=0.0))
    """
    if method is not None and method not in METHODS:
        raise InputError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    if not isinstance(points, (int, np.integer)) or isinstance(points, bool) or points < 1:
        raise InputError(f"points is {points!r}; it must be a whole number, at least 1")
    if X_dev is None:
        raise InputError("X_dev is missing; a search needs held-out data to score on")
    if isinstance(crf, Pool):
        others = results if sample_weight is None else sample_weight
        return tune_pool(crf, X, y, X_dev, y_dev, over, method, int(points), others)
    method = method or "grid"
    space = make_space(crf, over)
    walk = METHODS[method](space, int(points), crf.random_state)
    search = Search(crf, space, (X, y), (X_dev, y_dev), sample_weight)
    with closing(walk), Interrupts() as interrupts:
        first = next(walk)
        data, held_out = search.begin(first)
        facts = {"method": method, "points": int(points), "over": {d.name: repr(d.values) for d in space}}
        ledger = Ledger(results, search.digest(first, facts))
        ledger.open({**facts, "metric": held_out.metric})
        with TrialsProgress(shown=crf.verbose if verbose is None else verbose) as progress:
            search.go(first, walk, ledger, progress, lambda: interrupts.seen)
    sizes = data.design.n_sequences, len(data.design.gold)
    rows = tuple(search.rows)
    return Tuning(held_out.metric, method, *sizes, rows, search.model(), interrupted=interrupts.seen)


class Search:
    """Trains at points of the space and keeps the best.

    Parameters
    ----------
    crf : the common parameters
    space : the searched parameters
    train, dev : (X, y)
    sample_weight : [N] or None
    """

    def __init__(
        self,
        crf: ChainCRF,
        space: tuple[Dimension, ...],
        train: tuple[Any, Any],
        dev: tuple[Any, Any],
        sample_weight: Any,
    ) -> None:
        self.crf, self.space, self.train, self.dev = crf, space, train, dev
        self.sample_weight = sample_weight
        self.rows: list[Tried] = []
        self.path = Path(space)
        self._encodings: dict[str, tuple[SharedDesign, HeldOut]] = {}
        self._best: tuple[Settings, Tried, Floats] | None = None

    def begin(self, first: Settings) -> tuple[SharedDesign, HeldOut]:
        """Encode for the first point; raise errors that can be known before any training."""
        for settings in self._known(first):
            if applied(self.crf, settings)._training().rules.likely is not None:
                raise InputError(
                    "tune does not support features='selected': every training would select others; use "
                    "'supported' or 'all', and train once more with 'selected' at the best settings"
                )
        data, held_out = self._encoded(first)
        check_weights(self.sample_weight, data.design.n_sequences)
        return data, held_out

    def digest(self, first: Settings, facts: dict[str, Any]) -> str:
        """A digest of everything that rows depend on."""
        data, held_out = self._encoded(first)
        crf = self._estimator(first)
        fixed = {name: getattr(crf, name) for name in ("label_weights", "decoding", "random_state")}
        text = repr((facts, fixed, crf.optimiser)).encode("utf-8", "surrogatepass")
        weights = check_weights(self.sample_weight, data.design.n_sequences)
        return crf._training().digest(data, weights, *held_out.parts(), np.frombuffer(text, np.uint8))

    def go(
        self,
        settings: Settings,
        walk: Any,
        ledger: Ledger,
        progress: TrialsProgress,
        stopped: Callable[[], bool],
    ) -> None:
        """Try one point after the other; those in the ledger are not trained again."""
        known = ledger.rows()
        trained: list[Settings] = []
        while not stopped():
            number = len(self.rows)
            trained.append(settings)
            if number < len(known):
                ledger.check(number, plain(settings))
                self.rows.append(known[number])
                progress.finish(known[number])
            else:
                if number == len(known):
                    self._restore(trained[:-1], ledger.state)
                row = self._try(settings, progress, stopped)
                if row is None:
                    break
                ledger.add(asdict(row), self._state())
            try:
                settings = walk.send(self.rows[-1].score)
            except StopIteration:
                break
        if self._best is None:
            self._restore(trained[: len(self.rows)], ledger.state)

    def model(self) -> ChainCRF | None:
        """The best model as it was trained."""
        if self._best is None:
            return None
        settings, row, weights = self._best
        crf = self._estimator(settings)
        outcome = Outcome(weights, row.value, row.reason, row.converged)
        crf._store(crf._training().finished(self._encoded(settings)[0], outcome))
        crf.n_iter_ = row.iterations
        return crf.set_params(**{name: getattr(self.crf, name) for name in ("optimiser", "verbose")})

    def _try(self, settings: Settings, progress: TrialsProgress, stopped: Callable[[], bool]) -> Tried | None:
        """Train and score; None if training was interrupted."""
        name = spelled(plain(settings))
        progress.begin(name)
        data, held_out = self._encoded(settings)
        crf = self._estimator(settings)

        def follow(record: Record) -> bool:
            progress.tell(name, point_of(record, record.seconds))
            return stopped()

        begun = time.perf_counter()
        training = crf._training()
        start = self.path.start(_encoding(settings), settings) if training.holds_all(data) else None
        options = {"sample_weight": self.sample_weight, "control": {"callbacks": (follow,)}}
        crf._store(training.run(self.train[0], None, shared=data, start=start, **options))
        if stopped() and not crf.converged_:
            return None
        seconds = time.perf_counter() - begun
        row = _row(plain(settings), crf, held_out, seconds)
        self._keep(settings, row, np.array(crf.weights_))
        progress.finish(row)
        return row

    def _keep(self, settings: Settings, row: Tried, weights: Floats) -> None:
        self.rows.append(row)
        self.path.add(len(self.rows) - 1, _encoding(settings), settings, weights)
        if self._best is None or row.score > self._best[1].score:
            self._best = settings, row, weights

    def _state(self) -> dict[str, Floats]:
        assert self._best is not None
        return {**self.path.state(), "best": self._best[2]}

    def _restore(self, trained: list[Settings], state: dict[str, Any]) -> None:
        """Continue from the rows of an earlier search."""
        if not trained or not state:
            return
        best = max(range(len(self.rows)), key=lambda number: self.rows[number].score)
        self._best = trained[best], self.rows[best], state["best"]
        self.path.restore([(_encoding(settings), settings) for settings in trained], state)

    def _known(self, first: Settings) -> Iterator[Settings]:
        """Points with each listed value or end of one dimension, otherwise equal to the first point."""
        for dimension in self.space:
            for value in dimension.known():
                yield {**first, dimension.name: value}

    def _estimator(self, settings: Settings) -> ChainCRF:
        return restartable(applied(self.crf, settings))

    def _encoded(self, settings: Settings) -> tuple[SharedDesign, HeldOut]:
        key = _encoding(settings)
        if key not in self._encodings:
            training = applied(self.crf, settings)._training()
            data = training.share(*self.train)
            self._encodings[key] = data, training.held_out(data.encoder, data.design.index, *self.dev)
        return self._encodings[key]


def _encoding(settings: Settings) -> str:
    """Equal for settings that share an encoding."""
    return repr({name: value for name, value in settings.items() if name in ENCODES})


def _row(settings: Settings, crf: ChainCRF, held_out: HeldOut, seconds: float) -> Tried:
    return Tried(
        settings,
        held_out(crf.weights_),
        float(crf.objective_value_),
        int(np.count_nonzero(crf.weights_)),
        len(crf.weights_),
        crf.n_iter_,
        crf.training_log_[-1].evaluations if crf.training_log_ else 1,
        round(seconds, 3),
        crf.stop_reason_,
        bool(crf.converged_),
    )

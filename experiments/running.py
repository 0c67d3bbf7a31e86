"""Training of configurations: encode once, follow the path, choose on development data, read the test set.

The settings of a grid are trained in their order, each from what those before it let expect, all to the same
tolerance; the one with the best development score is the model (the first of equals). Only then, and only for
that one, is the test set scored. A configuration with a given one begins at the chosen weights of that, all
others at zero.

Hazard: behind strong penalties, weights that have none grow huge, and where the loss is flat nothing brings
them back. With a prior that leaves some without, each setting begins at zero. So must each that is followed:
its best iteration would depend on where it began.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fieldcraft
from experiments.archive import Archive, Point, Result
from experiments.configuration import Configuration, Setting
from experiments.corpora import TASKS, Splits
from experiments.ground import Ground, Trained, train
from experiments.pool import WEIGHTS, Pool
from fieldcraft.optimisers import OPTIMISERS

Floats = NDArray[np.float64]
KEPT = 2  # designs in memory
# A weak penalty has a small gradient far from its minimum, so that only the objective tells the end: training
# stops when it falls by less than a millionth in ten iterations. 15 remembered steps save a fifth of them.
STOPS: dict[str, Any] = {"tolerance": 1e-9, "objective_tolerance": 1e-6, "period": 10, "memory": 15}


class Effort(NamedTuple):
    """How much is done: sentences of each part, iterations of a training, settings of a grid.

    With ``patience`` a training that is followed ends so many iterations after its best score, and pools have
    members at their best alone. The best weights are the same unless a better score comes later, so that keys
    do not tell of it.
    """

    sentences: int | None = None
    iterations: int = 1000
    points: int | None = None
    patience: int | None = None

    @property
    def cut(self) -> tuple[int | None, ...]:
        """What results are told apart by; empty for all there is."""
        return () if self[:3] == FULL[:3] else self[:3]


FULL, QUICK = Effort(), Effort(sentences=150, iterations=4, points=2)


class Stop(NamedTuple):
    """A setting of a path, with the weights at the end of its training."""

    setting: Setting
    weights: Floats


def guessed(stops: list[Stop], setting: Setting, n_weights: int) -> Floats:
    """[F] where to begin: the optimum moves smoothly with the logarithm of a setting, so follow its line.

    From the two stops before, w ~ w_1 + s (w_1 - w_2) with s the ratio of the steps, at most 1; which halves
    the work of beginning at w_1. Where several numbers move, w_1 it is.
    """
    if not stops:
        return np.zeros(n_weights)
    moved = [
        numbers for numbers in zip(setting, *(stop.setting for stop in stops[-2:])) if len(set(numbers)) > 1
    ]
    if len(stops) < 2 or len(moved) != 1 or min(moved[0]) <= 0 or moved[0][1] == moved[0][2]:
        return stops[-1].weights
    here, older, last = np.log(moved[0])
    step = float(np.clip((here - last) / (last - older), 0.0, 1.0))
    return np.asarray(stops[-1].weights + step * (stops[-1].weights - stops[-2].weights))


class Laboratory:
    """Gives the results of configurations, from the archive or by training.

    Parameters
    ----------
    data : folder of the datasets
    archive : where results are kept
    effort : how much is done
    seed : of the split of the tagging corpus
    say : hears of each training
    """

    def __init__(
        self,
        data: Path,
        archive: Archive,
        *,
        effort: Effort = FULL,
        seed: int = 0,
        say: Callable[[str], object] = print,
    ) -> None:
        self.data, self.archive, self.effort, self.seed, self.say = data, archive, effort, seed, say
        self._splits: dict[str, Splits] = {}
        self._grounds: dict[tuple[str, str, int], Ground] = {}

    def result(self, configuration: Configuration | Pool) -> Result:
        """What became of a configuration or pool; trained if it is not known yet."""
        wanted, key = self._wanted(configuration)
        found = self.archive.get(key)
        if found is None:
            found = self._pooled(wanted, key) if isinstance(wanted, Pool) else self._run(wanted, key)
            self.archive.add(found)
        return found

    def weights(self, configuration: Configuration) -> tuple[Ground, Floats, Floats]:
        """The features, the weights that count and those at the end of training, trained again if need be.

        Of a known result only the chosen setting is trained again.
        """
        wanted, key = self._wanted(configuration)
        assert isinstance(wanted, Configuration)
        ground = self.ground(wanted)
        names = (key, f"{key}-end" if wanted.follow else key)
        kept = [self.archive.weights(name, len(ground.index)) for name in names]
        if kept[0] is None or kept[1] is None:
            known = self.archive.get(key)
            grid = wanted.grid if known is None else (known.chosen[: len(wanted.grid[0])],)
            _, trained = self._trained(replace(wanted, grid=grid), key)
            return ground, trained.weights, trained.end if wanted.follow else trained.weights
        return ground, kept[0], kept[1]

    def best_weights(self, configuration: Configuration) -> tuple[Ground, Floats]:
        """The features and the weights that count; a known training is repeated as far as those alone."""
        wanted, key = self._wanted(configuration)
        assert isinstance(wanted, Configuration)
        known, ground = self.archive.get(key), self.ground(wanted)
        kept = self.archive.weights(key, len(ground.index))
        if kept is None and known is not None and wanted.follow:
            grid = (known.chosen[: len(wanted.grid[0])],)
            _, trained = self._trained(replace(wanted, grid=grid), key, known.model.iteration)
            return ground, trained.weights
        return ground, self.weights(configuration)[1] if kept is None else kept

    def splits(self, task: str) -> Splits:
        """The data of a task, as far as it is used."""
        if task not in self._splits:
            whole = TASKS[task].read(self.data, self.seed)
            self._splits[task] = whole.first(self.effort.sentences)
        return self._splits[task]

    def _wanted(self, configuration: Configuration | Pool) -> tuple[Configuration | Pool, str]:
        """With as many settings as the effort allows, and its key."""
        points = self.effort.points
        wanted = configuration if points is None else configuration.thinned(points)
        return wanted, f"{wanted.key}-{self.suffix}"

    def key(self, configuration: Configuration | Pool) -> str:
        """The key of its result in the archive."""
        return self._wanted(configuration)[1]

    @property
    def suffix(self) -> str:
        """What keys tell of seed and effort."""
        return "-".join(map(str, (self.seed, *self.effort.cut)))

    def _pooled(self, pool: Pool, key: str) -> Result:
        for member in pool.members:
            self.result(member)
        begun = time.perf_counter()
        to_the_end = any(member.follow for member in pool.members) and self.effort.patience is None
        found = [self.weights(m) if to_the_end else self.best_weights(m) for m in pool.members]
        ground, weigh = found[0][0], WEIGHTS[pool.weights]
        vectors, ends = (np.stack([one[i] for one in found]) for i in (1, -1))  # [members, F]
        shares = weigh(vectors, ground.development)
        end = ground.pooled(weigh(ends, ground.development), ends, pool) if to_the_end else None
        return Result(
            key,
            json.loads(json.dumps(pool.plain())),
            tuple(shares.tolist()),
            len(ground.index),
            time.perf_counter() - begun,
            ground.pooled(shares, vectors, pool),
            end,
            (),
            (),
            self._made(ground),
        )

    def _trained(
        self, configuration: Configuration, key: str, iterations: int | None = None
    ) -> tuple[list[Point], Trained]:
        """The path of a configuration, or the first iterations of one; its weights are kept."""
        given = None if configuration.given is None else self.result(configuration.given)
        ground = self.ground(configuration)
        start = None if given is None else self.archive.weights(given.key, len(ground.index))
        settings = () if given is None else given.chosen
        points, trained = self._path(configuration, ground, settings, start, iterations)
        self.archive.keep(key, trained.weights)
        if configuration.follow and iterations is None:
            self.archive.keep(f"{key}-end", trained.end)
        return points, trained

    def _run(self, configuration: Configuration, key: str) -> Result:
        begun = time.perf_counter()
        points, trained = self._trained(configuration, key)
        ground = self.ground(configuration)
        best = int(np.argmax([point.development for point in points]))
        followed, read, records = configuration.follow, configuration.reads_test, trained.records
        model = ground.model(trained.weights, _iteration(trained), reads_test=read)
        to_the_end = followed and self.effort.patience is None
        end = ground.model(trained.end, len(records), reads_test=read) if to_the_end else None
        curve = [(r.iteration, float(r.held_out or 0.0), int(r.active or 0)) for r in records]
        return Result(
            key,
            json.loads(json.dumps(configuration.plain())),  # as the archive gives it back
            points[best].setting,
            len(ground.index),
            time.perf_counter() - begun,
            model,
            end,
            tuple(points),
            tuple(curve if followed else ()),
            self._made(ground),
        )

    def _made(self, ground: Ground) -> dict[str, Any]:
        """How a result comes about."""
        found = {**versions(), "seed": self.seed, "threads": ground.n_jobs, "on": time.strftime("%Y-%m-%d")}
        cut = {} if not self.effort.cut else {"only a trial, sentences": self.effort.sentences}
        return {**found, **cut}

    def _path(
        self,
        configuration: Configuration,
        ground: Ground,
        given: Setting,
        first: Floats | None,
        iterations: int | None,
    ) -> tuple[list[Point], Trained]:
        """Every setting of the grid, the first from weights ``first`` or zero; and what the best one left."""
        limit = iterations or self.effort.iterations
        optimiser = OPTIMISERS[configuration.optimiser](max_iterations=limit, **STOPS)
        points: list[Point] = []
        stops: list[Stop] = []
        kept = None
        for setting in configuration.grid:
            begun = time.perf_counter()
            prior = configuration.make_prior(setting, given)
            start = guessed(stops, setting, len(ground.index)) if stops or first is None else first
            trained = train(ground, prior, optimiser, start, configuration, self.effort.patience)
            score = float(ground.development(trained.weights))
            if kept is None or score > max(point.development for point in points):
                kept = trained
            seconds = time.perf_counter() - begun
            points.append(_point((*setting, *given), score, trained, seconds))
            self.say(_told(configuration, points[-1]))
            whole = prior.resolved(ground.index, ground.names)
            if not configuration.follow and whole.holds(len(ground.index)).all():
                stops = [*stops[-1:], Stop(setting, trained.end)]
        assert kept is not None
        return points, kept

    def ground(self, configuration: Configuration) -> Ground:
        """Encoded data; the last ones stay in memory."""
        task = TASKS[configuration.task]
        place = (configuration.task, configuration.templates, configuration.min_count)
        if place not in self._grounds:
            while len(self._grounds) >= KEPT:
                self._grounds.pop(next(iter(self._grounds)))
            self._grounds[place] = Ground(task, self.splits(configuration.task), configuration, self.data)
        return self._grounds[place]


def versions() -> dict[str, str]:
    """What results may depend on."""
    packages = {"fieldcraft": fieldcraft.__version__, "numpy": np.__version__}
    return {**packages, "python": platform.python_version(), "machine": platform.machine()}


def _iteration(trained: Trained) -> int:
    """The iteration of the weights that count: the first with the best score where it was followed."""
    scores = [record.held_out for record in trained.records]
    if not scores or scores[0] is None:
        return len(scores)
    return int(np.argmax(np.array(scores, np.float64))) + 1


def _point(setting: Setting, score: float, trained: Trained, seconds: float) -> Point:
    active, iterations = int(np.count_nonzero(trained.weights)), len(trained.records)
    return Point(setting, score, trained.objective, iterations, seconds, active, trained.reason)


def _told(configuration: Configuration, point: Point) -> str:
    numbers = ", ".join(f"{number:g}" for number in point.setting)
    return (
        f"{configuration.task} {configuration.templates}"
        + (f" ({configuration.mask})" if configuration.mask else "")
        + (f" bag {configuration.bag}" if configuration.bag else "")
        + (f" min_count {configuration.min_count}" if configuration.min_count > 1 else "")
        + f" {configuration.prior} ({numbers}): development {100 * point.development:.2f}, "
        f"{point.active:,} weights, {point.iterations} iterations, {point.seconds:.1f} s, {point.reason}"
    )

"""Co-operative training of chapter 7: pools whose members go on together from where each did best alone.

A co-operation follows curves from the same weights: members that go on independently of each other, and for
each gamma of a grid members that are trained together. Gamma and the iteration are chosen on development
data; then the test set is scored, for the curves that are drawn. The plain pool is where all curves begin.

Every curve is a JSON line of its own beside the archive, its test scores are another: a run that is stopped
keeps the gammas that it has. The pool's weights by iteration stand among the kept weights, in half their
precision, until the test set has been scored.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.archive import Part, append, read_lines
from experiments.configuration import Configuration
from experiments.ground import Ground
from experiments.running import STOPS, Laboratory
from fieldcraft.optimisers import LBFGS
from fieldcraft.pools.ambiguity_penalties import resolve_penalty
from fieldcraft.pools.cooperative_problem import Cooperative, PlainSum, WeightedSum
from fieldcraft.pools.dealt import InOneProcess
from fieldcraft.priors import Prior, resolve_prior
from fieldcraft.problems import build
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
GAMMAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 0.01, 0.1, 1.0)
ITERATIONS = 150


@dataclass(frozen=True)
class Cooperation:
    """Members that are trained together.

    Parameters
    ----------
    members : each with its own training, which ends where the common one begins
    shares : of the members in the pool; None for equal ones
    penalty : "inverse" or "inverse_square"
    weighted : do likelihoods count by the shares
    train_weights : are the shares trained, too
    gammas : the grid
    iterations : of each curve
    """

    members: tuple[Configuration, ...]
    shares: tuple[float, ...] | None = None
    penalty: str = "inverse"
    weighted: bool = False
    train_weights: bool = False
    gammas: tuple[float, ...] = GAMMAS
    iterations: int = ITERATIONS

    @property
    def task(self) -> str:
        """That of the members."""
        return self.members[0].task

    @property
    def alone(self) -> Curve:
        """Members that go on by themselves."""
        return Curve(self, None)

    @property
    def together(self) -> dict[str, Curve]:
        """Those that are trained together, by gamma as it is printed."""
        return {f"{gamma:g}": Curve(self, gamma) for gamma in self.gammas}


@dataclass(frozen=True)
class Curve:
    """One pool to follow: its members are trained together with a gamma, or go on alone (None)."""

    wanted: Cooperation
    gamma: float | None

    def key(self, laboratory: Laboratory) -> str:
        """Tells it from any other; members that go on alone have no penalty and no common objective."""
        one = self.wanted
        plain: dict[str, Any] = {
            "members": [member.key for member in one.members],
            "shares": one.shares,
            "iterations": one.iterations,
        }
        if self.gamma is not None:
            names = ("penalty", "weighted", "train_weights")
            plain |= {"gamma": self.gamma, **{name: getattr(one, name) for name in names}}
        told = json.dumps(plain) + laboratory.suffix
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def weights(self, laboratory: Laboratory) -> Path:
        """Where the pool's weights by iteration are kept."""
        return laboratory.archive.folder / f"{self.key(laboratory)}-curve.npy"

    def __str__(self) -> str:
        return "alone" if self.gamma is None else f"gamma {self.gamma:g}"


@dataclass(frozen=True)
class Followed:
    """A curve: development scores and, where the test set was read, test scores by iteration.

    The first score is that of the start, ``ambiguity`` has none for it. ``best`` is the iteration with the
    best development score.
    """

    key: str
    development: tuple[float, ...]
    ambiguity: tuple[float, ...]
    best: int
    seconds: float
    made: dict[str, Any]
    test: tuple[float, ...] = ()
    at_start: Any = None  # scores and errors of both parts of the data
    at_best: Any = None

    def part(self, name: str, *, start: bool = False) -> Part:
        """At its best iteration, or at the start."""
        return Part(**(self.at_start if start else self.at_best)[name])


@dataclass(frozen=True)
class Cooperated:
    """What became of it: members that went on alone, and together by gamma."""

    alone: Followed
    together: dict[str, Followed]
    chosen: str

    @property
    def curves(self) -> list[Followed]:
        """All of them."""
        return [self.alone, *self.together.values()]


def cooperated(wanted: Cooperation, laboratory: Laboratory) -> Cooperated:
    """From the file, or by training; the curve with the best development score is scored on test data."""
    alone = scored(wanted.alone, laboratory)
    together = {gamma: followed(curve, laboratory) for gamma, curve in wanted.together.items()}
    chosen = max(together, key=lambda gamma: max(together[gamma].development))
    together[chosen] = scored(wanted.together[chosen], laboratory)
    for curve in wanted.together.values():
        curve.weights(laboratory).unlink(missing_ok=True)  # half a gigabyte each
    return Cooperated(alone, together, chosen)


def followed(curve: Curve, laboratory: Laboratory) -> Followed:
    """Development scores by iteration, from the file or by training."""
    path, key = file_of(laboratory), curve.key(laboratory)
    known = read_lines(path)
    if key not in known:
        append(path, {"key": key, **_follow(curve, laboratory)})
        known = read_lines(path)
    raw = {**known.get(tested(key), {}), **known[key]}
    return Followed(**{name: tuple(v) if isinstance(v, list) else v for name, v in raw.items()})


def scored(curve: Curve, laboratory: Laboratory) -> Followed:
    """The same with test scores; followed again if the pool's weights were not kept, and that counts."""
    path, key, kept = file_of(laboratory), curve.key(laboratory), curve.weights(laboratory)
    one = followed(curve, laboratory)
    if not one.test:
        if not kept.exists():
            append(path, {"key": key, **_follow(curve, laboratory)})
            one = followed(curve, laboratory)
        ground = laboratory.ground(curve.wanted.members[0])
        append(path, {"key": tested(key), **_test_scores(ground, one, np.load(kept, mmap_mode="r"))})
        kept.unlink()
    return followed(curve, laboratory)


def file_of(laboratory: Laboratory) -> Path:
    """Where curves are kept."""
    return laboratory.archive.path.with_name("cooperation.jsonl")


def tested(key: str) -> str:
    """The key of the test scores of a curve."""
    return f"{key}-test"


class Bench:
    """The members of a co-operation on their ground, ready to train."""

    def __init__(self, wanted: Cooperation, laboratory: Laboratory) -> None:
        self.wanted, self.say = wanted, laboratory.say
        effort = laboratory.effort.points
        members = [m if effort is None else m.thinned(effort) for m in wanted.members]
        results = [laboratory.result(member) for member in members]
        found = [laboratory.best_weights(member) for member in members]
        self.ground: Ground = found[0][0]
        shares = [self.ground.share(member) for member in members]
        self.rows = [np.flatnonzero(share.mask) for share in shares]
        self.start = [vector[own] for (_, vector), own in zip(found, self.rows)]
        self.priors: list[Prior] = [
            member.make_prior(result.chosen).resolved(share.design.index, self.ground.names)
            for member, result, share in zip(members, results, shares)
        ]
        structure = LinearChain(StateSpace.labels(self.ground.n_states))
        options = {"n_jobs": self.ground.n_jobs}
        nothing = resolve_prior(None)
        self.alone = [
            build(structure, "gradient", s.design, p, **options) for s, p in zip(shares, self.priors)
        ]
        self.bare = [build(structure, "gradient", share.design, nothing, **options) for share in shares]
        self.whole = build(structure, "gradient", self.ground.data.design, nothing, **options)
        self.iterations = min(wanted.iterations, laboratory.effort.iterations)
        n = len(members)
        self.shares = np.full(n, 1 / n) if wanted.shares is None else np.array(wanted.shares)

    def optimiser(self) -> LBFGS:
        """The settings of every training."""
        return LBFGS(max_iterations=self.iterations, **STOPS)

    def pooled(self, vectors: Sequence[Floats], shares: Floats) -> Floats:
        """[F] the weights of the pool."""
        weights = np.zeros(len(self.ground.index))
        for share, own, vector in zip(shares, self.rows, vectors):
            weights[own] += share * vector
        return weights

    def apart(self) -> Iterator[tuple[Floats, float]]:
        """The pool after each iteration of every member by itself; one that has ended stays."""
        runs = [self.optimiser().start(p, vector) for p, vector in zip(self.alone, self.start)]
        for run in runs:
            run.begin()
        moving = list(runs)
        for _ in range(self.iterations):
            moving = [run for run in moving if run.step()]
            if not moving:
                return
            yield self.pooled([run.solution() for run in runs], self.shares), 0.0

    def together(self, gamma: float) -> Iterator[tuple[Floats, float]]:
        """The pool and its ambiguity after each iteration of the common training."""
        wanted = self.wanted
        problem = Cooperative(
            InOneProcess([*self.bare, self.whole]),
            self.rows,
            self.priors,
            n_features=len(self.ground.index),
            n_jobs=self.ground.n_jobs,
            total=float(self.ground.data.design.n_sequences),
            pool_weights=None if wanted.train_weights else self.shares,
            gamma=gamma,
            penalty=resolve_penalty(wanted.penalty),
            likelihoods=WeightedSum() if wanted.weighted else PlainSum(),
        )
        extra = [np.log(self.shares)] if wanted.train_weights else []
        run = self.optimiser().start(problem, np.concatenate([*self.start, *extra]))
        run.begin()
        for _ in range(self.iterations):
            if not run.step():
                return
            yield problem.collapsed(run.solution()), float(problem.facts.ambiguity or 0.0)


def _follow(curve: Curve, laboratory: Laboratory) -> dict[str, Any]:
    """Train; development scores by iteration are returned, the pool's weights are kept."""
    begun = time.perf_counter()
    bench = Bench(curve.wanted, laboratory)
    ground, first = bench.ground, bench.pooled(bench.start, bench.shares)
    pools = bench.apart() if curve.gamma is None else bench.together(curve.gamma)
    kept = curve.weights(laboratory)
    kept.parent.mkdir(parents=True, exist_ok=True)
    shape = (bench.iterations + 1, len(first))
    rows = np.lib.format.open_memmap(kept, mode="w+", dtype=np.float32, shape=shape)
    scores, ambiguities = [], []
    for row, (weights, ambiguity) in zip(rows, chain([(first, 0.0)], pools)):
        row[:] = weights
        scores.append(float(ground.development(row.astype(np.float64))))
        ambiguities.append(ambiguity)
    best, seconds = int(np.argmax(scores)), time.perf_counter() - begun
    bench.say(
        f"{curve}: development {100 * scores[0]:.2f} at the start, {100 * scores[best]:.2f} at iteration "
        f"{best} of {len(scores) - 1}, {seconds:.0f} s"
    )
    made = laboratory._made(ground)
    found = {"development": scores, "ambiguity": ambiguities[1:], "best": best}
    return {**found, "seconds": seconds, "made": made}


def _test_scores(ground: Ground, one: Followed, kept: NDArray[np.float32]) -> dict[str, Any]:
    vectors = (row.astype(np.float64) for row in kept[: len(one.development)])
    test = [float(ground.test(weights)) for weights in vectors]
    models = (ground.model(kept[i].astype(np.float64), i, reads_test=True) for i in (0, one.best))
    start, best = ({"development": asdict(m.development), "test": asdict(m.test)} for m in models)
    return {"test": test, "at_start": start, "at_best": best}

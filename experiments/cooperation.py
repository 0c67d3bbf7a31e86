"""Co-operative training of chapter 7: pools whose members go on together from where each did best alone.

A run follows three pools from the same weights: the plain one, which stays there; one whose members go on
independently of each other; and one whose members are trained together, for each gamma of a grid. Gamma and
the iteration are chosen on development data; then the test set is scored, for the curves that are drawn.
Runs are kept as JSON lines beside the archive.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
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
GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
ITERATIONS = 100


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
    iterations : of each training
    """

    members: tuple[Configuration, ...]
    shares: tuple[float, ...] | None = None
    penalty: str = "inverse"
    weighted: bool = False
    train_weights: bool = False
    gammas: tuple[float, ...] = GAMMAS
    iterations: int = ITERATIONS

    def key(self, laboratory: Laboratory) -> str:
        """Tells it from any other."""
        plain = {**asdict(self), "members": [member.key for member in self.members]}
        told = json.dumps(plain) + laboratory.suffix
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @property
    def task(self) -> str:
        """That of the members."""
        return self.members[0].task


@dataclass(frozen=True)
class Followed:
    """A pool that was followed: development scores and, where it was chosen, test scores by iteration.

    The first score is that of the start. ``best`` is the iteration with the best development score.
    """

    development: tuple[float, ...]
    ambiguity: tuple[float, ...] = ()
    test: tuple[float, ...] = ()
    best: int = 0
    at_best: Any = None  # scores and errors of both parts of the data

    def part(self, name: str) -> Part:
        """At its best iteration."""
        return Part(**self.at_best[name])


@dataclass(frozen=True)
class Cooperated:
    """What became of it: the plain pool, members that went on alone, and together by gamma."""

    key: str
    plain: Followed
    alone: Followed
    together: dict[str, Followed]
    chosen: str
    seconds: float
    made: dict[str, Any]


def cooperated(wanted: Cooperation, laboratory: Laboratory) -> Cooperated:
    """From the file, or by training."""
    path, key = laboratory.archive.path.with_name("cooperation.jsonl"), wanted.key(laboratory)
    known = read_lines(path)
    if key not in known:
        known[key] = json.loads(json.dumps(asdict(_run(wanted, laboratory, key))))
        append(path, known[key])
    raw = known[key]
    together = {gamma: _followed(one) for gamma, one in raw["together"].items()}
    return Cooperated(
        **{**raw, "plain": _followed(raw["plain"]), "alone": _followed(raw["alone"]), "together": together}
    )


def _followed(raw: dict[str, Any]) -> Followed:
    lists = {name: tuple(raw[name]) for name in ("development", "ambiguity", "test")}
    return Followed(**{**raw, **lists})


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
        chain = LinearChain(StateSpace.labels(self.ground.n_states))
        options = {"n_jobs": self.ground.n_jobs}
        nothing = resolve_prior(None)
        self.alone = [build(chain, "gradient", s.design, p, **options) for s, p in zip(shares, self.priors)]
        self.bare = [build(chain, "gradient", share.design, nothing, **options) for share in shares]
        self.whole = build(chain, "gradient", self.ground.data.design, nothing, **options)
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


def _run(wanted: Cooperation, laboratory: Laboratory, key: str) -> Cooperated:
    begun = time.perf_counter()
    bench = Bench(wanted, laboratory)
    first = bench.pooled(bench.start, bench.shares)
    plain, _ = _follow(bench, first, iter(()), "plain")
    alone, alone_weights = _follow(bench, first, bench.apart(), "alone")
    together, weights = {}, {}
    for gamma in wanted.gammas:
        name = f"{gamma:g}"
        together[name], weights[name] = _follow(bench, first, bench.together(gamma), f"gamma {name}")
    chosen = max(together, key=lambda name: max(together[name].development))
    together[chosen] = _with_test(bench, together[chosen], weights[chosen])
    return Cooperated(
        key,
        _with_test(bench, plain, [first]),
        _with_test(bench, alone, alone_weights),
        together,
        chosen,
        time.perf_counter() - begun,
        laboratory._made(bench.ground),
    )


def _follow(
    bench: Bench, first: Floats, pools: Iterator[tuple[Floats, float]], name: str
) -> tuple[Followed, list[NDArray[np.float32]]]:
    """Development scores by iteration; and the weights, in half their precision."""
    begun, ground = time.perf_counter(), bench.ground
    kept, scores, ambiguities = [first.astype(np.float32)], [float(ground.development(first))], []
    for weights, ambiguity in pools:
        kept.append(weights.astype(np.float32))
        scores.append(float(ground.development(kept[-1].astype(np.float64))))
        ambiguities.append(ambiguity)
    best = int(np.argmax(scores))
    bench.say(
        f"{name}: development {100 * scores[0]:.2f} at the start, {100 * scores[best]:.2f} at iteration "
        f"{best} of {len(scores) - 1}, {time.perf_counter() - begun:.0f} s"
    )
    return Followed(tuple(scores), tuple(ambiguities), best=best), kept


def _with_test(bench: Bench, one: Followed, kept: Sequence[NDArray[Any]]) -> Followed:
    ground = bench.ground
    vectors = [weights.astype(np.float64) for weights in kept]
    test = tuple(float(ground.test(weights)) for weights in vectors)
    model = ground.model(vectors[one.best], one.best, reads_test=True)
    assert model.test is not None
    scored = {"development": asdict(model.development), "test": asdict(model.test)}
    return Followed(one.development, one.ambiguity, test, one.best, scored)

"""Search for the weights of a pool's members: points of the simplex, scored on held-out data.

The members are trained once; a point costs one labelling of the held-out data. Two members have one free
weight, for golden section search; more members a grid of equal steps or optuna's proposals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.optimisers.loop import Interrupts
from fieldcraft.pools.pool import Pool
from fieldcraft.tuning.methods import METHODS
from fieldcraft.tuning.space import Between, Dimension
from fieldcraft.tuning.tuned import Tried, Tuning

Floats = NDArray[np.float64]
Walk = Generator[Floats, float, None]


@dataclass(frozen=True)
class Simplex:
    """All weights that are not negative and sum to one: the range of ``weights`` of a pool in ``fc.tune``."""


def tune_pool(
    pool: Any, X: Any, y: Any, X_dev: Any, y_dev: Any, over: Any, method: str | None, points: int, others: Any
) -> Tuning:
    """Search for the weights of a pool; see ``tune``."""
    _check(pool, over, others)
    fitted = _fitted(pool, X, y)
    combined = fitted._side_by_side()
    held_out = fitted._held_out(combined, X_dev, y_dev)
    labels = fitted._labels_by_weights(combined, held_out)
    chosen = method or ("golden" if len(combined) == 2 else "grid")
    walk = WALKS[chosen](len(combined), points, pool.random_state)
    rows, best = [], (-math.inf, fitted.pool_weights_)
    with Interrupts() as interrupts:
        weights = next(walk)
        while not interrupts.seen:
            begun = time.perf_counter()
            score = held_out.score(labels(weights))
            best = max(best, (score, weights), key=lambda pair: pair[0])
            rows.append(_row(weights, score, combined.weights, time.perf_counter() - begun))
            try:
                weights = walk.send(score)
            except StopIteration:
                break
    sizes = len(held_out.encoded.offsets) - 1, held_out.n_tokens
    model: Any = fitted._with_weights(best[1])
    return Tuning(held_out.metric, chosen, *sizes, tuple(rows), model, interrupted=interrupts.seen)


def _check(pool: Any, over: Any, others: Any) -> None:
    simple = isinstance(over, dict) and list(over) == ["weights"] and isinstance(over["weights"], Simplex)
    if not simple:
        raise InputError("a pool is searched over its weights: over={'weights': fc.Simplex()}")
    if getattr(pool, "product", False):
        raise InputError("the weights of a product are all 1; use a pool without product=True")
    if others is not None:
        raise InputError("results= and sample_weight= are for trainings; a search for weights has neither")


def _fitted(pool: Any, X: Any, y: Any) -> Pool:
    """A copy of the pool that is trained, if need be."""
    copy: Pool = type(pool)(**pool.get_params())
    vars(copy).update(vars(pool))
    copy.weights = "uniform"
    if not copy.__sklearn_is_fitted__():
        copy.fit(X, y)
    return copy


def _row(weights: Floats, score: float, members: Floats, seconds: float) -> Tried:
    settings = {"weights": ",".join(f"{weight:.4g}" for weight in weights)}
    active = int(np.count_nonzero(members[weights > 0].any(axis=0)))
    facts = (active, members.shape[1], 0, 1, round(seconds, 3))
    return Tried(settings, score, math.nan, *facts, "", True)


def golden(n: int, points: int, seed: int) -> Walk:
    """Golden section search for the first of two weights."""
    if n != 2:
        raise InputError(f"golden searches one weight, and the pool has {n} members; use grid or optuna")
    walk = METHODS["golden"]([Dimension("first", Between(0.0, 1.0))], points, seed)
    settings = next(walk)
    while True:
        score = yield np.array([settings["first"], 1.0 - settings["first"]])
        try:
            settings = walk.send(score)
        except StopIteration:
            return


def grid(n: int, points: int, seed: int) -> Walk:
    """Uniform weights, then all weights in equal steps, the finest of which there are at most ``points``."""
    del seed
    steps = 1
    while math.comb(steps + n, n - 1) < points:
        steps += 1
    yield np.full(n, 1.0 / n)
    for parts in _compositions(steps, n):
        if len(set(parts)) > 1:
            yield np.array(parts) / steps


def parzen(n: int, points: int, seed: int) -> Walk:
    """Proposals of optuna, as shares of the logarithms of uniform numbers."""
    names = [f"member{i}" for i in range(n)]
    walk = METHODS["optuna"]([Dimension(name, Between(0.0, 1.0)) for name in names], points, seed)
    settings = next(walk)
    while True:
        drawn = -np.log(np.clip([settings[name] for name in names], 1e-9, 1.0 - 1e-9))
        score = yield drawn / drawn.sum()
        try:
            settings = walk.send(score)
        except StopIteration:
            return


WALKS: dict[str, Callable[[int, int, int], Walk]] = {"grid": grid, "golden": golden, "optuna": parzen}


def _compositions(total: int, n: int) -> Iterator[tuple[int, ...]]:
    """All n numbers that are not negative and sum to ``total``."""
    if n == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, n - 1):
            yield (first, *rest)

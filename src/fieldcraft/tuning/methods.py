"""Search methods: generators that yield settings, and receive their scores by send().

    chosen = method(space, points, seed)
    settings = next(chosen);  settings = chosen.send(score);  …

The settings depend on the scores only, so that a search is resumed by sending the same scores.

grid     every combination. Numbers go from first to last and, in a second dimension, back again, so that
         each point has a neighbour just before it; template sets one after the other.
golden   golden section search in one range: keeps two points inside the bracket and drops the end next to
         the worse one; each score narrows the bracket to 0.618 of its size. Finds the maximum of a unimodal
         curve.
optuna   the tree-structured Parzen estimator of the package optuna, for several dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.tuning.space import Between, Dimension, Settings

Space = Sequence[Dimension]
Walk = Generator[Settings, float, None]
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def grid(space: Space, points: int, seed: int) -> Walk:
    """All combinations of ``points`` values of each range and the values of each list."""
    del seed
    columns = [dimension.grid(points) for dimension in space]
    heads = [column for column, dimension in zip(columns, space) if dimension.encodes]
    for head in product(*heads):
        for tail in _back_and_forth(columns[len(heads) :]):
            yield _settings(space, [*head, *tail])


def golden(space: Space, points: int, seed: int) -> Walk:
    """Narrow one range around its best point."""
    del seed
    if len(space) != 1 or not isinstance(space[0].values, Between):
        raise InputError("golden searches one range alone, e.g. variance=0.1..1000; use grid or optuna")
    if points < 2:
        raise InputError(f"golden needs at least 2 points, not {points}")
    scale = space[0].values
    low, high = 0.0, 1.0
    left, right = 1.0 - GOLDEN, GOLDEN
    at_left = yield _settings(space, [scale.at(left)])
    at_right = yield _settings(space, [scale.at(right)])
    for _ in range(points - 2):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = yield _settings(space, [scale.at(left)])
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = yield _settings(space, [scale.at(right)])


def parzen(space: Space, points: int, seed: int) -> Walk:
    """``points`` settings that optuna proposes."""
    if find_spec("optuna") is None:
        raise InputError("this method needs optuna; install it: pip install optuna")
    optuna: Any = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(points):
        trial = study.ask()
        score = yield _settings(space, [_proposed(trial, dimension) for dimension in space])
        study.tell(trial, score)


METHODS: dict[str, Callable[[Space, int, int], Walk]] = {"grid": grid, "golden": golden, "optuna": parzen}


def _settings(space: Space, values: Sequence[Any]) -> Settings:
    return {dimension.name: value for dimension, value in zip(space, values)}


def _back_and_forth(columns: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """The product, each combination differing from the one before it by one step in one column."""
    if not columns:
        yield ()
        return
    for turn, value in enumerate(columns[0]):
        rest = list(_back_and_forth(columns[1:]))
        yield from ((value, *others) for others in (rest[::-1] if turn % 2 else rest))


def _proposed(trial: Any, dimension: Dimension) -> Any:
    scale = dimension.values
    if isinstance(scale, Between):
        ends = sorted([scale.first, scale.last])
        return trial.suggest_float(dimension.name, *ends, log=scale.logarithmic)
    return scale[trial.suggest_categorical(dimension.name, list(range(len(scale))))]

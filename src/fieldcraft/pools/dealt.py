"""The problems of a pool, dealt to the ranks of an MPI job (distributed.py).

Co-operative training evaluates n + 1 problems at each point: one for each member, and the pool's, which is
one chain with all features. Each problem has ranks of its own. Several ranks with one problem divide the
sequences and add up over a communicator of theirs; one above them carries values and gradients to all ranks
(Smith 2007, figure 7.4). All ranks then have the same numbers, bit for bit, and take the same steps.

With fewer ranks than problems a rank has several. Rank 0 always has the pool's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.distributed import Ranks, cuts_of

Floats = NDArray[np.float64]
Build = Callable[[int, NDArray[np.int64], Any], Any]  # problem, sequences, ranks that share it -> the problem


def dealt(costs: Sequence[float], n_ranks: int) -> list[list[int]]:
    """For each problem the ranks that have it; the last problem is the pool's.

    Parameters
    ----------
    costs : of an evaluation of each problem, in any unit
    n_ranks : their number

    Examples
    --------
    >>> dealt([1.0, 1.0, 2.0], 2)
    [[1], [0], [0]]
    >>> dealt([1.0, 1.0, 4.0], 5)
    [[3], [4], [0, 1, 2]]
    """
    n = len(costs)
    if n_ranks < n:
        return [[(i + 1) % n_ranks] for i in range(n - 1)] + [[0]]
    each = np.ones(n, int)
    for _ in range(n_ranks - n):
        each[int(np.argmax(np.asarray(costs) / each))] += 1
    ends = np.cumsum([each[-1], *each[:-1]])
    groups = [list(range(end - k, end)) for end, k in zip(ends.tolist(), [each[-1], *each[:-1]])]
    return [*groups[1:], groups[0]]


class InOneProcess:
    """The same problems, all of them here."""

    def __init__(self, problems: Sequence[Any]) -> None:
        self._problems = problems

    def __call__(self, points: list[Floats], slopes: list[Floats]) -> list[float]:
        """The value of each problem at its point; gradients are written into ``slopes``."""
        every = zip(self._problems, points, slopes)
        return [float(problem.value_and_gradient(point, slope)) for problem, point, slope in every]


class Dealt:
    """Problems of which this rank has some.

    Parameters
    ----------
    ranks : all of them
    layout : for each problem its ranks, as ``dealt`` returns it
    lengths : [N] tokens of each sequence, by which the ranks of one problem divide them
    build : makes a problem from its number, its sequences and the ranks that share it (None for one)
    """

    def __init__(self, ranks: Ranks, layout: list[list[int]], lengths: list[int], build: Build) -> None:
        self._ranks = ranks
        mine = [i for i, group in enumerate(layout) if ranks.rank in group]
        self._shared = ranks.split(mine[0]) if any(len(group) > 1 for group in layout) else None
        self._leads = {i: layout[i][0] == ranks.rank for i in mine}
        self._problems = {}
        with ranks.agreed():
            for i in mine:
                group = layout[i]
                cuts, at = cuts_of(lengths, len(group)), group.index(ranks.rank)
                together = self._shared if len(group) > 1 else None
                self._problems[i] = build(i, np.arange(cuts[at], cuts[at + 1]), together)

    def __call__(self, points: list[Floats], slopes: list[Floats]) -> list[float]:
        """The value of each problem at its point; gradients are written into ``slopes``."""
        ends = np.cumsum([0, *map(len, slopes)])
        whole = np.zeros(ends[-1] + len(points))  # all gradients, then all values
        with self._ranks.agreed(), guarded(self._shared):
            for i, problem in self._problems.items():
                if i >= len(points):
                    continue  # the pool is not asked for
                value = problem.value_and_gradient(points[i], slopes[i])
                if self._leads[i]:
                    whole[ends[i] : ends[i + 1]], whole[ends[-1] + i] = slopes[i], value
        self._ranks(0.0, whole)
        for slope, first, last in zip(slopes, ends, ends[1:]):
            slope[:] = whole[first:last]
        return [float(value) for value in whole[ends[-1] :]]


def guarded(ranks: Ranks | None) -> AbstractContextManager[None]:
    """Work with collective calls, where there are ranks."""
    return nullcontext() if ranks is None else ranks.guarded()


def by_rank_0(ranks: Ranks | None, function: Callable[[], Any]) -> Any:
    """What a function returns; of several ranks only rank 0 calls it."""
    if ranks is None:
        return function()
    result = None
    with ranks.agreed():
        if ranks.rank == 0:
            result = function()
    return ranks.broadcast(result)


def described(layout: list[list[int]], names: Sequence[str]) -> str:
    """The layout in a line."""
    shown = [", ".join(map(str, group)) for group in layout]
    parts = [f"the pool on {shown[-1]}", *(f"{name} on {on}" for name, on in zip(names, shown))]
    return f"ranks: {'; '.join(parts)}"

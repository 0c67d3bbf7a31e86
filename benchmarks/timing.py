"""Wall time and CPU time. On a machine that others use too, the quickest of several runs is the least wrong.

CPU time is what a busy machine disturbs least; it does not see waiting, nor how well threads share the work.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

clock = time.perf_counter
cpu_clock = time.process_time  # of all threads


def median_step(stamps: Sequence[float], evaluations: Sequence[int]) -> float:
    """Seconds per evaluation of the median iteration: what a short disturbance does not move.

    ``stamps`` [k] when each iteration ended; ``evaluations`` [k] how many each made.
    """
    pairs = zip(stamps, stamps[1:], evaluations[1:])
    return statistics.median((after - before) / n for before, after, n in pairs)


def fastest(work: Callable[[], Any], repeat: int, clock: Callable[[], float] = clock) -> float:
    """Seconds of the quickest of ``repeat`` runs."""
    times = []
    for _ in range(repeat):
        begun = clock()
        work()
        times.append(clock() - begun)
    return min(times)

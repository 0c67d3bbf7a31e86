"""Wall time. On a machine that others use too, the quickest of several runs is the least wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

clock = time.perf_counter


def fastest(work: Callable[[], Any], repeat: int) -> float:
    """Seconds of the quickest of ``repeat`` runs."""
    times = []
    for _ in range(repeat):
        begun = clock()
        work()
        times.append(clock() - begun)
    return min(times)

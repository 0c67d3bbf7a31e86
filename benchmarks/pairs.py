"""``python -m benchmarks --pairs``: measurements side by side, each on two cores of its own.

A machine with 16 cores so does in minutes what two cores do in an hour. What is measured together shares
memory and its bandwidth, both sides alike; the report says how many cores were busy elsewhere. Each name (a
workload, a race) has its processes one after another on one pair, as without --pairs.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.races import RACES, Race

# Processes of one name, run on these cores: its figures.
Measure = Callable[[str, Sequence[int]], list[dict[str, Any]]]


def pairs() -> list[tuple[int, int]]:
    """The cores of this process, two by two; an odd one is left out."""
    cores = sorted(os.sched_getaffinity(0))
    return list(zip(cores[::2], cores[1::2]))


def _longest_first(race: Race) -> tuple[bool, float]:
    """The weaker the penalty, the more iterations CRFsuite takes; races of a few passes come last."""
    return (not race.to_the_end, race.c2)


def parts(names: Sequence[str]) -> Iterator[str]:
    """The names to deal out, longest first: races one by one, then the others."""
    raced = [*RACES] if "races" in names else [name for name in names if name in RACES]
    yield from sorted(raced, key=lambda name: _longest_first(RACES[name]))
    yield from (name for name in names if name != "races" and name not in RACES)


def measure(names: Sequence[str], one: Measure) -> list[dict[str, Any]]:
    """``one(name, cores)`` for every part, as pairs become free; results in the order of the parts."""
    free: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    for pair in pairs():
        free.put(pair)

    def work(name: str) -> list[dict[str, Any]]:
        pair = free.get()
        try:
            return one(name, pair)
        finally:
            free.put(pair)

    with ThreadPoolExecutor(free.qsize()) as pool:
        return [figures for part in pool.map(work, parts(names)) for figures in part]

"""Where the threads of a crew may run (Linux)."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.problems import crew

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs two cores, and Linux"
)


def allowed_of_workers(n_threads: int) -> list[set[int]]:
    """The cores that each worker of a crew may use after its first call."""
    vector = np.ones(1 << 18)
    before = set(os.listdir("/proc/self/task"))
    with crew(n_threads):
        assert _core.dot(vector, vector, n_threads) == len(vector)
        return [os.sched_getaffinity(int(thread)) for thread in set(os.listdir("/proc/self/task")) - before]


def test_workers_keep_off_the_core_of_their_caller() -> None:
    allowed = os.sched_getaffinity(0)
    workers = allowed_of_workers(2)
    assert len(workers) == 1
    assert workers[0] < allowed
    assert len(allowed - workers[0]) == 1


def test_more_threads_than_cores_use_all_of_them() -> None:
    allowed = os.sched_getaffinity(0)
    workers = allowed_of_workers(len(allowed) + 1)
    assert len(workers) == len(allowed)
    assert all(cores == allowed for cores in workers)

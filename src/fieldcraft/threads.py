"""How many threads a call may use.

``n_jobs=None`` means every core that this process is allowed (affinity and cgroup quota), but one
inside a joblib worker or an MPI job, where the cores are already shared out. ``FIELDCRAFT_JOBS``
overrides None.
"""

from __future__ import annotations

import multiprocessing
import os
from numbers import Integral

from fieldcraft.counts import LARGEST
from fieldcraft.distributed import launched
from fieldcraft.errors import InputError


def resolve_jobs(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs`` (-1 = all allowed cores, as elsewhere in Python)."""
    if n_jobs is None:
        wish = os.environ.get("FIELDCRAFT_JOBS", "")
        if wish:
            return _positive(wish)
        return 1 if _inside_worker() or launched() else allowed_cores()
    if n_jobs == -1:
        return allowed_cores()
    if not isinstance(n_jobs, Integral) or not 1 <= n_jobs <= LARGEST:
        raise InputError(
            f"n_jobs is {n_jobs!r}; it must be a whole number >= 1, -1 for all cores, or None, and at most "
            "2^31 - 1"
        )
    return int(n_jobs)


def allowed_cores() -> int:
    """Cores that the scheduler and the control group grant to this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(cores, quota) if quota else cores)


def _positive(wish: str) -> int:
    if not wish.isdigit() or len(wish) > 10 or not 1 <= int(wish) <= LARGEST:
        raise InputError(f"FIELDCRAFT_JOBS is {wish!r}; it must be a positive number, at most 2^31 - 1")
    return int(wish)


def _inside_worker() -> bool:
    name = multiprocessing.current_process().name
    return name.startswith("LokyProcess") or "JOBLIB_SPAWNED_PROCESS" in os.environ


def _cgroup_quota() -> int | None:
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()[:2]
        return None if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None

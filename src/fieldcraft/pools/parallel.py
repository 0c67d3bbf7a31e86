"""Workers for the training of a pool's members."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.threads import resolve_jobs


def joblib() -> Any:
    """The package joblib, or an error that says how to install it."""
    try:
        import joblib  # type: ignore[import-untyped]
    except ImportError:
        raise InputError("training in parallel needs joblib; install it: pip install joblib") from None
    return joblib


def workers(n_jobs: int | None, *, wanted: bool) -> AbstractContextManager[Any]:
    """So many processes for ``fit(parallel=True)``; nothing unless it is wanted."""
    if not wanted:
        return nullcontext()
    config: AbstractContextManager[Any] = joblib().parallel_config(n_jobs=resolve_jobs(n_jobs))
    return config

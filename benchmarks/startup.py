"""How long ``import fieldcraft`` takes, until the estimator (NumPy, the core) is there, and ``--help``."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

STATEMENTS = {
    "import": "import fieldcraft",
    "import_estimator": "from fieldcraft import ChainCRF",
}


def seconds(statement: str) -> float:
    """Wall time of a statement in a new interpreter."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def help_seconds() -> float:
    """Wall time of ``fieldcraft --help``, the interpreter's start included."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "fieldcraft", "--help"], check=True, capture_output=True)
    return time.perf_counter() - begun


def imports(_: Any, *, repeat: int) -> dict[str, float]:
    """Seconds of the quickest of ``repeat``, warm disk cache."""
    found = {k: min(seconds(s) for _ in range(repeat)) for k, s in STATEMENTS.items()}
    return {**found, "help": min(help_seconds() for _ in range(repeat))}


TASKS = {"imports": imports}

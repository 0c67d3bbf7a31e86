"""How long ``import fieldcraft`` takes, until the estimator (NumPy, the core) is there, and ``--help``.

Times of the processor, so that other processes do not count. ``python -m benchmarks.startup`` prints them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

STATEMENTS = {
    "import": "import fieldcraft",
    "import_estimator": "from fieldcraft import ChainCRF",
}


def seconds(statement: str) -> float:
    """Processor time of a statement in a new interpreter, without that of the interpreter's start."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def help_seconds() -> float:
    """Processor time of ``fieldcraft --help``, the interpreter's start included."""
    begun = _spent_by_children()
    subprocess.run([sys.executable, "-m", "fieldcraft", "--help"], check=True, capture_output=True)
    return _spent_by_children() - begun


def _spent_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def imports(_: Any, *, repeat: int) -> dict[str, float]:
    """Seconds of the quickest of ``repeat``, warm disk cache."""
    found = {k: min(seconds(s) for _ in range(repeat)) for k, s in STATEMENTS.items()}
    return {**found, "help": min(help_seconds() for _ in range(repeat))}


TASKS = {"imports": imports}

if __name__ == "__main__":
    for name, value in imports(None, repeat=5).items():
        print(f"{name:<20}{value:.3f} s")

"""How long ``import fieldcraft`` takes, and until the estimator (NumPy, the core) is there, too."""

from __future__ import annotations

import subprocess
import sys
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


def imports(_: Any, *, repeat: int) -> dict[str, float]:
    """Seconds of the quickest of ``repeat`` imports, warm disk cache."""
    return {k: min(seconds(s) for _ in range(repeat)) for k, s in STATEMENTS.items()}


TASKS = {"imports": imports}

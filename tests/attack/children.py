"""Programs that are run in processes of their own, since an attack may end them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
START = f"import sys; sys.path.insert(0, {str(TESTS)!r}); import faulthandler; faulthandler.enable()\n"


def start(program: str, *arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """A child that runs this text."""
    environment = {**os.environ, **options.pop("env", {})}
    command = [sys.executable, "-c", START + program, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options
    )


def problem_of(
    program: str,
    *arguments: Any,
    timeout: float = 60.0,
    before: Callable[[], None] | None = None,
    env: dict[str, str] | None = None,
) -> str | None:
    """What went wrong: a crash, a hang, a traceback; None if the child ended with 0."""
    child = start(program, *arguments, preexec_fn=before, env=env or {})
    try:
        _, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        _, errors = child.communicate()
        return f"hung: {errors[-1500:]}"
    return None if child.returncode == 0 else f"ended with {child.returncode}: {errors[-1500:]}"

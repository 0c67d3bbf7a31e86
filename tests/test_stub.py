"""The stub says what the functions of the core take and return, so that mypy sees across the border."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_stub_is_that_of_the_core() -> None:
    nanobind = pytest.importorskip("nanobind")
    if int(nanobind.__version__.partition(".")[0]) < 3:
        pytest.skip("older generators write other types")
    command = [sys.executable, str(ROOT / ".ci" / "stub.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

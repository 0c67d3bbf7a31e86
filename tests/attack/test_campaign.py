"""Mutated model files, templates and corpora: no crash, no hang, no flood of memory; refusals say where.

A find is reproduced by its target and number: write ``targets.mutant(target, number, folder)`` to a file and
run ``echo TARGET FILE | python tests/attack/worker.py``. What was found once stands in finds/.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attack.campaign import run
from attack.targets import write_seeds

CASES = 100_000

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited by RLIMIT_AS")


def test_some_mutants(tmp_path: Path) -> None:
    write_seeds(tmp_path)
    assert run(tmp_path, 0, 600, workers=1) == []


@pytest.mark.slow
def test_many_mutants(tmp_path: Path) -> None:
    write_seeds(tmp_path)
    assert run(tmp_path, 600, CASES, workers=2) == []

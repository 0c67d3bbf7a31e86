"""Mutated model files, templates and corpora: no crash, no hang, no flood of memory; refusals say where.

A find is reproduced by its target and number: write ``targets.mutant(target, number, folder)`` to a file and
run ``echo TARGET FILE | python tests/attack/worker.py``. What was found once stands in finds/.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attack import extremes, shared_lists
from attack.campaign import run
from attack.report import Result, table
from attack.targets import write_seeds

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited by RLIMIT_AS")


def test_some_mutants(tmp_path: Path) -> None:
    write_seeds(tmp_path)
    assert run(tmp_path, 0, 300, workers=1) == []


def test_every_part_runs(tmp_path: Path) -> None:
    """A few cases of the parts that need no minutes."""
    for part, cases in ((extremes, 300), (shared_lists, 1)):
        result = part.attack(tmp_path, 60.0, 0, cases)
        assert result.cases >= cases
        assert result.finds == []


def test_the_table_of_results() -> None:
    shown = table({"kills": Result(3, [{"problem": "x"}], ("disks",), 2.4)})
    assert shown.splitlines()[-1] == "| kills | 3 | 2 | 1 | disks |"

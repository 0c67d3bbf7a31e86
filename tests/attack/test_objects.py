"""Objects of every kind as features, in a process of their own: ids or a refusal, never a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
CODE = """
import random, sys
sys.path.insert(0, sys.argv[1])
import conftest
from attack import contract
from attack.objects import Draw
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    rng = random.Random(number)
    try:
        contract.features(Draw(rng.randrange).sequences())
    except BaseException as error:
        sys.exit(f"object {number}: {type(error).__name__}: {error}")
    print(number)
"""


@pytest.mark.parametrize(
    ("first", "last"), [(0, 1500), pytest.param(1500, 40000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_objects(first: int, last: int) -> None:
    command = [sys.executable, "-c", CODE, str(TESTS), str(first), str(last)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = done.stdout.split()[-1:]
    assert done.returncode == 0, f"after object {after}: {done.returncode} {done.stderr[-2000:]}"

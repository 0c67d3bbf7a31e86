"""A fault of one part in a million in any kernel turns at least one law red.

The core is built a second time with native/canary.hpp awake (-DFIELDCRAFT_CANARY=RUNTIME) in a
folder of its own, and the laws run on that core in a process of their own: once with every canary
silent, where they must pass, and once per canary, where they must fail. conftest.py puts the core
named by FIELDCRAFT_CORE in the place of the installed one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = [
    "FORWARD",
    "BACKWARD",
    "VITERBI",
    "EDGE",
    "SCATTER",
    "SCORE",
    "EXP",
    "KBEST",
    "SAMPLE",
    "LOGSPACE",
    "DIRECTION",
    "OBJECTIVE",
    "DUAL",
]
RED = 1  # pytest's status when tests ran and some failed; 2 and above mean that it broke down


def names_in_the_core() -> set[str]:
    """Every name that a kernel hands to CANARY or CANARY_BY."""
    sources = (p for p in (ROOT / "native").rglob("*.[ch]pp") if p.name != "canary.hpp")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    return set(re.findall(r"\bCANARY(?:_BY)?\(\s*([A-Z_]+)\s*,", text))


def test_every_canary_is_listed_and_lives_in_the_core() -> None:
    assert names_in_the_core() == set(NAMES)


@pytest.fixture(scope="module")
def canary_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second build. -O1 halves its time; the perturbation does not depend on it."""
    folder = tmp_path_factory.mktemp("canary")
    tools = Path(sys.executable).parent
    cmake = str(tools / "cmake") if (tools / "cmake").exists() else "cmake"
    configure = [
        cmake, "-S", str(ROOT), "-B", str(folder), "-DFIELDCRAFT_CANARY=RUNTIME",
        "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -DNDEBUG",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2")
    for command in (configure, [cmake, "--build", str(folder), "--parallel", jobs]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (core,) = folder.glob("_core*.so")
    return core


def run_laws(core: Path, canary: str) -> subprocess.CompletedProcess[str]:
    """The laws and the tests of training on that core, up to the first failure."""
    folders = [ROOT / "tests" / "laws", ROOT / "tests" / "unit" / "training"]
    found = [str(folder) for folder in folders if folder.exists()]
    env = {**os.environ, "FIELDCRAFT_CORE": str(core), "FIELDCRAFT_CANARY": canary}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += [f"--ignore={__file__}", *found]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def healthy_core(canary_core: Path) -> Path:
    """Without a song every law holds: else red would say nothing about the canary."""
    done = run_laws(canary_core, "")
    assert done.returncode == 0, done.stdout[-3000:]
    return canary_core


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_singing_canary_turns_a_law_red(healthy_core: Path, name: str) -> None:
    done = run_laws(healthy_core, name)
    assert done.returncode == RED, f"{name} went unnoticed:\n{done.stdout[-3000:]}"

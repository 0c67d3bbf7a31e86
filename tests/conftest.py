"""What every test shares: the data folder, the profile of hypothesis, and the choice of the core.

FIELDCRAFT_DATA          folder of the public datasets (default ../shared/data)
FIELDCRAFT_REQUIRE_DATA  set: absent data fails a test instead of skipping it
FIELDCRAFT_CORE          path of a core to test in place of the installed one (the canary build)

Where several workers (pytest-xdist) share the cores, n_jobs=None means one thread. Tests of threads say how
many they want; threads that wait for one another crawl where there are more of them than cores.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("FIELDCRAFT_JOBS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

settings.register_profile("fieldcraft", deadline=None, derandomize=True, database=None)
settings.load_profile("fieldcraft")


def _use_core(path: str) -> None:
    """Put another build of the core where `import fieldcraft._core` will find it."""
    spec = importlib.util.spec_from_file_location("fieldcraft._core", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fieldcraft._core"] = module
    spec.loader.exec_module(module)


if os.environ.get("FIELDCRAFT_CORE"):
    _use_core(os.environ["FIELDCRAFT_CORE"])


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """data_file("conll2000/test.txt") is its path; the test is skipped where it is absent."""
    folder = Path(os.environ.get("FIELDCRAFT_DATA", ROOT.parent / "shared" / "data"))

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            absent = f"data file {name} is absent; set FIELDCRAFT_DATA to the folder that holds it"
            (pytest.fail if os.environ.get("FIELDCRAFT_REQUIRE_DATA") else pytest.skip)(absent)
        return path

    return find

"""Every instruction set gives the same answers: the kernels are compiled once for each.

The level is chosen when the core is loaded, so each lower one is asked in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import NUMERICS, draw, same

TESTS = Path(__file__).resolve().parents[1]
ASK = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
import numpy as np
from fieldcraft import _core
from laws.test_cpu_levels import answers
np.savez(sys.argv[2], level=_core.cpu_level(), **answers())
"""


def answers() -> dict[str, np.ndarray]:
    """Marginals and best paths for state counts around the widths of two, four and eight lanes."""
    found = {}
    for n_states in (1, 2, 3, 5, 8, 9, 17, 33, 70):
        rng = np.random.default_rng(n_states)
        for shared in (True, False):
            batch = draw(rng, n_states, [0, 1, 5, 12], shared=shared, forbidden=True)
            for numerics in NUMERICS:
                parts = chain.marginals(*batch.inputs, numerics=numerics)
                totals = chain.marginals(*batch.inputs, numerics=numerics, edge_totals=True).edge
                for name, array in zip((*parts._fields, "totals"), (*parts, totals)):
                    found[f"{n_states} {shared} {numerics} {name}"] = array
            found[f"{n_states} {shared} best"] = chain.argmax(*batch.inputs)[0]
    return found


@pytest.mark.parametrize("level", ["portable", "avx2"])
def test_levels_agree(level: str, tmp_path: Path) -> None:
    env = {**os.environ, "FIELDCRAFT_CPU": level}
    target = tmp_path / "answers.npz"
    subprocess.run([sys.executable, "-c", ASK, str(TESTS), str(target)], env=env, check=True)
    with np.load(target) as found:
        if str(found["level"]) != level:
            pytest.skip(f"this processor or build has no {level}")
        for name, expected in answers().items():
            same(found[name], expected)

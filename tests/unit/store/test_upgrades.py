"""Files of earlier formats load and answer as the fieldcraft that wrote them did.

``format1/`` holds small models written by 0.1.0 before the format changed, and what they answered then.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc

FOLDER = Path(__file__).parent / "format1"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_format_1(name: str, tmp_path: Path) -> None:
    expected = EXPECTED[name]
    crf = fc.load(FOLDER / f"{name}.fc")
    for model in (crf, _again(crf, tmp_path)):
        assert model.predict(expected["X"]).tolist() == expected["labels"]
        np.testing.assert_allclose(model.log_partition(expected["X"]), expected["log_partition"], rtol=1e-13)
    np.testing.assert_array_equal(crf.weights_, expected["weights"])
    n = min(40, crf.features_.n_attributes)
    assert crf.encoder_.attribute_text(range(n)) == expected["texts"]
    assert repr(crf.prior_) == expected["prior"]
    assert crf.provenance_["fieldcraft"] == "0.1.0"


def _again(crf: fc.ChainCRF, folder: Path) -> fc.ChainCRF:
    """Written in today's format."""
    crf.save(folder / "today.fc", zeros=True)
    return fc.load(folder / "today.fc")


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_model_can_be_trained_again(name: str) -> None:
    expected = EXPECTED[name]
    crf = fc.load(FOLDER / f"{name}.fc").fit(expected["X"], expected["labels"])
    assert crf.predict(expected["X"]).tolist() == expected["labels"]

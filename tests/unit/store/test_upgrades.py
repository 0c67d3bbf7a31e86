"""Files of earlier formats load and answer as the fieldcraft that wrote them did.

``format1/`` and ``format2/`` have small models written before the format changed, one for each kind of
encoder, and what they answered then.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

FOLDER = Path(__file__).parent / "format1"
FOLDER_2 = Path(__file__).parent / "format2"
EXPECTED_2: dict[str, Any] = json.loads((FOLDER_2 / "expected.json").read_text())
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


@pytest.mark.parametrize("name", EXPECTED_2)
def test_format_2(name: str, tmp_path: Path) -> None:
    expected = EXPECTED_2[name]
    X = [np.array(x) for x in expected["X"]] if name == "matrices" else expected["X"]
    crf = fc.load(FOLDER_2 / f"{name}.fc")
    for model in (crf, _again(crf, tmp_path), pickle.loads(pickle.dumps(crf))):
        assert model.predict(X).tolist() == expected["labels"]
        np.testing.assert_allclose(model.log_partition(X), expected["log_partition"], rtol=1e-13)
        for found, p in zip(model.predict_proba(X), expected["proba"]):
            np.testing.assert_allclose(found, p, rtol=1e-12)
        np.testing.assert_array_equal(model.weights_, expected["weights"])
        for column, values in expected["columns"].items():
            assert getattr(model.features_, column).tolist() == values, column
        for parameter, value in expected["params"].items():
            assert repr(getattr(model, parameter)) == value, parameter
        assert repr(model.prior_) == expected["prior"]
    n = min(40, crf.features_.n_attributes)
    assert crf.encoder_.attribute_text(range(n)) == expected["texts"]
    assert crf.fit(X, expected["gold"]).predict(X).tolist() == expected["gold"]


def test_a_pickle_of_the_format_before() -> None:
    """Its header has no format; the index does not name its layout."""
    crf = fc.load(FOLDER_2 / "free.fc")
    state = crf.__getstate__()
    del state["header"]["format"], state["header"]["index"]["layout"]
    again = fc.ChainCRF.__new__(fc.ChainCRF)
    again.__setstate__(state)
    assert again.predict(EXPECTED_2["free"]["X"]).tolist() == EXPECTED_2["free"]["labels"]


def test_a_snapshot_of_the_version_before() -> None:
    """Of this very training, and still refused: its state is that of another optimiser."""
    crf = fc.ChainCRF(n_jobs=1, optimiser=fc.LBFGS(max_iterations=2))
    path = FOLDER_2 / "snapshot"
    content = path.read_bytes()
    with pytest.raises(
        InputError, match=r"snapshot was written by another version of fieldcraft, .* remove it"
    ):
        crf.fit([[["a"], ["b"]]], [["N", "V"]], snapshot=path, resume=True)
    assert path.read_bytes() == content


def test_results_of_tuning_of_the_version_before(tmp_path: Path) -> None:
    X, y = [[["a"], ["b"]], [["b"]]] * 3, [["N", "V"], ["V"]] * 3
    path = tmp_path / "results.jsonl"
    given: dict[str, Any] = {"X_dev": X, "y_dev": y, "over": {"variance": [1.0, 3.0]}, "results": path}
    fc.tune(fc.ChainCRF(n_jobs=1, prior=fc.Gaussian()), X, y, **given)
    head, *lines = path.read_text().splitlines()
    old = json.loads(head)
    assert old.pop("format") == 2
    path.write_text("\n".join([json.dumps(old), *lines]) + "\n")
    with pytest.raises(InputError, match=r"results.jsonl has results of another version of fieldcraft"):
        fc.tune(fc.ChainCRF(n_jobs=1, prior=fc.Gaussian()), X, y, **given)


def _again(crf: fc.ChainCRF, folder: Path) -> fc.ChainCRF:
    """Written in today's format."""
    crf.save(folder / "today.fc", zeros=True)
    return fc.load(folder / "today.fc")


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_model_can_be_trained_again(name: str) -> None:
    expected = EXPECTED[name]
    crf = fc.load(FOLDER / f"{name}.fc").fit(expected["X"], expected["labels"])
    assert crf.predict(expected["X"]).tolist() == expected["labels"]

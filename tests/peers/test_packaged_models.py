"""Models that other people's packages ship: they answer as CRFsuite's own tagger does."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.compat.pycrfsuite import Tagger

pycrfsuite = pytest.importorskip("pycrfsuite")


def test_addresses_of_usaddress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program with our tagger in place of CRFsuite's."""
    usaddress = pytest.importorskip("usaddress")
    path = Path(usaddress.__file__).with_name("usaddr.crfsuite")
    streets = ["Main St", "N. Oak Ave.", "Martin Luther King Blvd", "1/2 Elm Court", "County Road 5", "Rue É"]
    places = ["Springfield, IL 62701", "New York NY 10001-1234", "St. Paul, MN", "Apt. 5B, Boston"]
    texts = [f"{n} {street}, {place}" for n in (1, 22, 1905) for street in streets for place in places]
    texts += ["P.O. Box 12, Nome AK", "corner of 5th and Main", "Attn: Robie House, 5757 S Woodlawn", "#"]
    expected = [usaddress.parse(text) for text in texts]
    tagger = Tagger()
    tagger.open(path)
    monkeypatch.setattr(usaddress, "TAGGER", tagger)
    assert [usaddress.parse(text) for text in texts] == expected
    assert sum(map(len, expected)) > 400


def random_sequences(attributes: list[str], n: int) -> list[list[list[str]]]:
    rng = random.Random(len(attributes))
    known = rng.sample(attributes, min(len(attributes), 400))
    return [
        [rng.choices([*known, "unknown"], k=rng.randrange(0, 12)) for _ in range(rng.randrange(1, 15))]
        for _ in range(n)
    ]


def assert_same(content: bytes) -> None:
    theirs: Any = pycrfsuite.Tagger()
    theirs.open_inmemory(content)
    crf = fc.load(content)
    sequences = random_sequences(crf.encoder_.attribute_text(range(crf.encoder_.n_attributes)), 200)
    assert [list(labels) for labels in crf.predict(sequences)] == [theirs.tag(x) for x in sequences]
    for items, rows in zip(sequences[:30], crf.predict_marginals(sequences[:30])):
        theirs.set(items)
        for t, row in enumerate(rows):
            assert row == pytest.approx({label: theirs.marginal(label, t) for label in row}, abs=1e-9)


@pytest.mark.slow
def test_the_models_of_pythainlp(tmp_path: Path) -> None:
    """Word and sentence boundaries, chunks, entities of Thai: 6 kB to 4 MB."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "pythainlp==5.4.0"]
    try:
        subprocess.run([*command, "--dest", str(tmp_path)], capture_output=True, check=True, timeout=300)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("pythainlp cannot be downloaded")
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = [n for n in wheel.namelist() if n.startswith("pythainlp/corpus/")]
        contents = {n: wheel.read(n) for n in names if n.endswith((".crfsuite", ".model"))}
    models = {n: content for n, content in contents.items() if content[:4] == b"lCRF"}
    assert len(models) >= 4
    for content in models.values():
        assert_same(content)

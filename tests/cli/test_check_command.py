"""`fieldcraft check`: 0 for an intact file, 1 and the name of what is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import COLUMNS, refused, run

import fieldcraft as fc
from fieldcraft.store import files
from fieldcraft.store.files import read_arrays, write_arrays


def test_an_intact_model(model: Path) -> None:
    done = run("check", model)
    assert done.stdout.startswith(f"{model}: intact (")
    assert run("check", model, "--quiet").stdout == ""


def test_a_damaged_array_is_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(model.read_bytes())
    weights = read_arrays(model)[1]["weights"]
    data[data.index(weights.tobytes()) + 3] ^= 16
    (tmp_path / "bad.fc").write_bytes(data)
    monkeypatch.setattr(files, "MOST_COMPARED", 0)  # as if the file were too large to be compared when loaded
    fc.load(tmp_path / "bad.fc")
    refused(run("check", tmp_path / "bad.fc", check=1), "bad.fc is damaged", "the content of weights")


def test_a_damaged_header(model: Path, tmp_path: Path) -> None:
    data = model.read_bytes().replace(b"B-PER", b"B-PES", 1)
    (tmp_path / "bad.fc").write_bytes(data)
    refused(run("check", tmp_path / "bad.fc", check=1), "bad.fc is damaged", "directory or header")


def test_a_file_without_checksums(model: Path, tmp_path: Path) -> None:
    header, arrays = read_arrays(model)
    write_arrays(tmp_path / "old.fc", header, arrays, checksums=False)
    done = run("check", tmp_path / "old.fc")
    assert "old.fc: no checksums: only its structure was checked" in done.stdout
    write_arrays(tmp_path / "wrong.fc", header, {**arrays, "weights": arrays["weights"][1:]}, checksums=False)
    refused(run("check", tmp_path / "wrong.fc", check=1), "wrong.fc is damaged")


def test_a_snapshot(corpora: Path, tmp_path: Path) -> None:
    options = ["--snapshot", tmp_path / "s", "--snapshot-every", "1", "-q"]
    run("train", corpora / "train.conll", *COLUMNS, *options, "-o", tmp_path / "m.fc")
    assert "intact" in run("check", tmp_path / "s").stdout


def test_what_is_no_model(corpora: Path, tmp_path: Path) -> None:
    refused(run("check", corpora / "train.conll", check=1), "train.conll")
    refused(run("check", tmp_path / "absent", check=1), "absent")


def test_a_model_of_another_tool(tmp_path: Path) -> None:
    crf = fc.ChainCRF().fit([[["a"], ["b"]]], [["X", "Y"]])
    crf.export(tmp_path / "old.crfsuite")
    done = run("check", tmp_path / "old.crfsuite")
    assert "old.crfsuite: a model of CRFsuite, which has no checksums" in done.stdout
    (tmp_path / "cut").write_bytes((tmp_path / "old.crfsuite").read_bytes()[:100])
    refused(run("check", tmp_path / "cut", check=1), "cut looks like a model of CRFsuite, but")

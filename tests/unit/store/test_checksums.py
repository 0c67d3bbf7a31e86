"""A file with a damaged bit is an error, wherever the bit is; what is damaged is named."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import _core
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.store import files
from fieldcraft.store.files import read_arrays, read_file, write_arrays
from fieldcraft.store.snapshots import read_snapshot, write_snapshot

WORDS = [["The", "dog"], ["A", "cat", "runs"], ["Dogs"]]
Y = [["D", "N"], ["D", "N", "V"], ["N"]]
FREE: list[Any] = [[[f"w={w}", "é"] for w in s] for s in WORDS]
MODELS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "free": ({}, FREE, {}),
    "templates": ({"templates": "word[-1..1]\nlower(word)\nedge: word\nedge"}, WORDS, {"zeros": True}),
    "small": ({"edge_prefix": "w"}, FREE, {"compact": True, "float32": True}),
}
TESTED = Path(__file__).resolve().parents[2]


def content(kind: str, folder: Path, **more: Any) -> bytes:
    options, X, saving = MODELS[kind]
    crf = fc.ChainCRF(n_jobs=1, optimiser=fc.LBFGS(max_iterations=5), **options).fit(X, Y)
    crf.save(folder / "model.fc", **saving, **more)
    return (folder / "model.fc").read_bytes()


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


# ---- the checksum


def slowly(data: bytes) -> int:
    """CRC-32C bit by bit."""
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
    ids=["empty", "digits", "zeros", "ones", "rising", "falling"],
)
def test_published_values(data: bytes, expected: int) -> None:
    """Those of RFC 3720, appendix B.4, and the usual check value."""
    assert _core.crc32c(np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)) == expected


LENGTHS = [0, 1, 7, 8, 9, 63, 8191, 8192, 24575, 24576, 24577, 24583, 24584, 49152, 49159]


def many() -> list[tuple[int, int]]:
    """Our checksum and a slow one of pieces of every alignment, around the sizes of the blocks."""
    data = np.random.default_rng(3).integers(0, 256, 50_000, np.uint8)
    pieces = [data[start : start + n] for n in LENGTHS for start in (0, 1, 3, 8)]
    return [(_core.crc32c(piece), slowly(piece.tobytes())) for piece in pieces]


def test_any_length_and_alignment() -> None:
    assert [ours for ours, slow in many() if ours != slow] == []


def test_the_portable_code_agrees() -> None:
    code = (
        "import conftest; from unit.store.test_checksums import many; print([a for a, b in many() if a != b])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=TESTED,
        env={**os.environ, "FIELDCRAFT_CPU": "portable", "PYTHONPATH": str(TESTED)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


# ---- damage


@pytest.mark.parametrize("kind", MODELS)
def test_any_flipped_bit_is_an_error(kind: str, tmp_path: Path) -> None:
    data, rng = content(kind, tmp_path), random.Random(kind)
    start = 8 + int.from_bytes(data[:8], "little")
    bits = [
        *range(64),
        *rng.sample(range(64, 8 * start), 200),
        *rng.sample(range(8 * start, 8 * len(data)), 200),
    ]
    for bit in bits:
        with pytest.raises(ModelFileError):
            fc.load(flipped(data, bit))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_flipped_bit_is_an_error(kind: str, tmp_path: Path) -> None:
    data = content(kind, tmp_path)
    for bit in range(8 * len(data)):
        with pytest.raises(ModelFileError):
            fc.load(flipped(data, bit))


@pytest.mark.parametrize("kind", MODELS)
def test_the_damaged_array_is_named(kind: str, tmp_path: Path) -> None:
    data = content(kind, tmp_path)
    _, arrays = read_arrays(data)
    named = 0
    for name, array in arrays.items():
        if array.nbytes and data.count(array.tobytes()) == 1:
            bit = 8 * (data.index(array.tobytes()) + array.nbytes // 2) + 2
            with pytest.raises(
                ModelFileError, match=f"the content of {name} has changed since it was written"
            ):
                fc.load(flipped(data, bit))
            named += 1
    assert named >= 4


def test_bytes_added_or_lost(tmp_path: Path) -> None:
    data = content("free", tmp_path)
    for changed in (data + b"\0", data + bytes(8), data[:-1], data[:-4]):
        with pytest.raises(ModelFileError):
            fc.load(changed)


def test_checksums_that_do_not_fit(tmp_path: Path) -> None:
    """Header and array each require the other: neither can be lost without notice."""
    header, arrays = read_arrays(content("free", tmp_path))
    sums = np.zeros(1 + len(arrays), np.uint32)
    bad = tmp_path / "bad.fc"
    for named, array in [
        ("crc32c", None),
        (None, sums),
        ({}, sums),
        ("xxh3", sums),
        ("crc32c", sums[:-1]),
        ("crc32c", sums.astype(np.int32)),
        ("crc32c", sums),
        ([], None),
    ]:
        given = {**header, **({} if named is None else {"checksums": named})}
        more = {} if array is None else {"checksums": array}
        write_arrays(bad, given, {**arrays, **more}, checksums=False)
        with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
            fc.load(bad)


# ---- when they are compared


def test_large_files_are_compared_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = content("templates", tmp_path)
    _, arrays = read_arrays(data)
    place = data.index(arrays["weights"].tobytes())
    damaged = flipped(data, 8 * place + 1)
    monkeypatch.setattr(files, "MOST_COMPARED", len(data) - 1)
    assert fc.load(damaged).predict(WORDS).shape == (3,)
    assert read_file(data).compared is False
    with pytest.raises(ModelFileError, match="the content of weights has changed"):
        fc.load(damaged, verify=True)
    with pytest.raises(ModelFileError, match="its directory or header has changed"):
        fc.load(data.replace(b"lower(word)", b"upper(word)", 1))
    monkeypatch.undo()
    assert read_file(data).compared is True
    assert fc.load(damaged, verify=False).predict(WORDS).shape == (3,)


def test_files_without_checksums_load(tmp_path: Path) -> None:
    bare = content("free", tmp_path, checksums=False)
    assert read_file(bare).compared is None
    assert "checksums" not in json.loads(bare[8 : 8 + int.from_bytes(bare[:8], "little")])
    assert fc.load(bare, verify=True).predict(FREE).tolist() == Y
    header, arrays = read_arrays(bare)
    digests = dict.fromkeys(arrays, "0" * 32)  # as an earlier version wrote on request
    write_arrays(tmp_path / "old.fc", {**header, "checksums": digests}, arrays, checksums=False)
    assert fc.load(tmp_path / "old.fc").predict(FREE).tolist() == Y


def test_a_file_in_memory_survives_what_happens_to_the_file(tmp_path: Path) -> None:
    """A mapped one would end the process when the file is truncated (SIGBUS)."""
    data = content("templates", tmp_path)
    crf = fc.load(tmp_path / "model.fc", mapped=False)
    (tmp_path / "model.fc").write_bytes(b"")
    assert crf.predict(WORDS).tolist() == fc.load(data).predict(WORDS).tolist()
    assert crf.features_.digest == fc.load(data).features_.digest
    with pytest.raises(ModelFileError, match=r"model\.fc is not a fieldcraft file"):
        fc.load(tmp_path / "model.fc", mapped=False)


def test_snapshots_are_compared_whatever_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s"
    write_snapshot(path, "d", {"weights": np.arange(100.0)})
    monkeypatch.setattr(files, "MOST_COMPARED", 0)
    state = read_snapshot(path, "d")
    assert state is not None
    assert list(state) == ["weights"]
    data = path.read_bytes()
    path.write_bytes(flipped(data, 8 * len(data) - 100))
    with pytest.raises(ModelFileError, match="the content of weights has changed"):
        read_snapshot(path, "d")
    header, arrays = read_arrays(data)
    write_arrays(path, header, arrays, checksums=False)
    with pytest.raises(InputError, match="another version of fieldcraft"):
        read_snapshot(path, "d")

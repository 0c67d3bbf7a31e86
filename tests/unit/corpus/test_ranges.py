"""Parts of column files: together they are the file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft.corpus.ranges import FilePart, boundary, has_plain_lines, parts_of

LINES = st.lists(st.sampled_from(["a X", "bb Y", "ß Z", "", " ", "\t", "-DOCSTART- O"]), max_size=30)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(lines=LINES, end=ENDS, last=st.booleans(), n=st.integers(1, 5))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_are_the_file(tmp_path: Path, lines: list[str], end: str, last: bool, n: int) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    half = len(lines) // 2
    for path, text in zip(files, (lines[:half], lines[half:])):
        path.write_bytes((end.join(text) + (end if last else "")).encode())
    whole = [s.columns for path in files for s in _read(FilePart(str(path), 0, path.stat().st_size))]
    ranges = [list(parts_of([*map(str, files)], part, n)) for part in range(n)]
    assert [s.columns for part in ranges for one in part for s in _read(FilePart(*one))] == whole
    bytes_ = b"".join(_bytes(*one) for part in ranges for one in part)
    assert bytes_ == b"".join(path.read_bytes() for path in files)


def _bytes(path: str, start: int, stop: int) -> bytes:
    with FilePart(path, start, stop) as part:
        return part.read()


def _read(part: FilePart) -> fc.Corpus | list[fc.Sequence]:
    with part:
        try:
            return fc.read(part, columns="word label", label="label", separator="blank", format="columns")
        except fc.FieldcraftError as error:
            assert "no sequence" in str(error)  # noqa: PT017
            return []


def test_cuts_fall_behind_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a X\nb Y\n\nc Z\n")
    assert [boundary(str(path), n) for n in range(14)] == [0, *[9] * 8, *[13] * 5]


def test_messages_have_the_lines_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a X\nb Y\n\nc Z\nd\n")
    with (
        FilePart(str(path), 9, 15) as part,
        pytest.raises(fc.FieldcraftError, match="file:5: 1 columns where 2"),
    ):
        fc.read(part, label=-1)


def test_only_plain_files_are_cut(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(b"a X\n")
    packed.write_bytes(gzip.compress(b"a X\n"))
    assert has_plain_lines(str(plain), "utf-8")
    assert has_plain_lines(str(plain), "latin-1")
    wrong = [
        ("-", "utf-8"),
        (str(packed), "utf-8"),
        (str(tmp_path), "utf-8"),
        (str(plain), "utf-16"),
        (str(plain), "x"),
    ]
    assert not any(has_plain_lines(*one) for one in wrong)
    with pytest.raises(fc.FieldcraftError, match="cannot be opened"):
        has_plain_lines(str(tmp_path / "absent"), "utf-8")

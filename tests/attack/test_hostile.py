"""Files made to cost time or memory: each is refused (or answered) within a second and within the bound.

The bound is that of worker.py: 64 MB, and 8 bytes for each of the file.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attack.mutations import put_together, take_apart
from attack.seeds import MODELS

WORKER = Path(__file__).with_name("worker.py")
Attempt = Callable[[bytes, str], None]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited by RLIMIT_AS")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """Content of a model file that nobody damaged."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("free", "templates"):
        MODELS[name][0](folder / f"{name}.fc")
    return lambda name: (folder / f"{name}.fc").read_bytes()


class Hand:
    """A worker that tries one file after the other; another takes the place of one that died."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hostile.fc"
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, content: bytes, target: str) -> None:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(content)
        self.process.stdin.write(f"{target} {self.path}\n")
        self.process.stdin.flush()
        found = self.process.stdout.readline()
        if not found:
            self.end()
        assert found == "null\n", found or "the worker died"

    def end(self) -> None:
        if self.process is not None:
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attempt]:
    """Tries a file's content as a target, in another process, which has the bounds."""
    hand = Hand(tmp_path_factory.mktemp("hostile"))
    yield hand
    hand.end()


def bare(directory: bytes) -> bytes:
    """A file that is a directory of arrays alone."""
    return len(directory).to_bytes(8, "little") + directory


DIRECTORIES: dict[str, Callable[[], bytes]] = {
    "deep lists": lambda: b"[" * 4_000_000,
    "deep objects": lambda: b'{"a":' * 800_000,
    "empty lists": lambda: b'{"a":[' + b"[]," * 1_390_000 + b"[]]}",
    "small objects": lambda: b'{"a":[' + b'{"":0},' * 590_000 + b"0]}",
    "short strings": lambda: b'{"a":[' + b'"ab",' * 830_000 + b"0]}",
    "a long number": lambda: b'{"a":' + b"9" * 4_000_000 + b"}",
    "long numbers": lambda: b'{"a":[' + (b"9" * 4200 + b",") * 900 + b"0]}",
    "a long string": lambda: json.dumps({"__metadata__": {"fieldcraft": "x" * 4_000_000}}).encode(),
    "one character beyond the plane": lambda: '{"\U0001f600":"'.encode() + b"x" * 4_000_000 + b'"}',
    "ten times too long": lambda: b'{"a":' + b"1" * 40_000_000 + b"}",
    "many arrays": lambda: json.dumps(
        {str(i): {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(60_000)}
    ).encode(),
}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_directories(name: str, attempt: Attempt) -> None:
    attempt(bare(DIRECTORIES[name]()), "models/free")


def test_a_length_beyond_all_files(attempt: Attempt) -> None:
    attempt(b"\xff" * 8 + b"{}", "models/free")


@pytest.mark.parametrize("shape", [[2**40, 2**22], [2**61, 8], [0, 2**61], [2**62], [1] * 9, [-1], [10**30]])
def test_shapes(shape: list[int], attempt: Attempt, whole: Callable[[str], bytes]) -> None:
    header, arrays = take_apart(whole("free"))
    data = put_together(header, arrays, lambda directory: directory["weights"].update(shape=shape))
    attempt(data, "models/free")


def test_arrays_that_overlap(attempt: Attempt) -> None:
    """Not aligned, so each would be a copy: 20,000 copies of a megabyte."""
    entry = {"dtype": "F64", "shape": [131_072], "data_offsets": [1, 1 + 8 * 131_072]}
    directory = json.dumps({str(i): entry for i in range(20_000)}).encode()
    attempt(bare(directory) + bytes(9 + 8 * 131_072), "models/free")


HEADERS: dict[str, dict[str, Any]] = {
    "a million labels": {"labels": [str(i) for i in range(1_000_000)]},
    "a long label": {"labels": ["x" * 1_900_000]},
    "deep provenance": {"provenance": "[" * 100_000},
}
TEMPLATES = {
    "many": "word[0..999]\n" * 100_000,
    "far": "word[-999..0]\n" * 10,
    "functions": "".join(f"{f}(lower(word), 1..999)\n" for f in ("prefix", "suffix")) * 4,
    "deep": "lower(" * 100_000 + "word" + ")" * 100_000,
    "conjunction": " & ".join(["word[0..1]"] * 60),
    "long conjunction": " & ".join(["word"] * 20_000),
    "regex": "matches(word, /" + "(a{9999}" * 9 + "){9999}" * 9 + "/)",
    "numbers": "word[" + "9" * 1_000_000 + "]",
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str, attempt: Attempt, whole: Callable[[str], bytes]) -> None:
    header, arrays = take_apart(whole("free"))
    attempt(put_together(header | HEADERS[name], arrays, _as_it_is), "models/free")


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_in_a_model(name: str, attempt: Attempt, whole: Callable[[str], bytes]) -> None:
    header, arrays = take_apart(whole("templates"))
    header["encoder"]["templates"] = TEMPLATES[name]
    attempt(put_together(header, arrays, _as_it_is), "models/templates")


def _as_it_is(directory: dict[str, Any]) -> None:
    del directory


def test_a_packed_line_without_end(attempt: Attempt) -> None:
    attempt(gzip.compress(b"x" * 100_000_000, 1, mtime=0), "corpora/columns")


@pytest.mark.parametrize("name", ["corpora/jsonl", "corpora/columns", "corpora/attributes", "corpora/conllu"])
@pytest.mark.parametrize(
    "text", ["[" * 1_000_000, '{"a":' * 200_000, "\\" * 1_000_000 + ":", "9" * 1_000_000]
)
def test_lines(name: str, text: str, attempt: Attempt) -> None:
    attempt(f"{text}\n".encode(), name)

"""Small models of other toolkits, written here from the descriptions of their formats; synthetic."""

from __future__ import annotations

import pickle
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

import fieldcraft as fc
from attack.seeds import FREE, WORDS, Y

LABELS = ["D", "N", "V"]
LINES = ["U00:%x[-1,0]", "U01:%x[0,0]/%x[1,0]", "B", "B01:%x[0,0]"]
TEXTS = ["B", "B01:cat", "U00:The", "U00:_B-1", "U01:A/cat", "U01:cat/runs", "U01:X1/_B+1"]


def _placed(texts: list[str], n: int) -> tuple[list[tuple[str, int]], int]:
    """Each text with the number of its first weight, and the number of all weights."""
    placed, at = [], 0
    for text in texts:
        placed.append((text, at))
        at += n * n if text[0] in "Bb" else n
    return placed, at


def _weights(n: int) -> Any:
    return np.random.default_rng(5).normal(size=n)


def crfsuite(path: Path) -> None:
    fc.ChainCRF(n_jobs=1, optimiser=fc.LBFGS(max_iterations=8)).fit(FREE, Y).export(path)


def sklearn_crfsuite(path: Path) -> None:
    """A pickle with the names of sklearn-crfsuite's classes; the toolkit itself is not needed."""
    crfsuite(path)
    estimator = _named("sklearn_crfsuite.estimator", "CRF")
    estimator.modelfile = _named("sklearn_crfsuite._fileresource", "FileResource")
    vars(estimator.modelfile).update(
        {"name": None, "auto": True, "__FILE_RESOURCE_DATA__": path.read_bytes()}
    )
    vars(estimator).update({"c1": 0.1, "algorithm": "lbfgs", "_tagger": None})
    kinds = [type(estimator), type(estimator.modelfile)]
    modules = {kind.__module__: _module(kind.__module__, kind) for kind in kinds}
    with mock.patch.dict(sys.modules, {"sklearn_crfsuite": ModuleType("sklearn_crfsuite"), **modules}):
        path.write_bytes(pickle.dumps(estimator, protocol=4))


def _named(module: str, name: str) -> Any:
    return type(name, (), {"__module__": module})()


def _module(name: str, kind: type) -> ModuleType:
    made = ModuleType(name)
    setattr(made, kind.__name__, kind)
    return made


def crfpp_text(path: Path) -> None:
    placed, total = _placed(TEXTS, len(LABELS))
    blocks = [
        f"version: 100\ncost-factor: 1\nmaxid: {total}\nxsize: 1",
        "\n".join(LABELS),
        "\n".join(LINES),
        "\n".join(f"{at} {text}" for text, at in placed),
        "\n".join(f"{w:.16f}" for w in _weights(total)),
    ]
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def crfpp(path: Path) -> None:
    placed, total = _placed(TEXTS, len(LABELS))
    labels = b"".join(label.encode() + b"\0" for label in LABELS)
    lines = b"".join(line.encode() + b"\0" for line in LINES)
    lines += b"\0" * (-(len(labels) + len(lines)) % 4)
    trie = double_array({text.encode(): at for text, at in placed})
    head = struct.pack("<IidIII", 100, 0, 1.0, total, 1, len(trie))
    sized = [struct.pack("<I", len(part)) + part for part in (labels, lines)]
    path.write_bytes(b"".join([head, *sized, trie, _weights(total).astype("<f4").tobytes()]))


def double_array(numbers: dict[bytes, int]) -> bytes:
    """Units (base, check); a node's base is the first that leaves room for all its bytes."""
    units: dict[int, tuple[int, int]] = {}
    taken: set[int] = set()

    def place(prefix: bytes, unit: int, check: int) -> None:
        below = sorted({text[len(prefix)] for text in numbers if text.startswith(prefix) and text != prefix})
        slots = [0] * (prefix in numbers) + [byte + 1 for byte in below]
        base = next(b for b in range(1, 1 << 20) if b not in taken and not any(b + s in units for s in slots))
        taken.add(base)
        units[unit] = base, check
        for slot in slots:
            units[base + slot] = (0, base)
        if prefix in numbers:
            units[base] = -numbers[prefix] - 1, base
        for byte in below:
            place(prefix + bytes([byte]), base + byte + 1, base)

    place(b"", 0, 0)
    table = np.zeros((max(units) + 1, 2), np.int64)
    for at, unit in units.items():
        table[at] = unit
    return table.astype("<i4").tobytes()


def wapiti(path: Path) -> None:
    observations = ["*", "u:w=The", "u:w=Dog", "b:p=A", "u:suf=at", "*:t=true"]
    lines = ["*", "u:w=%x[0,0]", "b:p=%x[-1,0]", 'u:suf=%m[0,0,"..$"]', '*:t=%t[0,0,"\\u"]']
    n = len(LABELS)
    total = sum((n if text[0] in "u*" else 0) + (n * n if text[0] in "b*" else 0) for text in observations)
    numbers = range(0, total, 2)

    def strings(texts: list[str]) -> str:
        return "".join(f"{len(text.encode())}:{text},\n" for text in texts)

    rows = "".join(f"{i}={float(w).hex()}\n" for i, w in zip(numbers, _weights(total)))
    parts = [f"#mdl#2#{len(numbers)}\n#rdr#{len(lines)}/0/0\n", strings(lines)]
    parts += [f"#qrk#{n}\n", strings(LABELS), f"#qrk#{len(observations)}\n", strings(observations), rows]
    path.write_text("".join(parts), encoding="utf-8")


FOREIGN: dict[str, tuple[Callable[[Path], None], Any]] = {
    "crfsuite": (crfsuite, FREE),
    "sklearn_crfsuite": (sklearn_crfsuite, FREE),
    "crfpp": (crfpp, WORDS),
    "crfpp_text": (crfpp_text, WORDS),
    "wapiti": (wapiti, WORDS),
}

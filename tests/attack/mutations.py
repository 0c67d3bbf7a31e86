"""Mutants of files, each drawn from a random generator: bytes, lines of text, and the parts of a model file.

A model file is taken apart by hand here (8 bytes length, a JSON directory, arrays end to end), since the
mutant must reach what lies behind the first checks. Imports nothing from the package.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = random.Random
META = "fieldcraft"
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    255,
    256,
    65535,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53,
    2**63,
    -(2**63),
]
TYPES = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1"}
TYPES |= {"U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?"}
VALUES: list[Any] = [None, True, "", "x", [], {}, [[]], {"": 0}, 1.5, -0.0, 1e308, float("nan"), float("inf")]
VALUES += [*NUMBERS, 10**30, 3.0, "\ud800", "\x00", "é" * 50, [0] * 40, "a b", "word", "[" * 50, "9" * 5000]
PIECES = [
    "\x00",
    "\u2028",
    "\x85",
    "\ufeff",
    "\r",
    "\t",
    "\t\t",
    " ",
    "\n",
    "\n\n",
    '"',
    "\\",
    ":",
    "@",
    "#",
    "%",
]
PIECES += [
    "[",
    "]",
    "(",
    ")",
    "&",
    "/",
    "..",
    ",",
    "{",
    "}",
    "9" * 25,
    "9" * 5000,
    "-1",
    "1e999",
    "nan",
    "é",
    "\U0001f600",
]
PIECES += [
    "(" * 300,
    "lower(" * 300,
    "[" * 3000,
    "/(a+)+/",
    "/[/",
    "/a{9999999999}/",
    "-DOCSTART-",
    "%x[",
    "columns",
    "edge:",
]


# ---- bytes


def mutate_bytes(data: bytes, rng: Rng) -> bytes:
    """One to four small accidents."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(ACCIDENTS)(out, rng)
    return bytes(out)


def _at(out: bytearray, rng: Rng) -> int:
    return rng.randrange(len(out)) if out else 0


def _flip(out: bytearray, rng: Rng) -> None:
    if out:
        out[_at(out, rng)] ^= 1 << rng.randrange(8)


def _set(out: bytearray, rng: Rng) -> None:
    if out:
        out[_at(out, rng)] = rng.choice(
            (0, 1, 9, 10, 32, 34, 48, 57, 92, 127, 128, 192, 255, rng.randrange(256))
        )


def _truncate(out: bytearray, rng: Rng) -> None:
    del out[_at(out, rng) :]


def _cut(out: bytearray, rng: Rng) -> None:
    at = _at(out, rng)
    del out[at : at + rng.choice((1, 2, 8, 64))]


def _splice(out: bytearray, rng: Rng) -> None:
    start, at = _at(out, rng), _at(out, rng)
    out[at:at] = out[start : start + rng.choice((1, 4, 16, 256))]


def _number(out: bytearray, rng: Rng) -> None:
    at, size = _at(out, rng), rng.choice((1, 2, 4, 8))
    out[at : at + size] = (rng.choice(NUMBERS) % 256**size).to_bytes(size, "little")


ACCIDENTS: tuple[Callable[[bytearray, Rng], None], ...] = (
    _flip,
    _flip,
    _set,
    _set,
    _truncate,
    _cut,
    _splice,
    _number,
)


# ---- text


def mutate_text(text: str, rng: Rng) -> str:
    """Lines doubled, dropped or swapped, pieces put in, numbers changed."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        text = rng.choice((_lines, _piece, _digits, _characters, _characters))(text, rng)
    return text


def _lines(text: str, rng: Rng) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case _:
            lines[i] += lines[j]
    return "\n".join(lines)


def _piece(text: str, rng: Rng) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(PIECES) + text[at:]


def _digits(text: str, rng: Rng) -> str:
    found = list(re.finditer(r"[+-]?\d+", text))
    if not found:
        return text
    one = rng.choice(found)
    near = int(one.group()[:20]) + rng.choice((-1, 1))
    return text[: one.start()] + str(rng.choice([near, *NUMBERS])) + text[one.end() :]


def _characters(text: str, rng: Rng) -> str:
    if not text:
        return text
    at = rng.randrange(len(text))
    new = rng.choice(("", text[at] * 2, rng.choice(text), chr(rng.randrange(1, 0x2FF)), text[at].swapcase()))
    return text[:at] + new + text[at + 1 :]


def mutate_foreign(data: bytes, rng: Rng) -> bytes:
    """A model of another toolkit: text that stays text, numbers of four bytes, or bytes anywhere."""
    kind = rng.random()
    if kind < 0.5 and data.isascii():
        return mutate_text(data.decode("ascii"), rng).encode("utf-8", "surrogatepass")
    if kind < 0.7:
        return mutate_bytes(data, rng)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(0, max(len(out) - 4, 1), 4)
        own = int.from_bytes(out[at : at + 4], "little")
        value = rng.choice((*NUMBERS, own + 1, own - 1, own * 2, own ^ (1 << rng.randrange(32)), len(out)))
        out[at : at + 4] = (value % 2**32).to_bytes(4, "little")
    return bytes(out)


# ---- model files


def take_apart(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Our header, and the arrays by name."""
    length = int.from_bytes(data[:8], "little")
    directory = json.loads(data[8 : 8 + length])
    header = json.loads(directory.pop("__metadata__")[META])
    arrays = {}
    for name, entry in directory.items():
        begin, end = entry["data_offsets"]
        part = data[8 + length + begin : 8 + length + end]
        arrays[name] = np.frombuffer(part, TYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return header, arrays


def put_together(
    header: Any, arrays: dict[str, np.ndarray[Any, Any]], edit: Callable[[dict[str, Any]], None]
) -> bytes:
    """The file again; ``edit`` may change its directory."""
    kinds = {np.dtype(kind): name for name, kind in TYPES.items()}
    directory: dict[str, Any] = {
        "__metadata__": {META: header if isinstance(header, str) else json.dumps(header)}
    }
    at = 0
    for name, array in arrays.items():
        entry = {
            "dtype": kinds[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        directory[name] = entry
        at += array.nbytes
    edit(directory)
    text = json.dumps(directory).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for a in arrays.values())


def mutate_model(data: bytes, rng: Rng) -> bytes:
    """Half of the mutants keep the file's form and lie in one place; the others are damaged anywhere."""
    if rng.random() < 0.25:
        return mutate_bytes(data, rng)
    header, arrays = take_apart(data)
    edit: Callable[[dict[str, Any]], None] = lambda directory: None  # noqa: E731
    for _ in range(rng.choice((1, 1, 1, 2))):
        kind = rng.random()
        if kind < 0.45:
            _content(arrays, rng)
        elif kind < 0.6:
            _form(arrays, rng)
        elif kind < 0.9:
            header = _replaced(header, rng)
        else:
            edit = lambda directory: _directory(directory, rng)  # noqa: E731
    return put_together(header, arrays, edit)


def _content(arrays: dict[str, np.ndarray[Any, Any]], rng: Rng) -> None:
    """Some elements get interesting values, or values near their own, or those of others."""
    full = [name for name, array in arrays.items() if array.size]
    if not full:
        return
    array = arrays[rng.choice(full)].reshape(-1)
    for _ in range(rng.choice((1, 1, 2, 8))):
        i = rng.randrange(array.size)
        if array.dtype.kind == "f":
            array[i] = rng.choice((0.0, -0.0, 1e30, -1e38, 1e-40, np.nan, np.inf, -np.inf, -array[i]))
            if array.dtype.itemsize == 8:
                array[i] = rng.choice((array[i], 1e300, -1.7e308, 5e-324))
            continue
        own = int(array[i])
        value = rng.choice(
            (*NUMBERS, own + 1, own - 1, own ^ (1 << rng.randrange(64)), len(array), len(array) - 1)
        )
        value = rng.choice((value, int(array[rng.randrange(array.size)])))
        bits = 8 * array.dtype.itemsize
        array[i : i + 1] = np.frombuffer((value % 2**bits).to_bytes(bits // 8, "little"), array.dtype)


def _form(arrays: dict[str, np.ndarray[Any, Any]], rng: Rng) -> None:
    """Another length, type or shape; gone, renamed, or in another's place."""
    name, other = rng.choice(list(arrays)), rng.choice(list(arrays))
    array = arrays[name]
    match rng.randrange(9) if array.ndim and arrays[other].ndim else 4:
        case 0:
            arrays[name] = array[: rng.randrange(len(array) + 1)]
        case 1:
            arrays[name] = np.concatenate([array, array[: rng.choice((1, len(array)))]])
        case 2:
            arrays[name] = array.astype(rng.choice(("f8", "f4", "i8", "i4", "u8", "u4", "u2", "u1", "?")))
        case 3:
            arrays[name] = array.reshape(rng.choice(((1, -1), (-1, 1), (1, 1, -1))))
        case 4:
            del arrays[name]
        case 5:
            arrays[rng.choice((name + "x", "x." + name, name.upper(), ""))] = arrays.pop(name)
        case 6:
            arrays[name], arrays[other] = arrays[other], arrays[name]
        case 7:
            arrays[name] = array[rng.sample(range(len(array)), len(array))]
        case _:
            arrays[name] = array.reshape(-1)[:1].reshape(()) if array.size else array


def _replaced(value: Any, rng: Rng) -> Any:
    """JSON with one value changed, somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        out = dict(value)
        key = rng.choice(list(out))
        if rng.random() < 0.08:
            del out[key]
        else:
            out[key] = _replaced(out[key], rng)
        return out
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        changed = rng.choice(([], [value[i]] * 2, [_replaced(value[i], rng)]))
        return [*value[:i], *changed, *value[i + 1 :]]
    if isinstance(value, str) and rng.random() < 0.6:
        return mutate_text(value, rng)
    if isinstance(value, (int, float)) and rng.random() < 0.3:
        return rng.choice((value + 1, value - 1, -value, float(value), str(value), [value]))
    return rng.choice(VALUES)


def _directory(directory: dict[str, Any], rng: Rng) -> None:
    name = rng.choice(list(directory))
    entry = directory[name]
    if name == "__metadata__" or rng.random() < 0.2:
        directory[name] = _replaced(entry, rng)
        return
    begin, end = entry["data_offsets"]
    match rng.randrange(4):
        case 0:
            shift = rng.choice((1, -1, 4, -8, *NUMBERS))
            entry["data_offsets"] = [begin + shift, end + rng.choice((0, shift))]
        case 1:
            entry["shape"] = [rng.choice((n - 1, n + 1, *NUMBERS)) for n in entry["shape"]] + rng.choice(
                ([], [1], [0])
            )
        case 2:
            entry["dtype"] = rng.choice((*TYPES, "BF16", "", None))
        case _:
            other = directory[rng.choice([k for k in directory if k != "__metadata__"])]
            entry["data_offsets"] = _replaced(other["data_offsets"], rng) if isinstance(other, dict) else 0

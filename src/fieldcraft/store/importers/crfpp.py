"""Binary models of CRF++.

Numbers are little-endian:

    version (uint32, 100), type (int32), cost factor (float64), number of weights, number of columns,
    bytes of the trie, bytes of the labels (uint32), the labels, each with a 0 at its end
    bytes of the templates (uint32), the templates, each with a 0 at its end, filled up with zeros
    trie (double array): units of base (int32) and check (uint32)
    weights (float32)

From a node with base b the byte c leads to the unit b + c + 1 if its check is b; a text ends at the unit b
if its check is b, and -base - 1 is then where its weights begin.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from fieldcraft.store.importers.imported import Imported
from fieldcraft.store.importers.patterns import Observation, Weights, from_observations

HEADER = struct.Struct("<IidIII")
UNIT = np.dtype([("base", "<i4"), ("check", "<u4")])
MOST_DEPTH = 1 << 12  # bytes of a text
MOST_BYTES = 256  # of all texts, for each unit of the trie
Ints = NDArray[np.int64]


def read(content: bytes) -> Imported:
    """The model in a file's content; ValueError if it is damaged."""
    _, _, cost, n_weights, n_columns, trie_size = HEADER.unpack_from(content)
    labels, at = _texts(content, HEADER.size)
    lines, at = _texts(content, at)
    if trie_size % UNIT.itemsize or at + trie_size + 4 * n_weights > len(content):
        raise ValueError("its trie or its weights are cut short")
    units = np.frombuffer(content, UNIT, trie_size // UNIT.itemsize, at)
    with np.errstate(invalid="ignore"):  # what is not a number is refused later
        weights = np.frombuffer(content, "<f4", n_weights, at + trie_size).astype(np.float64) * cost
    return model_of(labels, lines, trie_texts(units), weights, n_columns)


def model_of(
    labels: list[str],
    lines: list[str],
    texts: list[tuple[str, int]],
    weights: NDArray[np.float64],
    n_columns: int,
) -> Imported:
    """The model of texts, each with the number of its first weight."""
    observations = [Observation(text, start, text.startswith("B")) for text, start in texts]
    return from_observations("CRF++", lines, labels, observations, Weights.of(weights), n_columns)


def _texts(content: bytes, at: int) -> tuple[list[str], int]:
    """Texts that each have a 0 at their end, behind the number of their bytes; and where they end."""
    if at + 4 > len(content):
        raise ValueError("it is cut short")
    size = int.from_bytes(content[at : at + 4], "little")
    end = at + 4 + size
    if end > len(content):
        raise ValueError("its labels or templates are cut short")
    return [text for text in content[at + 4 : end].decode().split("\0") if text], end


def trie_texts(units: NDArray[np.void]) -> list[tuple[str, int]]:
    """All texts of a double array with the number of each: from their ends up to the root, all at once."""
    base, check = units["base"].astype(np.int64), units["check"].astype(np.int64)
    ends = np.flatnonzero((check > 0) & (check == np.arange(len(units))) & (base < 0))
    inner = np.flatnonzero((base > 0) & (base < len(units)))
    parent = np.full(len(units), -1, np.int64)  # [base] the unit that has it
    parent[base[inner]] = inner
    lengths = np.zeros(len(ends), np.int64)
    reached: list[tuple[Ints, Ints]] = []  # per step: which text, which byte
    node, alive, total = check[ends], np.arange(len(ends)), 0
    while len(alive):
        unit = parent[node]
        if np.any(unit < 0) or len(reached) > MOST_DEPTH or total > MOST_BYTES * len(units):
            raise ValueError("its trie is damaged")
        going = unit > 0  # the unit 0 is the root
        alive, unit = alive[going], unit[going]
        node = check[unit]
        byte = unit - node - 1
        if np.any((byte < 0) | (byte > 255)):  # so that node is below the number of units
            raise ValueError("its trie is damaged")
        reached.append((alive, byte))
        lengths[alive] += 1
        total += len(alive)
    return _assembled(lengths, reached, -base[ends] - 1)


def _assembled(lengths: Ints, reached: list[tuple[Ints, Ints]], numbers: Ints) -> list[tuple[str, int]]:
    begin = np.cumsum(lengths) - lengths
    data = np.empty(int(lengths.sum()), np.uint8)
    last = begin + lengths - 1
    for step, (texts, byte) in enumerate(reached):
        data[last[texts] - step] = byte
    content, stops = data.tobytes(), (begin + lengths).tolist()
    return [(content[a:b].decode(), number) for a, b, number in zip(begin.tolist(), stops, numbers.tolist())]

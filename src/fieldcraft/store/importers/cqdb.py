"""CQDB, the table of strings inside a model of CRFsuite: a number for each string, and back.

All numbers are little-endian uint32, all positions are counted from the beginning of the table:

    "CQDB", size, flags, 0x62445371, n, position of the backward table
    256 x (position of a hash table, its number of buckets)
    records: number, length, the string with a 0 at its end
    hash tables: buckets (hash, position of the record; 0 if empty)
    backward table: n x position of the record

A string is in hash table ``h % 256``, at bucket ``(h >> 8) % buckets`` or, where that is taken, behind it;
h is ``hashlittle`` of Bob Jenkins' lookup3, of the string with its 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.joined import ranges

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
Ints = NDArray[np.int64]
BYTE_ORDER = 0x62445371
HEADER = 24
TABLES = 256


def words_at(content: Bytes, positions: Ints) -> Ints:
    """The numbers at these positions, aligned or not; ValueError if one lies outside."""
    if positions.min(initial=0) < 0 or positions.max(initial=-4) + 4 > len(content):
        raise ValueError("a position lies outside of the file")
    four = content[positions[:, None] + np.arange(4)].astype(np.int64)
    words: Ints = four @ np.array([1, 1 << 8, 1 << 16, 1 << 24], np.int64)
    return words


def read(content: Bytes, start: int) -> tuple[Bytes, Ints]:
    """Strings end to end in the order of their numbers, and [n + 1] where each begins."""
    header = words_at(content, start + 4 * np.arange(6))
    size, n, backward = int(header[1]), int(header[4]), int(header[5])
    if content[start : start + 4].tobytes() != b"CQDB" or header[3] != BYTE_ORDER:
        raise ValueError(f"there is no table of strings at {start}")
    if backward + 4 * n > size or start + size > len(content):
        raise ValueError("a table of strings is cut short")
    if not n:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    records = start + words_at(content, start + backward + 4 * np.arange(n))
    length = words_at(content, records + 4) - 1  # without the 0
    begin = records + 8
    if length.min() < 0 or (begin + length).max() >= start + size or length.sum() > size:
        raise ValueError("a string lies outside of its table")
    if np.any(content[begin + length]):
        raise ValueError("a string has no end")
    starts = np.concatenate([[0], np.cumsum(length)])
    return content[ranges(begin, length)], starts


def write(names: list[bytes]) -> bytes:
    """A table in which each string has its position in the list as its number."""
    n = len(names)
    length = np.array([len(name) + 1 for name in names], np.int64)
    position = HEADER + 8 * TABLES + np.cumsum(8 + length) - 8 - length
    pieces = []
    for number, name in enumerate(names):
        pieces += [number.to_bytes(4, "little"), (len(name) + 1).to_bytes(4, "little"), name, b"\0"]
    hashes = hash_strings(names)
    at = HEADER + 8 * TABLES + sum(map(len, pieces))
    references = np.zeros((TABLES, 2), np.uint32)
    for table in range(TABLES):
        members = np.flatnonzero(hashes % TABLES == table)
        if len(members):
            references[table] = at, 2 * len(members)
            pieces.append(_buckets(hashes[members], position[members]).tobytes())
            at += len(pieces[-1])
    header = np.array([0, at + 4 * n, 0, BYTE_ORDER, n, at], "<u4").tobytes()
    return b"".join(
        [b"CQDB", header[4:], references.astype("<u4").tobytes(), *pieces, position.astype("<u4").tobytes()]
    )


def _buckets(hashes: Ints, position: Ints) -> NDArray[np.uint32]:
    n = 2 * len(hashes)
    buckets = np.zeros((n, 2), "<u4")
    for h, at in zip(hashes.tolist(), position.tolist()):
        k = (h >> 8) % n
        while buckets[k, 1]:
            k = (k + 1) % n
        buckets[k] = h, at
    return buckets


def hash_strings(names: list[bytes]) -> Ints:
    """``hashlittle`` of each string with its 0, all at once: 12 bytes in each round."""
    size = np.array([len(name) + 1 for name in names], np.int64)
    hashes = np.zeros(len(names), np.int64)
    rounds = -(-size // 12)
    for n_rounds in np.unique(rounds).tolist():
        members = np.flatnonzero(rounds == n_rounds)
        padded = b"".join(names[i].ljust(12 * n_rounds, b"\0") for i in members.tolist())
        words = np.frombuffer(padded, "<u4").astype(np.uint32).reshape(len(members), n_rounds, 3)
        hashes[members] = _hash_words(words, size[members].astype(np.uint32))
    return hashes


def _hash_words(words: Words, size: Words) -> Words:
    """[n] hashes of strings of [n, rounds, 3] words, filled up with zeros."""
    c: Words = np.uint32(0xDEADBEEF) + size
    a, b = c.copy(), c.copy()
    with np.errstate(over="ignore"):
        for r in range(words.shape[1]):
            a, b, c = a + words[:, r, 0], b + words[:, r, 1], c + words[:, r, 2]
            a, b, c = _mix(a, b, c) if r + 1 < words.shape[1] else _final(a, b, c)
    return c


def _rotated(x: Words, by: int) -> Words:
    rotated: Words = (x << np.uint32(by)) | (x >> np.uint32(32 - by))
    return rotated


def _mix(a: Words, b: Words, c: Words) -> tuple[Words, Words, Words]:
    for by in (4, 6, 8, 16, 19, 4):  # three roles take turns
        a = (a - c) ^ _rotated(c, by)
        c = c + b
        a, b, c = b, c, a
    return a, b, c


def _final(a: Words, b: Words, c: Words) -> tuple[Words, Words, Words]:
    for by in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _rotated(b, by)
        a, b, c = b, c, a
    return c, a, b  # after seven turns the last result stands in b

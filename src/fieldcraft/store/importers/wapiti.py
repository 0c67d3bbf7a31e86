"""Text models of Wapiti.

    #mdl#2#6661             type (0 maximum entropy, 1 MEMM, 2 CRF), number of lines with weights
    #rdr#10/1/0             number of patterns, highest column, whether a "u" before every feature is left out
    13:u:w 0=%x[0,0],       the patterns, each behind the number of its bytes
    #qrk#19                 number of labels, the labels in the same way
    #qrk#4321               number of observations, the observations in the same way
    57=0x1.8p-3             number and value of each weight that is not 0

Observations that begin with u or * have a weight for each label, those with b or * one for each pair of
labels; the weights lie end to end in the order of the observations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.store.importers.imported import Imported, imported
from fieldcraft.store.importers.patterns import Observation, Weights, features_of, from_observations

MAXENT, MEMM, CRF = 0, 1, 2


class Content(NamedTuple):
    """The parts of a file."""

    kind: int
    lines: list[str]
    labels: list[str]
    observations: list[str]
    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]


def read(content: bytes) -> Imported:
    """The model in a file's content; ValueError if it is damaged."""
    parts = _parsed(content)
    observations, total = _placed(parts)
    order = np.argsort(parts.numbers)
    weights = Weights(parts.numbers[order], parts.weights[order], total)
    if not parts.lines:
        found = _of_free_features(parts.labels, observations, weights)
    else:
        found = from_observations("Wapiti", parts.lines, parts.labels, observations, weights)
    return replace(found, local=parts.kind == MEMM)


def _placed(parts: Content) -> tuple[list[Observation], int]:
    """Where the weights of each observation begin, and the number of all weights."""
    n, total = len(parts.labels), 0
    placed: list[Observation] = []
    for text in parts.observations:
        if text[:1] not in ("u", "b", "*"):
            raise ValueError(f"the observation {text!r} does not begin with u, b or *")
        if text[0] in "u*":
            placed.append(Observation(text, total, pairs=False))
            total += n
        if text[0] in "b*":
            placed.append(Observation(text, total, pairs=True))
            total += n * n
    if parts.numbers.min(initial=0) < 0 or parts.numbers.max(initial=-1) >= total:
        raise ValueError(f"it has a weight {parts.numbers.max()} where {total} are described")
    if len(np.unique(parts.numbers)) != len(parts.numbers):
        raise ValueError("a weight occurs twice")
    if parts.kind == MAXENT:
        placed = [o for o in placed if not o.pairs]
    return placed, total


def _of_free_features(labels: list[str], observations: list[Observation], weights: Weights) -> Imported:
    """A model without patterns: its tokens are lists of features."""
    names = [o.text for o in observations]
    if len(set(names)) != len(names):
        raise ValueError("it has features that begin with * and no patterns, which cannot be expressed here")
    encoder = FreeFeatures(edge_prefix="b" if any(o.pairs for o in observations) else None)
    encoder.encode([[[name] for name in names]], grow=True)
    features = features_of(observations, np.arange(len(names)), weights, len(labels))
    return imported("Wapiti", labels, encoder, [features], {})


# -- the file -------------------------------------------------------------------------------------


def _parsed(content: bytes) -> Content:
    line, at = _line(content, 0)
    kind, n_weights = _numbers(line, "#mdl#", "#", 2)
    line, at = _line(content, at)
    n_patterns, _, prefixed = _numbers(line, "#rdr#", "/", 3)
    lines, at = _strings(content, at, n_patterns)
    line, at = _line(content, at)
    labels, at = _strings(content, at, *_numbers(line, "#qrk#", "#", 1))
    line, at = _line(content, at)
    observations, at = _strings(content, at, *_numbers(line, "#qrk#", "#", 1))
    rows = [row.split("=") for row in content[at:].decode("ascii").split("\n") if row]
    numbers = np.array([int(number) for number, _ in rows], np.int64)
    weights = np.array([float.fromhex(value) for _, value in rows], np.float64)
    if len(rows) != n_weights:
        raise ValueError(f"it has {len(rows)} of {n_weights} weights")
    prefix = "u" if prefixed else ""
    lines, observations = ([prefix + s for s in strings] for strings in (lines, observations))
    return Content(kind, lines, labels, observations, numbers, weights)


def _line(content: bytes, at: int) -> tuple[str, int]:
    end = content.find(b"\n", at)
    if not 0 <= end - at < 100:
        raise ValueError("it is cut short")
    return content[at:end].decode("ascii"), end + 1


def _numbers(line: str, start: str, between: str, n: int) -> list[int]:
    fields = line.removeprefix(start).split(between)
    if not line.startswith(start) or len(fields) != n or not all(field.isdecimal() for field in fields):
        raise ValueError(f"{line!r} where {start} and {n} numbers are expected")
    return [int(field) for field in fields]


def _strings(content: bytes, at: int, n: int) -> tuple[list[str], int]:
    """Strings written as ``bytes:string,`` and a line break; broken characters stay visible as \\xNN."""
    strings = []
    for _ in range(n):
        colon = content.find(b":", at, at + 20)
        size = content[at:colon]
        if colon < 0 or not size.isdigit():
            raise ValueError("a string has no length")
        end = colon + 1 + int(size)
        if content[end : end + 2] != b",\n":
            raise ValueError("a string has no end")
        strings.append(content[colon + 1 : end].decode("utf-8", "backslashreplace"))
        at = end + 2
    return strings, at

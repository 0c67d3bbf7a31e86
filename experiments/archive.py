"""Results of trainings, kept as JSON lines: a configuration that several tables need is trained once.

A line holds all that a report needs: the scores, the path that the choice was made from, the curve of a
training that was followed, and for each sentence its wrong tokens, which the matched-pairs test compares, and
what it adds above and below the line of the score, which the bootstrap draws from (packed: bytes, deflated,
in base 64).
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.evaluation.bootstrap import Quotient


@dataclass(frozen=True)
class Part:
    """How a model did on one part of the data: its score, and packed by sentence its wrong tokens and shares.

    Older lines have no shares.
    """

    score: float
    packed: str
    shares: str = ""

    @classmethod
    def of(cls, score: float, errors: NDArray[np.int64], quotient: Quotient) -> Part:
        """From wrong tokens [N] and what the score is a quotient of."""
        return cls(score, _packed(errors), _packed(np.stack(quotient)))

    def errors(self) -> NDArray[np.int64]:
        """[N] wrong tokens of each sentence."""
        return _unpacked(self.packed)

    def quotient(self) -> Quotient | None:
        """The shares of each sentence in the score."""
        if not self.shares:
            return None
        above, below = _unpacked(self.shares).reshape(2, -1).astype(np.float64)
        return Quotient(above, below)


def _packed(numbers: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(numbers.astype("<u2").tobytes(), 9)).decode()


def _unpacked(text: str) -> NDArray[np.int64]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u2").astype(np.int64)


@dataclass(frozen=True)
class Model:
    """Weights that were scored; test is None where it was not read."""

    active: int
    iteration: int
    development: Part
    test: Part | None


@dataclass(frozen=True)
class Point:
    """A setting of the grid, trained to the end."""

    setting: tuple[float, ...]
    development: float
    objective: float
    iterations: int
    seconds: float
    active: int
    reason: str


@dataclass(frozen=True)
class Result:
    """What became of a configuration.

    chosen : the setting of the grid, then those of the configuration that it was given
    model : the weights that count, and ``end`` those at the end of a training that was followed
    path : every setting that was tried
    curve : (iteration, development score, active weights) of a training that was followed
    made : how it came about: versions, seed, time
    """

    key: str
    configuration: dict[str, Any]
    chosen: tuple[float, ...]
    features: int
    seconds: float
    model: Model
    end: Model | None
    path: tuple[Point, ...]
    curve: tuple[tuple[int, float, int], ...]
    made: dict[str, Any]


class Archive:
    """The results in a file of JSON lines; the last line of a key counts.

    Chosen weights stand in a folder, ``weights`` beside it unless another is given, for trainings that begin
    there; without them these begin at zero and end at the same optimum, later.
    """

    def __init__(self, path: Path, weights: Path | None = None) -> None:
        self.path, self.folder = path, weights or path.parent / "weights"
        self._found: dict[str, Result] = {key: _read(raw) for key, raw in read_lines(path).items()}

    def get(self, key: str) -> Result | None:
        """The result of this key, if there is one."""
        return self._found.get(key)

    def add(self, result: Result) -> None:
        """Keep a result, in the file too."""
        self._found[result.key] = result
        append(self.path, asdict(result))

    def keep(self, key: str, weights: NDArray[np.float64]) -> None:
        """Keep chosen weights."""
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / f"{key}.{os.getpid()}.npy"
        np.save(unfinished, weights)
        unfinished.replace(self._file(key))

    def weights(self, key: str, n: int) -> NDArray[np.float64] | None:
        """[n] chosen weights of this key, if they were kept."""
        path = self._file(key)
        found = np.load(path).astype(np.float64) if path.exists() else None
        return found if found is not None and len(found) == n else None

    def has_weights(self, key: str) -> bool:
        """Whether weights of this key were kept."""
        return self._file(key).exists()

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.npy"


def read_lines(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of a file of JSON lines by their keys; none where there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {raw["key"]: raw for raw in map(json.loads, lines)}


def append(path: Path, plain: dict[str, Any]) -> None:
    """Add a line to a file of JSON lines, by a single write, so that several processes may share the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(plain).encode() + b"\n")


def _read(raw: dict[str, Any]) -> Result:
    end = raw.pop("end")
    return Result(
        **{name: raw[name] for name in ("key", "configuration", "features", "seconds", "made")},
        chosen=tuple(raw["chosen"]),
        model=_model(raw["model"]),
        end=None if end is None else _model(end),
        path=tuple(_points(raw["path"])),
        curve=tuple((int(i), float(score), int(active)) for i, score, active in raw["curve"]),
    )


def _model(raw: dict[str, Any]) -> Model:
    test = raw["test"]
    return Model(
        raw["active"],
        raw["iteration"],
        Part(**raw["development"]),
        None if test is None else Part(**test),
    )


def _points(raw: Iterable[dict[str, Any]]) -> Iterable[Point]:
    return (Point(**{**point, "setting": tuple(point["setting"])}) for point in raw)

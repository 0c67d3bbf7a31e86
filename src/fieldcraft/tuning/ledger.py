"""The results of a search in a file: a line of JSON for the search, then one for each finished point.

A later search with the same digest (data, fixed settings, space) continues from the lines. FILE.weights has
the weights that the next point starts from, and the best ones. Both are written after each point, the line
first: a line whose weights were not written is trained again, so that a search that was killed and resumed
returns the same bits as one that was not.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.replacing import naming, replace_text
from fieldcraft.store.snapshots import read_snapshot, write_snapshot
from fieldcraft.tuning.tuned import Tried

KIND = "fieldcraft tuning"
FORMAT = 2  # 1, without a number, has weights of trainings that cannot be continued
State = dict[str, Any]


class Ledger:
    """Lines in a file; without a path nothing is stored."""

    def __init__(self, path: str | os.PathLike[str] | None, digest: str) -> None:
        self.path = None if path is None else Path(path)
        self.digest = digest
        self.lines: list[dict[str, Any]] = []
        self.state: State = {}

    def open(self, facts: dict[str, Any]) -> None:
        """Read an existing file, or start with a line of facts; the file of another search is an error."""
        if self.path is None:
            return
        if self.path.exists() and self.path.stat().st_size:
            self._read()
        head = {"kind": KIND, "format": FORMAT, "digest": self.digest, **facts}
        self._replace([head, *self.lines])

    def add(self, line: dict[str, Any], state: State) -> None:
        """Store a finished point."""
        self.lines.append(line)
        if self.path is None:
            return
        with naming(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        write_snapshot(self._weights(), self.digest, {**state, "lines": np.array([len(self.lines)])})

    def rows(self) -> list[Tried]:
        """The finished points."""
        try:
            return [Tried(**line) for line in self.lines]
        except TypeError:
            raise InputError(f"{self.path}: a line lacks or adds a field; remove the file") from None

    def check(self, number: int, settings: dict[str, Any]) -> None:
        """Raise an InputError if a line has other settings than the search: optuna may have changed."""
        stored = self.lines[number]["settings"]
        if stored != settings:
            raise InputError(
                f"{self.path}:{number + 2}: settings {stored} where the search tries {settings}; "
                "another version of optuna made the file: remove it"
            )

    def _weights(self) -> str:
        return f"{self.path}.weights"

    def _read(self) -> None:
        head, *self.lines = self._whole_lines()
        if head.get("kind") != KIND:
            raise InputError(f"{self.path} has something else than results of tuning; choose another file")
        if head.get("format") != FORMAT:
            raise InputError(
                f"{self.path} has results of another version of fieldcraft, which this one cannot continue; "
                "remove it, or choose another file"
            )
        if head.get("digest") != self.digest:
            raise InputError(
                f"{self.path} has results of another search (data, settings or ranges differ); "
                "remove it, or choose another file"
            )
        self.state = read_snapshot(self._weights(), self.digest) or {}
        kept = int(self.state["lines"][0]) if self.state else 0
        if kept > len(self.lines):  # lines were lost, and with them what the weights belong to
            kept, self.state = 0, {}
        self.lines = self.lines[:kept]

    def _whole_lines(self) -> list[dict[str, Any]]:
        """The lines, without an incomplete one at the end of the file."""
        assert self.path is not None
        lines: list[dict[str, Any]] = []
        for number, line in enumerate(self.path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                lines.append(dict(json.loads(line)))
            except (ValueError, TypeError):
                raise InputError(
                    f"{self.path}:{number}: not a line of results; remove the file, or choose another one"
                ) from None
        return lines or [{}]

    def _replace(self, lines: list[dict[str, Any]]) -> None:
        assert self.path is not None
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        replace_text(self.path, text)

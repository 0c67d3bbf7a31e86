"""What bounds predictions: files of constraints, and beams."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.beams import resolve_beam
from fieldcraft.structures.constraints import Constraint, parse_constraints


def read_constraints(path: str | None) -> list[Constraint] | None:
    """The constraints of a file, one a line; None without a file."""
    if path is None:
        return None
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); --constraints needs a text file") from None
    found = parse_constraints(lines, path)
    if not found:
        raise InputError(f"{path} has no constraint; write one a line, e.g. at_most 1 city")
    return found


def read_beam(text: str | None) -> int | float | None:
    """The beam that an option names: a number of states, or a mass."""
    if text is None:
        return None
    try:
        beam: int | float = int(text) if text.isdecimal() else float(text)
        resolve_beam(beam)
    except ValueError:
        raise InputError(
            f"--beam {text}: write a number of states (20), or a mass between 0 and 1 (0.999)"
        ) from None
    return beam


class Lapses:
    """Counts sequences in which no labelling obeys the constraints."""

    def __init__(self) -> None:
        self.n, self.first = 0, ""

    def add(self, why: str) -> None:
        """One more of them."""
        self.n, self.first = self.n + 1, self.first or why

    def tell(self) -> None:
        """A warning on standard error, if there were any."""
        if self.n:
            what = f"{self.n} sequences: no labelling obeys, so their labels are those without constraints"
            print(f"fieldcraft: warning: {what}; the first: {self.first}", file=sys.stderr)


class Obeying:
    """A batch under constraints, with the methods of ``Scored`` that `tag` asks.

    Where no labelling obeys, the labels are those without constraints.
    """

    def __init__(self, crf: Any, batch: Any, constraints: list[Constraint], lapses: Lapses) -> None:
        self._crf, self._batch, self._constraints, self._lapses = crf, batch, constraints, lapses

    @cached_property
    def decodings(self) -> list[Decoding]:
        """One per sequence."""
        found = self._crf.decode(self._batch, constraints=self._constraints)
        lost = [i for i, decoding in enumerate(found) if decoding.labels is None]
        if lost:
            free = self._crf.decode(self._batch, constraints=[])
            for i in lost:
                self._lapses.add(found[i].why)
                why = found[i].why
                found[i] = free[i]._replace(optimal=False, gap=float("nan"), why=why)
        return found  # type: ignore[no-any-return]

    def predict(self) -> list[list[str]]:
        """Labels."""
        return [decoding.labels for decoding in self.decodings]

    def decode(self) -> list[Decoding]:
        """Labels with their log-probabilities."""
        return self.decodings

    def predict_proba(self) -> Any:
        """Probabilities given that the constraints are obeyed."""
        return self._crf.predict_proba(self._batch, constraints=self._constraints)

    def k_best(self, k: int) -> Any:
        """The k best labellings that obey."""
        return self._crf.k_best(self._batch, k, constraints=self._constraints)

"""What a part of the campaign returns, and the table of all parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Find = dict[str, Any]


class Result(NamedTuple):
    """How many cases were tried, what was found, and what could not be tried here."""

    cases: int
    finds: list[Find]
    skipped: tuple[str, ...] = ()
    seconds: float = 0.0


# (folder, seconds, number of the first case, number of cases or None) -> result
Part = Callable[[Path, float, int, int | None], Result]


def table(results: dict[str, Result]) -> str:
    """A table in Markdown."""
    lines = ["| part | cases | seconds | finds | not tried here |", "|---|---|---|---|---|"]
    for name, result in results.items():
        skipped = ", ".join(result.skipped) or "-"
        lines.append(f"| {name} | {result.cases} | {result.seconds:.0f} | {len(result.finds)} | {skipped} |")
    return "\n".join(lines)

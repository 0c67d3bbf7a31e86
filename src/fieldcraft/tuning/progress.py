"""Progress of a bake-off or a search: a table, updated on terminals and in notebooks; lines in logs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from fieldcraft import markup
from fieldcraft.display import EVERY, OFTEN, NotebookOutput, Pace, kind_of
from fieldcraft.terminal import visible, visible_lines
from fieldcraft.tuning.trial import Point

if TYPE_CHECKING:
    from fieldcraft.tuning.results import Result
    from fieldcraft.tuning.tuned import Tried

HEAD = ["entry", "iteration", "value", "gap", "score", "seconds", ""]


class TrialsProgress:
    """Rows of the entries, whose names may be passed in advance; ``shown=False`` prints nothing."""

    def __init__(self, names: Iterable[str] = (), *, shown: bool, stream: TextIO | None = None) -> None:
        self.shown = shown
        self.stream = stream if stream is not None else sys.stderr
        self.rows: dict[str, list[str]] = {name: _blank(name) for name in names}
        self._live: Any = None
        self._kind = kind_of(self.stream)
        self._output = NotebookOutput()
        self._pace = Pace(EVERY if self._kind == "log" else OFTEN)

    def __enter__(self) -> TrialsProgress:
        if self.shown and self._kind == "terminal":
            self._live = _live(self.stream)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self.shown and self._kind == "notebook" and self.rows:
            self._update()

    def begin(self, name: str) -> None:
        """An entry starts."""
        self.rows.setdefault(name, _blank(name))[-1] = "training"
        self._show(name, at_once=True)

    def tell(self, name: str, point: Point) -> None:
        """An iteration ended."""
        self.rows[name] = [name, *_numbers(point), "training"]
        self._show(name, at_once=False)

    def finish(self, result: Result | Tried) -> None:
        """An entry ended."""
        row = self.rows.setdefault(result.entry, _blank(result.entry))
        row[-1] = result.error if result.error is not None else result.reason
        if result.score is not None:
            row[4], row[5] = f"{100 * result.score:.2f}", f"{result.seconds or 0:.1f}"
        self._show(result.entry, at_once=True)

    def _show(self, name: str, *, at_once: bool) -> None:
        if not self.shown or not (self._pace.due() or at_once):
            return
        if self._live is not None:
            self._live.update(_table(self.rows.values()), refresh=True)
        elif self._kind == "notebook":
            self._update()
        else:
            named = [f"{head} {cell}".strip() for head, cell in zip(HEAD[1:], self.rows[name][1:]) if cell]
            print(visible("  ".join([f"{name}:", *named])), file=self.stream, flush=True)

    def _update(self) -> None:
        rows = list(self.rows.values())
        text = "\n".join("  ".join(row).rstrip() for row in rows)
        self._output.update(visible_lines(text), markup.fragment(markup.table(HEAD, rows)))


def _blank(name: str) -> list[str]:
    return [name, *[""] * 6]


def _numbers(point: Point) -> list[str]:
    gap = "" if point.gap is None else f"{point.gap:.1e}"
    score = "" if point.score is None else f"{100 * point.score:.2f}"
    shown = f"{point.objective:.2f}", gap, score, f"{point.seconds:.1f}"
    return [str(point.iteration), *shown]


def _live(stream: TextIO) -> Any:
    """A display that is updated in place, without a thread."""
    from rich.console import Console
    from rich.live import Live

    return Live(console=Console(file=stream), auto_refresh=False, transient=True)


def _table(rows: Any) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for i, head in enumerate(HEAD):
        table.add_column(head, justify="right" if 0 < i < 6 else "left", overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table

"""Where progress is shown: on a terminal, in a notebook, or in a log file.

    terminal   a line or table that is updated in place (rich)
    notebook   one output of the cell, which is updated (IPython's display)
    log        whole lines, the first and the last, and one every few seconds in between

All of them show the same words. A notebook is recognised by the class of its standard streams, so that
nothing of IPython is imported elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO

EVERY = 5.0  # seconds from one line of a log to the next
OFTEN = 0.1  # seconds from one update on a terminal or in a notebook to the next
KERNELS = ("ipykernel.", "google.colab.", "pyodide_kernel.", "xeus_python")


def kind_of(stream: TextIO) -> str:
    """ "terminal", "notebook" or "log"."""
    if f"{type(stream).__module__}.".startswith(KERNELS):
        return "notebook"
    return "terminal" if stream.isatty() else "log"


class Pace:
    """Says whether it is time to show something again."""

    def __init__(self, every: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.every, self._clock = every, clock
        self._last: float | None = None

    def due(self) -> bool:
        """True for the first question, and when so many seconds have passed since it was last True."""
        now = self._clock()
        if self._last is not None and now - self._last < self.every:
            return False
        self._last = now
        return True


class NotebookOutput:
    """An output of the current cell that is replaced by each update."""

    def __init__(self) -> None:
        self._handle: Any = None

    def update(self, text: str, html: str | None = None) -> None:
        """Show a text, and HTML where there is any."""
        display = import_module("IPython.display").display
        bundle = {"text/plain": text} if html is None else {"text/plain": text, "text/html": html}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


class Lines:
    """One line that changes: updated in a notebook; in a log printed now and then, and at the end."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self._output = NotebookOutput() if kind_of(stream) == "notebook" else None
        self._pace = Pace(EVERY if self._output is None else OFTEN, clock)
        self._held: str | None = None

    def show(self, line: str) -> None:
        """The line as it is now; shown when it is due."""
        self._held = line
        if self._pace.due():
            self._flush()

    def tell(self, line: str) -> None:
        """A remark, shown at once, behind the line as it is."""
        self._flush()
        print(line, file=self.stream, flush=True)

    def close(self) -> None:
        """Show the line if its last state was not due."""
        self._flush()

    def _flush(self) -> None:
        line, self._held = self._held, None
        if line is None:
            return
        if self._output is not None:
            self._output.update(line)
        else:
            print(line, file=self.stream, flush=True)

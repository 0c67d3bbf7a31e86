"""Progress of training: one line, updated on terminals and in notebooks; every few seconds in logs."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from fieldcraft.display import Lines, kind_of
from fieldcraft.optimisers.loop import Record


class Progress:
    """Shows the state of a training; called by its loop with each record (display.py)."""

    def __init__(self, max_iterations: int, stream: TextIO | None = None) -> None:
        self.max_iterations = max_iterations
        self.stream = stream if stream is not None else sys.stderr
        self._bar: Any = None
        self._lines = Lines(self.stream)
        self._terminal = kind_of(self.stream) == "terminal"

    def __call__(self, record: Record) -> None:
        line = self.line(record)
        if self._terminal:
            self._renew(record.iteration, line)
        else:
            self._lines.show(line)

    def line(self, record: Record) -> str:
        """Iteration, objective, duality gap or gradient norm, held-out score, seconds, most seconds left."""
        parts = [
            f"iteration {record.iteration}/{self.max_iterations}",
            f"objective {record.objective:.2f}",
            f"gradient {record.gradient_norm:.3g}" if record.gap is None else f"gap {record.gap:.2g}",
        ]
        if record.held_out is not None:
            parts.append(f"held-out {record.held_out:.4f}")
        if record.active is not None:
            parts.append(f"active {record.active}")
        parts += record.details()
        left = (self.max_iterations - record.iteration) * record.seconds / record.iteration
        parts.append(f"{record.seconds:.1f} s, at most {left:.0f} s left")
        return "  ".join(parts)

    def _renew(self, iteration: int, line: str) -> None:
        if self._bar is None:
            self._bar = _bar(self.stream)
            self._bar.add_task(line, total=self.max_iterations)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=iteration, description=line, refresh=True)

    def tell(self, line: str) -> None:
        """Print a remark before training starts."""
        self._lines.tell(line)

    def end(self, reason: str) -> None:
        """Print why training stopped."""
        if self._bar is not None:
            self._bar.stop()
        self._lines.tell(f"stopped: {reason}")


def _bar(stream: TextIO) -> Any:
    """A bar and the line, updated by each iteration and not by a thread."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=16), TextColumn("{task.description}", markup=False))
    return Bar(*columns, console=Console(file=stream), auto_refresh=False)

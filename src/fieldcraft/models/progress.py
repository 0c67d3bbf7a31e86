"""Progress of training: one line that renews itself on a terminal, a log line each elsewhere."""

from __future__ import annotations

import sys
from typing import TextIO

from fieldcraft.optimisers.loop import Record


class Progress:
    """Shows records as they come; called by the training loop."""

    def __init__(self, max_iterations: int, stream: TextIO | None = None) -> None:
        self.max_iterations = max_iterations
        self.stream = stream if stream is not None else sys.stderr
        self.live = self.stream.isatty()
        self._width = 0

    def __call__(self, record: Record) -> None:
        line = self.line(record)
        if self.live:
            self.stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self.stream.write(line + "\n")
        self.stream.flush()

    def line(self, record: Record) -> str:
        """Iteration, objective, gradient norm, held-out score, time, time left at the most."""
        parts = [
            f"iteration {record.iteration}/{self.max_iterations}",
            f"objective {record.objective:.2f}",
            f"gradient {record.gradient_norm:.3g}",
        ]
        if record.held_out is not None:
            parts.append(f"held-out {record.held_out:.4f}")
        if record.active is not None:
            parts.append(f"active {record.active}")
        left = (self.max_iterations - record.iteration) * record.seconds / record.iteration
        parts.append(f"{record.seconds:.1f} s, at most {left:.0f} s left")
        return "  ".join(parts)

    def close(self, reason: str) -> None:
        """The last line says why training stopped."""
        self.stream.write(("\n" if self.live else "") + f"stopped: {reason}\n")
        self.stream.flush()

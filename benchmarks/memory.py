"""Resident memory of this process in MiB (Linux).

The peak is reset just before the work begins, so that what building the input took does not hide
what the work adds.
"""

from __future__ import annotations

import gc
import re
from pathlib import Path

_SELF = Path("/proc/self")


def _status(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", (_SELF / "status").read_text())
    return float(found.group(1)) / 1024.0 if found else float("nan")


class MemoryAdded:
    """``added()`` is the peak since construction minus what was resident then."""

    def __init__(self) -> None:
        gc.collect()
        (_SELF / "clear_refs").write_text("5")
        self.before = _status("VmRSS")

    def added(self) -> float:
        """MiB above the start, at the highest moment so far."""
        return _status("VmHWM") - self.before

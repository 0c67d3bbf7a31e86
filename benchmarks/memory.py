"""Resident memory of this process in MiB (Linux).

The peak is reset just before the work begins, so that what building the input took does not hide
what the work adds.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path

_SELF = Path("/proc/self")
_TOUCH = """
import mmap
n = 512 << 20
memory = mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_HUGEPAGE)
memory[::4096] = bytes(n // 4096)
"""


def touch_free_memory() -> None:
    """Another process writes to half a gigabyte and ends, so that the system has it at hand.

    A virtual machine may hand free memory back to its host. The first write to it then takes 2 ms per MiB
    instead of 0.1, as long as the work that is measured, and depends on what ran before.
    """
    subprocess.run([sys.executable, "-S", "-c", _TOUCH], check=False, stderr=subprocess.DEVNULL)


def _status(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", (_SELF / "status").read_text())
    return float(found.group(1)) / 1024.0 if found else float("nan")


class MemoryAdded:
    """``added()`` is the peak since construction minus what was resident then."""

    def __init__(self) -> None:
        touch_free_memory()
        gc.collect()
        (_SELF / "clear_refs").write_text("5")
        self.before = _status("VmRSS")

    def added(self) -> float:
        """MiB above the start, at the highest moment so far."""
        return _status("VmHWM") - self.before

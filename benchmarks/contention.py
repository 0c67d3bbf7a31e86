"""How many cores other programs kept busy meanwhile: what a reader must know of a shared machine.

others = (busy time of all cores - CPU time of the measured process) / wall time      (Linux)
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from benchmarks.timing import clock


def _busy() -> float:
    """Core-seconds that all cores have worked since the machine started; waiting is no work."""
    fields = [int(n) for n in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    user, nice, system, _, _, irq, soft, steal = fields[:8]
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Others:
    """``cores()`` is the mean number of cores busy elsewhere since construction."""

    def __init__(self) -> None:
        self._clock, self._busy, self._children = clock(), _busy(), _children()

    def cores(self) -> float:
        """Ended child processes count as ours."""
        elsewhere = (_busy() - self._busy) - (_children() - self._children)
        return max(0.0, elsewhere / (clock() - self._clock))

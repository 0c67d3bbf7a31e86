"""What would not fit into memory is refused before any work.

The system would end the process otherwise, or swap for hours: memory is granted before it is available.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fieldcraft.errors import InputError

SMALL = 2**28  # bytes that are not worth a look at the system
GROUPS = {  # limit and use of the control group, in its two versions
    "/sys/fs/cgroup/memory.max": "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "/sys/fs/cgroup/memory/memory.usage_in_bytes",
}


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise InputError if so many bytes are not available."""
    if needed < SMALL:
        return
    available = available_bytes()
    if available is not None and needed > available:
        raise InputError(
            f"{what} needs {needed:,} bytes of memory ({needed / 2**30:.1f} GiB), of which "
            f"{available:,} are available; {remedy}"
        )


def available_bytes() -> int | None:
    """Memory that this process may still take, as far as the system tells; None if it does not."""
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    yield from _free()
    yield from _group()
    yield from _address_space()


def _free() -> Iterator[int]:
    """Memory and swap that the system could give."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        yield facts["MemAvailable"] + facts.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        return


def _group() -> Iterator[int]:
    """What the control group leaves; files in its cache give way."""
    for limit, use in GROUPS.items():
        try:
            used = int(Path(use).read_text())
            cached = _cached_files(Path(use).with_name("memory.stat"))
            yield max(0, int(Path(limit).read_text()) - used + cached)
        except (OSError, ValueError):  # there is none, or its limit is "max"
            continue


def _cached_files(statistics: Path) -> int:
    for line in statistics.read_text().splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _address_space() -> Iterator[int]:
    """What `ulimit -v` leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, ValueError):
        return

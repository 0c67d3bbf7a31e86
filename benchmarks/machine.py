"""The machine in words: no names of hosts, users or folders."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FLAGS = ("avx2", "fma", "avx512f")
PACKAGES = ("fieldcraft", "python-crfsuite", "numpy")


def _found(pattern: str, path: str) -> str:
    found = re.search(pattern, Path(path).read_text())
    return found.group(1).strip() if found else "unknown"


def _compiler() -> str:
    command = shutil.which(os.environ.get("CXX", "c++"))
    if command is None:
        return "unknown"
    shown = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    return re.sub(r"^\S*/", "", shown.stdout.splitlines()[0]) if shown.stdout else "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, str]:
    """What it is, and what runs on it."""
    flags = _found(r"flags\s*:(.*)", "/proc/cpuinfo").split()
    memory = int(_found(r"MemTotal:\s+(\d+)", "/proc/meminfo")) / 2**20
    family = [_found(rf"{k}\s*:\s*(\d+)", "/proc/cpuinfo") for k in ("cpu family", "model")]
    known = " ".join(f for f in FLAGS if f in flags)
    model = _found(r"model name\s*:(.*)", "/proc/cpuinfo")
    return {
        "processor": f"{model}, family {family[0]} model {family[1]}, {known}",
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory:.0f} GiB",
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "compiler": _compiler(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: _version(name) for name in PACKAGES},
        "load before": f"{os.getloadavg()[0]:.1f}",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }

"""What a process of its own is asked to do: settings in, figures out.

    python -m benchmarks.tasks '{"side": "ours", "task": "train", "workload": "W1", …}'

prints one JSON object. Each measurement has its own process, so that memory and caches are its own.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.columns import ROOT
from benchmarks.contention import Others
from benchmarks.synthetic import SYNTHETIC
from benchmarks.workloads import WORKLOADS

Figures = dict[str, Any]
Tell = Callable[[Figures], None]  # is told each result as it comes
SIDES = {
    "peer": "benchmarks.peer",
    "ours": "benchmarks.ours",
    "startup": "benchmarks.startup",
    "files": "benchmarks.files",
    "accuracy": "benchmarks.accuracy",
    "scaling": "benchmarks.scaling",
}
SOURCES: dict[str, Any] = {**WORKLOADS, **SYNTHETIC}


def run(settings: dict[str, Any], cores: Sequence[int] | None = None) -> Figures:
    """The figures of one task, measured in a new process; on these cores alone, if any are named."""
    command = [sys.executable, "-m", "benchmarks.tasks", json.dumps(settings)]
    if cores is not None:
        command = ["taskset", "--cpu-list", ",".join(map(str, cores)), *command]
    kept = {k: v for k, v in os.environ.items() if k != "FIELDCRAFT_JOBS"}
    others = Others()
    done = subprocess.run(command, cwd=ROOT, env=kept, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the benchmark process for {settings} ended with {done.returncode}")
    return {**settings, "others": others.cores(), **json.loads(done.stdout.splitlines()[-1])}


def main(text: str) -> None:
    """One task here and now."""
    settings = json.loads(text)
    source = SOURCES.get(settings.pop("workload", ""))
    side = importlib.import_module(SIDES[settings.pop("side")])
    task: Callable[..., Figures] = side.TASKS[settings.pop("task")]
    print(json.dumps(task(source, **settings)))


if __name__ == "__main__":
    main(sys.argv[1])

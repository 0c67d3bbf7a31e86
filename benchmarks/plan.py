"""Which processes run, in which order.

Sides alternate within a pass, and passes repeat, so that what else the machine does falls on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.races import RACES
from benchmarks.synthetic import SYNTHETIC
from benchmarks.workloads import WORKLOADS

Settings = dict[str, Any]
NAMES = (*WORKLOADS, *SYNTHETIC, "races", "startup", "accuracy")


class Effort(NamedTuple):
    """How much is done."""

    passes: int
    iterations: int
    synthetic_iterations: int
    tag_repeat: int


FULL = Effort(passes=3, iterations=50, synthetic_iterations=8, tag_repeat=3)
QUICK = Effort(passes=1, iterations=10, synthetic_iterations=4, tag_repeat=2)


def plan(names: Sequence[str], effort: Effort, folder: Path) -> Iterator[Settings]:
    """The settings of every process."""
    for _ in range(effort.passes):
        for name in names:
            if name in WORKLOADS:
                yield from _workload(name, effort, folder)
            elif name in SYNTHETIC:
                yield from _training(name, effort.synthetic_iterations, folder)
            elif name == "races":
                yield from _races(folder)
    if "startup" in names:
        yield {"side": "startup", "task": "imports", "repeat": 5}
    if "accuracy" in names:
        yield {"side": "accuracy", "task": "entities"}
        for side in ("peer", "ours"):
            yield {"side": side, "task": "optimum", "workload": "W1", "model": f"{folder}/optimum"}


def _races(folder: Path) -> Iterator[Settings]:
    for race in RACES.values():
        shared: Settings = {"task": "race", "workload": race.workload, "name": race.name}
        yield {"side": "peer", **shared, "model": f"{folder}/race"}
        yield {"side": "ours", **shared, "model": f"{folder}/race", "threads": 2}


def _training(name: str, iterations: int, folder: Path) -> Iterator[Settings]:
    shared: Settings = {"task": "train", "workload": name, "iterations": iterations}
    yield {"side": "peer", **shared, "model": f"{folder}/peer"}
    for threads in (1, 2):
        yield {"side": "ours", **shared, "model": f"{folder}/lists", "threads": threads}


def _workload(name: str, effort: Effort, folder: Path) -> Iterator[Settings]:
    yield from _training(name, effort.iterations, folder)
    columns: Settings = {"given": "columns", "model": f"{folder}/columns"}
    train: Settings = {"task": "train", "workload": name, "iterations": effort.iterations}
    yield {"side": "ours", **train, **columns, "threads": 2}
    tag: Settings = {"task": "tag", "workload": name, "repeat": effort.tag_repeat}
    yield {"side": "peer", **tag, "model": f"{folder}/peer"}
    yield {"side": "ours", **tag, "model": f"{folder}/lists"}
    yield {"side": "ours", **tag, **columns}
    models = {f"{kind}_model": f"{folder}/{kind}" for kind in ("peer", "lists", "columns")}
    yield {"side": "files", "task": "model_file", "workload": name, **models, "repeat": 5}

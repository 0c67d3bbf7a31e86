"""Which processes run, in which order.

Sides alternate within a pass, and passes repeat, so that what else the machine does falls on both. Races in
which CRFsuite takes long are run in the first pass only, CRFsuite between two of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.races import LONG, RACES
from benchmarks.synthetic import SYNTHETIC
from benchmarks.workloads import WORKLOADS

Settings = dict[str, Any]
COMPLETE = ("W1", "W2", "W3", "W4")  # the others: races, and a short training for ingestion and memory
NAMES = (*WORKLOADS, *SYNTHETIC, "races", "startup", "accuracy")


class Effort(NamedTuple):
    """How much is done."""

    passes: int
    iterations: int
    short_iterations: int
    tag_repeat: int


FULL = Effort(passes=3, iterations=50, short_iterations=8, tag_repeat=3)
QUICK = Effort(passes=1, iterations=10, short_iterations=4, tag_repeat=2)


def plan(names: Sequence[str], effort: Effort, folder: Path, done: Sequence[Settings]) -> Iterator[Settings]:
    """The settings of every process; ``done`` are the figures of those before, which may shorten the plan."""
    for number in range(effort.passes):
        for name in names:
            if name in COMPLETE:
                yield from _workload(name, effort, folder)
            elif name in WORKLOADS or name in SYNTHETIC:
                yield from _training(name, effort.short_iterations, folder)
            elif name == "races" or name in RACES:
                yield from _races([name] if name in RACES else [*RACES], folder, number == 0, done)
    if "startup" in names:
        yield {"side": "startup", "task": "imports", "repeat": 5}
    if "accuracy" in names:
        yield {"side": "accuracy", "task": "entities"}
        for side in ("peer", "ours"):
            yield {"side": side, "task": "optimum", "workload": "W1", "model": f"{folder}/optimum"}


def _races(names: Sequence[str], folder: Path, first: bool, done: Sequence[Settings]) -> Iterator[Settings]:
    """CRFsuite between two of ours where it goes to its own end, then ours after it; long ones only once."""
    took = {r["name"]: r["seconds"] for r in done if (r["side"], r["task"]) == ("peer", "race")}
    for race in map(RACES.__getitem__, names):
        if took.get(race.name, 0.0) > LONG:
            continue
        shared: Settings = {"task": "race", "workload": race.workload, "name": race.name}
        shared["model"] = f"{folder}/{race.name}"
        ours: Settings = {"side": "ours", **shared, "threads": 2}
        if first and race.to_the_end:
            yield ours
        yield {"side": "peer", **shared}
        yield ours


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
    for threads in (1, 2):
        yield {"side": "ours", **tag, "model": f"{folder}/lists", "threads": threads}
    yield {"side": "ours", **tag, **columns}
    models = {f"{kind}_model": f"{folder}/{kind}" for kind in ("peer", "lists", "columns")}
    yield {"side": "files", "task": "model_file", "workload": name, **models, "repeat": 5}

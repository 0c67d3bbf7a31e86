"""``python -m benchmarks threads``: the same work with 1, 2, 4 … threads up to all cores.

Results go to results/threads.md and .json. CRFsuite's column is left out where python-crfsuite is not
installed. Floors are for 16 threads on idle cores and are judged where there are so many cores.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks import machine, report
from benchmarks.measurements import Run
from benchmarks.tasks import Tell, run

BITS = (1, 2, 3, 7, 16, 24)  # threads whose weights are compared
JUDGED = 16
NOTES = """\
The same work in one process with each number of threads in turn; the least of {rounds} rounds. A ratio is
the time with one thread over the time with this many. Evaluation: value and gradient of the native problem;
with L-BFGS: its own work included. Fit: attribute lists in memory to the end of the default training,
c2 = 1; the weights of {bits} threads are compared bit by bit."""


class Scaling(NamedTuple):
    """One work: ``settings`` of its process, and what 16 threads must reach, in times one thread's speed."""

    title: str
    settings: Run
    floor: float | None = None
    aim: float | None = None
    unit: str = "ms"


def works(rounds: int) -> tuple[Scaling, ...]:
    """What is measured."""
    one: Run = {"side": "scaling", "task": "evaluations", "rounds": rounds, "times": 5}
    tag: Run = {"side": "scaling", "task": "tagging", "workload": "W1", "rounds": rounds}
    lbfgs: Run = {"side": "scaling", "task": "iterations", "workload": "W1", "rounds": rounds}
    fit: Run = {"side": "scaling", "task": "fits", "workload": "W1", "rounds": rounds, "also": BITS}
    return (
        Scaling("W1, evaluation", {**one, "workload": "W1"}, 9, 11),
        Scaling("W4, evaluation", {**one, "workload": "W4"}, 9, 11),
        Scaling("ten copies of W1, evaluation", {**one, "workload": "W1", "copies": 10}, 12),
        Scaling("W1, evaluation with L-BFGS", lbfgs),
        Scaling("W1, fit", fit),
        Scaling("W1, tagging lists", {**tag, "given": "lists"}, 5, unit="tokens/s"),
        Scaling("W1, tagging columns", {**tag, "given": "columns"}, 8, unit="tokens/s"),
    )


def counts(cores: int) -> list[int]:
    """1, 2, 4 … and all cores."""
    powers = [2**k for k in range(cores.bit_length()) if 2**k <= cores]
    return sorted({*powers, cores})


def measure(rounds: int, tell: Tell, *, quick: bool = False) -> list[Run]:
    """Every work, and CRFsuite's evaluations where it is installed; a quick look compares fewer bits."""
    chosen = counts(len(os.sched_getaffinity(0)))
    done = []
    for work in works(rounds):
        settings = {**work.settings, "counts": chosen}
        if quick and "also" in settings:
            settings["also"] = ()
        done.append({"title": work.title, **run(settings)})
        tell(done[-1])
    if importlib.util.find_spec("pycrfsuite") is not None:
        for workload in ("W1", "W4"):
            settings = {"side": "peer", "task": "train", "workload": workload, "iterations": 10}
            with tempfile.TemporaryDirectory() as folder:
                done.append(run({**settings, "model": f"{folder}/peer"}))
            tell(done[-1])
    return done


def best(found: Run, threads: int) -> float:
    """Seconds with so many threads."""
    return float(min(found["seconds"][str(threads)]))


def peer_evaluation(runs: Sequence[Run], title: str) -> float | None:
    """Seconds of CRFsuite's evaluation on the workload of this title, if measured."""
    peers = {f"{r['workload']}, evaluation": r["evaluation"] for r in runs if r["side"] == "peer"}
    return peers.get(title)


def rows(runs: Sequence[Run], rounds: int) -> Iterator[list[str]]:
    """A line per work: each number of threads, and CRFsuite."""
    units = {work.title: work.unit for work in works(rounds)}
    for found in (r for r in runs if r["side"] == "scaling"):
        unit = units[found["title"]]
        cells = [_cell(found, int(n), unit) for n in found["seconds"]]
        peer = peer_evaluation(runs, found["title"])
        shown = [] if not _peers(runs) else ["" if peer is None else f"{1000 * peer:.4g}"]
        yield [found["title"], unit, *shown, *cells]


def _cell(found: Run, threads: int, unit: str) -> str:
    seconds = best(found, threads)
    value = f"{1000 * seconds:.4g}" if unit == "ms" else f"{found['tokens'] / seconds:,.0f}"
    return value if threads == 1 else f"{value} ({best(found, 1) / seconds:.2f}x)"


def _peers(runs: Sequence[Run]) -> bool:
    return any(r["side"] == "peer" for r in runs)


class Verdict(NamedTuple):
    """One claim about many threads."""

    title: str
    value: float
    floor: float
    aim: float | None
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of the floor."""
        return self.value <= self.floor if self.at_most else self.value >= self.floor


def verdicts(runs: Sequence[Run], rounds: int) -> Iterator[Verdict]:
    """The claims that were measured; those about speed only with as many cores as they speak of."""
    by_title = {r["title"]: r for r in runs if r["side"] == "scaling"}
    for work in works(rounds):
        found = by_title.get(work.title)
        if found is None:
            continue
        if "same" in found:
            yield Verdict(f"{work.title}: the same bits with every number of threads", found["same"], 1, None)
        if str(JUDGED) not in found["seconds"]:
            continue
        faster = best(found, 1) / best(found, JUDGED)
        if work.floor is not None:
            yield Verdict(f"{work.title}: {JUDGED} threads, times one thread", faster, work.floor, work.aim)
        peer = peer_evaluation(runs, work.title)
        if work.title == "W1, evaluation" and peer is not None:
            yield Verdict(f"{work.title}: times CRFsuite", peer / best(found, JUDGED), 120, None)
        if work.title == "W1, fit":
            slower = best(found, JUDGED) / best(found, 8)
            yield Verdict(f"{work.title}: seconds with {JUDGED} threads over 8", slower, 1.05, None, True)


def markdown(described: dict[str, str], runs: Sequence[Run], rounds: int) -> str:
    """The report."""
    chosen = next(r["counts"] for r in runs if r["side"] == "scaling")
    peer = ["CRFsuite"] if _peers(runs) else []
    head = ["", "unit", *peer, *(f"{n} thread{'s' * (n > 1)}" for n in chosen)]
    judged = [
        [v.title, f"{v.value:.3g}", f"{v.floor:g}", "" if v.aim is None else f"{v.aim:g}", _word(v.met)]
        for v in verdicts(runs, rounds)
    ]
    lines = ["# Threads", "", NOTES.format(rounds=rounds, bits=_compared(runs)), ""]
    lines += report.table(["machine", ""], [[k, v] for k, v in report.with_others(described, runs).items()])
    lines += report.table(head, rows(runs, rounds))
    lines += report.table(["claim", "value", "floor", "aim", "verdict"], judged) if judged else []
    return "\n".join(lines)


def _compared(runs: Sequence[Run]) -> str:
    found = (r["bits"] for r in runs if "bits" in r)
    return ", ".join(sorted({n for bits in found for n in bits}, key=int))


def _word(met: bool) -> str:
    return "met" if met else "missed"


def main(rounds: int, tell: Tell, *, quick: bool = False) -> list[str]:
    """Measure, write and print; a sentence for each claim that is not met."""
    described = machine.describe()
    runs = measure(rounds, tell, quick=quick)
    text = markdown(described, runs, rounds)
    report.write(
        "partial" if quick else "threads", text, {"machine": described, "rounds": rounds, "runs": runs}
    )
    print(text)
    return [
        f"{v.title}: {v.value:.3g}, the floor is {v.floor:g}" for v in verdicts(runs, rounds) if not v.met
    ]

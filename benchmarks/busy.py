"""``python -m benchmarks --busy 1``: what threads are worth where other programs keep cores busy.

n processes spin, each pinned to one of n + 1 cores, and ours may use these n + 1 cores alone. With n + 1
threads it must not take more than 5 % longer than with one. Means of all rounds are compared: the least of
many short runs would be one in which the spinning process happened to rest. Results go to results/busy.md
and .json.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

from benchmarks import machine, report
from benchmarks.measurements import Run
from benchmarks.tasks import Tell, run

MOST = 1.05  # times one thread's seconds
NOTES = """\
{n} of the {cores} cores that were used had a process that spins, pinned to it. Seconds are means over
{rounds} rounds in which each number of threads had its turn. Evaluation: value and gradient of the native
problem. Fit: attribute lists in memory to the end of the default training, c2 = 1."""


@contextmanager
def spinning(cores: Sequence[int], n: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """This process and its children on ``cores`` alone, of which the last ``n`` are kept busy."""
    before = os.sched_getaffinity(0)
    spinners: list[subprocess.Popen[bytes]] = []
    try:
        for core in cores[-n:]:
            spinners.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            os.sched_setaffinity(spinners[-1].pid, {core})
        os.sched_setaffinity(0, cores)
        yield spinners
    finally:
        os.sched_setaffinity(0, before)
        for process in spinners:
            process.kill()
            process.wait()


def measure(n: int, rounds: int, tell: Tell) -> list[Run]:
    """Evaluations of W1 and W4 and a training of W1 with one thread and with n + 1."""
    shared: Run = {"side": "scaling", "rounds": rounds, "counts": [1, n + 1]}
    wanted = [
        {**shared, "task": "evaluations", "workload": "W1", "times": 20},
        {**shared, "task": "evaluations", "workload": "W4", "times": 20},
        {**shared, "task": "fits", "workload": "W1"},
    ]
    done = []
    for settings in wanted:
        done.append(run(settings))
        tell(done[-1])
    return done


def ratio(found: Run) -> float:
    """Seconds with all threads over seconds with one."""
    one, all_ = (fmean(found["seconds"][str(threads)]) for threads in found["counts"])
    return all_ / one


def title(found: Run) -> str:
    """Workload and work."""
    return f"{found['workload']}, {'fit' if found['task'] == 'fits' else 'evaluation'}"


def markdown(described: dict[str, str], runs: Sequence[Run], n: int, rounds: int) -> str:
    """The report."""
    head = ["", "s, 1 thread", f"s, {n + 1} threads", "ratio", "at most", "verdict"]
    body = [
        [
            title(found),
            *(f"{fmean(found['seconds'][str(threads)]):.4g}" for threads in found["counts"]),
            *(f"{ratio(found):.3f}", f"{MOST:g}", "met" if ratio(found) <= MOST else "missed"),
        ]
        for found in runs
    ]
    lines = ["# Busy cores", "", NOTES.format(n=n, cores=n + 1, rounds=rounds), ""]
    lines += report.table(["machine", ""], [[k, v] for k, v in report.with_others(described, runs).items()])
    return "\n".join(lines + report.table(head, body))


def main(n: int, rounds: int, tell: Tell, name: str = "busy") -> list[str]:
    """Measure, write and print; a sentence for each work that is slower with threads."""
    described = machine.describe()
    with spinning(sorted(os.sched_getaffinity(0))[: n + 1], n):
        runs = measure(n, rounds, tell)
    text = markdown(described, runs, n, rounds)
    report.write(name, text, {"machine": described, "rounds": rounds, "runs": runs})
    print(text)
    slow = [found for found in runs if ratio(found) > MOST]
    return [f"{title(r)}: {ratio(r):.3f} times one thread's seconds, {MOST:g} is the most" for r in slow]

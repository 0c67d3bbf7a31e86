"""``python -m benchmarks [W1 … W6 S200 S500 races startup accuracy] [--quick] [--check] [--passes n]``.

Without names everything is measured and written to results/benchmarks.md and .json, and so is everything but
the races; all races alone go to results/races.md and .json, another part or a quick look to
results/partial.md and .json. A race has a name too, such as W6-c2=0.1.

With ``--pairs`` measurements run side by side, each on two cores of its own.

``python -m benchmarks threads`` measures with 1, 2, 4 … threads, ``python -m benchmarks --busy n`` with
n cores kept busy; each has a report of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import busy, judgement, machine, pairs, report, threads
from benchmarks.columns import data_folder
from benchmarks.plan import FULL, NAMES, QUICK, Effort, plan
from benchmarks.races import RACES, settled
from benchmarks.tasks import Tell, run

ROUNDS = 5  # of threads and --busy
# What has a report of its own: everything, everything but the races, the races.
WHOLE = {
    (): "benchmarks",
    tuple(n for n in NAMES if n != "races"): "benchmarks",
    ("races",): "races",
}
SETTINGS = ("workload", "side", "task", "name", "given", "threads")
SHOWN = (
    "seconds",
    "objective",
    "evaluation",
    "ingestion",
    "total",
    "memory",
    "strings",
    "columns",
    "marginals",
    "f1",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {' '.join([*NAMES, *RACES])}")
    parser.add_argument("--quick", action="store_true", help="one short pass: a look, not a claim")
    parser.add_argument("--check", action="store_true", help="exit 1 where a floor is missed")
    parser.add_argument("--passes", type=int, help="how often everything is measured")
    parser.add_argument("--pairs", action="store_true", help="side by side, each on two cores of its own")
    parser.add_argument(
        "--busy", type=int, metavar="n", help="1 thread and n + 1, with n of n + 1 cores busy"
    )
    given = parser.parse_args()
    check(given, parser.error)
    return given


def check(given: argparse.Namespace, refuse: Callable[[str], Any]) -> None:
    """Refuse what cannot be measured."""
    alone = "threads" in given.names or given.busy is not None
    unknown = [name for name in given.names if name not in (*NAMES, *RACES, "threads")]
    if unknown:
        refuse(f"{unknown[0]} is no benchmark; there are {', '.join([*NAMES, *RACES, 'threads'])}")
    if alone and len(given.names) + (given.busy is not None) > 1:
        refuse("threads and --busy are measured alone; leave out the other names")
    cores = len(os.sched_getaffinity(0))
    if given.busy is not None and not 1 <= given.busy < cores:
        refuse(f"--busy is {given.busy}; it must be at least 1 and less than the number of cores, {cores}")
    if given.passes is not None and given.passes < 1:
        refuse(f"--passes is {given.passes}; it must be at least 1")
    if not (data_folder() / "conll2000").is_dir():
        refuse("the corpora are absent; set FIELDCRAFT_DATA to the folder that holds them")


def measure(names: list[str], effort: Effort, *, side_by_side: bool) -> list[dict[str, Any]]:
    """Run the plan, telling each step as it ends."""
    tell = teller()

    def one(names: list[str], cores: Sequence[int] | None) -> list[dict[str, Any]]:
        done: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory() as folder:
            for settings in plan(names, effort, Path(folder), done):
                done.append(run(settings, cores))
                tell(done[-1])
        return settled(done)

    return pairs.measure(names, lambda name, cores: one([name], cores)) if side_by_side else one(names, None)


def teller() -> Tell:
    """Prints figures with the seconds since now."""
    begun = time.perf_counter()

    def tell(figures: dict[str, Any]) -> None:
        what = " ".join(str(figures[k]) for k in SETTINGS if k in figures)
        shown = "  ".join(f"{k} {_number(figures[k])}" for k in SHOWN if k in figures)
        print(f"{time.perf_counter() - begun:6.0f} s  {what}: {shown}", file=sys.stderr, flush=True)

    return tell


def _number(value: Any) -> str:
    """A figure; of several numbers of threads the least of each."""
    if isinstance(value, dict):
        return ", ".join(f"{k}: {min(found):.4g}" for k, found in value.items())
    return f"{value:.4g}"


def compare(given: argparse.Namespace) -> list[str]:
    """Measure against CRFsuite, write and print; a sentence for each floor that is missed."""
    names = given.names or [n for n in NAMES if not (given.quick and n == "accuracy")]
    effort = QUICK if given.quick else FULL
    if given.passes:
        effort = effort._replace(passes=given.passes)
    described = machine.describe()
    if given.pairs:
        described["side by side"] = f"{len(pairs.pairs())} measurements at a time, each on its own two cores"
    runs = measure(names, effort, side_by_side=given.pairs)
    name = "partial" if given.quick else WHOLE.get(tuple(given.names), "partial")
    if given.pairs:
        described["side by side"] = (
            f"{len(pairs.pairs())} measurements at a time, each on two cores of its own"
        )
    text = report.markdown(described, effort._asdict(), runs, "Races" if name == "races" else "Benchmarks")
    content = {"machine": described, "effort": effort._asdict(), "runs": runs}
    report.write(name, text, content)
    print(text)
    return judgement.missed(runs)


def main() -> int:
    given = arguments()
    rounds = given.passes or (1 if given.quick else ROUNDS)
    if given.busy is not None:
        missed = busy.main(given.busy, rounds, teller(), "partial" if given.quick else "busy")
    elif given.names == ["threads"]:
        missed = threads.main(rounds, teller(), quick=given.quick)
    else:
        missed = compare(given)
    for sentence in missed if given.check else []:
        print(f"missed: {sentence}", file=sys.stderr)
    return 1 if missed and given.check else 0


if __name__ == "__main__":
    sys.exit(main())

"""Two builds of fieldcraft in turn on one machine: is anything slower than before?

    python -m benchmarks.versions --old /path/to/other/python
    python -m benchmarks.versions --old /path/to/other/python W1 --measure evaluation tagging --passes 5

``--old`` is the interpreter of an environment with another build; the new one is that which runs this. Each
build has one long-lived process (version_worker.py). A pass measures a thing once with each, old first and
new first by turns; what counts is the best of all passes. What is more than 5 % slower, or varies by more
than 5 % within one build, is measured again before it is judged, in new processes, since two processes of
one build may differ by some per cent. Exit status 1 if anything remains more than 5 % slower. README.md says
how to read the table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

from benchmarks import machine
from benchmarks.columns import ROOT, data_folder
from benchmarks.contention import Others
from benchmarks.report import table
from benchmarks.version_worker import CLOCKS, MEASURES
from benchmarks.workloads import WORKLOADS

LIMIT = 1.05  # new over old
USUAL = ("W1", "W2", "W3", "W4")  # workloads that are measured where none is named
SIDES = ("old", "new")
HEAD = ("", "measurement", "old, ms", "new, ms", "new / old", "noise", "passes", "verdict")
ITERATIONS = 10  # of the trainings whose models are loaded and tag
DROPPED = ("FIELDCRAFT_JOBS", "PYTHONPATH")  # would change what is measured, or which build is


class Key(NamedTuple):
    """What is measured on which workload."""

    workload: str
    measure: str


class Times(NamedTuple):
    """Seconds of each pass."""

    old: list[float]
    new: list[float]

    @property
    def ratio(self) -> float:
        """The best of the new build over the best of the old one: above 1 is slower."""
        return min(self.new) / min(self.old)

    @property
    def noise(self) -> float:
        """How far the best of every second pass is from the best of the others, within one build."""
        halves = [(min(side[::2]), min(side[1::2] or side)) for side in self]
        return max(max(pair) / min(pair) - 1.0 for pair in halves)

    @property
    def verdict(self) -> str:
        """What the ratio says; nothing where the builds are equally fast."""
        if self.ratio > LIMIT:
            return "slower"
        if self.noise > LIMIT - 1.0:
            return "noisy"
        return "faster" if self.ratio < 1.0 / LIMIT else ""

    @property
    def settled(self) -> bool:
        """False where more passes may change the verdict."""
        return self.verdict not in ("slower", "noisy")


class Build:
    """The process of one build."""

    def __init__(self, python: str, folder: str, clock: str = "wall") -> None:
        kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
        self.python, self._folder = python, folder
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.version_worker", clock],
            cwd=ROOT,
            env=kept | {"PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # ends the standard input, at which the process ends

    def core(self) -> str:
        """The path of its compiled module."""
        self._ask({})
        return str(self._answer()["core"])

    def begin(self, workload: str) -> None:
        """Begin to prepare a workload; ``ready`` waits for it."""
        self._ask({"prepare": workload, "folder": self._folder, "iterations": ITERATIONS})

    def ready(self) -> None:
        """Wait for what was begun."""
        self._answer()

    def seconds(self, measure: str) -> float:
        """One measurement."""
        self._ask({"measure": measure})
        return float(self._answer()["seconds"])

    def _ask(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended, as the missing answer will show
            print(json.dumps(request), file=self._process.stdin, flush=True)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.python} ended; its message is above")
        answer: dict[str, Any] = json.loads(line)
        return answer


Start = Callable[[], Any]  # a context with the two builds
Tell = Callable[[str], None]


def compare(start: Start, keys: Sequence[Key], *, passes: int, repeats: int, tell: Tell) -> dict[Key, Times]:
    """Measure everything; then, up to ``repeats`` times, what is not settled, with new processes."""
    times = {key: Times([], []) for key in keys}
    open_ = list(keys)
    for _ in range(1 + repeats):
        with start() as builds:
            for workload in dict.fromkeys(key.workload for key in open_):
                _measure(builds, {k: times[k] for k in open_ if k.workload == workload}, passes, tell)
        open_ = [key for key in open_ if not times[key].settled]
        if not open_:
            break
    return times


def _measure(builds: Sequence[Any], times: dict[Key, Times], passes: int, tell: Tell) -> None:
    """Add ``passes`` to the times of one workload.

    A pass goes through all measurements, so that a disturbance of some seconds does not fall on all passes of
    one of them.
    """
    for build in builds:
        build.begin(next(iter(times)).workload)
    for build in builds:
        build.ready()
    for number in range(passes):
        for key, sides in times.items():
            turns = list(zip(builds, sides))
            for build, seconds in turns if number % 2 == 0 else turns[::-1]:
                seconds.append(build.seconds(key.measure))
    for key, sides in times.items():
        tell(f"{' '.join(key)}: {sides.ratio:.3f}, noise {sides.noise:.1%}, {len(sides.old)} passes")


def rows(times: dict[Key, Times]) -> Iterator[list[str]]:
    """The cells of the table."""
    for key, sides in times.items():
        old, new = (f"{1000 * min(side):.4g}" for side in sides)
        counted = str(len(sides.old))
        yield [*key, old, new, f"{sides.ratio:.3f}", f"{sides.noise:.1%}", counted, sides.verdict]


@contextmanager
def started(pythons: Sequence[str], clock: str = "wall") -> Iterator[list[Build]]:
    """A process of each build, with a folder of its own for model files."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        folders = [os.path.join(folder, side) for side in SIDES]
        for path in folders:
            os.mkdir(path)
        yield [stack.enter_context(Build(python, path, clock)) for python, path in zip(pythons, folders)]


def arguments() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.versions", description=__doc__, formatter_class=plain
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="workload",
        help=f"any of {' '.join(WORKLOADS)}; {' '.join(USUAL)} by default",
    )
    parser.add_argument("--old", required=True, metavar="PYTHON", help="interpreter of the build before")
    parser.add_argument("--new", default=sys.executable, metavar="PYTHON", help="default: this interpreter")
    parser.add_argument("--passes", type=int, default=9, help="how often each is measured (9)")
    parser.add_argument(
        "--repeats", type=int, default=3, help="how often what is slower or noisy is repeated (3)"
    )
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: processor time, for busy machines"
    )
    parser.add_argument("--measure", nargs="+", default=[""], metavar="WORD", help="only titles with a WORD")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in WORKLOADS]:
        parser.error(f"{unknown[0]} is not a workload; there are {', '.join(WORKLOADS)}")
    if not any(word in title for word in options.measure for title in MEASURES):
        parser.error(f"no measurement has such a title; there are: {'; '.join(MEASURES)}")
    for python in (options.old, options.new):
        if shutil.which(python) is None:
            parser.error(f"{python} is not a program; name the interpreter of an environment")
    if options.passes < 1 or options.repeats < 0:
        parser.error("--passes must be at least 1 and --repeats at least 0")
    if not (data_folder() / "conll2000").is_dir():
        parser.error("the corpora are absent; set FIELDCRAFT_DATA to the folder that contains them")
    return options


def main() -> int:
    options = arguments()
    # Not resolved: an environment's interpreter is a link, and its name says which environment is meant.
    pythons = [os.path.abspath(shutil.which(python) or python) for python in (options.old, options.new)]
    load, others = os.getloadavg()[0], Others()
    titles = [title for title in MEASURES if any(word in title for word in options.measure)]
    keys = [Key(name, title) for name in options.names or USUAL for title in titles]
    with started(pythons) as builds:
        cores = [build.core() for build in builds]
    print(*(f"{side}: {core}" for side, core in zip(SIDES, cores)), sep="\n", file=sys.stderr)
    if cores[0] == cores[1]:
        print("Both are the same build: the ratios show the noise of this machine.", file=sys.stderr)
    times = compare(
        lambda: started(pythons, options.clock),
        keys,
        passes=options.passes,
        repeats=options.repeats,
        tell=lambda text: print(text, file=sys.stderr, flush=True),
    )
    described = machine.describe()
    print(f"{described['processor']}; {described['cores']} cores; {described['compiler']}")
    print(f"Load before {load:.1f}; cores busy elsewhere {others.cores():.2f} on average.\n")
    print("\n".join(table(HEAD, rows(times))))
    slower = [key for key, sides in times.items() if sides.verdict == "slower"]
    for key in slower:
        print(f"slower: {' '.join(key)}, {times[key].ratio:.3f} times the old build's time", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())

"""Workers over a range of cases; a worker that dies or hangs is a find, and another goes on after it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attack.report import Find, Result
from attack.targets import write_seeds

WORKER = Path(__file__).with_name("worker.py")
HANGS = 30.0  # seconds without a step
ROUND = 10_000  # mutants between two looks at the clock


class Crew:
    """One worker after the other over the cases first, first + step, …"""

    def __init__(self, folder: Path, first: int, last: int, step: int) -> None:
        self.folder, self.next, self.last, self.step = folder, first, last, step
        self.out = (folder / f"out.{first}").open("a+", encoding="utf-8")
        self.deaths: list[dict[str, Any]] = []
        self._start()

    def _start(self) -> None:
        self.at = self.folder / f"at.{self.next}"
        self.at.unlink(missing_ok=True)
        arguments = [str(self.folder), str(self.next), str(self.last), str(self.step)]
        self.errors = (self.folder / f"err.{self.next}").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, WORKER, *arguments], stdout=self.out, stderr=self.errors
        )
        self.seen, self.since = -1, time.monotonic()

    def _case(self) -> int:
        return int(self.at.read_bytes() or b"-1") if self.at.exists() else -1

    def step_on(self) -> bool:
        """Whether there is more to do."""
        code, case = self.process.poll(), self._case()
        if code is None:
            if case != self.seen:
                self.seen, self.since = case, time.monotonic()
            elif time.monotonic() - self.since > HANGS:
                self.process.kill()
                self.process.wait()
                self._died(case, "hung")
            return True
        if code == 0:
            return False
        self._died(case, f"ended with {code}")
        return len(self.deaths) < 20

    def _died(self, case: int, how: str) -> None:
        self.errors.seek(0)
        self.deaths.append({"case": case, "problem": how, "stderr": self.errors.read()[-2000:]})
        if case < 0:
            raise AssertionError(f"a worker could not begin: {self.deaths[-1]}")
        self.next = case + self.step
        self._start()

    def finds(self) -> list[dict[str, Any]]:
        self.process.kill()
        self.process.wait()
        self.out.seek(0)
        found = [json.loads(line) for line in self.out]
        self.out.close()
        self.errors.close()
        return [*found, *self.deaths]


def run(folder: Path, first: int, last: int, *, workers: int) -> list[dict[str, Any]]:
    """Every find among cases first .. last - 1."""
    crews = [Crew(folder, first + i, last, workers) for i in range(workers)]
    try:
        while sum(crew.step_on() for crew in crews):
            time.sleep(0.05)
    finally:
        found = [find for crew in crews for find in crew.finds()]
    return found


def attack(folder: Path, seconds: float, first: int, limit: int | None) -> Result:
    """Mutants until the time is over, or so many of them."""
    write_seeds(folder)
    finds: list[Find] = []
    case, end = first, time.monotonic() + seconds
    while time.monotonic() < end and (limit is None or case - first < limit):
        last = case + ROUND if limit is None else min(case + ROUND, first + limit)
        finds += run(folder, case, last, workers=len(os.sched_getaffinity(0)))
        case = last
    return Result(case - first, finds)

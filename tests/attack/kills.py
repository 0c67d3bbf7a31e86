"""Processes that are killed at random times: files are whole, trainings resume to the same bits."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import fieldcraft as fc
from attack.children import problem_of, start
from attack.report import Find, Result

TRAIN = """
import sys
import fieldcraft as fc
X, y = fc.datasets.addresses(n=60), None  # synthetic
optimiser = {"lbfgs": fc.LBFGS, "sgd": fc.SGD, "dual_ascent": fc.DualAscent, "owlqn": fc.OWLQN}[sys.argv[2]]
crf = fc.ChainCRF("word[-1..1]", optimiser=optimiser(max_iterations=25), prior="auto", n_jobs=1)
snapshot = {} if sys.argv[1] == "-" else {"snapshot": sys.argv[1], "snapshot_every": 1, "resume": True}
print("ready", flush=True)
crf.fit(X, **snapshot)
crf.save(sys.argv[3])
"""
SAVE = """
import sys
import fieldcraft as fc
crf = fc.load(sys.argv[1])
print("ready", flush=True)
while True:
    crf.save(sys.argv[1])
"""
OPTIMISERS = ("lbfgs", "sgd", "dual_ascent", "owlqn")


def killed(program: str, *arguments: object, after: float) -> None:
    """Start a child and kill it so many seconds after it is ready."""
    child = start(program, *arguments)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(after)
    child.kill()
    try:
        child.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        child.terminate()


class Kills:
    """One folder with models of undisturbed trainings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.weights = {}
        for name in OPTIMISERS:
            path = folder / f"{name}.fc"
            problem = problem_of(TRAIN, "-", name, path)
            assert problem is None, problem
            self.weights[name] = fc.load(path).weights_.tobytes()

    def training(self, case: int) -> Find | None:
        rng = random.Random(case)
        name, snapshot = OPTIMISERS[case % len(OPTIMISERS)], self.folder / f"{case}.snapshot"
        for _ in range(rng.randrange(1, 4)):
            killed(TRAIN, snapshot, name, self.folder / "out.fc", after=rng.random() * 0.4)
        problem = problem_of(TRAIN, snapshot, name, self.folder / "out.fc")
        if problem is None and fc.load(self.folder / "out.fc").weights_.tobytes() != self.weights[name]:
            problem = "the resumed training has other weights"
        snapshot.unlink(missing_ok=True)
        return None if problem is None else {"case": case, "optimiser": name, "problem": problem}

    def saving(self, case: int) -> Find | None:
        path = self.folder / "lbfgs.fc"
        killed(SAVE, path, after=random.Random(case).random() * 0.3)
        try:
            intact = fc.load(path).weights_.tobytes() == self.weights["lbfgs"]
        except fc.FieldcraftError as error:
            return {"case": case, "problem": f"the saved file does not load: {error}"}
        return None if intact else {"case": case, "problem": "the saved file has other weights"}


def attack(folder: Path, seconds: float, first: int, limit: int | None) -> Result:
    """Trainings and savings by turns."""
    kills, finds, case, end = Kills(folder), [], first, time.monotonic() + seconds
    while time.monotonic() < end and (limit is None or case - first < limit):
        find = (kills.saving if case % 3 == 2 else kills.training)(case)
        if find:
            finds.append(find)
        case += 1
    return Result(case - first, finds)

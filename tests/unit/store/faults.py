"""Processes for test_faults, run as ``python faults.py NAME FOLDER``; they are killed or starved there."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import numpy as np

import conftest  # noqa: F401  # puts another core in place where one is named
import fieldcraft as fc
from fieldcraft.replacing import replace_text, replacing

WORDS = [["Dogs", "bark"], ["A", "cat", "sleeps"], ["Dogs"]]
Y = [["N", "V"], ["D", "N", "V"], ["N"]]
KILLS = 120
SIZE = 200_000  # bytes


def models(folder: Path) -> list[fc.ChainCRF]:
    """Two that differ in their labels; large enough for a save to have a middle."""
    made = []
    for i, mark in enumerate("ab"):
        X = [[[f"{mark}{w}{k}" for k in range(3000)] for w in s] for s in WORDS]
        y = [[mark + label for label in s] for s in Y]
        made.append(fc.ChainCRF(optimiser=fc.LBFGS(max_iterations=3), n_jobs=1).fit(X, y))
        made[i].save(folder / f"{mark}.fc", zeros=True)
    return made


def _save_until_killed(crfs: list[fc.ChainCRF], path: Path, delay: float) -> None:
    """A child saves one after the other; it is killed ``delay`` seconds after it began."""
    began, ready = os.pipe()
    if (child := os.fork()) == 0:
        os.write(ready, b"!")
        while True:
            for crf in crfs:
                crf.save(path, zeros=True)
    os.read(began, 1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(began), os.close(ready)


def kill_savers(folder: Path) -> dict[str, Any]:
    """What was found at the name after each kill, and what else lies in the folder."""
    crfs = models(folder)
    whole = {(folder / f"{mark}.fc").read_bytes(): mark for mark in "ab"}
    path, rng, found = folder / "model.fc", random.Random(1), {"a": 0, "b": 0}
    strays: set[str] = set()
    began = time.monotonic()
    crfs[0].save(path, zeros=True)
    longest = 3 * (time.monotonic() - began)
    while sum(found.values()) < KILLS:
        if not found["b"]:  # the children are slower than this process was: give them more time
            longest = min(1.2 * longest, 1.0)
        _save_until_killed(crfs, path, rng.uniform(0.0, longest))
        mark = whole[path.read_bytes()]
        assert fc.load(path).predict([[[f"{mark}Dogs0"]]])[0][0][0] == mark
        found[mark] += 1
        strays |= _others(folder)
    crfs[1].save(path, zeros=True)
    return {"found": found, "strays": sorted(strays), "left": sorted(_others(folder))}


def _others(folder: Path) -> set[str]:
    """What lies in a folder besides the models."""
    return {p.name for p in folder.iterdir()} - {"a.fc", "b.fc", "model.fc"}


def _write_for_ever(path: Path, byte: int) -> int:
    """In a child: one content after the other."""
    if (child := os.fork()) == 0:
        while True:
            byte = (byte + 7) % 256
            with replacing(path) as file:
                file.write(bytes([byte]) * SIZE)
    return child


def kill_rivals(folder: Path) -> dict[str, Any]:
    """Four writers of one file; one after the other is killed at any moment and another takes its place."""
    path, rng, most = folder / "file", random.Random(4), 0
    replace_text(path, "x" * SIZE)
    children = [_write_for_ever(path, k) for k in range(4)]
    for k in range(KILLS):
        time.sleep(rng.uniform(0.0, 0.02))
        victim = children.pop(rng.randrange(len(children)))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        assert os.WIFSIGNALED(status), "a writer failed"
        content = path.read_bytes()
        assert content == content[:1] * SIZE
        most = max(most, len(list(folder.iterdir())))
        children.append(_write_for_ever(path, k))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    replace_text(path, "done")
    return {"most": most, "left": sorted(p.name for p in folder.iterdir())}


def starve(folder: Path) -> dict[str, Any]:
    """The file would be larger than the process may write."""
    crf = models(folder)[1]
    path = folder / "model.fc"
    path.write_bytes((folder / "a.fc").read_bytes())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    try:
        crf.save(path, zeros=True)
    except OSError as error:
        number = error.errno
    same = path.read_bytes() == (folder / "a.fc").read_bytes()
    return {"errno": number, "same": same, "names": sorted(p.name for p in folder.iterdir())}


def train(path: Path, **options: Any) -> fc.ChainCRF:
    words = fc.datasets.addresses(40, seed=4)
    crf = fc.ChainCRF("word[-1..1]", optimiser=fc.LBFGS(max_iterations=40, tolerance=1e-9), n_jobs=1)
    return crf.fit(words, snapshot=path, snapshot_every=1, **options)


def _train_until_killed(path: Path, done: Path, delay: float) -> bool:
    """Whether the child was killed before it had ended."""
    if (child := os.fork()) == 0:
        train(path, resume=True)
        done.touch()
        os._exit(0)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return not done.exists()


def kill_trainers(folder: Path) -> dict[str, Any]:
    """Trainings killed at any moment and taken up again until they end, ten of them."""
    straight = train(folder / "straight").weights_.tobytes()
    began = time.monotonic()
    train(folder / "again")
    whole, rng, kills = time.monotonic() - began, random.Random(2), 0
    for i in range(10):
        path, done = folder / f"state.{i}", folder / f"done.{i}"
        while _train_until_killed(path, done, rng.uniform(0.1, 0.6) * whole):
            kills += 1
        assert train(path, resume=True).weights_.tobytes() == straight
    return {"kills": kills}


def hold(folder: Path) -> None:
    """Loads the model, touches all of it, and waits to be asked: answers, or how its pages are held."""
    crf = fc.load(folder / "model.fc")
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "ask":
            print(json.dumps(crf.predict([[["aDogs0"], ["bDogs0"]]]).tolist()), flush=True)
        else:
            float(np.sum(crf._parameters.placed))
            print(json.dumps(_pages("model.fc")), flush=True)


def _pages(name: str) -> dict[str, int]:
    """Kilobytes of the mapping of that file, from smaps."""
    out: dict[str, int] = {}
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            inside = name in line
        elif inside and line.endswith("kB"):
            key, value = line.split(":")
            out[key] = out.get(key, 0) + int(value.split()[0])
    return out


if __name__ == "__main__":
    functions = (kill_savers, kill_rivals, starve, kill_trainers, hold)
    jobs: dict[str, Any] = {function.__name__: function for function in functions}
    answer = jobs[sys.argv[1]](Path(sys.argv[2]))
    if answer is not None:
        print(json.dumps(answer))

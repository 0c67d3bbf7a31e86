"""Threads that cannot be created, memory and disks that are full: an answer or an error, never a hang."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import fieldcraft as fc
from attack.children import problem_of
from attack.report import Result

# Fails every pthread_create after the first FAIL_AFTER ones.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
static int made;
int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*f)(void*), void* x) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!real) real = dlsym(RTLD_NEXT, "pthread_create");
  const char* limit = getenv("FAIL_AFTER");
  if (limit && __sync_fetch_and_add(&made, 1) >= atoi(limit)) return EAGAIN;
  return real(t, a, f, x);
}
"""
TRAIN = """
import sys
import fieldcraft as fc
corpus = fc.datasets.addresses(n=400)  # synthetic
try:
    crf = fc.ChainCRF("word[-1..1]", optimiser=sys.argv[1], n_jobs=4)
    crf.set_params(optimiser=type(fc.LBFGS())(max_iterations=4) if sys.argv[1] == "lbfgs" else sys.argv[1])
    crf.fit(corpus, max_seconds=5)
    crf.predict(corpus)
    crf.predict_marginals(corpus)
except (fc.FieldcraftError, MemoryError, RuntimeError, OSError, ImportError):
    pass
"""
SAVE = """
import sys
import fieldcraft as fc
crf = fc.ChainCRF().fit([[["a"], ["b"]]], [["N", "V"]])
for attempt in (lambda: crf.save(sys.argv[1]), lambda: crf.export(sys.argv[2])):
    try:
        attempt()
    except OSError as error:
        if not any(name.rpartition("/")[2] in str(error) for name in sys.argv[1:]):
            raise SystemExit(f"the message does not name the file: {error}")
"""


class Starvation:
    """The ways to starve a process, each a case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.skipped: list[str] = []
        self.shim = self._compiled()

    def _compiled(self) -> Path | None:
        compiler, library = shutil.which("cc") or shutil.which("gcc"), self.folder / "shim.so"
        (self.folder / "shim.c").write_text(SHIM)
        command = [compiler or "cc", "-shared", "-fPIC", "-o", library, self.folder / "shim.c", "-ldl"]
        if compiler is None or subprocess.run(command, capture_output=True, check=False).returncode:
            self.skipped.append("threads that cannot be created (no C compiler)")
            return None
        return library

    def threads(self, rng: random.Random) -> str | None:
        if self.shim is None:
            return None
        env = {"LD_PRELOAD": str(self.shim), "FAIL_AFTER": str(rng.randrange(6)), "OPENBLAS_NUM_THREADS": "1"}
        return problem_of(TRAIN, rng.choice(["lbfgs", "dual_ascent", "sgd"]), env=env, timeout=60)

    def memory(self, rng: random.Random) -> str | None:
        bytes_ = rng.randrange(300, 1200) << 20

        def before() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

        env = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
        problem = problem_of(TRAIN, "lbfgs", before=before, env=env, timeout=120)
        starved = problem is not None and ("ended with 1:" in problem or "ended with 120:" in problem)
        return None if starved else problem  # Python itself may fail to start

    def disk(self, rng: random.Random) -> str | None:
        folder = self.folder / "disk"
        folder.mkdir(exist_ok=True)
        model, exported, size = folder / "model.fc", folder / "model.crfsuite", rng.randrange(1, 4000)
        fc.ChainCRF().fit([[["a"], ["b"]]], [["old", "old"]]).save(model)
        content = model.read_bytes()

        def before() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        problem = problem_of(SAVE, model, exported, before=before)
        if problem is None and model.read_bytes() != content and len(model.read_bytes()) > size:
            problem = "a file is larger than it may be"
        if problem is None:
            fc.load(model)
        left = sorted(p.name for p in folder.iterdir() if p.name.startswith("."))
        shutil.rmtree(folder)
        return problem or (f"temporary files are left: {left}" if left else None)


def attack(folder: Path, seconds: float, first: int, limit: int | None) -> Result:
    """The ways by turns."""
    starved, finds, case, end = Starvation(folder), [], first, time.monotonic() + seconds
    ways: list[Callable[[random.Random], str | None]] = [starved.threads, starved.memory, starved.disk]
    while time.monotonic() < end and (limit is None or case - first < limit):
        way = ways[case % len(ways)]
        problem = way(random.Random(case))
        if problem:
            finds.append({"case": case, "way": way.__name__, "problem": problem})
        case += 1
    return Result(case - first, finds, tuple(starved.skipped))

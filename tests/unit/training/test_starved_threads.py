"""Threads that cannot be had: the work is done by those that there are, with the same bits.

A shared object that is loaded before the C library lets `pthread_create` fail where more than so many
threads are alive, as it does where the number of processes or the address space is limited.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make a failing pthread_create"),
]
TESTS = str(Path(__file__).resolve().parents[2])
FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
typedef int (*create_t)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
typedef struct { void* (*work)(void*); void* argument; } task_t;
static int most = 1 << 30, alive = 0, refused = 0;
void starve(int allowed) { most = allowed; }
int refusals(void) { return refused; }
static void* run(void* given) {
  task_t task = *(task_t*)given;
  free(given);
  void* result = task.work(task.argument);
  __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
  return result;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* a, void* (*work)(void*), void* argument) {
  if (__atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST) > most) {
    __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    ++refused;
    return EAGAIN;
  }
  task_t* task = malloc(sizeof *task);
  *task = (task_t){work, argument};
  return ((create_t)dlsym(RTLD_NEXT, "pthread_create"))(thread, a, run, task);
}
"""
BODY = f"""
import ctypes, os, sys
sys.path.insert(0, {TESTS!r})
if os.environ.get("FIELDCRAFT_CORE"):
    import conftest
import numpy as np
from fieldcraft import LBFGS, ChainCRF, DualAscent
from unit.training.corpora import draw
rng = np.random.default_rng(0)
X, y = draw(rng, 5, rng.integers(1, 40, size=300), n_names=100)
threads = ctypes.CDLL(os.environ["LD_PRELOAD"])
def answers(n_jobs, allowed):
    threads.starve(allowed)
    crf = ChainCRF(optimiser=OPTIMISER, n_jobs=n_jobs).fit(X, y)
    return crf.weights_.tobytes(), [list(row) for row in crf.predict(X)], crf.log_partition(X).tobytes()
once = answers(1, 1 << 30)
for allowed in (1, 0, 2, 3):
    before = threads.refusals()
    assert answers(4, allowed) == once, allowed
    print(allowed, threads.refusals() > before, flush=True)
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("failing")
    (folder / "failing.c").write_text(FAILING)
    out = folder / "failing.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(out), str(folder / "failing.c"), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a failing pthread_create does not compile: {done.stderr}")
    return out


@pytest.mark.parametrize("optimiser", ["LBFGS(max_iterations=3)", "DualAscent(max_iterations=3)"])
def test_fewer_threads_than_asked_for_give_the_same_bits(failing: Path, optimiser: str) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(failing), "OPENBLAS_NUM_THREADS": "1"}
    body = BODY.replace("OPTIMISER", optimiser)
    done = subprocess.run(
        [sys.executable, "-c", body], env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.stdout.splitlines() == ["1 True", "0 True", "2 True", "3 False"], done.stderr


def large_stacks() -> None:
    """A thread of this process will want a gigabyte of addresses."""
    resource.setrlimit(resource.RLIMIT_STACK, (2**30, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def test_a_limit_of_the_address_space_does_not_stop_training() -> None:
    """The training fits below the limit, the stack of one more thread does not."""
    if 0 <= resource.getrlimit(resource.RLIMIT_STACK)[1] < 2**30:
        pytest.skip("stacks of a gigabyte are not allowed here")
    body = (
        BODY.split("threads =")[0]
        + """
import resource
few = LBFGS(max_iterations=2)
once = ChainCRF(optimiser=few, n_jobs=1).fit(X, y).weights_
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + 600 * 2**20, resource.RLIM_INFINITY))
again = ChainCRF(optimiser=few, n_jobs=4).fit(X, y).weights_
print(once.tobytes() == again.tobytes())
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", body],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=large_stacks,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr

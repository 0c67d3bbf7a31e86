"""Threads that cannot be had: the work is done by those that there are, with the same bits.

A shared object that is loaded before the C library lets `pthread_create` fail after so many calls, as it does
where the number of processes or the address space is limited.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make a failing pthread_create"),
]
TESTS = str(Path(__file__).resolve().parents[2])
FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
static int left = 1 << 30;
void starve(int allowed) { left = allowed; }
typedef int (*create_t)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int pthread_create(pthread_t* thread, const pthread_attr_t* a, void* (*work)(void*), void* argument) {
  if (left-- <= 0) return left = 0, EAGAIN;
  return ((create_t)dlsym(RTLD_NEXT, "pthread_create"))(thread, a, work, argument);
}
"""
BODY = f"""
import ctypes, os, sys
sys.path.insert(0, {TESTS!r})
import conftest
import numpy as np
from fieldcraft import LBFGS, ChainCRF, DualAscent
from unit.training.corpora import draw
rng = np.random.default_rng(0)
X, y = draw(rng, 5, rng.integers(1, 40, size=300), n_names=100)
starve = ctypes.CDLL(os.environ["LD_PRELOAD"]).starve
def answers(n_jobs, allowed):
    starve(allowed)
    crf = ChainCRF(optimiser=OPTIMISER, n_jobs=n_jobs)
    starve(allowed)
    crf.fit(X, y)
    starve(allowed)
    return crf.weights_.tobytes(), [list(row) for row in crf.predict(X)], crf.log_partition(X).tobytes()
once = answers(1, 1 << 30)
for allowed in (0, 1, 2, 3):
    assert answers(4, allowed) == once, allowed
    print(allowed, flush=True)
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
    assert done.stdout.split() == ["0", "1", "2", "3"], done.stderr


def test_a_limit_of_the_address_space_does_not_stop_training() -> None:
    """Stacks of threads do not fit below the limit, the training does."""
    body = (
        BODY.replace("OPTIMISER", "LBFGS(max_iterations=2)").split("starve =")[0]
        + """
import resource
once = ChainCRF(optimiser=LBFGS(max_iterations=2), n_jobs=1).fit(X, y).weights_
resource.setrlimit(resource.RLIMIT_STACK, (2**30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 2**20, resource.RLIM_INFINITY))
again = ChainCRF(optimiser=LBFGS(max_iterations=2), n_jobs=4).fit(X, y).weights_
print(once.tobytes() == again.tobytes())
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, timeout=90, check=False
    )
    assert done.stdout.strip() == "True", done.stderr

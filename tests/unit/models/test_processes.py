"""One model in many threads and processes: shared, forked, pickled to workers."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF
from fieldcraft.errors import InputError
from fieldcraft.threads import allowed_cores, resolve_jobs
from unit.models.small import LABELS, batch, model

SHORT = LBFGS(max_iterations=5)


def test_threads_share_a_model() -> None:
    """Different questions at once; each answer is the one that a single thread gets."""
    crf = model(LABELS["iob2"])
    crf.n_jobs = 2
    X = batch(lengths=(7,) * 60)
    asks: list[Any] = [
        lambda: crf.predict(X).tolist(),
        lambda: np.concatenate(list(crf.predict_proba(X))).tobytes(),
        lambda: crf.k_best(X, 3),
        lambda: crf.sample(X, 3),
        lambda: crf.entropy(X).tobytes(),
        lambda: crf.span_probability(X, [[(0, 2, "A")]] * 60),
    ]
    expected = [ask() for ask in asks]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(4):
            futures = [pool.submit(ask) for ask in asks * 4]
            assert [future.result(60) for future in futures] == expected * 4


def test_threads_train_apart() -> None:
    """Training holds no global state: many at once give what each gives alone."""
    alone = {seed: model(LABELS["plain"], seed=seed).weights_.tobytes() for seed in range(4)}
    with ThreadPoolExecutor(4) as pool:
        found = dict(pool.map(lambda s: (s, model(LABELS["plain"], seed=s).weights_.tobytes()), alone))
    assert found == alone


def test_deepcopy_is_independent() -> None:
    crf = model(LABELS["plain"])
    other = copy.deepcopy(crf)
    before = crf.predict(batch()).tolist()
    other.fit([[["x"]]], [["Z"]])
    assert crf.predict(batch()).tolist() == before
    assert other.classes_.tolist() == ["Z"]


FORK = """
import os, sys
import numpy as np
from fieldcraft import ChainCRF, LBFGS
rng = np.random.default_rng(0)
X = [[[f"w{k}"] for k in rng.integers(30, size=20)] for _ in range(200)]
y = [[f"L{int(item[0][1:]) % 4}" for item in items] for items in X]
crf = ChainCRF(optimiser=LBFGS(max_iterations=3), n_jobs=2).fit(X, y)
expected = crf.predict(X).tolist(), np.concatenate(list(crf.predict_proba(X))).tobytes()
child = os.fork()
if child == 0:
    found = crf.predict(X).tolist(), np.concatenate(list(crf.predict_proba(X))).tobytes()
    again = ChainCRF(optimiser=LBFGS(max_iterations=3), n_jobs=2).fit(X, y)
    same = again.weights_.tobytes() == crf.weights_.tobytes()
    os._exit(0 if found == expected and same else 3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), crf.predict(X).tolist() == expected[0])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is a Unix notion")
@pytest.mark.alone
def test_fit_fork_predict() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "0 True", done.stderr


FORKS = """
import os, threading
from fieldcraft import ChainCRF, LBFGS
X = [[[f"w{(i * k) % 97}"] for k in range(20)] for i in range(400)]
y = [[f"L{int(item[0][1:]) % 4}" for item in items] for items in X]
mine, others = (ChainCRF(optimiser=LBFGS(max_iterations=2), n_jobs=1).fit(X[:50], y[:50]) for _ in range(2))
expected, over = mine.predict(X).tolist(), threading.Event()
def keep_on():
    while not over.is_set():
        others.predict(X)
thread = threading.Thread(target=keep_on)
thread.start()
codes = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if mine.predict(X).tolist() == expected else 3)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
thread.join()
print(set(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is a Unix notion")
@pytest.mark.alone
def test_a_fork_while_another_thread_takes_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "{0}", done.stderr


MEMORY = """
import os
from fieldcraft import ChainCRF, LBFGS
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
X = [[[f"w{(i * k) % 97}"] for k in range(40)] for i in range(5000)]
y = [[f"L{int(item[0][1:]) % 60}" for item in items] for items in X]
crf = ChainCRF(optimiser=LBFGS(max_iterations=2), n_jobs=2).fit(X[:100], y[:100])
crf.predict_proba(X[:100])
before = resident()
for _ in range(3):
    marginals = crf.predict_proba(X)
    with_it = resident()
    del marginals
print(with_it - before > 90, resident() - before < 80)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's figures")
def test_memory_of_a_batch_is_returned() -> None:
    """All but what is kept for the next one."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True True", done.stderr


def test_joblib_workers_use_one_thread() -> None:
    joblib = pytest.importorskip("joblib")
    crf = model(LABELS["plain"])
    crf.n_jobs = None
    X = batch()
    jobs, found = zip(*joblib.Parallel(n_jobs=2)(joblib.delayed(ask_in_worker)(crf, X) for _ in range(2)))
    assert jobs == (1, 1)
    assert list(found) == [crf.predict(X).tolist()] * 2


def ask_in_worker(crf: ChainCRF, X: Any) -> tuple[int, Any]:
    os.environ.pop("FIELDCRAFT_JOBS", None)  # set where these tests share the cores with others
    return resolve_jobs(None), crf.predict(X).tolist()


class TestJobs:
    def test_none_is_all_allowed_cores(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("FIELDCRAFT_JOBS", raising=False)
        assert resolve_jobs(None) == allowed_cores() >= 1
        assert resolve_jobs(-1) == allowed_cores()
        assert resolve_jobs(3) == 3

    def test_the_environment_overrides_none_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FIELDCRAFT_JOBS", "5")
        assert resolve_jobs(None) == 5
        assert resolve_jobs(2) == 2

    @pytest.mark.parametrize("wish", ["0", "many", "-1", "1.5"])
    def test_a_wish_that_is_no_number(self, wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FIELDCRAFT_JOBS", wish)
        with pytest.raises(InputError, match=f"FIELDCRAFT_JOBS is '{wish}'; it must be a positive"):
            resolve_jobs(None)

    def test_affinity_counts(self) -> None:
        code = (
            "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
            "from fieldcraft.threads import resolve_jobs; print(resolve_jobs(None))"
        )
        env = {k: v for k, v in os.environ.items() if k != "FIELDCRAFT_JOBS"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout.strip() == "1"

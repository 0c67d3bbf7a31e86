"""Ctrl-C inside one long call of the core is answered within a second."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

pytestmark = pytest.mark.alone
HEAD = """
import signal, time
import numpy as np
from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
rng = np.random.default_rng(0)
def inputs(tokens, S, n=1):
    cuts = np.linspace(0, tokens, n + 1).astype(int)
    return rng.normal(size=(tokens, S)), rng.normal(size=S * S), cuts, StateSpace.labels(S)
"""
ASKED = """
import sys
def watch(call):
    print("ready", flush=True)
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
while line := sys.stdin.readline():
    exec(eval(line))
"""
CALLS = {
    "k_best": "args = inputs(6_000, 10)\nwatch(lambda: chain.k_best(*args, 1_000))",
    "k_best in threads": "args = inputs(8_000, 10, 2)\nwatch(lambda: chain.k_best(*args, 1_000, n_jobs=2))",
    "sample": "args = inputs(2_000, 30)\nwatch(lambda: chain.sample(*args, 60_000, seed=0))",
    "marginals": "args = inputs(40_000, 60)\n"
    "watch(lambda: chain.marginals(*args, edge_totals=True, numerics='log'))",
    "log_marginals": "args = inputs(40_000, 60)\nwatch(lambda: chain.log_marginals(*args))",
    "argmax": "args = inputs(12_000, 1_500)\nwatch(lambda: chain.argmax(*args))",
    "log_partition": "args = inputs(12_000, 1_500)\nwatch(lambda: chain.log_partition(*args))",
}


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    """Runs the calls that it reads, one after another."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HEAD + ASKED]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as started:
        yield started
        started.kill()


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_is_answered_within_a_second(name: str, process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{CALLS[name]!r}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    assert process.poll() is None
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    answer = process.stdout.readline()
    waited = time.monotonic() - sent
    assert answer == "interrupted\n"  # so the call had not ended before
    assert waited < 1.0


def test_a_handler_that_raises_nothing_lets_the_call_go_on() -> None:
    body = """
args, seen = inputs(200_000, 20), []
signal.signal(signal.SIGALRM, lambda number, frame: seen.append(time.monotonic()))
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
drawn = chain.sample(*args, 80, seed=0)
ended = time.monotonic()
signal.setitimer(signal.ITIMER_REAL, 0)
print(any(moment < ended - 0.05 for moment in seen), drawn[0].shape)
"""
    done = subprocess.run([sys.executable, "-c", HEAD + body], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True (80, 200000)", done.stderr

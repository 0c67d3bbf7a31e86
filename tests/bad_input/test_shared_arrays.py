"""Arrays that another thread writes to while the core reads them: an answer or a refusal, never a crash.

The core gives up the interpreter lock while it works, and NumPy while it writes. What serves as an index is
therefore copied before it is checked. A child process shows whether it was: an index that was checked and
changed afterwards points far outside, which ends the process.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.structures.held import Held
from fieldcraft.structures.states import StateSpace

HEAD = """
import threading, time
import numpy as np
from fieldcraft.errors import InputError
from fieldcraft.structures import chain
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
N, S = 30_000, 3
rng = np.random.default_rng(0)
node, edge, states = rng.normal(size=(N, S)), np.zeros(S * S), StateSpace.labels(S)
offsets = np.arange(0, N + 1, 10)
R = 3_000
sequence, first, ptr = np.arange(R), np.zeros(R, np.int64), np.arange(R + 1)
allowed = np.ones((R, S), np.uint8)
done = threading.Event()

def windows():
    return chain.window_probability(node, edge, offsets, states, sequence, first, ptr, allowed)

def spoil(array, wrong):
    right = array.copy()
    while not done.is_set():
        array[:] = wrong
        array[:] = right

def run(array, wrong, ask):
    threading.Thread(target=spoil, args=(array, wrong), daemon=True).start()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        try:
            ask()
        except InputError:
            continue
    done.set()
    print("alive")
"""
ASKED = {
    "labels": """
labels = rng.integers(0, S, N).astype(np.int32)
run(labels, 2**30, lambda: chain.score(node, edge, offsets, states, labels))""",
    "labels of a structure": """
labels = rng.integers(0, S, N).astype(np.int32)
line = LinearChain(states)
potentials = line.potentials(node, edge, offsets)
def ask():
    try:
        return line.score(potentials, labels)
    except ValueError as error:
        raise InputError(str(error)) from None
run(labels, -(2**30), ask)""",
    "offsets": """
run(offsets, 2**60, lambda: chain.log_partition(node, edge, offsets, states))""",
    "windows": """
run(first, 2**59, windows)""",
    "sequences of windows": """
run(sequence, 2**40, windows)""",
    "extents of windows": """
run(ptr, 2**40, windows)""",
    "scores": """
run(node, np.nan, lambda: chain.argmax(node, edge, offsets, states)[1])""",
}


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("name", ASKED)
def test_an_array_that_changes_meanwhile_does_no_harm(name: str) -> None:
    command = [sys.executable, "-c", HEAD + ASKED[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_the_answer_is_that_of_the_array_as_it_was() -> None:
    """A copy, not a view: what happens to the array after the call cannot matter."""
    offsets = np.array([0, 2, 3])
    held = Held(np.zeros((3, 2)), np.zeros(4), offsets, StateSpace.labels(2))
    offsets[:] = 10**9
    assert _core.log_partition(held.potentials, "auto", 1) == pytest.approx([np.log(4), np.log(2)])

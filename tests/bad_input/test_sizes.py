"""Many labels: sizes are counted in 64 bits; what would not fit into memory is refused before any work."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from fieldcraft import ChainCRF, _core, memory
from fieldcraft.design import build_design
from fieldcraft.errors import InputError
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.potentials import check_matrices
from fieldcraft.structures import chain
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

MANY = 46_341  # the least number whose square does not fit 31 bits
MOST = 65_535


@pytest.fixture
def sixteen_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 16 * 2**30)


def sparse_space(n_states: int) -> StateSpace:
    """A ring: every state leads to the next one only."""
    states = np.arange(n_states, dtype=np.int32)
    targets = np.roll(states, -1)
    ones = np.ones(n_states, bool)
    return StateSpace(n_states, states, targets, ones, ones, states)


@pytest.mark.usefixtures("sixteen_gigabytes")
@pytest.mark.parametrize("n_labels", [MANY, MOST])
def test_training_is_refused_with_the_bytes_and_the_remedy(n_labels: int) -> None:
    labels = [str(i) for i in range(n_labels)]
    begun = time.monotonic()
    with pytest.raises(InputError, match=rf"{n_labels:,} states needs [\d,]+ bytes .*fewer labels"):
        ChainCRF(labels=labels).fit([["a"], ["b", "a"]], [["0"], ["1", "46340"]])
    assert time.monotonic() - begun < 5.0


@pytest.mark.usefixtures("sixteen_gigabytes")
def test_models_and_arrays_are_refused_too() -> None:
    space = sparse_space(MANY)
    asked = np.zeros((1, MANY)), np.zeros(MANY), [0, 1], space
    with pytest.raises(InputError, match="46,341 states needs"):
        chain.log_marginals(*asked)
    with pytest.raises(InputError, match="46,341 states needs"):
        LinearChain(space).log_marginals(LinearChain.potentials(*asked[:3]))
    assert chain.log_partition(*asked)[0] == pytest.approx(np.log(MANY))  # transitions are kept as a list
    with pytest.raises(InputError, match="46,341 states needs"):
        check_matrices("model", MANY)


@pytest.mark.usefixtures("sixteen_gigabytes")
def test_answers_that_do_not_fit_are_refused() -> None:
    space, wide = StateSpace.labels(2), StateSpace.labels(400)
    with pytest.raises(InputError, match=r"2,147,483,647 samples of 10 tokens needs .*fewer samples"):
        chain.sample(np.zeros((10, 2)), np.zeros(4), [0, 10], space, 2**31 - 1, seed=0)
    node = np.zeros((20_000, 400))
    with pytest.raises(InputError, match=r"transitions at each of 20,000 tokens needs .*fewer sequences"):
        chain.marginals(node, np.zeros(160_000), [0, 20_000], wide)


def test_what_fits_is_not_refused() -> None:
    check_matrices("training", 100)
    memory.check_memory(2**20, "nothing much", "none")
    assert _core.matrix_bytes("training", MANY) > 19 * 8 * MANY**2


def test_pairs_of_65535_labels_are_counted_right() -> None:
    """A pair of labels has a number up to 65535^2; no table of all pairs is made."""
    sequences = [["a", "b", "a"], ["a", "a"]]
    high = MOST - 1
    gold = np.array([high, high, 0, high - 1, high], np.int32)
    encoder = FreeFeatures()
    encoded = encoder.encode([[[name] for name in row] for row in sequences], grow=True)
    index = build_design(encoder, encoded, gold, MOST).index
    pairs = index.attribute < 0
    found = {(int(p), int(c)): int(n) for p, c, n in zip(
        index.previous[pairs], index.label[pairs], index.count[pairs]
    )}  # fmt: skip
    assert found == {(high, high): 1, (high, 0): 1, (high - 1, high): 1}


def test_edge_attributes_of_65535_labels_are_counted_right() -> None:
    encoder = FreeFeatures(edge_prefix="a")
    encoded = encoder.encode([[["a"], ["a"], ["a"]]], grow=True)
    gold = np.array([MOST - 1, MOST - 1, 5], np.int32)
    index = build_design(encoder, encoded, gold, MOST).index
    seen = index.attribute >= 0
    assert index.previous[seen].tolist() == [MOST - 1, MOST - 1]
    assert index.label[seen].tolist() == [5, MOST - 1]


def test_the_system_says_how_much_is_left() -> None:
    left = memory.available_bytes()
    if left is None:
        pytest.skip("this system does not tell")
    assert 0 < left < 2**60


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc/self/statm is Linux's")
def test_a_limit_of_the_address_space_counts() -> None:
    body = """
import resource
from fieldcraft import memory
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, resource.RLIM_INFINITY))
assert 0 < memory.available_bytes() < 4 * 2**30
from fieldcraft.errors import InputError
try:
    memory.check_memory(4 * 2**30, "a matrix", "use a smaller one")
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("a matrix needs 4,294,967,296 bytes of memory (4.0 GiB)"), done.stderr

"""Numbers beyond 31 bits and malformed sparse matrices are refused, never a crash or another exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fieldcraft import ChainCRF
from fieldcraft.errors import InputError
from fieldcraft.structures import chain
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

X, Y = [["a", "b"], ["b"]], [["X", "Y"], ["Y"]]
TWO = np.zeros((3, 2)), np.zeros(4), [0, 2, 3], StateSpace.labels(2)
LARGE = [2**31, 2**32 + 1, 2**63, 2**64, 10**30]


@pytest.fixture(scope="module")
def crf() -> ChainCRF:
    return ChainCRF().fit(X, Y)


CALLS: dict[str, Callable[[ChainCRF, Any], Any]] = {
    "k of chain": lambda _, n: chain.k_best(*TWO, n),
    "n of chain": lambda _, n: chain.sample(*TWO, n, seed=0),
    "n_jobs of chain": lambda _, n: chain.argmax(*TWO, n_jobs=n),
    "n_jobs of log_partition": lambda _, n: chain.log_partition(*TWO, n_jobs=n),
    "n_jobs of score": lambda _, n: chain.score(*TWO, [0, 1, 0], n_jobs=n),
    "n_jobs of a structure": lambda _, n: LinearChain(TWO[3], n_jobs=n),
    "k of a model": lambda crf, n: crf.k_best(X, n),
    "n of a model": lambda crf, n: crf.sample(X, n),
    "n_jobs of a model": lambda _, n: ChainCRF(n_jobs=n).fit(X, Y),
    "min_count": lambda _, n: ChainCRF(min_count=n).fit(X, Y),
}


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("name", CALLS)
def test_numbers_beyond_31_bits(crf: ChainCRF, name: str, number: int) -> None:
    with pytest.raises(InputError, match=rf"{number}; [a-z ]+ must be a whole number"):
        CALLS[name](crf, number)


@pytest.mark.parametrize("number", [1.5, "3", None, [1]])
@pytest.mark.parametrize("name", ["k of chain", "n of chain", "k of a model", "n of a model", "min_count"])
def test_what_is_no_whole_number(crf: ChainCRF, name: str, number: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number"):
        CALLS[name](crf, number)


def test_the_largest_numbers_are_accepted(crf: ChainCRF) -> None:
    assert len(chain.k_best(*TWO, 2**31 - 1)[0][1]) == 4
    assert len(crf.k_best(X, np.int64(2**31 - 1))[0]) == 4
    assert resolve_jobs(2**31 - 1) == 2**31 - 1
    with pytest.raises(InputError, match="no feature is left"):
        ChainCRF(min_count=2**31 - 1).fit(X, Y)


@pytest.mark.parametrize("wish", ["0", "2147483648", "9" * 30, "-1"])
def test_threads_from_the_environment(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    monkeypatch.setenv("FIELDCRAFT_JOBS", wish)
    with pytest.raises(InputError, match="FIELDCRAFT_JOBS"):
        resolve_jobs(None)


@pytest.mark.parametrize("labels", [[0, 2**32, 0], [0, 1.5, 0], [0, 2**70, 0], [0, np.nan, 0], [0, "x", 0]])
def test_labels_that_are_no_numbers_of_states(labels: Any) -> None:
    with pytest.raises(InputError, match="labels must be whole numbers"):
        chain.score(*TWO, labels)


@pytest.mark.parametrize("first", [2**63 - 1, 2**63 - 2, 2, 1])
def test_a_window_beyond_its_sequence(first: int) -> None:
    """With first = 2^63 - 1 the end of the window overflows."""
    with pytest.raises(InputError, match="beyond its sequence"):
        chain.window_probability(*TWO, [0], [first], [0, 2], np.ones((2, 2)))
    found = chain.window_probability(*TWO, [0], [0], [0, 2], np.ones((2, 2)))
    assert found.tolist() == [1.0]


NODE, EDGE, OFFSETS, STATES = TWO
ODD: dict[str, tuple[Callable[[], Any], str]] = {
    "states are a number": (lambda: chain.argmax(NODE, EDGE, OFFSETS, 2), "StateSpace"),  # type: ignore[arg-type]
    "node complex": (lambda: chain.argmax(NODE + 1j, EDGE, OFFSETS, STATES), "node potentials"),
    "node text": (lambda: chain.argmax([["a", "b"]] * 3, EDGE, OFFSETS, STATES), "node potentials"),  # type: ignore[arg-type]
    "node ragged": (lambda: chain.argmax([[1.0], [1.0, 2.0]], EDGE, OFFSETS, STATES), "node potentials"),
    "edge None": (lambda: chain.argmax(NODE, None, OFFSETS, STATES), "edge potentials"),  # type: ignore[arg-type]
    "offsets nested": (lambda: chain.argmax(NODE, EDGE, [OFFSETS], STATES), "offsets"),
    "offsets a number": (lambda: chain.argmax(NODE, EDGE, 3, STATES), "offsets"),
    "labels nested": (lambda: chain.score(*TWO, [[0, 1, 0]]), "labels"),
    "windows nested": (lambda: chain.window_probability(*TWO, [[0]], [0], [0, 1], [[1, 1]]), "sequence"),
    "sets flat": (lambda: chain.window_probability(*TWO, [0], [0], [0, 1], [1, 1]), "allowed"),
    "moved flat": (lambda: chain.covariance(*TWO, np.zeros(6)), "moved"),
    "moved short": (lambda: chain.covariance(*TWO, np.zeros((2, 2))), "moved"),
    "indicator beyond": (lambda: chain.indicator([0, 2, 0], OFFSETS, STATES), "labels"),
    "indicator below": (lambda: chain.indicator([0, -1, 0], OFFSETS, STATES), "labels"),
    "indicator short": (lambda: chain.indicator([0, 1], OFFSETS, STATES), "labels"),
}


@pytest.mark.parametrize("name", ODD)
def test_arrays_of_another_form_are_refused_by_name(name: str) -> None:
    call, named = ODD[name]
    with pytest.raises(InputError, match=named):
        call()


def spoilt(kind: str, **arrays: Any) -> Any:
    """A sparse matrix of two rows and three columns with other arrays than it was made with."""
    matrix = sparse.csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])).asformat(kind)
    for name, values in arrays.items():
        setattr(matrix, name, np.array(values))
    return matrix


MALFORMED: dict[str, Callable[[], Any]] = {
    "pointer begins late": lambda: spoilt("csr", indptr=[1, 2, 3]),
    "pointer falls": lambda: spoilt("csr", indptr=[0, 3, 2]),
    "pointer falls to 0": lambda: spoilt("csr", indptr=[0, 10**9, 0]),
    "pointer wraps": lambda: spoilt("csr", indptr=np.array([0, 2**31 - 1, -(2**31)], np.int32)),
    "pointer ends late": lambda: spoilt("csr", indptr=[0, 2, 10**9]),
    "pointer too short": lambda: spoilt("csr", indptr=[0, 3]),
    "pointer negative": lambda: spoilt("csr", indptr=[0, 2, -1]),
    "column too large": lambda: spoilt("csr", indices=[0, 3, 1]),
    "column far too large": lambda: spoilt("csr", indices=[0, 2**31 - 1, 1]),
    "column negative": lambda: spoilt("csr", indices=[0, -1, 1]),
    "too few values": lambda: spoilt("csr", data=[1.0]),
    "too few columns": lambda: spoilt("csr", indices=[0]),
    "columns are floats": lambda: spoilt("csr", indices=[0.0, 2.0, 1.0]),
    "pointers are floats": lambda: spoilt("csr", indptr=[0.0, 2.0, 3.0]),
    "columns in a table": lambda: spoilt("csr", indices=[[0], [2], [1]]),
    "by columns, row too large": lambda: spoilt("csc", indices=[0, 10**8, 1]),
    "by columns, pointer falls": lambda: spoilt("csc", indptr=[0, 10**9, 2, 3]),
    "coordinates": lambda: spoilt("coo", coords=(np.array([0, 0, 10**8]), np.array([0, 2, 1]))),
    "coordinates negative": lambda: spoilt("coo", coords=(np.array([0, 0, -5]), np.array([0, 2, 1]))),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_matrix_is_refused_by_its_sequence(name: str) -> None:
    good = sparse.csr_matrix(np.eye(2, 3))
    with pytest.raises(InputError, match=r"^sequence 1: the sparse matrix is malformed"):
        ChainCRF().fit([good, MALFORMED[name]()], [["X", "Y"], ["X", "Y"]])


def test_a_matrix_that_went_bad_after_training_is_refused_too() -> None:
    good = sparse.csr_matrix(np.eye(2, 3))
    crf = ChainCRF().fit([good], [["X", "Y"]])
    with pytest.raises(InputError, match="^sequence 0: the sparse matrix is malformed"):
        crf.predict([spoilt("csr", indices=[0, 10**8, 1])])


def test_duplicates_are_added_up_and_the_matrix_of_the_caller_stays() -> None:
    double = sparse.csr_matrix((np.array([1.0, 1.0, 3.0]), np.array([2, 2, 0]), np.array([0, 2, 3])), (2, 3))
    double.has_canonical_format = True  # a lie
    single = sparse.csr_matrix(np.array([[0.0, 0.0, 2.0], [3.0, 0.0, 0.0]]))
    weights = [ChainCRF().fit([matrix], [["X", "Y"]]).weights_ for matrix in (double, single)]
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-12)
    assert double.indices.tolist() == [2, 2, 0]


def test_more_columns_than_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldcraft.memory.available_bytes", lambda: 2**34)
    wide = sparse.csr_matrix((np.ones(1), np.array([2**40]), np.array([0, 1])), (1, 2**41))
    with pytest.raises(InputError, match=r"2,199,023,255,552 columns needs"):
        ChainCRF().fit([wide], [["X"]])

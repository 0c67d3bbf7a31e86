"""What the chain functions refuse, and what they accept though it looks odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldcraft.errors import InputError
from fieldcraft.structures import chain
from laws.cases import Batch, draw, same

Ask = Callable[[Batch], Any]
ASKS: dict[str, Ask] = {
    "log_partition": lambda b: chain.log_partition(*b.inputs),
    "marginals": lambda b: chain.marginals(*b.inputs),
    "argmax": lambda b: chain.argmax(*b.inputs),
    "k_best": lambda b: chain.k_best(*b.inputs, 2),
    "sample": lambda b: chain.sample(*b.inputs, 2, seed=0),
    "entropy": lambda b: chain.entropy(*b.inputs),
    "score": lambda b: chain.score(*b.inputs, np.zeros(len(b.node), dtype=np.int32)),
}
every_ask = pytest.mark.parametrize("ask", list(ASKS.values()), ids=list(ASKS))


def batch(*, shared: bool = True, dtype: str = "f8") -> Batch:
    return draw(np.random.default_rng(1), 3, [2, 3, 4, 1], shared=shared, dtype=dtype)


def blocked(where: str) -> Batch:
    """Sequence 2 has no labelling of finite score."""
    plain = batch(shared=False)
    parts = {"node": plain.node.copy(), "edge": plain.edge.copy()}
    parts[where][6] = -np.inf  # token 1 of sequence 2
    return replace(plain, **parts)


@pytest.mark.parametrize("where", ["node", "edge"])
def test_a_sequence_without_labelings_has_log_partition_minus_infinity(where: str) -> None:
    expected = chain.log_partition(*batch(shared=False).inputs)
    expected[2] = -np.inf
    for numerics in ("scaled", "log", "auto"):
        found = chain.log_partition(*blocked(where).inputs, numerics=numerics)
        assert np.isneginf(found[2])
        same(found[[0, 1, 3]], expected[[0, 1, 3]])


@pytest.mark.parametrize("where", ["node", "edge"])
@pytest.mark.parametrize("name", ["marginals", "argmax", "k_best", "sample"])
def test_a_sequence_without_labelings_is_refused_by_its_number(where: str, name: str) -> None:
    with pytest.raises(InputError, match=r"sequence 2\b"):
        ASKS[name](blocked(where))


@pytest.mark.parametrize("numerics", ["scaled", "log", "auto"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_marginals_refuse_it_in_every_arithmetic(numerics: str, n_jobs: int) -> None:
    with pytest.raises(InputError, match=r"sequence 2\b"):
        chain.marginals(*blocked("node").inputs, numerics=numerics, n_jobs=n_jobs)


def test_no_start_and_no_stop_leave_no_labelling() -> None:
    for end in ("starts", "stops"):
        closed = replace(batch(), **{end: np.zeros(3, dtype=bool)})
        assert np.isneginf(chain.log_partition(*closed.inputs)).all()
        with pytest.raises(InputError, match=r"sequence 0\b"):
            chain.argmax(*closed.inputs)


def test_a_sequence_too_long_for_its_state_space() -> None:
    """0 -> 1 -> 2 and no further: four tokens have no labelling, three have one."""
    line = replace(
        batch(),
        sources=np.array([0, 1], dtype=np.int32),
        targets=np.array([1, 2], dtype=np.int32),
        edge=np.zeros(2),
    )
    assert np.isneginf(chain.log_partition(*line.inputs)).tolist() == [False, False, True, False]
    with pytest.raises(InputError, match=r"sequence 2\b"):
        chain.marginals(*line.inputs)


def test_a_labelling_may_be_forbidden() -> None:
    values = chain.score(*blocked("node").inputs, np.zeros(10, dtype=np.int32))
    assert np.isneginf(values).tolist() == [False, False, True, False]


@every_ask
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["node", "edge"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shared", [True, False])
def test_nan_and_plus_infinity_are_refused(
    ask: Ask, value: float, where: str, dtype: str, shared: bool
) -> None:
    given = batch(shared=shared, dtype=dtype)
    part = getattr(given, where).copy()
    part[4 if part.ndim == 1 else (4, 1)] = value
    with pytest.raises(InputError):
        ask(replace(given, **{where: part}))


WRONG: dict[str, Callable[[Batch], Batch]] = {
    "states": lambda b: replace(b, node=b.node[:, :2]),
    "edges": lambda b: replace(b, edge=b.edge[:8]),
    "edge rows": lambda b: replace(b, edge=np.zeros((9, 9))),
    "offsets end": lambda b: replace(b, offsets=b.offsets[:-1]),
    "offsets start": lambda b: replace(b, offsets=b.offsets[1:]),
    "offsets fall": lambda b: replace(b, offsets=np.array([0, 5, 2, 9, 10])),
    "no offsets": lambda b: replace(b, offsets=np.zeros(0, dtype=np.int64)),
    "one dimension": lambda b: replace(b, node=b.node[:, 0]),
}


@every_ask
@pytest.mark.parametrize("spoil", list(WRONG.values()), ids=list(WRONG))
def test_shapes_that_do_not_fit_are_refused(ask: Ask, spoil: Callable[[Batch], Batch]) -> None:
    with pytest.raises(InputError):
        ask(spoil(batch()))


def test_settings_that_mean_nothing_are_refused() -> None:
    given = batch().inputs
    with pytest.raises(InputError, match="numerics"):
        chain.log_partition(*given, numerics="exact")
    with pytest.raises(InputError, match=r"\bk\b"):
        chain.k_best(*given, 0)
    with pytest.raises(InputError):
        chain.sample(*given, -1, seed=0)


@pytest.mark.parametrize("label", [-1, 3])
def test_labels_outside_the_state_space_are_refused(label: int) -> None:
    labels = np.zeros(10, dtype=np.int32)
    labels[7] = label
    with pytest.raises(InputError):
        chain.score(*batch().inputs, labels)


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(InputError):
        chain.score(*batch().inputs, np.zeros(9, dtype=np.int32))


def test_no_samples_are_an_empty_answer() -> None:
    shapes = [drawn.shape for drawn in chain.sample(*batch().inputs, 0, seed=0)]
    assert shapes == [(0, 2), (0, 3), (0, 4), (0, 1)]


def flat(answer: Any) -> list[Any]:
    """The arrays of an answer, whether one, a tuple, or a list of them."""
    if isinstance(answer, np.ndarray):
        return [answer]
    return [array for part in answer for array in flat(part)]


@every_ask
def test_strided_arrays_and_mixed_precision_are_accepted(ask: Ask) -> None:
    given = batch(shared=False, dtype="f4")
    odd = replace(
        given,
        node=np.asfortranarray(given.node),
        edge=np.repeat(given.edge.astype("f8"), 2, axis=1)[:, ::2],
    )
    for found, expected in zip(flat(ask(odd)), flat(ask(given)), strict=True):
        same(found, expected)


def test_marginals_are_named() -> None:
    found = chain.marginals(*batch().inputs)
    assert found._fields == ("node", "edge", "log_partition")
    assert chain.marginals(*batch().inputs, edge_totals=True).edge.shape == (9,)

"""The table of chains that drives the laws, and what enumeration says about each.

A case is a state count x the layout of the edge potentials x the state space x forbidden parts. Its
batch holds one sequence of every length 0 .. 6. Potentials are drawn with a fixed seed. State `home` may
start, stop and repeat and is never forbidden, so that every length has a labelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fieldcraft.objectives import OBJECTIVES
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from oracles import chain as oracle
from oracles import chain_reference as reference

Floats = NDArray[np.float64]
LENGTHS = (3, 0, 1, 6, 2, 5, 4)
NUMERICS = ("scaled", "log", "auto")
OF_CHAINS = {  # objectives that chains have the operations for
    name: kind for name, kind in OBJECTIVES.items() if all(hasattr(LinearChain, one) for one in kind.needs)
}


def same(actual: ArrayLike, expected: ArrayLike, *, rel: float = 1e-9, abs: float = 1e-12) -> None:
    """Every element agrees; shapes too."""
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=rel, atol=abs)


@contextmanager
def named(case: object) -> Iterator[None]:
    """A failure inside says in which round of a loop it happened."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{case}: {error}") from error


def identical(actual: Any, expected: Any) -> None:
    """Arrays, or tuples and lists of them, agree to the last bit."""
    if not isinstance(expected, np.ndarray):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected):
            identical(one, other)
        return
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert actual.tobytes() == expected.tobytes()


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    n_states: int
    shared: bool  # edge potentials [E] for all positions, else [tokens, E]
    sparse: bool  # about half of the transitions, starts and stops, else all
    forbidden: bool  # some parts at -inf

    def __str__(self) -> str:
        return "-".join(
            [
                f"S{self.n_states}",
                "shared" if self.shared else "tokens",
                "sparse" if self.sparse else "plain",
                "forbidden" if self.forbidden else "free",
            ]
        )


CASES = [Case(*row) for row in product((1, 2, 3, 4, 5), (True, False), (False, True), (False, True))]


@dataclass(frozen=True, eq=False)
class Batch:
    """A ragged batch in the layout of fieldcraft.structures.chain."""

    node: Floats  # [tokens, S]
    edge: Floats  # [E] or [tokens, E]
    offsets: NDArray[np.int64]  # [N + 1]
    sources: NDArray[np.int32]  # [E]
    targets: NDArray[np.int32]  # [E]
    starts: NDArray[np.bool_]  # [S]
    stops: NDArray[np.bool_]  # [S]

    @property
    def states(self) -> StateSpace:
        n = len(self.starts)
        own = np.arange(n, dtype=np.int32)
        return StateSpace(n, self.sources, self.targets, self.starts, self.stops, own)

    @property
    def inputs(self) -> tuple[Floats, Floats, NDArray[np.int64], StateSpace]:
        """node, edge, offsets, states: the leading arguments of every function under test."""
        return self.node, self.edge, self.offsets, self.states

    @property
    def lengths(self) -> list[int]:
        return [int(length) for length in np.diff(self.offsets)]

    def rows(self, i: int) -> slice:
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def edge_rows(self, i: int) -> Floats:
        """[T, E] of one sequence, whether shared or not."""
        if self.edge.ndim == 2:
            return self.edge[self.rows(i)]
        return np.broadcast_to(self.edge, (self.lengths[i], len(self.edge)))

    def sequence(self, i: int) -> Batch:
        """The batch that holds sequence i alone."""
        rows = self.rows(i)
        edge = self.edge if self.edge.ndim == 1 else self.edge[rows]
        ends = np.array([0, rows.stop - rows.start])
        return replace(self, node=self.node[rows], edge=edge, offsets=ends)

    def per_token(self) -> Batch:
        """The same potentials with edge [tokens, E]."""
        if self.edge.ndim == 2:
            return self
        return replace(self, edge=np.tile(self.edge, (len(self.node), 1)))

    def oracle(self, i: int) -> oracle.Chain:
        """Sequence i for the enumeration."""
        return oracle.Chain(
            tuple(map(tuple, self.node[self.rows(i)].astype(float).tolist())),
            tuple(map(tuple, self.edge_rows(i).astype(float).tolist())),
            tuple(zip(self.sources.tolist(), self.targets.tolist())),
            tuple(self.starts.tolist()),
            tuple(self.stops.tolist()),
        )

    def reference(self, i: int) -> reference.Dense:
        """Sequence i for the log-space reference."""
        edge = self.edge if self.edge.ndim == 1 else self.edge[self.rows(i)]
        space = (self.sources, self.targets, self.starts, self.stops)
        return reference.dense(self.node[self.rows(i)], edge, *space)


def offsets_of(lengths: ArrayLike) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


def pack(batches: list[Batch]) -> Batch:
    """Several batches over one state space as one."""
    edge = batches[0].edge
    if edge.ndim == 2:
        edge = np.concatenate([batch.edge for batch in batches])
    lengths = [length for batch in batches for length in batch.lengths]
    node = np.concatenate([batch.node for batch in batches])
    return replace(batches[0], node=node, edge=edge, offsets=offsets_of(lengths))


def draw(
    rng: np.random.Generator,
    n_states: int,
    lengths: ArrayLike,
    *,
    shared: bool = True,
    sparse: bool = False,
    forbidden: bool = False,
    scale: float = 2.0,
    dtype: DTypeLike = "f8",
) -> Batch:
    """A random batch with a labelling of finite score for every length."""
    home = int(rng.integers(n_states))
    keep = rng.random((n_states, n_states)) < (0.5 if sparse else 2.0)
    starts, stops = (rng.random(n_states) < (0.6 if sparse else 2.0) for _ in range(2))
    keep[home, home] = starts[home] = stops[home] = True
    sources, targets = (ends.astype(np.int32) for ends in np.nonzero(keep))
    offsets = offsets_of(lengths)
    node = rng.normal(scale=scale, size=(offsets[-1], n_states))
    size = (len(sources),) if shared else (offsets[-1], len(sources))
    edge = rng.normal(scale=scale, size=size)
    if forbidden:
        node[(rng.random(node.shape) < 0.2) & (np.arange(n_states) != home)] = -np.inf
        stays = (sources == home) & (targets == home)
        edge[(rng.random(edge.shape) < 0.2) & ~stays] = -np.inf
    return Batch(node.astype(dtype), edge.astype(dtype), offsets, sources, targets, starts, stops)


@cache
def batch_of(case: Case) -> Batch:
    """The batch of a row of the table."""
    options = {"shared": case.shared, "sparse": case.sparse, "forbidden": case.forbidden}
    rng = np.random.default_rng(CASES.index(case) + 1)
    return draw(rng, case.n_states, LENGTHS, **options)


class Answers(NamedTuple):
    """What enumeration says about a batch, in the layout of the functions under test."""

    log_partition: Floats  # [N]
    node: Floats  # [tokens, S]
    edge: Floats  # [tokens, E]
    entropy: Floats  # [N]
    best: list[list[tuple[oracle.Path, float]]]  # [N] the 21 best labelings and their scores


def enumerate_all(batch: Batch) -> Answers:
    """Ask the oracle about every sequence of a batch."""
    chains = [batch.oracle(i) for i in range(len(batch.lengths))]
    n_edges, n_states = len(batch.sources), len(batch.starts)
    nodes = [row for chain in chains for row in oracle.node_marginals(chain)]
    edges = [row for chain in chains for row in oracle.edge_marginals(chain)]
    return Answers(
        np.array([oracle.log_partition(chain) for chain in chains]),
        np.array(nodes).reshape(-1, n_states),
        np.array(edges).reshape(-1, n_edges),
        np.array([oracle.entropy(chain) for chain in chains]),
        [oracle.k_best(chain, 21) for chain in chains],
    )


@cache
def answers_of(case: Case) -> Answers:
    """The oracle's answers to a row of the table, computed once."""
    return enumerate_all(batch_of(case))

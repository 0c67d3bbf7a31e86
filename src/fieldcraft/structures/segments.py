"""Segments: a semi-Markov chain, in which a sequence is cut into typed segments.

    score = sum over segments (X, s .. t) of  node[s, first(X)] + segment[t, X, d]
            + sum over its later tokens u of  edge[u, -> later(X)] + node[u, later(X)]
            + sum over neighbouring segments of  edge[s, last state before s -> first(X)]

A token is in the state first(X) or later(X) of its segment's type X, so that states [tokens] spell a
segmentation in one way. Without segment scores this is the chain over these states in which later(X) follows
first(X) and later(X) only (``SegmentSpace.chain``).

Layout: "node" [tokens, S]; "edge" [E] or [tokens, E], row t is the step from t-1 to t; "segment" [C] or
[tokens, C], row t is for segments that end with token t, column ``column[X] + d - 1`` for those of type X
with d tokens. States 0 .. K-1 are the first ones of the K types; -inf forbids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Inference
from fieldcraft.structures.extents import check_samples
from fieldcraft.structures.held import whole_numbers
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SegmentSpace:
    """Types of segments, and how many tokens a segment of each may have.

    Parameters
    ----------
    types : names
    longest : [K] most tokens of a segment of each type

    >>> space = SegmentSpace(["LOC", "O"], [3, 1])
    >>> space.states
    ('B-LOC', 'B-O', 'I-LOC')
    """

    types: Sequence[str]
    longest: Any

    def __post_init__(self) -> None:
        if not len(self.types) or len(set(self.types)) < len(self.types):
            raise InputError(f"types {list(self.types)}; give at least one name, each once")
        if len(self.longest) != len(self.types):
            raise InputError(f"{len(self.longest)} lengths for {len(self.types)} types of segments")
        lengths = [whole_number(n, "longest", 1, "the longest segment") for n in self.longest]
        object.__setattr__(self, "types", tuple(self.types))
        object.__setattr__(self, "longest", np.array(lengths, np.int32))

    @property
    def n_types(self) -> int:
        return len(self.types)

    @cached_property
    def later(self) -> Ints:
        """[K] the state of a segment's later tokens, -1 where it has none."""
        several = np.asarray(self.longest) > 1
        return np.where(several, self.n_types + np.cumsum(several) - 1, -1).astype(np.int32)

    @property
    def n_states(self) -> int:
        return len(self.type_of)

    @cached_property
    def type_of(self) -> Ints:
        """[S] the type of each state."""
        several = np.flatnonzero(np.asarray(self.longest) > 1)
        return np.concatenate([np.arange(self.n_types), several]).astype(np.int32)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """[S] names of the states: B- for the first token of a segment, I- for later ones."""
        letters = ["B"] * self.n_types + ["I"] * (self.n_states - self.n_types)
        return tuple(f"{letter}-{self.types[x]}" for letter, x in zip(letters, self.type_of))

    @cached_property
    def column(self) -> Ints:
        """[K + 1] the first column of each type; last, the number of all."""
        return np.concatenate([[0], np.cumsum(self.longest)]).astype(np.int32)

    @property
    def n_columns(self) -> int:
        return int(self.column[-1])

    @cached_property
    def column_type(self) -> Ints:
        """[C] the type of each column."""
        return np.repeat(np.arange(self.n_types), self.longest).astype(np.int32)

    @cached_property
    def column_length(self) -> Ints:
        """[C] how many tokens the segments of each column have."""
        return (np.arange(self.n_columns) - self.column[self.column_type] + 1).astype(np.int32)

    @cached_property
    def chain(self) -> StateSpace:
        """The chain over the states, in which segments have any length."""
        firsts, states = np.arange(self.n_types), np.arange(self.n_states, dtype=np.int32)
        allowed = np.zeros((self.n_states, self.n_states), bool)
        allowed[:, firsts] = True
        several = np.flatnonzero(self.later >= 0)
        allowed[several, self.later[several]] = allowed[self.later[several], self.later[several]] = True
        sources, targets = (at.astype(np.int32) for at in np.nonzero(allowed))
        starts = states < self.n_types
        ones = np.ones(self.n_states, bool)
        return StateSpace(self.n_states, sources, targets, starts, ones, states, self.states)

    @cached_property
    def native(self) -> Any:
        """The core's form of it."""
        chain = self.chain
        firsts = np.arange(self.n_types, dtype=np.int32)
        return _core.segment_space(self.longest, firsts, self.later, chain.sources, chain.targets)

    def segments(self, states: ArrayLike, offsets: NDArray[np.int64]) -> tuple[Ints, Ints, Ints]:
        """The segments that states [tokens] spell: their last tokens, lengths and types, in order."""
        given = np.asarray(states)
        begins = given < self.n_types
        begins[offsets[:-1][np.diff(offsets) > 0]] = True
        start = np.flatnonzero(begins)
        end = np.append(start[1:], len(given)) - 1 if len(start) else start
        columns = (end, end - start + 1, self.type_of[given[start]])
        return columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2]


class Segments(Structure):
    """A semi-Markov chain over the types of a space.

    Parameters
    ----------
    space : types and lengths
    names : names of the states that labels= of objectives and weights use; those of the space by default
    n_jobs : threads

    >>> line = Segments(SegmentSpace(["X"], [2]))
    >>> potentials = line.potentials(np.zeros((3, 2)), np.zeros(4), np.zeros(2), [0, 3])
    >>> np.exp(line.log_partition(potentials)).round(6)  # 1+1+1, 1+2, 2+1
    array([3.])
    """

    name: ClassVar[str] = "segments"
    parts: ClassVar[tuple[str, ...]] = ("node", "edge", "segment")

    def __init__(self, space: SegmentSpace, names: Sequence[str] | None = None, *, n_jobs: int = 1) -> None:
        super().__init__(space.states if names is None else names, n_jobs=n_jobs)
        self.space = space

    @staticmethod
    def potentials(node: ArrayLike, edge: ArrayLike, segment: ArrayLike, offsets: ArrayLike) -> Parts:
        """Arrays as potentials."""
        given = {"node": node, "edge": edge, "segment": segment}
        arrays = {name: np.asarray(array, np.float64) for name, array in given.items()}
        return Parts(arrays, np.asarray(offsets, np.int64))

    # -- operations ---------------------------------------------------------------------------------

    def log_partition(self, potentials: Parts) -> Floats:
        return np.asarray(self._handle(potentials).log_partition(self.n_jobs))

    def infer(self, potentials: Parts) -> Inference:
        node, edge, segment, log_z = self._handle(potentials).marginals(self.n_jobs)
        parts = self.potentials(node, edge, segment, potentials.offsets)
        return Inference(log_z, parts, method="forward-backward")

    def marginals(self, potentials: Parts) -> Parts:
        marginals: Parts = self.infer(potentials).marginals
        return marginals

    def argmax(self, potentials: Parts) -> tuple[Ints, Floats]:
        states, scores = self._handle(potentials).argmax(self.n_jobs)
        return states, scores

    def score(self, potentials: Parts, states: Ints) -> Floats:
        given = whole_numbers(states, np.int32, "states")
        return np.asarray(self._handle(potentials).score(given, self.n_jobs))

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        space, chain = self.space, self.space.chain
        given, n = np.asarray(states), len(states)
        node, edge = np.zeros((n, space.n_states)), np.zeros((n, chain.n_transitions))
        segment = np.zeros((n, space.n_columns))
        node[np.arange(n), given] = 1.0
        later = np.ones(n, bool)
        later[offsets[:-1][np.diff(offsets) > 0]] = False
        at = np.flatnonzero(later)
        cells = given[at - 1].astype(np.int64) * space.n_states + given[at]
        places = np.minimum(np.searchsorted(chain.cells, cells), chain.n_transitions - 1)
        inside = chain.cells[places] == cells
        edge[at[inside], places[inside]] = 1.0
        end, length, kind = space.segments(given, offsets)
        fits = length <= np.asarray(space.longest)[kind]
        segment[end[fits], (space.column[kind] + length - 1)[fits]] = 1.0
        return self.potentials(node, edge, segment, offsets)

    def k_best(self, potentials: Parts, k: int) -> list[tuple[Ints, Floats]]:
        """Per sequence the states [k', T] and scores [k'] of its k best segmentations."""
        return list(self._handle(potentials).k_best(whole_number(k, "k", 1), self.n_jobs))

    def sample(self, potentials: Parts, n: int, seed: int, *, first: int = 0) -> list[Ints]:
        """Per sequence the states [n, T] of n segmentations drawn at random.

        A sequence draws by its number, counted from ``first``, so that a batch may be cut into several.
        """
        n = whole_number(n, "n", 0, "the number of samples")
        if not isinstance(seed, (int, np.integer)):
            raise InputError(f"random_state is {seed!r}; sampling needs a whole number")
        check_samples(n, potentials.offsets)
        return list(self._handle(potentials).sample(n, int(seed) % 2**64, first, self.n_jobs))

    def boundaries(self, marginals: Parts) -> list[Floats]:
        """Per sequence [T + 1] the probability that a segment begins or ends between two tokens."""
        firsts = marginals["node"][:, : self.space.n_types].sum(axis=1)
        bounds = marginals.offsets.tolist()
        rows = (firsts[a:b] for a, b in zip(bounds, bounds[1:]))
        return [np.concatenate([np.minimum(row, 1.0), [1.0]]) for row in rows]

    # -- labels and classes -------------------------------------------------------------------------

    def used_rows(self, name: str, offsets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        if name != "edge":
            return None
        later = np.ones(int(offsets[-1]), bool)  # no step leads to a first position
        later[offsets[:-1][np.diff(offsets) > 0]] = False
        return later

    @property
    def is_plain(self) -> bool:
        return False

    def configurations(self) -> Mapping[str, Ints]:
        types = np.arange(self.space.n_types, dtype=np.int32)[:, None]
        chain = self.space.chain
        nodes = {"node": chain.node_labels, "edge": chain.edge_labels}
        return {**nodes, "first": types, "last": types, "segment": types}

    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]:
        return {name: (table, table) for name, table in self.configurations().items()}

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        """[C] where the column stands in a row of candidates [longest of all, K], flattened."""
        space = self.space
        return (space.column_length.astype(np.int64) - 1) * space.n_types + space.column_type

    @property
    def longest(self) -> int:
        """Most tokens of a segment of any type."""
        return int(np.max(self.space.longest))

    def expand(self, classes: Parts) -> Parts:
        """Numbers of segments, [tokens * longest, K], and of their first and last tokens, in place."""
        n, space = classes.n_positions, self.space
        node = np.array(np.broadcast_to(classes["node"], (n, space.n_states)))
        node[:, : space.n_types] += classes["first"]
        given, last = classes["segment"], classes["last"][..., space.column_type]
        if given.ndim == 1 and last.ndim == 1:
            segment = given[space.column_type] + last
        else:
            cells = np.broadcast_to(given, (n * self.longest, space.n_types))
            segment = cells.reshape(n, -1)[:, self._cells] + last
        return self.potentials(node, classes["edge"], segment, classes.offsets)

    def collapse(self, gradient: Parts) -> Parts:
        space, segment = self.space, gradient["segment"]
        cells = np.zeros((len(segment), self.longest * space.n_types))
        cells[:, self._cells] = segment
        last = np.add.reduceat(segment, space.column[:-1], axis=1) if len(segment) else segment[:, :0]
        arrays = {
            "node": gradient["node"],
            "edge": gradient["edge"],
            "first": gradient["node"][:, : space.n_types],
            "last": last.reshape(len(segment), space.n_types),
            "segment": cells.reshape(-1, space.n_types),
        }
        return Parts(arrays, gradient.offsets)

    # -- inside -------------------------------------------------------------------------------------

    def _handle(self, potentials: Parts) -> Any:
        n, space = potentials.n_positions, self.space
        node = np.broadcast_to(potentials["node"], (n, space.n_states))
        rows = (np.atleast_2d(potentials[name]) for name in ("edge", "segment"))
        node, edge, segment = (np.ascontiguousarray(array, np.float64) for array in (node, *rows))
        try:
            return _core.SegmentPotentials(space.native, node, edge, segment, potentials.offsets)
        except ValueError as error:
            raise InputError(str(error)) from None

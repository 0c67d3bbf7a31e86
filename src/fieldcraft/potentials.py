"""Weights -> potentials: the linear map that every model here is.

    node[t, y]        = sum of value * weight over the token's features with label y
    edge[t, y', y]    = weight of (y', y)  +  the same over its features with the pair (y', y)

Two ways lead from weights to potentials. ``ChainWeights`` scores chains of plain labels natively, sequence
by sequence. ``FeatureTable`` serves every structure: for each part (node, edge …) a sparse map from weights
to one number per position and label configuration, with its adjoint, block by block; ``TableWeights`` scores
with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import native_tokens
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded, gather
from fieldcraft.features.index import BY_LENGTH, FeatureIndex
from fieldcraft.features.packed import PackedIndex
from fieldcraft.memory import check_memory

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Parts:
    """Numbers for the parts of a batch of sequences: potentials, marginals, an indicator or a gradient.

    Parameters
    ----------
    arrays : by the name of the part: [rows, width], one row per position unless the structure says otherwise;
        potentials may be [width] where all rows are equal
    offsets : [N + 1] first position of each sequence
    """

    arrays: Mapping[str, Floats]
    offsets: NDArray[np.int64]

    def __getitem__(self, part: str) -> Floats:
        return self.arrays[part]

    @property
    def n_positions(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


class NativePotentials(NamedTuple):
    """Potentials of a batch that the core computes sequence by sequence, when it is asked.

    handle : what the core's questions take
    offsets : [N + 1] first position of each sequence
    classes : the potentials of node classes and pairs of these, where ``handle`` is one over a state space
    space : the graph of that space and what tuples add to its transitions [E]
    """

    handle: Any
    offsets: NDArray[np.int64]
    classes: Any = None
    space: tuple[Any, Floats] | None = None

    def scored(self, n_jobs: int) -> NativePotentials:
        """The same with node scores that are computed now and kept, for more than one question."""
        if self.space is None:
            return NativePotentials(_core.scored_potentials(self.handle, n_jobs), self.offsets)
        return self._replace(classes=_core.scored_potentials(self.classes, n_jobs)).over(*self.space)

    def over(self, graph: Any, extra: Floats, allowed: NDArray[Any] | None = None) -> NativePotentials:
        """The same scores over another state space of the same classes; ``allowed`` [tokens, Y] by label."""
        classes = self.handle if self.classes is None else self.classes
        mask = None if allowed is None else np.ascontiguousarray(allowed, np.uint8)
        handle = _core.state_potentials(graph, classes, np.ascontiguousarray(extra, np.float64), mask)
        return NativePotentials(handle, self.offsets, classes, (graph, extra))

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        return int(getattr(self.handle if self.classes is None else self.classes, "n_bytes", 0))


class ChainWeights:
    """A packed feature index with its weights, ready for scoring; threads may share it.

    ``weights`` have the order of the packed index and are read in place, not copied.
    """

    lazy = True  # potentials are computed when they are used

    def __init__(self, packed: PackedIndex, weights: Floats) -> None:
        check_matrices("model", packed.n_states)
        parts: dict[str, Any] = {**packed.numbers, **packed.arrays}
        self._model = _core.chain_model(packed.n_states, **parts, weights=weights)

    @classmethod
    def of(cls, index: FeatureIndex, weights: Floats, n_states: int) -> ChainWeights:
        """From an index and weights in its order."""
        packed = PackedIndex.of(index, n_states)
        return cls(packed, packed.places(np.ascontiguousarray(weights, np.float64)))

    @property
    def looks_at_edges(self) -> bool:
        """Do some edge potentials depend on the input."""
        return bool(self._model.looks_at_edges)

    def potentials(self, encoded: Encoded) -> NativePotentials:
        """The potentials of a batch."""
        return NativePotentials(self.apply(encoded), encoded.offsets)

    def apply(self, encoded: Encoded) -> Any:
        """The potentials of a batch, as the core's handle: computed sequence by sequence."""
        return _core.model_potentials(self._model, native_tokens(encoded))

    def arrays(self, encoded: Encoded) -> tuple[Floats, Floats]:
        """The same as arrays: node [tokens, S], edge [S * S] or [tokens, S * S]."""
        handle = self.apply(encoded)
        edge = _core.edge_scores(handle, self.looks_at_edges)
        return _core.node_scores(handle), edge if self.looks_at_edges else edge[0]


class Spaced(Protocol):
    """A state space whose edge classes are pairs of node classes (structures/states.py)."""

    @property
    def node_class(self) -> Ints: ...
    @property
    def tuple_class(self) -> Ints: ...
    @property
    def sources(self) -> Ints: ...
    @property
    def targets(self) -> Ints: ...
    def graph(self) -> Any: ...


class StateWeights:
    """Weights of node classes, pairs of these and tuples, ready for scoring over a state space."""

    lazy = True

    def __init__(self, index: FeatureIndex, weights: Floats, states: Spaced) -> None:
        self._states, self._graph = states, states.graph()
        tuples = index.belongs_to(TUPLE)
        rows = np.flatnonzero(~tuples)
        plain = replace(index.take(rows), parts=BY_LENGTH, codes=None) if tuples.any() else index
        n_classes = int(states.node_class.max()) + 1
        self._classes = ChainWeights.of(
            plain, np.asarray(weights)[rows] if tuples.any() else weights, n_classes
        )
        self.extra = tuple_scores(index, weights, states.tuple_class)

    @property
    def looks_at_edges(self) -> bool:
        """Do some edge potentials depend on the input."""
        return self._classes.looks_at_edges

    def potentials(self, encoded: Encoded) -> NativePotentials:
        """The potentials of a batch."""
        return self._classes.potentials(encoded).over(self._graph, self.extra)

    def arrays(self, encoded: Encoded) -> tuple[Floats, Floats]:
        """The same as arrays: node [tokens, S], edge [E] or [tokens, E]."""
        node, pairs = self._classes.arrays(encoded)
        of, n = self._states.node_class, node.shape[1]
        edge = pairs[..., of[self._states.sources].astype(np.int64) * n + of[self._states.targets]]
        return node[:, of], edge + (self.extra if len(self.extra) else 0.0)


TUPLE = "tuple"  # the part whose weights belong to transitions alone: label triples and longer


def tuple_scores(index: FeatureIndex, weights: Floats, tuple_class: Ints) -> Floats:
    """[E] the sum of the tuple weights of each transition; empty without any."""
    if not len(tuple_class):
        return np.zeros(0)
    rows = np.flatnonzero(index.belongs_to(TUPLE))
    per_class = np.zeros(int(tuple_class.max(initial=-1)) + 2)  # the last one, 0, is for -1
    per_class[index.label[rows]] = np.asarray(weights)[rows]
    total: Floats = per_class[tuple_class].sum(axis=0)
    return total


def check_matrices(use: str, n_states: int) -> None:
    """Refuse a chain whose matrices of label pairs would not fit into memory.

    The core keeps transitions as dense matrices [S, S], some of them several times; with 46,341 states a
    single one has 17 GB. ``use`` is "training", "model" (one that predicts) or "arrays" (potentials that are
    asked).
    """
    needed = _core.matrix_bytes(use, n_states)
    remedy = "use fewer labels: the memory grows with the square of their number"
    check_memory(needed, f"a chain of {n_states:,} states", remedy)


class _PartTable(NamedTuple):
    """The features of one part: those of each attribute, and those without one."""

    width: int
    ptr: NDArray[np.int64]  # [A + 1]
    column: Ints  # [entries] class of the label configuration
    feature: NDArray[np.int64]  # [entries]
    shared_column: Ints  # features without attribute, which hold at every row
    shared_feature: NDArray[np.int64]


class FeatureTable:
    """The feature index by part and attribute: what turns weights into numbers per label configuration.

    Parameters
    ----------
    index : the features
    configurations : for each part an int32 table [C, k]: the labels of each configuration class, as the
        columns ``labels`` of the index name them
    """

    def __init__(self, index: FeatureIndex, configurations: Mapping[str, Ints]) -> None:
        self.n_features = len(index)
        self.parts = {name: _part_table(index, name, table) for name, table in configurations.items()}
        n_known = sum(len(p.feature) + len(p.shared_feature) for p in self.parts.values())
        if n_known != self.n_features:
            raise InputError(
                f"{self.n_features - n_known} of {self.n_features} features belong to none of the parts "
                f"{', '.join(configurations)}; leave out the templates that look at other parts"
            )

    def potentials(self, weights: Floats, encoded: Encoded) -> Parts:
        """One number per row and configuration class of a batch."""
        return BlockMap(self, encoded, {}).apply(weights)


class Expanding(Protocol):
    """What turns numbers per label configuration into potentials (structures/structure.py)."""

    def configurations(self) -> Mapping[str, Ints]: ...
    def bound_to(self, encoded: Any) -> Any: ...
    def expand(self, classes: Parts) -> Parts: ...


class TableWeights:
    """A feature table with weights, ready for scoring on a structure; threads may share it."""

    def __init__(self, table: FeatureTable, weights: Floats, structure: Expanding) -> None:
        self._table, self._weights, self._structure = table, weights, structure

    @classmethod
    def of(cls, index: FeatureIndex, weights: Floats, structure: Expanding) -> TableWeights:
        """From an index and weights in its order."""
        return cls(FeatureTable(index, structure.configurations()), weights, structure)

    def potentials(self, encoded: Encoded) -> Parts:
        """The potentials of a batch."""
        made: Parts = self._structure.bound_to(encoded).expand(self._table.potentials(self._weights, encoded))
        return made


class BlockMap:
    """The map of a feature table for one block of sequences.

    ``features`` lists the weights that the block looks at; ``adjoint`` returns one number for each of them.

    Parameters
    ----------
    table : the features
    encoded : the sequences
    used : for parts without a row at every position, which positions have one
    """

    def __init__(
        self, table: FeatureTable, encoded: Encoded, used: Mapping[str, NDArray[np.bool_] | None]
    ) -> None:
        self.offsets = encoded.offsets
        self._parts: list[tuple[str, _PartTable, Any, NDArray[np.int64]]] = []
        whole = encoded
        for name, part in table.parts.items():
            rows = used.get(name)
            if rows is not None and not rows.any():
                part = _without_shared(part)
            if not len(part.feature):
                self._parts.append((name, part, None, part.feature))
                continue
            own = whole.for_part(name)
            encoded = own if rows is None else _without_unused(own, rows)
            known, local = np.unique(encoded.attributes, return_inverse=True)
            at, ptr = gather(part.ptr, known)
            native = None
            if len(at):
                native = _core.LinearMap(
                    encoded.token_ptr,
                    local.astype(np.int32).ravel(),
                    encoded.values,
                    ptr,
                    np.ascontiguousarray(part.column[at]),
                    part.width,
                )
            self._parts.append((name, part, native, part.feature[at]))
        features = [np.concatenate([f, part.shared_feature]) for _, part, _, f in self._parts]
        self.features: NDArray[np.int64] = np.concatenate([np.zeros(0, np.int64), *features])

    def apply(self, weights: Floats) -> Parts:
        """The numbers that weights [F] give."""
        arrays: dict[str, Floats] = {}
        for name, part, native, features in self._parts:
            shared = np.zeros(part.width)
            shared[part.shared_column] = weights[part.shared_feature]
            rows = shared if native is None else native.apply(weights[features]) + shared
            arrays[name] = rows
        return Parts(arrays, self.offsets)

    def adjoint(self, gradient: Parts) -> Floats:
        """[features] what a gradient [rows, width] of each part adds up to."""
        out: list[Floats] = [np.zeros(0)]
        for name, part, native, _ in self._parts:
            rows = np.ascontiguousarray(gradient[name])
            out.append(native.adjoint(rows) if native is not None else np.zeros(0))
            out.append(rows.sum(axis=0)[part.shared_column])
        return np.concatenate(out)


def _part_table(index: FeatureIndex, name: str, table: Ints) -> _PartTable:
    rows = np.flatnonzero(index.belongs_to(name))
    column = _class_of(index.labels[rows], np.asarray(table, np.int32), name)
    attribute = index.attribute[rows]
    observed = attribute >= 0
    order = np.argsort(attribute[observed], kind="stable")
    counts = np.bincount(attribute[observed], minlength=index.n_attributes)
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _PartTable(
        len(table),
        ptr,
        column[observed][order],
        rows[observed][order],
        column[~observed],
        rows[~observed],
    )


def _class_of(labels: Ints, table: Ints, part: str) -> Ints:
    """[n] the class of each label configuration, a row of ``labels``; both are aligned to the right."""
    k = table.shape[1]
    keys = {tuple(row): c for c, row in enumerate(table.tolist())}
    distinct, back = np.unique(labels[:, labels.shape[1] - k :], axis=0, return_inverse=True)
    try:
        classes = np.array([keys[tuple(row)] for row in distinct.tolist()], np.int32)
    except KeyError as error:
        raise InputError(f"a {part} feature has the labels {error}, which the state space lacks") from None
    return classes[back.ravel()] if len(classes) else np.zeros(0, np.int32)


def _without_unused(encoded: Encoded, used: NDArray[np.bool_]) -> Encoded:
    """The attributes of used positions alone; the others stay, with none."""
    lengths = np.diff(encoded.token_ptr)
    kept = np.repeat(used, lengths)
    ptr = np.concatenate([[0], np.cumsum(np.where(used, lengths, 0))]).astype(np.int64)
    values = None if encoded.values is None else encoded.values[kept]
    return Encoded(encoded.offsets, ptr, encoded.attributes[kept], values)


def _without_shared(part: _PartTable) -> _PartTable:
    return part._replace(shared_column=part.shared_column[:0], shared_feature=part.shared_feature[:0])

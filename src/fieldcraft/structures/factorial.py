"""Factorial chains: several label columns per token, each a chain, with tables between columns.

    score(y) = sum over t, c of node[t, c, y_tc]                         labels of a column
             + sum over t, c of edge_c[y_(t-1)c, y_tc]                   steps within a column
             + sum over t and pairs (c, d) of pair_cd[y_tc, y_td]        labels of one token
             + sum over t and crosses (c, d) of cross_cd[y_(t-1)c, y_td] an earlier column, one token before
             + sum over t and steps (c, d) of step_cd[y_(t-1)c, y_tc, y_td]   a step, given a later column

Layout: positions are variables, token by token: variable t * C + c. "node" [variables, Y] is -inf beyond the
labels of a column; "edge", "pair", "cross" and "step" are the tables of all columns end to end, one row for
all (potentials) or one row for each sequence (marginals, indicators: sums over its tokens).

Exact by a recursion that moves one column at a time (native/factorial.hpp); other methods are those of factor
graphs (factorial_graphs.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.factorial_graphs import FactorialGraphs
from fieldcraft.structures.structure import Floats, Ints, Structure, by_sequence

EXACT = "exact"
MOST_STATES = 4096  # combinations of labels up to which "auto" is exact
Method = tuple[str, Mapping[str, Any]]
Given = tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any]  # what the core takes


class FactorialChains(Structure):
    """Chains of several columns.

    Parameters
    ----------
    columns : the labels of each column
    cross : whether labels depend on those of earlier columns at the token before
    steps : whether label pairs of a column depend on the labels of later columns
    inference, decoding : "exact", or a method of factor graphs with its options

    >>> chains = FactorialChains({"tag": ["N", "V"], "chunk": ["B", "I", "O"]})
    >>> zeros = chains.expand(chains.empty(np.array([0, 4])))
    >>> bool(np.isclose(chains.log_partition(zeros)[0], 2 * np.log(6)))
    True
    """

    name: ClassVar[str] = "factorial"
    parts: ClassVar[tuple[str, ...]] = ("node", "edge", "pair", "cross", "step")

    def __init__(
        self,
        columns: Mapping[str, Sequence[str]],
        *,
        cross: bool = False,
        steps: bool = False,
        inference: Method = (EXACT, {}),
        decoding: Method = (EXACT, {}),
        n_jobs: int = 1,
    ) -> None:
        self.columns = {name: tuple(labels) for name, labels in columns.items()}
        self.card = np.array([len(labels) for labels in self.columns.values()], np.int32)
        super().__init__([str(y) for y in range(int(self.card.max()))], n_jobs=n_jobs)
        self.inference, self.decoding = inference, decoding
        between = list(combinations(range(len(self.card)), 2))
        self.pairs = np.array(between, np.int32).reshape(-1, 2)
        self.crosses = np.array(between if cross else [], np.int32).reshape(-1, 2)
        self.steps = np.array(between if steps else [], np.int32).reshape(-1, 2)
        self.tables = self._tables()
        self._graphs = FactorialGraphs(self.card, self.pairs, self.crosses, self.steps)

    def _tables(self) -> dict[str, dict[str, slice]]:
        """For each part the tables in it, by the names that own weights."""
        names, sizes = list(self.columns), [int(n) for n in self.card]
        both = [(f"{names[c]}+{names[d]}", sizes[c] * sizes[d]) for c, d in self.pairs.tolist()]
        over = [(f"{names[c]}>{names[d]}", sizes[c] * sizes[d]) for c, d in self.crosses.tolist()]
        given = [(f"{names[c]}~{names[d]}", sizes[c] ** 2 * sizes[d]) for c, d in self.steps.tolist()]
        steps = [(f"{name}~", size * size) for name, size in zip(names, sizes)]
        listed = {"edge": steps, "pair": both, "cross": over, "step": given}
        out: dict[str, dict[str, slice]] = {}
        for part, tables in listed.items():
            ends = np.cumsum([0, *(size for _, size in tables)])
            cuts = zip(ends[:-1].tolist(), ends[1:].tolist())
            out[part] = {name: slice(a, b) for (name, _), (a, b) in zip(tables, cuts)}
        return out

    @property
    def n_columns(self) -> int:
        """C."""
        return len(self.card)

    @property
    def n_combinations(self) -> int:
        """How many combinations of labels a token has."""
        return int(np.prod(self.card.astype(np.int64)))

    def unconverged(self) -> int:
        """Answers of methods that did not converge, since the last call."""
        total, self._graphs.unconverged = self._graphs.unconverged, 0
        return total

    @property
    def is_plain(self) -> bool:
        return False

    # -- between weights and potentials ---------------------------------------------------------------

    def configurations(self) -> Mapping[str, Ints]:
        sizes = {name: len(labels) for name, labels in self.columns.items()}
        for tables in self.tables.values():
            sizes |= {name: cells.stop - cells.start for name, cells in tables.items()}
        return {name: np.arange(n, dtype=np.int32)[:, None] for name, n in sizes.items()}

    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]:
        return {name: (table, table) for name, table in self.configurations().items()}

    def empty(self, offsets: NDArray[np.int64]) -> Parts:
        """Zeros by configuration."""
        rows = int(offsets[-1]) // self.n_columns
        shapes = {name: len(table) for name, table in self.configurations().items()}
        arrays = {name: np.zeros((rows, n) if name in self.columns else n) for name, n in shapes.items()}
        return Parts(arrays, offsets)

    def expand(self, classes: Parts) -> Parts:
        rows = classes.n_positions // self.n_columns
        node = np.full((rows, self.n_columns, self.n_states), -np.inf)
        for c, name in enumerate(self.columns):
            node[:, c, : self.card[c]] = classes[name]
        arrays = {"node": node.reshape(-1, self.n_states)}
        for part, tables in self.tables.items():
            arrays[part] = np.concatenate([np.zeros(0), *(classes[name].reshape(-1) for name in tables)])
        return Parts(arrays, classes.offsets)

    def collapse(self, gradient: Parts) -> Parts:
        node = gradient["node"].reshape(-1, self.n_columns, self.n_states)
        arrays = {name: node[:, c, : self.card[c]] for c, name in enumerate(self.columns)}
        for part, tables in self.tables.items():
            arrays |= {name: gradient[part][:, cells] for name, cells in tables.items()}
        return Parts(arrays, gradient.offsets)

    def row_offsets(self, parts: Parts, name: str) -> NDArray[np.int64]:
        return parts.offsets if name == "node" else np.arange(parts.n_sequences + 1)

    # -- operations -----------------------------------------------------------------------------------

    def _given(self, potentials: Parts) -> Given:
        """What the core takes."""
        node, edge, pair, cross, step = (np.ascontiguousarray(potentials[name]) for name in self.parts)
        offsets = potentials.offsets // self.n_columns
        return (
            *(node, offsets, self.card, edge),
            *(self.pairs, pair, self.crosses, cross, self.steps, step),
        )

    def log_partition(self, potentials: Any) -> Floats:
        if self.inference[0] != EXACT:
            return self.infer(potentials).log_partition
        return np.asarray(_core.factorial_log_partition(*self._given(potentials), self.n_jobs))

    def infer(self, potentials: Any) -> Inference:
        if self.inference[0] != EXACT:
            return self._graphs.infer(self.inference, self.n_jobs, *self._given(potentials))
        log_z, *arrays = _core.factorial_marginals(*self._given(potentials), True, self.n_jobs)
        return Inference(log_z, Parts(dict(zip(self.parts, arrays)), potentials.offsets), method=EXACT)

    def marginals(self, potentials: Any) -> Parts:
        return self.infer(potentials).marginals  # type: ignore[no-any-return]

    def label_marginals(self, potentials: Any) -> Floats:
        if self.inference[0] != EXACT:
            return self.marginals(potentials)["node"]
        found = _core.factorial_marginals(*self._given(potentials), False, self.n_jobs)
        return np.asarray(found[1])

    def decode(self, potentials: Any) -> Decoding:
        if self.decoding[0] != EXACT:
            return self._graphs.decode(self.decoding, self.n_jobs, *self._given(potentials))
        states, value = _core.factorial_argmax(*self._given(potentials), self.n_jobs)
        return Decoding(states, value, method=EXACT)

    def argmax(self, potentials: Any) -> tuple[Ints, Floats]:
        best = self.decode(potentials)
        return best.labels, best.value

    def score(self, potentials: Any, states: Ints) -> Floats:
        return self.dot(potentials, self.indicator(states, potentials.offsets))

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        labels, n = np.asarray(states).reshape(-1, self.n_columns), len(offsets) - 1
        sequence = np.repeat(np.arange(n), np.diff(offsets) // self.n_columns)  # [tokens]
        later = np.flatnonzero(sequence[1:] == sequence[:-1]) + 1  # tokens that have one before them
        arrays = {"node": np.eye(self.n_states)[np.asarray(states)]}
        before, now, m = labels[later - 1], labels[later], self.card.tolist()
        cells = {
            "edge": [before[:, c] * m[c] + now[:, c] for c in range(self.n_columns)],
            "pair": [labels[:, c] * m[d] + labels[:, d] for c, d in self.pairs.tolist()],
            "cross": [before[:, c] * m[d] + now[:, d] for c, d in self.crosses.tolist()],
            "step": [(before[:, c] * m[c] + now[:, c]) * m[d] + now[:, d] for c, d in self.steps.tolist()],
        }
        for part, counted in cells.items():
            width = sum(s.stop - s.start for s in self.tables[part].values())
            first = (sequence if part == "pair" else sequence[later]) * width
            at = [first + table.start + one for one, table in zip(counted, self.tables[part].values())]
            flat = np.concatenate([np.zeros(0, np.int64), *at])
            arrays[part] = np.bincount(flat, minlength=n * width).astype(np.float64).reshape(n, width)
        return Parts(arrays, offsets)

    def dot(self, potentials: Any, weights: Parts) -> Floats:
        """As for other structures; tables, one row for all, are multiplied as a matrix with a vector."""
        if not all(np.isfinite(potentials[name]).all() for name in self.parts[1:]):
            return super().dot(potentials, weights)
        with np.errstate(invalid="ignore"):
            node = np.where(weights["node"] == 0, 0.0, potentials["node"] * weights["node"]).sum(axis=1)
        total = by_sequence(node, weights.offsets)
        for name in self.parts[1:]:
            total += weights[name] @ potentials[name]
        return total

"""Hidden states on trees: a chain's states and weights, with an edge from the parent of each position.

    score(s) = sum over positions t of node[t, s_t] + sum over t with a parent of edge[s_parent(t), s_t]

A sequence of T positions has one root (parent -1); parents may stand before or after their children. A chain
is the tree in which every position's parent is the one before it.

``LatentTrees`` knows the state space; ``of(parents)`` binds it to trees, which are compiled once as factor
graphs without cycles. Layout: "node" [tokens, S], "edge" [E] shared by all edges; of marginals [tokens, E],
row t the edge to t, zeros at roots.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Inference
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.structure import by_sequence

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class LatentTrees(LinearChain):
    """A state space on trees.

    >>> from fieldcraft.structures.states import StateSpace
    >>> trees = LatentTrees(StateSpace.labels(["a", "b"])).of([np.array([1, -1, 1])])
    >>> zeros = trees.potentials(np.zeros((3, 2)), np.zeros(4), [0, 3])
    >>> trees.log_partition(zeros).round(6)
    array([2.079442])
    """

    name: ClassVar[str] = "tree"
    _first: NDArray[np.int64]  # [tokens] where the sequence of each begins
    _parents: NDArray[np.int64]  # [tokens] positions within the sequence, -1 for roots
    _batch: GraphBatch

    def of(self, parents: Sequence[Ints]) -> LatentTrees:
        """The structure of these trees."""
        bound = copy.copy(self)
        lengths = [len(one) for one in parents]
        bound._first = np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
        bound._parents = np.concatenate([np.zeros(0, np.int64), *parents]).astype(np.int64)
        bound._batch = GraphBatch([self._graph_of(one) for one in parents])
        return bound

    def _graph_of(self, parents: Ints) -> FactorGraph:
        graph, children = FactorGraph(np.full(len(parents), self.n_states)), np.flatnonzero(parents >= 0)
        if len(parents):
            graph.add(np.arange(len(parents))[:, None], np.zeros(self.n_states))
        if len(children):
            scope = np.stack([parents[children], children], 1)
            graph.add(scope, np.zeros((self.n_states, self.n_states)))
        return graph

    @property
    def is_plain(self) -> bool:
        return False

    @property
    def is_native(self) -> bool:
        return False

    def used_rows(self, name: str, offsets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        del name, offsets
        return None

    def infer(self, potentials: Any) -> Inference:
        offsets, S, children = potentials.offsets, self.n_states, np.flatnonzero(self._parents >= 0)
        answers = self._batch.with_tables(self._tables(potentials)).infer("forest", n_jobs=self.n_jobs)
        node = np.concatenate([np.zeros((0, S)), *(one.factors[0] for one in answers if one.factors)])
        pairs = [one.factors[1].reshape(-1, S * S) for one in answers if len(one.factors) > 1]
        edge = np.zeros((len(node), self.states.n_transitions))
        edge[children] = np.concatenate([np.zeros((0, S * S)), *pairs])[:, self.states.cells]
        log_z = np.array([float(one.log_partition) for one in answers])
        return Inference(log_z, self.potentials(node, edge, offsets), method="forest")

    def _tables(self, potentials: Any) -> Floats:
        """The node tables and the edge tables of each tree, end to end."""
        node, shared = potentials["node"], potentials["edge"]
        if shared.ndim > 1:
            raise InputError("edges of trees have weights of their own only; leave out features of edges")
        table = np.full(self.n_states**2, -np.inf)  # [S * S] transitions that do not exist are forbidden
        table[self.states.cells] = shared
        parts: list[Floats] = [np.zeros(0)]
        for a, b in zip(potentials.offsets[:-1], potentials.offsets[1:]):
            parts += [node[a:b].ravel(), np.tile(table, max(0, int(b - a) - 1))]
        return np.concatenate(parts)

    def log_partition(self, potentials: Any) -> Floats:
        return self.infer(potentials).log_partition

    def label_marginals(self, potentials: Any) -> Floats:
        return self.by_label(self.infer(potentials).marginals["node"])

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        node, edge = np.eye(self.n_states)[states], np.zeros((len(states), self.states.n_transitions))
        children = np.flatnonzero(self._parents >= 0)
        cells = states[self._first[children] + self._parents[children]] * self.n_states + states[children]
        edge[children, np.searchsorted(self.states.cells, cells)] = 1.0
        return self.potentials(node, edge, offsets)

    def score(self, potentials: Any, states: Ints) -> Floats:
        parts = self.indicator(states, potentials.offsets)
        rows = (parts["node"] * potentials["node"]).sum(axis=1) + parts["edge"] @ potentials["edge"]
        return by_sequence(rows, potentials.offsets)

    def argmax(self, potentials: Any) -> tuple[Ints, Floats]:
        found = self._batch.with_tables(self._tables(potentials)).decode("forest", n_jobs=self.n_jobs)
        states = np.concatenate([np.zeros(0, np.int32), *(one.assignment for one in found)])
        return states, np.array([one.value for one in found])

    def gold(self, labels: NDArray[Any], offsets: NDArray[np.int64] | None = None) -> NDArray[Any]:
        del offsets  # the state of a label does not depend on the one before it
        return super().gold(labels)


def checked_parents(parents: Any, i: int, n: int) -> Ints:
    """[n] the parent of each position, -1 for the root; InputError where it is no tree."""
    given = np.asarray(parents)
    where = f"sequence {i}: parents"
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise InputError(f"{where} have shape {given.shape}; give {n} whole numbers, -1 for the root")
    given = given.astype(np.int64)
    if ((given < -1) | (given >= n)).any():
        t = int(np.argmax((given < -1) | (given >= n)))
        raise InputError(f"{where}: position {t} has the parent {given[t]}; give -1 to {n - 1}")
    if np.count_nonzero(given == -1) != 1:
        raise InputError(f"{where} have {np.count_nonzero(given == -1)} roots (-1); a tree has one")
    reached = given.copy()  # after k steps of doubling: the ancestor 2^k edges above
    for _ in range(max(1, n).bit_length()):
        reached = np.where(reached >= 0, reached[reached], -1)
    if (reached >= 0).any():
        t = int(np.argmax(reached >= 0))
        raise InputError(f"{where}: position {t} is its own ancestor; a tree has no cycle")
    return given.astype(np.int32)

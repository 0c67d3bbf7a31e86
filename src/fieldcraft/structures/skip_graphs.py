"""The factor graphs of skip chains, compiled: what the methods of graphs/ are asked.

Layout: the tables of a graph are those of its positions, of its steps (the second position on) and of its
pairs, end to end; ``at`` says where each number of a part stands among the tables of all graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs import junction_tree
from fieldcraft.structures.graphs.batch import GraphBatch

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Pairs(NamedTuple):
    """The skip edges of a batch of sequences."""

    scope: NDArray[np.int32]  # [P, 2] positions of the batch, the earlier one first
    rows: NDArray[np.int64]  # [N + 1] the pairs of each sequence


@dataclass(frozen=True, eq=False)
class SkipParts(Parts):
    """Parts with the pairs that they are for."""

    pairs: Pairs = field(default_factory=lambda: Pairs(np.zeros((0, 2), np.int32), np.zeros(1, np.int64)))


class SkipGraphs:
    """The graphs of some sequences of a batch.

    Parameters
    ----------
    offsets, pair_rows : [N + 1] positions and pairs of each sequence of the batch
    scope : [P, 2] positions of each pair
    n : number of labels
    chosen : numbers of the sequences
    """

    def __init__(
        self, offsets: Rows, scope: NDArray[np.int32], pair_rows: Rows, n: int, chosen: Iterable[int]
    ) -> None:
        self.chosen = np.array([*chosen], np.int64)
        rows: dict[str, list[Rows]] = {"node": [], "edge": [], "skip": []}
        at: dict[str, list[Rows]] = {"node": [], "edge": [], "skip": []}
        graphs, cell = [], 0
        self._factors: list[dict[str, Rows]] = []  # of each graph: rows of its positions, steps and pairs
        self._shares: tuple[Floats, Floats] | None = None
        for i in self.chosen:
            a, b = int(offsets[i]), int(offsets[i + 1])
            graph = FactorGraph(np.full(b - a, n))
            scopes: dict[str, tuple[Any, Any]] = {
                "node": (np.arange(a, b), np.arange(b - a)[:, None]),
                "edge": (np.arange(a + 1, b), np.stack([np.arange(b - a), np.arange(1, b - a + 1)], 1)[:-1]),
            }
            pairs = np.arange(pair_rows[i], pair_rows[i + 1])
            scopes["skip"] = (pairs, scope[pairs] - a)
            self._factors.append({name: mine for name, (mine, _) in scopes.items()})
            for name, (mine, variables) in scopes.items():
                if len(mine):
                    width = n ** variables.shape[1]
                    graph.add(variables, np.zeros((n,) * variables.shape[1]))
                    rows[name].append(mine)
                    at[name].append(cell + np.arange(len(mine) * width).reshape(-1, width))
                    cell += len(mine) * width
            graphs.append(graph)
        none = {"node": n, "edge": n * n, "skip": n * n}
        self.rows = {k: np.concatenate([np.zeros(0, np.int64), *v]) for k, v in rows.items()}
        self.at = {k: np.concatenate([np.zeros((0, none[k]), np.int64), *v]) for k, v in at.items()}
        self._n_cells, self._batch = cell, GraphBatch(graphs)

    def narrow(self, memory: float, n_jobs: int) -> NDArray[np.int64]:
        """The sequences whose junction tree takes at most so many bytes."""
        fits = np.array(junction_tree.fits(self._batch, memory, n_jobs), bool)
        return self.chosen[fits] if len(fits) else self.chosen

    def shares(self, n_positions: int, n_pairs: int, n_jobs: int) -> tuple[Floats, Floats]:
        """By position and by pair: which part of the spanning forests has the step to it, or it; else 1."""
        if self._shares is None:
            steps, pairs, at = np.ones(n_positions), np.ones(n_pairs), 0
            found = _core.graph_shares(self._batch.handle, n_jobs)
            for graph, mine in zip(self._batch.graphs, self._factors):
                at += len(graph.cardinalities)
                for name, shares in (("edge", steps), ("skip", pairs)):
                    shares[mine[name]] = found[at : at + len(mine[name])]
                    at += len(mine[name])
            self._shares = steps, pairs
        return self._shares

    def batch(self, arrays: Mapping[str, Floats]) -> GraphBatch:
        """The graphs with these potentials, a row for each position, step and pair of the whole batch."""
        flat = np.empty(self._n_cells)
        for name, at in self.at.items():
            flat[at] = arrays[name][self.rows[name]]
        return self._batch.with_tables(flat)

    def exact(self, arrays: Mapping[str, Floats], n_jobs: int) -> tuple[Floats, dict[str, Floats]]:
        """log Z of the chosen sequences, and the marginals of their rows by part."""
        batch = self.batch(arrays)
        with batch.errors():
            found = _core.graph_infer(*batch.inputs, "min_fill", junction_tree.UNLIMITED, n_jobs)
        return found["log_partition"], {name: found["factors"][at] for name, at in self.at.items()}

    def infer(
        self, arrays: Mapping[str, Floats], method: str, n_jobs: int, options: Mapping[str, Any]
    ) -> tuple[list[Inference], dict[str, Floats]]:
        """Answers by any method, and the marginals of the rows by part."""
        answers = self.batch(arrays).infer(method, n_jobs=n_jobs, **options)
        factors = [group.reshape(-1) for one in answers for group in one.factors]
        flat = np.concatenate([np.zeros(0), *factors])
        return answers, {name: flat[at] for name, at in self.at.items()}

    def decode(
        self, arrays: Mapping[str, Floats], method: str, n_jobs: int, options: Mapping[str, Any]
    ) -> list[Decoding]:
        """The best labels of each chosen sequence."""
        return self.batch(arrays).decode(method, n_jobs=n_jobs, **options)


def later_positions(offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[positions] whether a step leads there: not to the first one of a sequence."""
    later = np.ones(int(offsets[-1]), bool)
    later[offsets[:-1][np.diff(offsets) > 0]] = False
    return later


def steps_to(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions that a step leads to."""
    return np.flatnonzero(later_positions(offsets))

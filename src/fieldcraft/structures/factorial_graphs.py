"""Factorial chains as factor graphs, for label columns whose combinations are too many for exact sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs.batch import GraphBatch

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Method = tuple[str, Mapping[str, Any]]
KEPT = 4096  # batches whose compiled graphs stay, by their lengths


class FactorialGraphs:
    """Compiles the graphs of sequences of given lengths once; the last ones are kept.

    Parameters
    ----------
    card : [C] labels of each column
    pairs, crosses : [n, 2] columns with tables between them, at one token and from the token before
    steps : [n, 2] columns whose label pairs depend on another column
    """

    def __init__(self, card: Ints, pairs: Ints, crosses: Ints, steps: Ints) -> None:
        self.card, self.pairs, self.crosses, self.steps = card, pairs, crosses, steps
        self._kept: dict[bytes, GraphBatch] = {}
        self.unconverged = 0  # answers of methods that did not converge, since this was last set to 0

    def infer(self, method: Method, n_jobs: int, *given: Any) -> Inference:
        """log Z and marginals of sequences; ``given`` is what the core takes for factorial chains."""
        node, offsets = given[0], given[1]
        answers = self._batch(*given).infer(method[0], n_jobs=n_jobs, **method[1])
        self.unconverged += sum(not one.converged for one in answers)
        arrays = {"node": np.zeros(node.shape)}
        arrays |= {name: np.zeros((len(answers), len(table))) for name, table in _named(given).items()}
        for i, one in enumerate(answers):
            self._gather(i, int(offsets[i]), int(offsets[i + 1]), iter(one.factors), arrays)
        return Inference(
            np.array([float(one.log_partition) for one in answers]),
            Parts(arrays, offsets * len(self.card)),
            bound="exact" if all(one.exact for one in answers) else "estimate",
            converged=all(one.converged for one in answers),
            method=method[0],
        )

    def decode(self, method: Method, n_jobs: int, *given: Any) -> Decoding:
        """A good labelling of each sequence."""
        answers = self._batch(*given).decode(method[0], n_jobs=n_jobs, **method[1])
        self.unconverged += sum(not one.converged for one in answers)
        states = np.concatenate([np.zeros(0, np.int32), *(one.assignment for one in answers)])
        value = np.array([one.value for one in answers])
        return Decoding(states, value, all(one.optimal for one in answers), method=method[0])

    def _gather(self, i: int, a: int, b: int, factors: Any, arrays: dict[str, Floats]) -> None:
        """The marginals of one graph, in the order in which ``_graph`` adds its groups."""
        C = len(self.card)
        for c, size in enumerate(self.card.tolist()):
            if b > a:
                arrays["node"][a * C + c : b * C : C, :size] = next(factors)
        for name, tokens, shapes in self._tables(b - a):
            summed = [
                next(factors).sum(axis=0).ravel() if tokens else np.zeros(np.prod(shape)) for shape in shapes
            ]
            arrays[name][i] = np.concatenate([np.zeros(0), *summed])

    def _tables(self, T: int) -> list[tuple[str, int, list[tuple[int, ...]]]]:
        """Of each part: its factors per table, and the shapes of its tables."""
        sizes = self.card.tolist()
        return [
            ("edge", max(0, T - 1), [(n, n) for n in sizes]),
            ("pair", T, [(sizes[c], sizes[d]) for c, d in self.pairs.tolist()]),
            ("cross", max(0, T - 1), [(sizes[c], sizes[d]) for c, d in self.crosses.tolist()]),
            ("step", max(0, T - 1), [(sizes[c], sizes[c], sizes[d]) for c, d in self.steps.tolist()]),
        ]

    def _graph(self, T: int) -> FactorGraph:
        C, before = len(self.card), np.arange(max(0, T - 1))
        graph = FactorGraph(np.tile(self.card, T))
        for c in range(C if T else 0):
            graph.add((np.arange(T) * C + c)[:, None], np.zeros(self.card[c]))
        steps = [(before * C + c, before * C + C + c) for c in range(C)]
        both = [(np.arange(T) * C + c, np.arange(T) * C + d) for c, d in self.pairs.tolist()]
        over = [(before * C + c, before * C + C + d) for c, d in self.crosses.tolist()]
        after = before * C + C
        given = [(before * C + c, after + c, after + d) for c, d in self.steps.tolist()]
        every: list[list[Any]] = [steps, both, over, given]
        for (_, tokens, shapes), scopes in zip(self._tables(T), every):
            for shape, scope in zip(shapes, scopes):
                if tokens:
                    graph.add(np.stack(scope, 1), np.zeros(shape))
        return graph

    def _batch(self, *given: Any) -> GraphBatch:
        node, offsets = given[0], given[1]
        lengths = np.diff(offsets)
        key = lengths.tobytes()
        if key not in self._kept:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            made = {int(T): self._graph(int(T)) for T in np.unique(lengths)}
            self._kept[key] = GraphBatch([made[int(T)] for T in lengths])
        C, parts = len(self.card), [np.zeros(0)]
        tables = _named(given)
        for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
            rows = node[a * C : b * C].reshape(b - a, C, node.shape[1])
            parts += [rows[:, c, :size].ravel() for c, size in enumerate(self.card.tolist())]
            for name, tokens, shapes in self._tables(b - a):
                ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
                parts += [np.tile(tables[name][x:y], tokens) for x, y in zip(ends[:-1], ends[1:])]
        return self._kept[key].with_tables(np.concatenate(parts))

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled, which is computed anew."""
        return {**vars(self), "_kept": {}}


def _named(given: Any) -> dict[str, Floats]:
    """The tables among what the core takes."""
    return {"edge": given[3], "pair": given[5], "cross": given[7], "step": given[9]}

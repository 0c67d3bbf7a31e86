"""Graphs that are worked on in one call: compiled once, threads over graphs.

Layout: variables, tables and marginals of all graphs stand end to end, as in the core. ``tables`` [cells] has
the groups of the first graph, then those of the second; ``states`` [variables] what is observed, or -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, GraphMarginals, Inference
from fieldcraft.structures.graphs.groups import Floats, check_potentials

if TYPE_CHECKING:
    from fieldcraft.structures.graph import FactorGraph

FORBIDDEN = "; the assignment is a forbidden one (-inf): no possible one was found"


class GraphBatch:
    """Compiled factor graphs: their topology, triangulations and schedules are computed once.

    Parameters
    ----------
    graphs : a list of ``FactorGraph``; what is added to one of them later does not count

    >>> import fieldcraft as fc
    >>> g = fc.FactorGraph([2, 2])
    >>> g.add([0, 1], [[1.0, 0.0], [0.0, 1.0]])
    0
    >>> batch = GraphBatch([g, g])
    >>> [round(r.log_partition, 6) for r in batch.infer()]
    [2.006409, 2.006409]
    """

    def __init__(self, graphs: Sequence[FactorGraph]) -> None:
        self.graphs = [_checked(graph, i) for i, graph in enumerate(graphs)]
        groups = [group for graph in self.graphs for group in graph.groups]
        self.handle = _core.graphs(*_topology(self.graphs))
        self.tables: Floats = _joined([group.table.reshape(-1) for group in groups], np.float64)
        self.states: NDArray[np.int32] = _joined([graph.observed for graph in self.graphs], np.int32)

    def __reduce__(self) -> tuple[Any, ...]:
        """Graphs and tables; the rest is compiled anew."""
        return _rebuilt, (self.graphs, self.tables)

    def __repr__(self) -> str:
        return f"GraphBatch({len(self):,} graphs, {len(self.states):,} variables)"

    def __len__(self) -> int:
        return len(self.graphs)

    def with_tables(self, tables: Any) -> GraphBatch:
        """The same graphs with other log-potentials; nothing is compiled anew.

        Parameters
        ----------
        tables : for each graph a list of its groups' tables, or one array [cells] with all of them end to end
        """
        if isinstance(tables, np.ndarray) and tables.ndim == 1 and tables.dtype != object:
            flat: Floats = np.array(tables, np.float64)
        else:
            flat = self._flattened(tables)
        if len(flat) != len(self.tables):
            raise InputError(f"tables have {len(flat):,} entries, the graphs {len(self.tables):,}")
        check_potentials(flat, "tables")
        other = object.__new__(GraphBatch)
        other.graphs, other.handle, other.states, other.tables = self.graphs, self.handle, self.states, flat
        vars(other)["offsets"] = self.offsets
        return other

    def infer(self, method: str = "auto", *, n_jobs: int | None = None, **options: Any) -> list[Inference]:
        """log Z and marginals of every graph; see ``FactorGraph.infer``."""
        from fieldcraft.structures.graphs.methods import infer_batch

        return infer_batch(self, method, n_jobs, options)

    def decode(self, method: str = "auto", *, n_jobs: int | None = None, **options: Any) -> list[Decoding]:
        """A best assignment of every graph; see ``FactorGraph.decode``."""
        from fieldcraft.structures.graphs.methods import decode_batch

        return decode_batch(self, method, n_jobs, options)

    @property
    def inputs(self) -> tuple[Any, Floats, NDArray[np.int32]]:
        """What every function of the core takes first."""
        return self.handle, self.tables, self.states

    def part(self, chosen: Sequence[int]) -> GraphBatch:
        """Some of the graphs, with their tables of this batch; compiled anew unless it is all of them."""
        if list(chosen) == list(range(len(self))):
            return self
        cells = self.offsets["cells"]
        part = GraphBatch([self.graphs[i] for i in chosen])
        return part.with_tables(
            np.concatenate([self.tables[cells[i] : cells[i + 1]] for i in chosen] or [np.zeros(0)])
        )

    def graph(self, i: int) -> FactorGraph:
        """Graph i with its tables of this batch."""
        cells = self.offsets["cells"]
        return self.graphs[i].with_tables(self.tables[cells[i] : cells[i + 1]])

    @cached_property
    def offsets(self) -> dict[str, NDArray[np.int64]]:
        """Where the cells, states and variables of each graph begin."""
        sizes = {
            "cells": [sum(group.table.size for group in graph.groups) for graph in self.graphs],
            "states": [int(graph.cardinalities.sum()) for graph in self.graphs],
            "variables": [len(graph.cardinalities) for graph in self.graphs],
        }
        return {name: np.cumsum([0, *each]) for name, each in sizes.items()}

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors of the core become InputErrors; in a batch of several they name the graph."""
        try:
            yield
        except InputError:
            raise
        except ValueError as error:
            if hasattr(error, "sequence"):
                where = f"graph {error.sequence}: " if len(self) > 1 else ""
                raise InputError(where + error.problem) from None  # type: ignore[attr-defined]
            raise InputError(str(error)) from None

    def marginals(self, i: int, variables: Floats, factors: Floats) -> GraphMarginals:
        """Those of graph i, from the arrays of all graphs."""
        graph, at, cell = self.graphs[i], int(self.offsets["states"][i]), int(self.offsets["cells"][i])
        ends = np.cumsum(graph.cardinalities)[:-1]
        vectors = np.split(variables[at : at + int(graph.cardinalities.sum())], ends)
        arrays = []
        for group in graph.groups:
            shape = (len(group.scope), *group.shape)
            arrays.append(factors[cell : cell + group.table.size].reshape(shape))
            cell += group.table.size
        return GraphMarginals(vectors if len(graph.cardinalities) else [], arrays)

    def inferences(self, found: dict[str, Any], **facts: Any) -> list[Inference]:
        """Answers from what the core returned for all graphs; ``facts`` are the same for each."""
        return [
            Inference(
                found["log_partition"][i].item(),
                self.marginals(i, found["variables"], found["factors"]),
                **{
                    "converged": bool(found["converged"][i]),
                    "iterations": int(found["iterations"][i]),
                    "residual": float(found["residual"][i]),
                    **facts,
                },
            )
            for i in range(len(self))
        ]

    def decodings(self, found: dict[str, Any], *, tolerance: float = 1e-9, **facts: Any) -> list[Decoding]:
        """The same for assignments; optimal where the gap is within rounding."""
        at, answers = self.offsets["variables"], []
        for i in range(len(self)):
            value, bound = float(found["value"][i]), float(found["bound"][i])
            gap = max(0.0, bound - value)  # inf where the assignment is a forbidden one
            optimal = value > -np.inf and gap <= tolerance * max(1.0, abs(value))
            why = str(facts.get("why", "")) + ("" if value > -np.inf else FORBIDDEN)
            answers.append(
                Decoding(
                    None,
                    value,
                    **{
                        "optimal": optimal,
                        "gap": 0.0 if optimal else gap,
                        "assignment": found["assignment"][at[i] : at[i + 1]],
                        "converged": bool(found["converged"][i]),
                        "iterations": int(found["iterations"][i]),
                        **facts,
                        "why": why,
                    },
                )
            )
        return answers

    def _flattened(self, tables: Any) -> Floats:
        if len(tables) != len(self):
            raise InputError(f"tables of {len(tables)} graphs were given for {len(self)}")
        parts: list[Floats] = []
        for i, (graph, given) in enumerate(zip(self.graphs, tables)):
            if len(given) != len(graph.groups):
                raise InputError(
                    f"graph {i} has {len(graph.groups)} groups, tables were given for {len(given)}"
                )
            for k, (group, table) in enumerate(zip(graph.groups, given)):
                array = np.asarray(table, np.float64)
                if array.size != group.table.size:
                    raise InputError(
                        f"graph {i}, group {k}: {array.size} entries for a group with {group.table.size}"
                    )
                parts.append(array.reshape(-1))
        return _joined(parts, np.float64)


def _rebuilt(graphs: list[FactorGraph], tables: Floats) -> GraphBatch:
    return GraphBatch(graphs).with_tables(tables)


def _checked(graph: Any, i: int) -> FactorGraph:
    from fieldcraft.structures.graph import FactorGraph

    if not isinstance(graph, FactorGraph):
        raise InputError(f"graph {i} is {type(graph).__name__}, no FactorGraph")
    return graph.frozen()


def _joined(parts: list[Any], kind: type[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(np.concatenate(parts), kind) if parts else np.zeros(0, kind)


def _topology(graphs: list[FactorGraph]) -> tuple[Any, ...]:
    """What the core's constructor takes."""
    groups = [group for graph in graphs for group in graph.groups]
    cards = _joined([graph.cardinalities for graph in graphs], np.int32)
    observed = _joined([graph.observed >= 0 for graph in graphs], np.uint8)
    variables = np.cumsum([0, *(len(graph.cardinalities) for graph in graphs)], dtype=np.int64)
    factors = np.cumsum([0, *(sum(len(g.scope) for g in graph.groups) for graph in graphs)], dtype=np.int64)
    arity = np.repeat(
        np.array([group.scope.shape[1] for group in groups], np.int32),
        np.array([len(group.scope) for group in groups], np.int64),
    )
    scope = _joined([group.scope.reshape(-1) for group in groups], np.int32)
    return cards, observed, variables, np.ascontiguousarray(arity, np.int32), factors, scope

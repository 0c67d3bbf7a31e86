"""Factor graphs: variables with states, and factors that score the states of a few of them.

    score(x) = sum over factors f of table_f[x at the scope of f]
    p(x)     = exp(score(x)) / Z

Tables are log-potentials; -inf forbids. Factors of one shape form a group, two arrays: ``scope`` [K, arity]
and ``table`` [K, cells]. Answers have the same layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.extent import Width
from fieldcraft.structures.graphs.groups import (
    Floats,
    Group,
    checked_cardinalities,
    checked_scope,
    checked_table,
    shape_of,
)
from fieldcraft.structures.states import StateSpace


class FactorGraph:
    """A factor graph that is built group by group.

    Parameters
    ----------
    cardinalities : [n] how many states each variable has

    >>> g = FactorGraph([2, 2, 3])
    >>> g.add([[0], [1]], [[0.0, 1.0], [0.0, 0.5]])
    0
    >>> g.add([[1, 2]], [[[0.0, 0.0, 1.0], [0.0, 2.0, 0.0]]])
    1
    >>> g
    FactorGraph(3 variables with 2 to 3 states, 3 factors: 2 of 1 variable, 1 of 2)
    >>> g.decode().assignment.tolist()
    [1, 1, 1]
    """

    def __init__(self, cardinalities: ArrayLike) -> None:
        self.cardinalities = checked_cardinalities(cardinalities)
        self.observed: NDArray[np.int32] = np.full(len(self.cardinalities), -1, np.int32)
        self.groups: list[Group] = []
        self._batch: GraphBatch | None = None

    def add(self, scope: ArrayLike, table: ArrayLike) -> int:
        """Add factors of one shape; returns the number of the new group.

        Parameters
        ----------
        scope : [K, arity] variables of each factor; a list of variables is one factor
        table : log-potentials [K, states of the first, ...] or [K, cells], or one table for all factors
        """
        variables = checked_scope(scope, self.cardinalities)
        shape = shape_of(variables, self.cardinalities)
        self.groups.append(Group(variables, checked_table(table, len(variables), shape), shape))
        self._batch = None
        return len(self.groups) - 1

    @property
    def n_variables(self) -> int:
        """How many variables there are, observed ones included."""
        return len(self.cardinalities)

    @property
    def n_factors(self) -> int:
        """How many factors there are, of all groups together."""
        return sum(len(group.scope) for group in self.groups)

    def infer(self, method: str = "auto", *, n_jobs: int | None = None, **options: Any) -> Inference:
        """log Z and the marginals of variables and factors.

        Parameters
        ----------
        method : a name of ``graphs.methods.INFERENCES``, or "auto": exact where a junction
            tree fits into ``memory``, else belief propagation
        options : those of the method, such as ``max_iterations`` and ``tolerance``
        """
        return self.batch().infer(method, n_jobs=n_jobs, **options)[0]

    def decode(self, method: str = "auto", *, n_jobs: int | None = None, **options: Any) -> Decoding:
        """An assignment with a high score, and how far from the best it may be.

        Parameters
        ----------
        method : a name of ``graphs.methods.DECODINGS``, or "auto": the first exact method that
            is feasible, else dual decomposition
        options : those of the method
        """
        return self.batch().decode(method, n_jobs=n_jobs, **options)[0]

    def sample(
        self, n: int, *, seed: int = 0, method: str = "auto", memory: Any = "1GiB", **options: Any
    ) -> NDArray[np.int32]:
        """Draw n assignments [n, variables]: exactly where a junction tree fits into ``memory``.

        Otherwise by Gibbs sampling, with a warning; ``method`` "junction_tree" or "gibbs" decides by itself.
        """
        from fieldcraft.structures.graphs.sampling import sample

        return sample(self.batch(), whole_number(n, "n", 0), seed, method, memory, options)

    def k_best(self, k: int, *, memory: Any = "1GiB") -> list[Decoding]:
        """The k best assignments: by a junction tree where it fits, else by integer programmes."""
        from fieldcraft.structures.graphs.ranking import k_best

        return k_best(self.batch(), whole_number(k, "k", 1), memory)

    def width(self, order: str = "min_fill") -> Width:
        """How wide a junction tree would be.

        >>> g = FactorGraph([2, 2, 2])
        >>> g.add([[0, 1], [1, 2], [0, 2]], np.zeros((2, 2)))
        0
        >>> g.width()
        Width(variables=3, bytes=112.0, forest=False, complete=True)
        """
        from fieldcraft.structures.graphs.junction_tree import width

        return width(self.batch(), order)

    def score(self, assignment: ArrayLike) -> float:
        """The sum of log-potentials of one state per variable."""
        given = np.asarray(assignment)
        if given.shape != (self.n_variables,) or given.dtype.kind not in "iu":
            raise InputError(f"assignment must be {self.n_variables} whole numbers, got shape {given.shape}")
        wrong = (given < 0) | (given >= self.cardinalities)
        if wrong.any():
            v = int(np.argmax(wrong))
            raise InputError(f"variable {v} has {self.cardinalities[v]} states, the assignment {given[v]}")
        if ((self.observed >= 0) & (given != self.observed)).any():
            return -np.inf
        return float(sum(table.sum() for table in self._entries(given)))

    def condition(self, observed: Mapping[int, int]) -> FactorGraph:
        """The same graph with some variables observed; answers give these their state.

        Parameters
        ----------
        observed : state of each observed variable, added to those observed before

        >>> g = FactorGraph([2, 2])
        >>> g.add([0, 1], [[1.0, 0.0], [0.0, 1.0]])
        0
        >>> g.condition({0: 1}).infer().variables[1].round(4).tolist()
        [0.2689, 0.7311]
        """
        states = self.observed.copy()
        for v, state in observed.items():
            if not 0 <= v < self.n_variables:
                raise InputError(f"variable {v} is observed; there are {self.n_variables}, numbered from 0")
            if not 0 <= state < self.cardinalities[v]:
                raise InputError(
                    f"variable {v} is observed in state {state}; it has {self.cardinalities[v]} states"
                )
            if states[v] not in (-1, state):
                raise InputError(f"variable {v} was observed in state {states[v]} before, now in {state}")
            states[v] = state
        other = self.frozen()
        other.observed = states
        return other

    def with_tables(self, tables: Any) -> FactorGraph:
        """The same graph with other log-potentials.

        Parameters
        ----------
        tables : one table per group, or one array with all of them end to end
        """
        other = self.frozen()
        if isinstance(tables, np.ndarray) and tables.ndim == 1 and tables.dtype != object:
            ends = np.cumsum([group.table.size for group in self.groups])[:-1]
            tables = np.split(tables, ends) if self.groups else []
        if len(tables) != len(self.groups):
            raise InputError(f"the graph has {len(self.groups)} groups, tables were given for {len(tables)}")
        other.groups = [
            group._replace(table=checked_table(np.reshape(table, group.table.shape), *_extent(group)))
            for group, table in zip(self.groups, tables)
        ]
        return other

    def frozen(self) -> FactorGraph:
        """A copy that shares the arrays; what is added to this graph later is not in it."""
        other = object.__new__(FactorGraph)
        other.cardinalities, other.observed = self.cardinalities, self.observed
        other.groups, other._batch = list(self.groups), None
        return other

    def batch(self) -> GraphBatch:
        """This graph, compiled; kept until a group is added."""
        if self._batch is None:
            self._batch = GraphBatch([self])
        return self._batch

    @classmethod
    def from_chain(
        cls, node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace
    ) -> FactorGraph:
        """The potentials of chains (``fieldcraft.structures.chain``) as a graph: a variable per token."""
        from fieldcraft.structures.graphs.chains import from_chain

        return from_chain(node, edge, offsets, states)

    @classmethod
    def read(cls, path: str | Path, evidence: str | Path | None = None) -> FactorGraph:
        """Read a UAI file; evidence from ``evidence``, or from ``path`` + ".evid" where that exists."""
        from fieldcraft.structures.graphs.uai import read

        return read(Path(path), None if evidence is None else Path(evidence))

    def write(self, path: str | Path) -> None:
        """Write a UAI file, and what is observed to ``path`` + ".evid"."""
        from fieldcraft.structures.graphs.uai import write

        write(self, Path(path))

    def draw(self, path: str | Path, positions: ArrayLike | None = None, *, answer: Any = None) -> None:
        """Draw variables (circles) and factors (squares) into a PNG or SVG file.

        Parameters
        ----------
        positions : [n, 2] where to draw the variables; computed if not given
        answer : an Inference or Decoding, shown by the colours of the variables
        """
        from fieldcraft.structures.graphs.drawing import draw

        draw(self, Path(path), positions, answer)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled, which is computed anew."""
        return {**vars(self), "_batch": None}

    def __repr__(self) -> str:
        low, high = (self.cardinalities.min(), self.cardinalities.max()) if self.n_variables else (0, 0)
        span = f"{low}" if low == high else f"{low} to {high}"
        arities: dict[int, int] = {}
        for group in self.groups:
            arities[group.scope.shape[1]] = arities.get(group.scope.shape[1], 0) + len(group.scope)
        listed = ", ".join(f"{n:,} of {arity}" for arity, n in sorted(arities.items()))
        if listed:
            first = next(iter(sorted(arities)))
            listed = listed.replace(f"of {first}", f"of {first} variable" + "s" * (first != 1), 1)
        n_observed = int((self.observed >= 0).sum())
        text = f"{self.n_variables:,} variables with {span} states"
        text += f", {n_observed:,} observed" if n_observed else ""
        return f"FactorGraph({text}, {self.n_factors:,} factors{': ' + listed if listed else ''})"

    def _entries(self, assignment: NDArray[Any]) -> Sequence[Floats]:
        """Of each group [K]: the entries of the tables at an assignment."""
        found = []
        for group in self.groups:
            cell = np.zeros(len(group.scope), np.int64)
            for k, size in enumerate(group.shape):
                cell = cell * size + assignment[group.scope[:, k]]
            found.append(group.table[np.arange(len(cell)), cell])
        return found


def _extent(group: Group) -> tuple[int, tuple[int, ...]]:
    return len(group.scope), group.shape

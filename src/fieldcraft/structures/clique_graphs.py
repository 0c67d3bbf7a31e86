"""The structure of graphs that clique templates make: factor graphs with tied weights.

    score(y) = sum over factors of table[states of its variables] + sum over variables v of node[v, y_v]

``CliqueGraphs`` knows templates and labels; ``of(instances)`` binds it to graphs, whose topology is compiled
once. Operations on bound structures are those of every structure (structure.py), by the methods of
graphs/: any inference, any decoding.

Layout of ``Parts``: positions are variables. "node" [variables, Y] has costs, and -inf for what is
excluded; it has no weights. Each template has [factors, cells]; ``configurations`` has its classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.cliques import Clique, GraphInstance
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs import gibbs, linear_programme
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.structure import Floats, Ints, Structure, by_sequence

Shape = tuple[int, ...]


class CliqueGraphs(Structure):
    """Clique templates over labels.

    Parameters
    ----------
    labels : names of the states
    cliques : the templates
    shapes : of the tables of each template
    inference, decoding : a method's name with its options
    """

    name: ClassVar[str] = "graph"

    def __init__(
        self,
        labels: Sequence[str],
        cliques: Sequence[Clique],
        shapes: Mapping[str, Shape],
        inference: tuple[str, Mapping[str, Any]] = ("auto", {}),
        decoding: tuple[str, Mapping[str, Any]] = ("auto", {}),
        *,
        n_jobs: int = 1,
    ) -> None:
        super().__init__(labels, n_jobs=n_jobs)
        self.cliques, self.shapes = tuple(cliques), dict(shapes)
        self.inference, self.decoding = inference, decoding
        self.parts = ("node", *(clique.name for clique in self.cliques))  # type: ignore[misc]
        self.classes = {clique.name: clique.classes(self.shapes[clique.name]) for clique in self.cliques}
        self.untied = {  # templates whose cells are their classes
            name for name, table in self.classes.items() if np.array_equal(table, np.arange(len(table)))
        }

    @property
    def is_plain(self) -> bool:
        return False

    def configurations(self) -> Mapping[str, Ints]:
        numbers = {name: int(table.max(initial=-1)) + 1 for name, table in self.classes.items()}
        return {name: np.arange(n, dtype=np.int32)[:, None] for name, n in numbers.items()}

    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]:
        return {name: (table, table) for name, table in self.configurations().items()}

    def of(self, instances: Sequence[GraphInstance]) -> BoundGraphs:
        """The structure of these graphs."""
        return BoundGraphs(self, instances)


class BoundGraphs(CliqueGraphs):
    """The same for given graphs."""

    def __init__(self, unbound: CliqueGraphs, instances: Sequence[GraphInstance]) -> None:
        super().__init__(
            unbound.labels,
            unbound.cliques,
            unbound.shapes,
            unbound.inference,
            unbound.decoding,
            n_jobs=unbound.n_jobs,
        )
        self.unconverged = 0  # answers of methods that did not converge, since this was last set to 0
        self._sizes = np.concatenate([np.zeros(0, np.int32), *(x.sizes(self.n_states) for x in instances)])
        self.offsets = np.cumsum([0, *(x.n_variables for x in instances)], dtype=np.int64)
        self._impossible = np.arange(self.n_states) >= self._sizes[:, None]  # [variables, Y]
        self._scope: dict[str, Ints] = {}  # [factors, arity] variables of the batch
        self._rows: dict[str, NDArray[np.int64]] = {}  # [N + 1] factors by graph
        for name, shape in self.shapes.items():
            scopes = [self._scope_of(i, x, name, shape) for i, x in enumerate(instances)]
            self._rows[name] = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
            shifted = [scope + self.offsets[i] for i, scope in enumerate(scopes)]
            self._scope[name] = np.concatenate([np.zeros((0, len(shape)), np.int64), *shifted]).astype(
                np.int32
            )
        self._graphs, self._at = self._compiled()
        self._free = GraphBatch(self._graphs)
        self._clamped: tuple[bytes, GraphBatch] = (b"", self._free)

    def _scope_of(self, i: int, instance: GraphInstance, name: str, shape: Shape) -> Ints:
        scope: Ints = instance.cliques.get(name, (np.zeros((0, len(shape)), np.int32), None))[0]
        if not len(scope):
            return np.zeros((0, len(shape)), np.int32)
        sizes = instance.sizes(self.n_states)
        found = sizes[scope] if scope.shape[1] == len(shape) else np.zeros((len(scope), 0))
        if not np.array_equal(found, np.broadcast_to(shape, (len(scope), len(shape)))):
            k = 0 if found.shape[1] == 0 else int((found != np.array(shape)).any(axis=1).argmax())
            raise InputError(
                f"instance {i}, clique {name!r}, factor {k}: its variables have {sizes[scope[k]].tolist()} "
                f"states; those of the template have {list(shape)}"
            )
        return scope

    def _compiled(self) -> tuple[list[FactorGraph], dict[str, NDArray[np.int64]]]:
        """The graphs, and where each number of a part stands among the tables of all of them."""
        at = {"node": np.full((len(self._sizes), self.n_states), -1, np.int64)}
        at |= {
            name: np.full((len(scope), int(np.prod(self.shapes[name]))), -1, np.int64)
            for name, scope in self._scope.items()
        }
        graphs, cell = [], 0
        for i, first in enumerate(self.offsets[:-1]):
            graph = FactorGraph(self._sizes[first : self.offsets[i + 1]])
            for size in np.unique(graph.cardinalities):
                chosen = np.flatnonzero(graph.cardinalities == size)
                graph.add(chosen[:, None], np.zeros(int(size)))
                at["node"][first + chosen, :size] = cell + np.arange(len(chosen) * size).reshape(-1, size)
                cell += len(chosen) * int(size)
            for name, scope in self._scope.items():
                a, b = self._rows[name][i : i + 2]
                if a == b:
                    continue
                graph.add(scope[a:b] - first, np.zeros(self.shapes[name]))
                at[name][a:b] = cell + np.arange(at[name][a:b].size).reshape(b - a, -1)
                cell += at[name][a:b].size
            graphs.append(graph)
        self._n_cells = cell
        return graphs, at

    # -- potentials <-> tables -----------------------------------------------------------------------

    def expand(self, classes: Parts) -> Parts:
        """Numbers by class -> tables; cells without class score 0."""
        arrays: dict[str, Floats] = {"node": np.where(self._impossible, -np.inf, 0.0)}
        for name, table in self.classes.items():
            rows = np.broadcast_to(classes[name], (len(self._scope[name]), classes[name].shape[-1]))
            if name in self.untied:
                arrays[name] = rows
                continue
            padded = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
            arrays[name] = padded[:, table]  # class -1 is the last column
        return Parts(arrays, self.offsets)

    def collapse(self, gradient: Parts) -> Parts:
        arrays = {}
        for name, table in self.classes.items():
            if name in self.untied:
                arrays[name] = gradient[name]
                continue
            n = int(table.max(initial=-1)) + 1
            arrays[name] = np.stack([gradient[name][:, table == c].sum(axis=1) for c in range(n)], axis=-1)
        return Parts(arrays, gradient.offsets)

    def row_offsets(self, parts: Parts, name: str) -> NDArray[np.int64]:
        del parts
        return self.offsets if name == "node" else self._rows[name]

    def _batch(self, potentials: Parts) -> GraphBatch:
        """The graphs with these tables; variables with one possible state are observed."""
        flat = np.empty(self._n_cells)
        for name in self.parts:
            at = self._at[name]
            flat[at[at >= 0]] = potentials[name][at >= 0]
        possible = potentials["node"] > -np.inf
        lone = (possible.sum(axis=1) == 1) & (self._sizes > 1)
        if not lone.any():
            return self._free.with_tables(flat)
        states = np.where(lone, possible.argmax(axis=1), -1)
        key, batch = self._clamped
        if key != states.tobytes():
            observed = [self._observed(i, states) for i in range(len(self._graphs))]
            batch = GraphBatch(observed)
            self._clamped = states.tobytes(), batch
        return batch.with_tables(flat)

    def _observed(self, i: int, states: NDArray[Any]) -> FactorGraph:
        own = states[self.offsets[i] : self.offsets[i + 1]]
        return self._graphs[i].condition({int(v): int(own[v]) for v in np.flatnonzero(own >= 0)})

    # -- operations ----------------------------------------------------------------------------------

    def inferences(self, potentials: Parts) -> list[Inference]:
        """One answer per graph."""
        method, options = self.inference
        answers = self._batch(potentials).infer(method, n_jobs=self.n_jobs, **options)
        self.unconverged += sum(not one.converged for one in answers)
        return answers

    def decodings(self, potentials: Parts) -> list[Decoding]:
        """One answer per graph."""
        method, options = self.decoding
        answers = self._batch(potentials).decode(method, n_jobs=self.n_jobs, **options)
        self.unconverged += sum(not one.converged for one in answers)
        return answers

    def infer(self, potentials: Any) -> Inference:
        answers = self.inferences(potentials)
        flat = np.concatenate([np.zeros(0), *(f.reshape(-1) for one in answers for f in one.factors)])
        log_z = np.array([float(one.log_partition) for one in answers])
        return Inference(
            log_z,
            self._parts_of(flat),
            bound="exact" if all(one.exact for one in answers) else "estimate",
            converged=all(one.converged for one in answers),
            method=self.inference[0],
        )

    def relaxation(self, potentials: Parts) -> tuple[Floats, Parts]:
        """[N] an upper bound on the best score by the linear relaxation, and its (sub)gradient."""
        bounds, flat = linear_programme.relaxed(self._batch(potentials))
        return bounds, self._parts_of(flat)

    def _parts_of(self, flat: Floats) -> Parts:
        """Numbers of all tables, end to end, by part; 0 for what no table has."""
        arrays = {}
        for name in self.parts:
            at = self._at[name]
            arrays[name] = np.where(at >= 0, flat[np.maximum(at, 0)] if len(flat) else 0.0, 0.0)
        return Parts(arrays, self.offsets)

    def log_partition(self, potentials: Any) -> Floats:
        return self.infer(potentials).log_partition

    def marginals(self, potentials: Any) -> Parts:
        return self.infer(potentials).marginals  # type: ignore[no-any-return]

    def decode(self, potentials: Any) -> Decoding:
        answers = self.decodings(potentials)
        states = np.concatenate([np.zeros(0, np.int32), *(one.assignment for one in answers)])
        optimal = all(one.optimal for one in answers)
        return Decoding(states, np.array([one.value for one in answers]), optimal, method=self.decoding[0])

    def argmax(self, potentials: Any) -> tuple[Ints, Floats]:
        best = self.decode(potentials)
        return best.labels, best.value

    def score(self, potentials: Any, states: Ints) -> Floats:
        total = by_sequence(potentials["node"][np.arange(len(states)), states], self.offsets)
        for name in self.shapes:
            cells = self.piece_cells(name, states)
            rows = potentials[name][np.arange(len(cells)), cells]
            total = total + by_sequence(rows, self._rows[name])
        return total

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        del offsets
        arrays = {"node": np.eye(self.n_states)[states]}
        for name, shape in self.shapes.items():
            cells = self.piece_cells(name, states)
            arrays[name] = np.zeros((len(cells), int(np.prod(shape))))
            arrays[name][np.arange(len(cells)), cells] = 1.0
        return Parts(arrays, self.offsets)

    def piece_cells(self, name: str, states: NDArray[Any]) -> NDArray[np.int64]:
        """[factors] the cell of each table that the states of its variables name."""
        cell = np.zeros(len(self._scope[name]), np.int64)
        for k, size in enumerate(self.shapes[name]):
            cell = cell * size + states[self._scope[name][:, k]]
        return cell

    def pieces(self) -> tuple[str, ...]:
        """Names of the parts whose rows are factors with weights."""
        return tuple(self.shapes)

    def swept(self, potentials: Parts, states: Ints, sweeps: int, seed: int) -> Ints:
        """[variables] states after sweeps of Gibbs sampling that begin at these."""
        return gibbs.swept(self._batch(potentials), states, sweeps, seed, self.n_jobs)

    def gold_classes(self, name: str, states: NDArray[Any]) -> NDArray[np.int64]:
        """[factors] the class of each factor of a template under these states."""
        found: NDArray[np.int64] = self.classes[name][self.piece_cells(name, states)].astype(np.int64)
        return found

    def neighbour_scores(self, potentials: Any, states: Ints) -> Floats:
        """[variables, Y] the score of each state of a variable while all others have theirs."""
        scores = np.array(np.broadcast_to(potentials["node"], (len(states), self.n_states)))
        for name, variables, cells in self.turns(states):
            rows = potentials[name][np.arange(len(cells))[:, None], cells]
            np.add.at(scores, (variables[:, None], np.arange(cells.shape[1])), rows)
        return scores

    def neighbour_adjoint(self, rows: Floats, offsets: NDArray[np.int64], states: Ints) -> Parts:
        """The adjoint: a gradient in neighbour scores -> one in the potentials."""
        del offsets
        arrays = {"node": rows}
        for name, shape in self.shapes.items():
            arrays[name] = np.zeros((len(self._scope[name]), int(np.prod(shape))))
        for name, variables, cells in self.turns(states):
            at = np.arange(len(cells))[:, None], cells
            np.add.at(arrays[name], at, rows[variables, : cells.shape[1]])
        return Parts(arrays, self.offsets)

    def turns(self, states: Ints) -> Any:
        """For each template and slot: the variables there, and cells [factors, states] as that one varies."""
        for name, shape in self.shapes.items():
            cells = self.piece_cells(name, states)
            for k, size in enumerate(shape):
                stride = int(np.prod(shape[k + 1 :]))
                variables = self._scope[name][:, k]
                without = cells - stride * states[variables]
                yield name, variables, without[:, None] + stride * np.arange(size)

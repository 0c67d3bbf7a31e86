"""The linear relaxation over locally consistent marginals, and its integer programme, by HiGHS.

    maximise sum_v <local_v, mu_v> + sum_f <table_f, mu_f>
    with     sum_x mu_v(x) = 1,  sum over the other variables of mu_f = mu_v,  mu >= 0
             (integer: mu_v is 0 or 1)

Its optimum is an upper bound on the best score. Rounding: each variable's largest value; or, for metrics
(``rounding="metric"``), a random state and threshold take all variables whose value exceeds it, until all are
taken: in expectation within a factor of 2 of the best energy for uniform metrics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.groups import Floats
from fieldcraft.structures.graphs.icm import improved
from fieldcraft.structures.graphs.methods import choice

ROUNDINGS = ("largest", "metric")
DRAWS = 50  # of the random rounding; the best one is kept
HALTED = (1,)  # scipy's status: a limit was reached


class Programme:
    """The arrays of one graph's programme: variables' values first, then the factors' that link."""

    def __init__(self, graph: FactorGraph) -> None:
        from scipy import sparse

        self.graph = graph
        at = np.concatenate([[0], np.cumsum(graph.cardinalities)])
        local, self.constant = np.zeros(int(at[-1])), 0.0
        costs, rows, columns, values, row, column = [], [], [], [], graph.n_variables, int(at[-1])
        for group in graph.groups:
            K, arity = group.scope.shape
            if arity == 0:
                self.constant += float(group.table.sum())
            elif arity == 1:
                np.add.at(local, at[group.scope] + np.arange(group.shape[0]), group.table)
            else:
                costs.append(group.table.reshape(-1))
                cell = column + np.arange(group.table.size).reshape(K, *group.shape)
                for k, size in enumerate(group.shape):  # sum over the others of mu_f = mu_v
                    line = row + np.arange(K * size).reshape(K, size)
                    spread = line.reshape(K, *(size if j == k else 1 for j in range(arity)))
                    own = at[group.scope[:, k]][:, None] + np.arange(size)
                    rows += [np.broadcast_to(spread, cell.shape).reshape(-1), line.reshape(-1)]
                    columns += [cell.reshape(-1), own.reshape(-1)]
                    values += [np.ones(cell.size), -np.ones(line.size)]
                    row += K * size
                column += group.table.size
        rows.append(np.repeat(np.arange(graph.n_variables), graph.cardinalities))
        columns.append(np.arange(int(at[-1])))
        values.append(np.ones(int(at[-1])))
        self.at, self.n_states = at, int(at[-1])
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        self.matrix = sparse.csr_array(entries, shape=(row, column))
        self.target = np.zeros(row)
        self.target[: graph.n_variables] = 1
        scores = np.concatenate([local, *costs])
        self.upper = np.where(scores == -np.inf, 0.0, 1.0)
        self.scores = np.where(scores == -np.inf, 0.0, scores)
        self.lower = np.zeros(column)
        for v in np.flatnonzero(graph.observed >= 0):
            self.lower[at[v] + graph.observed[v]] = 1.0

    def solve(
        self, *, integer: bool, seconds: float | None, excluded: list[NDArray[Any]]
    ) -> tuple[Floats | None, float, bool]:
        """Values of variables' states and of linking cells, an upper bound, and whether it was solved."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if self.constant == -np.inf:
            return None, -np.inf, True
        constraints = [LinearConstraint(self.matrix, self.target, self.target)]
        for assignment in excluded:
            row = np.zeros(len(self.scores))
            row[self.at[:-1] + assignment] = 1
            constraints.append(LinearConstraint(row, -np.inf, self.graph.n_variables - 1))
        kinds = np.zeros(len(self.scores))
        kinds[: self.n_states] = integer
        options: Any = {"mip_rel_gap": 1e-9} if integer else {}
        if seconds is not None:
            options["time_limit"] = seconds
        result: Any = milp(
            -self.scores,
            integrality=kinds.astype(int),
            bounds=Bounds(self.lower, self.upper),
            constraints=constraints,
            options=options,
        )
        if result.x is None and result.status not in HALTED:
            return None, -np.inf, True
        dual = getattr(result, "mip_dual_bound", None) if integer else None
        bound = (
            -(dual if dual is not None else result.fun) if result.status == 0 or dual is not None else np.inf
        )
        return result.x, bound + self.constant, result.status == 0

    def vectors(self, values: Floats) -> list[Floats]:
        """Of each variable, the values of its states."""
        return np.split(values[: self.n_states], self.at[1:-1])

    def tables(self, values: Floats) -> Floats:
        """[cells] the values in the layout of the graph's tables, groups end to end."""
        out, linked = [np.zeros(0)], self.n_states
        for group in self.graph.groups:
            arity = group.scope.shape[1]
            if arity == 1:
                out.append(values[self.at[group.scope] + np.arange(group.shape[0])].reshape(-1))
            elif arity:
                out.append(values[linked : linked + group.table.size])
                linked += group.table.size
            else:
                out.append(np.ones(group.table.size))
        return np.concatenate(out)


def decode(
    batch: GraphBatch,
    *,
    n_jobs: int,
    rounding: str = "largest",
    seed: int = 0,
    seconds: float | None = None,
) -> list[Decoding]:
    """The relaxation's optimum, rounded and then improved variable by variable.

    Parameters
    ----------
    rounding : "largest" or "metric"
    seconds : a limit, after which an answer without a bound is possible
    """
    choice("rounding", rounding, ROUNDINGS)
    return [
        _rounded(batch, i, rounding, np.random.default_rng([seed, i]), seconds, n_jobs)
        for i in range(len(batch))
    ]


def relaxed(batch: GraphBatch) -> tuple[Floats, Floats]:
    """[graphs] the relaxation's optimum, and [cells] where it is reached: values between 0 and 1."""
    bounds, cells = np.empty(len(batch)), [np.zeros(0)]
    for i in range(len(batch)):
        programme = Programme(batch.graph(i))
        values, bounds[i], _ = programme.solve(integer=False, seconds=None, excluded=[])
        if values is None:
            raise impossible(batch, i)
        cells.append(programme.tables(values))
    return bounds, np.concatenate(cells)


def _rounded(
    batch: GraphBatch, i: int, rounding: str, rng: np.random.Generator, seconds: float | None, n_jobs: int
) -> Decoding:
    graph = batch.graph(i)
    programme = Programme(graph)
    values, bound, done = programme.solve(integer=False, seconds=seconds, excluded=[])
    if values is None:
        raise impossible(batch, i) if done else InputError("the linear programme was not solved in time")
    vectors = programme.vectors(values)
    largest = np.array([int(vector.argmax()) for vector in vectors], np.int32)
    whole = all(bool(vector.max() > 1 - 1e-6) for vector in vectors)
    chosen = largest if rounding == "largest" or whole else _metric_rounding(graph, vectors, rng)
    found = {"assignment": chosen, "value": [graph.score(chosen)], "bound": [bound], "iterations": [0]}
    found["converged"] = [done]
    if not whole:
        found = improved(graph.batch(), found, n_jobs)
    share = sum(bool(vector.max() > 1 - 1e-6) for vector in vectors) / max(1, len(vectors))
    why = "the linear relaxation is tight" if whole else f"rounded: {share:.1%} of the variables were whole"
    return graph.batch().decodings(found, tolerance=1e-6, method="linear_programme", why=why)[0]


def _metric_rounding(
    graph: FactorGraph, vectors: list[Floats], rng: np.random.Generator
) -> NDArray[np.int32]:
    """The best of several draws; variables of different numbers of states are drawn among their own."""
    most = int(graph.cardinalities.max())
    padded = np.zeros((len(vectors), most))
    for v, vector in enumerate(vectors):
        padded[v, : len(vector)] = vector
    best: NDArray[np.int32] = np.asarray(padded.argmax(axis=1), np.int32)
    score = -np.inf
    for _ in range(DRAWS):
        states = np.full(len(vectors), -1, np.int32)
        for _ in range(1000 * most):
            state, threshold = int(rng.integers(most)), rng.random()
            states[(states < 0) & (padded[:, state] > threshold)] = state
            if (states >= 0).all():
                break
        states = np.asarray(np.where(states < 0, padded.argmax(axis=1), states), np.int32)
        value = graph.score(states)
        if value > score:
            best, score = states, value
    return best


def decode_integer(batch: GraphBatch, *, n_jobs: int, seconds: float | None = None) -> list[Decoding]:
    """A best assignment by branch and bound.

    Parameters
    ----------
    seconds : a limit, after which the best assignment so far is returned with its gap
    """
    del n_jobs
    return [_integer(batch, i, seconds, [])[0] for i in range(len(batch))]


def _integer(
    batch: GraphBatch, i: int, seconds: float | None, excluded: list[NDArray[Any]]
) -> list[Decoding]:
    """A best assignment that is none of the excluded; an empty list where there is none."""
    graph = batch.graph(i)
    programme = Programme(graph)
    values, bound, done = programme.solve(integer=True, seconds=seconds, excluded=excluded)
    if values is None and excluded:
        return []
    if values is None:
        raise (
            impossible(batch, i)
            if done
            else InputError(f"the integer programme found no assignment in {seconds} seconds; raise seconds=")
        )
    chosen = np.array([int(vector.argmax()) for vector in programme.vectors(values)], np.int32)
    found = {"assignment": chosen, "value": [graph.score(chosen)], "bound": [bound], "iterations": [0]}
    found["converged"] = [done]
    why = "exact: branch and bound" if done else "branch and bound, stopped at its limit of time"
    return graph.batch().decodings(found, tolerance=1e-6, method="ilp", why=why)


def ranked(batch: GraphBatch, k: int) -> list[Decoding]:
    """The k best by programmes that exclude those found before."""
    found: list[Decoding] = []
    while len(found) < k:
        more = _integer(batch, 0, None, [one.assignment for one in found])
        if not more:
            break
        found += more
    return found


def n_entries(graph: FactorGraph) -> int:
    """Entries of all tables: the size of the programme."""
    return sum(group.table.size for group in graph.groups)


def impossible(batch: GraphBatch, i: int) -> InputError:
    """The error about a graph that forbids everything."""
    where = f"graph {i}: " if len(batch) > 1 else ""
    return InputError(
        f"{where}no assignment is possible: every one has a factor that forbids it (-inf); allow some"
    )

"""Random graphs that drive the laws of factor graphs, and what enumeration says about each."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import fieldcraft as fc
from oracles import graph as oracle


class Case(NamedTuple):
    """One row of the table: a seed and what the graph is like."""

    seed: int
    shape: str  # "forest", "loops" or "grid"
    forbidden: bool
    observed: bool

    def __str__(self) -> str:
        extra = ["forbidden"] * self.forbidden + ["observed"] * self.observed
        return "-".join([f"{self.shape}{self.seed}", *extra])


CASES = [
    Case(seed, shape, forbidden, observed)
    for seed, shape, forbidden, observed in product(
        (1, 2, 3), ("forest", "loops", "grid"), (False, True), (False, True)
    )
]


def scopes_of(shape: str, n: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    if shape == "grid":
        pairs = [(3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)]
        return pairs + [(3 * r + c, 3 * r + c + 3) for r in range(2) for c in range(3)]
    if shape == "loops":
        return [
            tuple(int(v) for v in rng.choice(n, size=int(arity), replace=False))
            for arity in rng.integers(1, 5, size=6)
        ]
    scopes, joined = [], [0]
    while len(joined) < n - 1:  # the last variable stays alone
        arity = min(int(rng.integers(2, 5)), n - len(joined))
        new = list(range(len(joined), len(joined) + arity - 1))
        scope = [int(rng.choice(joined)), *new]
        scopes.append(tuple(int(v) for v in rng.permutation(scope)))
        joined += new
    return scopes


@cache
def graph_of(case: Case) -> fc.FactorGraph:
    """Mixed numbers of states; two states everywhere on grids. State 0 everywhere is never forbidden."""
    rng = np.random.default_rng(case.seed)
    n = 9 if case.shape == "grid" else 7
    cards = np.full(n, 2) if case.shape == "grid" else rng.integers(1, 4, size=n)
    graph = fc.FactorGraph(cards)
    scopes = [(v,) for v in range(0, n, 2)] + scopes_of(case.shape, n, rng)
    for scope in scopes:
        table = rng.normal(0, 1.5, size=[int(cards[v]) for v in scope])
        if case.forbidden:
            table[rng.random(table.shape) < 0.25] = -np.inf
            table[(0,) * len(scope)] = 0.3
        graph.add(scope, table)
    graph.add(np.zeros((1, 0), int), np.array([0.7]))  # a constant
    return graph.condition({1: 0, 4: 0}) if case.observed else graph


def factors_of(graph: fc.FactorGraph) -> list[oracle.Factor]:
    """The factors as the oracle takes them."""
    found = []
    for group in graph.groups:
        for scope, table in zip(group.scope.tolist(), group.tables()):
            found.append((tuple(scope), {states: float(table[states]) for states in np.ndindex(table.shape)}))
    return found


@cache
def answers_of(case: Case) -> oracle.Answers:
    return enumerated(graph_of(case))


def enumerated(graph: fc.FactorGraph) -> oracle.Answers:
    seen = {v: int(state) for v, state in enumerate(graph.observed) if state >= 0}
    return oracle.answers(graph.cardinalities.tolist(), factors_of(graph), seen)


def factor_arrays(graph: fc.FactorGraph, answers: oracle.Answers) -> list[NDArray[np.float64]]:
    """The oracle's factor marginals in the layout of the groups."""
    arrays, at = [], 0
    for group in graph.groups:
        rows = answers.factors[at : at + len(group.scope)]
        arrays.append(np.array([list(row.values()) for row in rows]).reshape(len(rows), *group.shape))
        at += len(rows)
    return arrays


def grid(
    height: int, width: int, states: int, seed: int = 0, *, coupling: float = 1.0, ising: bool = False
) -> fc.FactorGraph:
    """Standard normal node tables; edge tables that are normal, or (ising) a bonus for equal states."""
    rng = np.random.default_rng(seed)
    graph, at = (
        fc.FactorGraph(np.full(height * width, states)),
        np.arange(height * width).reshape(height, width),
    )
    graph.add(at.reshape(-1, 1), rng.normal(size=(height * width, states)))
    pairs = np.concatenate(
        [
            np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1),
            np.stack([at[:-1].ravel(), at[1:].ravel()], 1),
        ]
    )
    if ising:
        graph.add(pairs, rng.uniform(0, coupling, size=(len(pairs), 1, 1)) * np.eye(states))
    else:
        graph.add(pairs, coupling * rng.normal(size=(len(pairs), states, states)))
    return graph

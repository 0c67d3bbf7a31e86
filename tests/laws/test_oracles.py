"""The oracles themselves: enumeration and the log-space reference, two formulas, must agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laws.cases import CASES, Case, answers_of, batch_of, same
from oracles import chain as oracle
from oracles import chain_reference as reference

TWO = oracle.Chain(
    node=((1.0, 0.0), (0.0, 2.0)),
    edge=((9.0, 9.0, 9.0), (0.5, 0.0, -1.0)),
    transitions=((0, 0), (0, 1), (1, 1)),
    starts=(True, True),
    stops=(False, True),
)


def test_two_positions_by_hand() -> None:
    """Only 0 -> 1 (1 + 2 + 0) and 1 -> 1 (0 + 2 - 1) start, step and stop."""
    total = math.log(math.exp(3.0) + math.exp(1.0))
    first = math.exp(3.0 - total)
    assert oracle.labelings(TWO) == (((0, 1), 3.0), ((1, 1), 1.0))
    assert oracle.log_partition(TWO) == pytest.approx(total, rel=1e-15)
    same(oracle.node_marginals(TWO), [[first, 1 - first], [0.0, 1.0]])
    same(oracle.edge_marginals(TWO), [[0.0, 0.0, 0.0], [0.0, first, 1 - first]])
    assert oracle.k_best(TWO, 5) == [((0, 1), 3.0), ((1, 1), 1.0)]
    assert oracle.range_probability(TWO, [[True, False], [True, True]]) == pytest.approx(first)


def test_ties_go_to_the_lowest_state_from_the_last_position_backwards() -> None:
    steps = tuple((a, b) for a in range(2) for b in range(2))
    rows = ((0.0,) * 4,) * 3
    chain = oracle.Chain(((0.0, 0.0), (0.0, 1.0), (1.0, 1.0)), rows, steps, (True,) * 2, (True,) * 2)
    assert oracle.argmax(chain) == ((0, 1, 0), 2.0)
    assert [path for path, _ in oracle.k_best(chain, 4)] == [
        (0, 1, 0),
        (1, 1, 0),
        (0, 1, 1),
        (1, 1, 1),
    ]


def test_an_empty_sequence_has_one_labelling() -> None:
    empty = oracle.Chain((), (), ((0, 0),), (False,), (False,))
    assert (oracle.log_partition(empty), oracle.entropy(empty)) == (0.0, 0.0)
    assert oracle.k_best(empty, 3) == [((), 0.0)]
    assert oracle.range_probability(empty, []) == 1.0


def test_a_sequence_without_a_labelling_has_minus_infinity() -> None:
    assert oracle.log_partition(TWO._replace(stops=(False, False))) == -math.inf


@pytest.mark.parametrize("case", CASES, ids=str)
def test_enumeration_agrees_with_the_reference(case: Case) -> None:
    batch, answers = batch_of(case), answers_of(case)
    for i in range(len(batch.lengths)):
        chain, rows = batch.reference(i), batch.rows(i)
        nodes, edges = reference.marginals(chain)
        same(reference.log_partition(chain), answers.log_partition[i])
        same(nodes, answers.node[rows])
        same(edges, answers.edge[rows])
        same(reference.entropy(chain), answers.entropy[i])
        path, value = answers.best[i][0]
        same(reference.argmax(chain)[1], value)
        same(reference.score(chain, path), value)


def test_a_range_over_everything_is_certain_and_one_position_is_its_marginal() -> None:
    batch = batch_of(Case(3, False, True, True))
    chain = batch.oracle(0)
    everything = np.ones((3, 3), dtype=bool)
    same(oracle.range_probability(chain, everything.tolist()), 1.0)
    for t in range(3):
        for s in range(3):
            allowed = everything.copy()
            allowed[t] = np.arange(3) == s
            same(
                oracle.range_probability(chain, allowed.tolist()),
                oracle.node_marginals(chain)[t][s],
            )

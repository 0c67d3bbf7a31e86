"""Factorial chains against enumeration: log Z, all marginals and the best labelling, for all scores."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.oracles import factorial as oracle

from fieldcraft.potentials import Parts
from fieldcraft.structures.factorial import FactorialChains

CASES = [([2, 3], 3, 1.0), ([3, 2, 2], 2, 1.0), ([4], 3, 1.0), ([1, 3], 3, 1.0), ([2, 3], 3, 300.0)]
PAIRED = ("pair", "cross", "step")


def chains(sizes: list[int], **options: Any) -> FactorialChains:
    columns = {f"c{i}": [str(y) for y in range(n)] for i, n in enumerate(sizes)}
    return FactorialChains(columns, cross=True, steps=True, **options)


def case(
    sizes: list[int], lengths: list[int], scale: float
) -> tuple[FactorialChains, Parts, list[dict[str, Any]]]:
    """Random potentials, and the same as the tables of each sequence by name."""
    rng, structure, C = np.random.default_rng(0), chains(sizes), len(sizes)
    offsets = np.cumsum([0, *lengths]) * C
    classes = structure.empty(offsets)
    for name, array in classes.arrays.items():
        array[...] = rng.normal(size=array.shape) * (scale if name in structure.columns else 1.0)
    between = list(itertools.combinations(range(C), 2))
    shared = {
        "edge": [classes[f"c{c}~"].reshape(sizes[c], sizes[c]).tolist() for c in range(C)],
        "pair": {(c, d): classes[f"c{c}+c{d}"].reshape(sizes[c], -1).tolist() for c, d in between},
        "cross": {(c, d): classes[f"c{c}>c{d}"].reshape(sizes[c], -1).tolist() for c, d in between},
        "step": {(c, d): classes[f"c{c}~c{d}"].reshape(sizes[c], sizes[c], -1).tolist() for c, d in between},
    }
    ends = np.cumsum([0, *lengths])
    tables = [
        {**shared, "node": [classes[f"c{c}"][a:b].tolist() for c in range(C)]}
        for a, b in zip(ends[:-1], ends[1:])
    ]
    return structure, structure.expand(classes), tables


@pytest.mark.parametrize(("sizes", "T", "scale"), CASES)
def test_sums_and_marginals_are_those_of_enumeration(sizes: list[int], T: int, scale: float) -> None:
    structure, potentials, tables = case(sizes, [T, 1, 0], scale)
    answer, C = structure.infer(potentials), len(sizes)
    for i, (length, named) in enumerate(zip([T, 1], tables)):
        log_z, p = oracle.probabilities(sizes, length, named)
        assert answer.log_partition[i] == pytest.approx(log_z, rel=1e-12)
        assert structure.log_partition(potentials)[i] == pytest.approx(log_z, rel=1e-12)
        expected: dict[str, Any] = {
            name: np.zeros(array.shape[1])
            for name, array in answer.marginals.arrays.items()
            if name != "node"
        }
        first = int(potentials.offsets[i])
        node = np.zeros((length * C, structure.n_states))
        for y, mass in p.items():
            states = np.array(y, np.int32).reshape(-1)
            ones = structure.indicator(states, np.array([0, length * C]))
            node[np.arange(length * C), states] += mass
            for name in expected:
                expected[name] += mass * ones[name][0]
            if scale == 1.0:
                part = Parts(
                    {**potentials.arrays, "node": potentials["node"][first : first + length * C]},
                    np.array([0, length * C]),
                )
                assert structure.score(part, states)[0] == pytest.approx(oracle.score(y, named), abs=1e-9)
        np.testing.assert_allclose(
            answer.marginals["node"][first : first + length * C], node, rtol=1e-9, atol=1e-13
        )
        for name, sums in expected.items():
            np.testing.assert_allclose(answer.marginals[name][i], sums, rtol=1e-9, atol=1e-12, err_msg=name)
    assert answer.log_partition[2] == 0.0


@pytest.mark.parametrize(("sizes", "T", "scale"), CASES)
def test_best_labelling_is_that_of_enumeration(sizes: list[int], T: int, scale: float) -> None:
    structure, potentials, tables = case(sizes, [T, 1, 0], scale)
    states, value = structure.argmax(potentials)
    for i, (length, named) in enumerate(zip([T, 1], tables)):
        scores = {y: oracle.score(y, named) for y in oracle.labellings(sizes, length)}
        best = max(scores, key=lambda y: scores[y])
        at = int(potentials.offsets[i])
        assert value[i] == pytest.approx(scores[best], rel=1e-12)
        assert states[at : at + length * len(sizes)].tolist() == [label for token in best for label in token]


def test_forbidden_labels_zeros_and_threads() -> None:
    structure, potentials, _ = case([2, 3], [4] * 6, 1.0)
    allowed = np.random.default_rng(1).random(potentials["node"].shape) < 0.7
    allowed[:, 0] = True
    limited = structure.restrict(potentials, allowed)
    answer = structure.infer(limited)
    assert not answer.marginals["node"][~allowed].any()
    many = structure.using(3).infer(limited)
    assert np.array_equal(answer.log_partition, many.log_partition)
    for name in structure.parts:
        assert np.array_equal(answer.marginals[name], many.marginals[name])
    zeros = structure.expand(structure.empty(potentials.offsets))
    np.testing.assert_allclose(structure.log_partition(zeros), 4 * math.log(6), rtol=1e-12)


@pytest.mark.parametrize("method", ["junction_tree", "brute_force"])
def test_graphs_of_the_same_chains_agree(method: str) -> None:
    exact, potentials, _ = case([2, 3], [3, 1, 0, 2], 1.0)
    other = chains([2, 3], inference=(method, {}), decoding=(method, {}))
    one, two = exact.infer(potentials), other.infer(potentials)
    np.testing.assert_allclose(two.log_partition, one.log_partition, rtol=1e-10, atol=1e-12)
    for name in exact.parts:
        np.testing.assert_allclose(two.marginals[name], one.marginals[name], rtol=1e-9, atol=1e-12)
    assert np.array_equal(exact.argmax(potentials)[0], other.argmax(potentials)[0])

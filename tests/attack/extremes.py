"""Tiny chains with extreme potentials against exact rational arithmetic.

The best labelling and its score are compared with sums of fractions, which round nowhere; log-partition and
marginals with sums of exponentials taken relative to the exact maximum. An error that names the sequence is
an answer too where a sum is beyond the largest float.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import fieldcraft as fc
from attack.report import Result
from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace

VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, -5e-324, 30.0, -745.0, 1e5, -1e15, 1e16, 1e100, -1e154, 1e300]
VALUES += [1e308, -1e308, 1.7e308, -1.7e308, -math.inf]
LARGEST = Fraction(1.7976931348623157e308)


def draw(rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Potentials [T, S] and [S, S], from a few values, so that ties and cancellations occur."""
    n, states = rng.randrange(1, 5), rng.randrange(1, 4)
    few = rng.sample(VALUES, 4)
    node = np.array([[rng.choice(few) for _ in range(states)] for _ in range(n)])
    edge = np.array([[rng.choice(few) for _ in range(states)] for _ in range(states)])
    return node, edge


def exact_scores(node: np.ndarray, edge: np.ndarray) -> dict[tuple[int, ...], Fraction | None]:
    """The score of every labelling; None where it is impossible."""
    n, states = node.shape
    scores: dict[tuple[int, ...], Fraction | None] = {}
    for labels in itertools.product(range(states), repeat=n):
        terms = [node[t, y] for t, y in enumerate(labels)]
        terms += [edge[a, b] for a, b in zip(labels, labels[1:])]
        scores[labels] = None if -math.inf in terms else sum(map(Fraction, map(float, terms)), Fraction(0))
    return scores


def largest_term(node: np.ndarray, edge: np.ndarray) -> float:
    """The largest absolute potential that is not infinite."""
    terms = np.abs(np.concatenate([node.ravel(), edge.ravel()]))
    return float(np.max(terms[np.isfinite(terms)], initial=0.0))


def problem_of(node: np.ndarray, edge: np.ndarray) -> str | None:
    """What is wrong about the answers for these potentials."""
    scores = exact_scores(node, edge)
    possible = {labels: score for labels, score in scores.items() if score is not None}
    where = np.array([0, len(node)]), StateSpace.labels(node.shape[1])
    try:
        best = tuple(int(y) for y in chain.argmax(node, edge.ravel(), *where)[0])
        log_z = float(chain.log_partition(node, edge.ravel(), *where)[0])
    except fc.FieldcraftError:
        beyond = 2 * len(node) * Fraction(largest_term(node, edge)) > LARGEST
        return None if beyond or not possible else "an error where all sums are finite"
    if not possible:
        return None if log_z == -math.inf else f"log_partition is {log_z} where nothing is possible"
    top = max(possible.values())
    if best not in possible:
        return f"the best labelling {best} is impossible"
    size = Fraction(len(node)) * Fraction(largest_term(node, edge)) * 2  # sums round by this times 2^-52
    if top - possible[best] > Fraction(1, 10**12) * size:
        return f"{best} is not the best labelling"
    below = [top - score for score in possible.values()]
    expected = top + Fraction(math.log(sum(math.exp(-float(gap)) for gap in below if gap < 800)))
    if size > LARGEST:  # an inner sum may be beyond the largest float
        return None if not math.isnan(log_z) else "log_partition is not a number"
    if not math.isfinite(log_z) or abs(Fraction(log_z) - expected) > Fraction(1, 10**10) * max(1, size):
        return f"log_partition is {log_z}, not {float(expected)}"
    return None


def attack(folder: Path, seconds: float, first: int, limit: int | None) -> Result:
    """Chains with other seeds."""
    del folder
    finds, case, end = [], first, time.monotonic() + seconds
    while time.monotonic() < end and (limit is None or case - first < limit):
        node, edge = draw(random.Random(case))
        problem = problem_of(node, edge)
        if problem:
            finds.append({"case": case, "problem": problem, "node": node.tolist(), "edge": edge.tolist()})
        case += 1
    return Result(case - first, finds)

"""Lists, dicts and arrays that another thread changes while they are read: an answer or an exception."""

from __future__ import annotations

import time
from pathlib import Path

from attack.children import problem_of
from attack.report import Result

ROUNDS = 30  # of one child
PROGRAM = """
import random, sys, threading
import numpy as np
import fieldcraft as fc
from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace

rng = random.Random(int(sys.argv[1]))
WORDS = ["the", "old", "dog", "x" * 40, "é"]

def item():
    kind = rng.randrange(4)
    if kind == 0:
        return [rng.choice(WORDS) for _ in range(rng.randrange(4))]
    if kind == 1:
        return {rng.choice(WORDS): rng.choice([1.5, True, "v", ["a"], {"b": 2}]) for _ in range(3)}
    return rng.choice(WORDS) if kind == 2 else {rng.choice(WORDS) for _ in range(2)}

def corpus():
    X = [[item() for _ in range(rng.randrange(1, 30))] for _ in range(rng.choice([40, 400]))]
    return X, [[rng.choice("ABC") for _ in x] for x in X]

def change(thing):
    if isinstance(thing, np.ndarray):
        thing[rng.randrange(len(thing))] = rng.choice([0, -1, 2**31 - 1, 1, 7])
    elif isinstance(thing, dict):
        thing.pop(next(iter(thing), None), None)
        thing[rng.choice(WORDS)] = rng.choice([1.0, "z", [1], None])
    elif isinstance(thing, set):
        thing.add(str(rng.random()))
    elif isinstance(thing, list) and thing:
        more = lambda: thing.append(item())
        rng.choice([thing.clear, thing.pop, more, lambda: change(rng.choice(thing))])()

def disturb(things, stop):
    while not stop.is_set():
        try:
            change(rng.choice(things))
        except (RuntimeError, IndexError, StopIteration, TypeError, ValueError):
            pass

fitted = fc.ChainCRF(optimiser=fc.LBFGS(max_iterations=3), n_jobs=2).fit(*corpus())
for _ in range(int(sys.argv[2])):
    X, y = corpus()
    n = 60
    labels, offsets = np.zeros(n, np.int64), np.array([0, 20, n])
    node, edge, states = np.zeros((n, 3)), np.zeros(9), StateSpace.labels(3)
    things = [X, y, *X, *y, *(i for x in X for i in x), labels, offsets]
    stop = threading.Event()
    thread = threading.Thread(target=disturb, args=(things, stop), daemon=True)
    thread.start()
    try:
        for work in (
            lambda: fitted.predict(X),
            lambda: fitted.predict_marginals(X),
            lambda: fitted.log_probability(X, y),
            lambda: fc.ChainCRF(optimiser=fc.LBFGS(max_iterations=2), n_jobs=2).fit(X, y),
            lambda: chain.score(node, edge, offsets, states, labels),
            lambda: chain.log_partition(node, edge, offsets, states),
        ):
            try:
                work()
            except (fc.FieldcraftError, RuntimeError, TypeError, IndexError, KeyError):
                pass
    finally:
        stop.set()
        thread.join()
"""


def attack(folder: Path, seconds: float, first: int, limit: int | None) -> Result:
    """Children with other seeds, one after the other."""
    del folder
    finds, case, end = [], first, time.monotonic() + seconds
    while time.monotonic() < end and (limit is None or case - first < limit):
        problem = problem_of(PROGRAM, case, ROUNDS, timeout=120)
        if problem:
            finds.append({"case": case, "problem": problem})
        case += 1
    return Result((case - first) * ROUNDS, finds)

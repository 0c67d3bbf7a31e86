"""The measurements behind the decision records: `python docs/decisions/measure.py 003`.

Small and rough, on synthetic data: they show the direction of a decision. For speed: `make bench`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fieldcraft as fc
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.structures import chain

TEMPLATES = "lower(word[-2..2])\nshape(word[-2..2])\nedge"
SAME_ATTRIBUTES = """
lower(word[-1..1])
prefix(lower(word), 3)
suffix(lower(word), 3)
lower(word[-1]) & lower(word)
"""


def trained(n_jobs: int | None = None) -> fc.ChainCRF:
    """A model of 2000 synthetic addresses after 50 iterations."""
    crf = fc.ChainCRF(TEMPLATES, optimiser=fc.LBFGS(max_iterations=50), n_jobs=n_jobs)
    return crf.fit(fc.datasets.addresses(2000))


def per_evaluation(crf: fc.ChainCRF) -> str:
    """Wall time of training divided by evaluations."""
    last = crf.training_log_[-1]
    return f"{1000 * last.seconds / last.evaluations:.2f} ms per evaluation"


def best(work: Callable[[], object]) -> str:
    """The shortest of five runs."""
    return f"{1000 * min(timeit.repeat(work, number=1, repeat=5)):.1f} ms"


def threads() -> None:
    """001: the same bits with one thread and with two, and what two gain."""
    one, two = trained(1), trained(2)
    print(f"1 thread  {per_evaluation(one)}\n2 threads {per_evaluation(two)}")
    print(f"equal bits: {np.array_equal(one.weights_, two.weights_)}")


def labels_per_attribute() -> None:
    """002: how many attributes have at most two labels, and how much of the corpus they are."""
    index = trained().features_
    node = (index.attribute >= 0) & ~index.is_edge
    n_labels = np.bincount(index.attribute[node], minlength=index.n_attributes)  # [A]
    uses = np.bincount(index.attribute[node], index.count[node], minlength=index.n_attributes)
    few = n_labels <= 2
    print(f"attributes with at most two labels: {few.mean():.0%}")
    print(f"their share of all occurrences: {uses[few].sum() / uses.sum():.0%}")


def numerics() -> None:
    """003: marginals of 800 chains of 25 positions, 22 labels, random potentials."""
    rng = np.random.default_rng(0)
    node, edge = rng.normal(size=(20_000, 22)), rng.normal(size=484)
    chains = (node, edge, np.arange(0, 20_001, 25), fc.StateSpace.labels(22))
    for name in ("scaled", "log"):
        print(name, best(lambda name=name: chain.marginals(*chains, numerics=name, edge_totals=True)))


def by_hand(words: list[str]) -> list[list[str]]:
    """The attributes of SAME_ATTRIBUTES as Python strings."""
    w = ["<s>", *map(str.lower, words), "</s>"]
    return [
        [f"-1={a}", f"0={b}", f"1={c}", f"p={b[:3]}", f"s={b[-3:]}", f"{a}|{b}"]
        for a, b, c in zip(w, w[1:], w[2:])
    ]


def extraction() -> None:
    """004: attribute ids of 2000 synthetic addresses, by templates and from Python's strings."""
    corpus = fc.datasets.addresses(2000)
    templates = fc.Templates.parse(SAME_ATTRIBUTES)
    print("templates", best(lambda: TemplateFeatures(templates).encode(corpus, grow=True)))
    words = [sequence.columns["word"] for sequence in corpus]
    print("strings  ", best(lambda: FreeFeatures().encode([*map(by_hand, words)], grow=True)))


def levels() -> None:
    """006: one thread at each level; one that the processor lacks falls back to the next."""
    for level in ("portable", "avx2", "avx512"):
        environment = {**os.environ, "FIELDCRAFT_CPU": level}
        command = [sys.executable, __file__, "one-thread"]
        print(f"{level:<9}", subprocess.check_output(command, env=environment, text=True).strip())


def readers() -> None:
    """018: 20,000 sequences of strings read by one, two and four threads; are the ids the same?"""
    sentences = [by_hand(list(s.columns["word"])) for s in fc.datasets.addresses(20_000)]

    def read(n: int) -> Any:
        return FreeFeatures().encode(sentences, grow=True, n_threads=n).attributes

    for n in (1, 2, 4):
        print(f"{n} threads {best(partial(read, n))}, equal ids: {np.array_equal(read(1), read(n))}")


MEASUREMENTS: dict[str, Callable[[], None]] = {
    "001": threads,
    "002": labels_per_attribute,
    "003": numerics,
    "004": extraction,
    "006": levels,
    "018": readers,
    "one-thread": lambda: print(per_evaluation(trained(1))),
}

if __name__ == "__main__":
    for number in sys.argv[1:]:
        MEASUREMENTS[number]()

"""Trainer.append: reads its arguments at once, trains as the chain does, and needs little memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fieldcraft import ChainCRF
from fieldcraft.compat.algorithms import chain_settings
from fieldcraft.compat.pycrfsuite import ItemSequence, Trainer

rng = np.random.default_rng(3)


def data(n: int) -> tuple[list[list[Any]], list[list[str]]]:
    """Items of all forms, with zeros and other values."""
    X: list[list[Any]] = []
    y: list[list[str]] = []
    for i in range(n):
        words = rng.integers(15, size=rng.integers(1, 8))
        kinds = [
            {"w": str(w), "even": bool(w % 2 == 0), "size": int(w) // 4, "in": {"m": [f"{w % 3}"], "z": 0.0}}
            if (i + k) % 3
            else [f"w:{w}", "plain"]
            for k, w in enumerate(words)
        ]
        X.append(kinds)
        y.append([f"L{(w + (rng.random() < 0.3)) % 3}" for w in words])
    return X, y


def zero_sequences(X: Any, y: Any) -> tuple[list[Any], list[list[str]]]:
    """One token per label with the attributes whose value is zero there, in the order of appearance."""
    seen: dict[str, dict[str, None]] = {}
    for items, labels in zip(X, y):
        for item, label in zip(items, labels):
            if isinstance(item, dict):
                flat = {**{k: v for k, v in item.items() if k != "in"}, "in:z": item["in"]["z"]}
                for name in [k for k, v in flat.items() if not isinstance(v, str) and v == 0]:
                    seen.setdefault(label, {})[name] = None
    return [[list(names)] for names in seen.values()], [[label] for label in seen]


def chain_of(trainer: Trainer, X: Any, y: Any, **more: Any) -> ChainCRF:
    """The chain that the trainer must be equal to, trained by ChainCRF.fit alone."""
    extra, labels = zero_sequences(X, y)
    weights = [1.0] * len(X) + [0.0] * len(extra)
    crf = ChainCRF(**chain_settings(trainer.algorithm, trainer.get_params()))
    return crf.fit(X + extra, y + labels, sample_weight=weights, **more)


def assert_same_bits(mine: ChainCRF, expected: ChainCRF) -> None:
    np.testing.assert_array_equal(mine.weights_, expected.weights_)
    assert mine.features_.digest == expected.features_.digest
    for a, b in zip(mine.encoder_.state()[1].values(), expected.encoder_.state()[1].values()):
        np.testing.assert_array_equal(a, b)
    assert mine.provenance_ == expected.provenance_
    assert mine.objective_value_ == expected.objective_value_


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_same_bits_as_the_chain(algorithm: str) -> None:
    X, y = data(60)
    trainer = Trainer(algorithm, {"max_iterations": 8}, verbose=False)
    for items, labels in zip(X, y):
        trainer.append(items, labels)
    trainer.train("")
    assert_same_bits(trainer.crf_, chain_of(trainer, X, y))


def test_same_bits_with_held_out_groups() -> None:
    """The first sequence is held out, so that attributes are numbered anew; groups are interleaved."""
    X, y = data(60)
    trainer = Trainer(params={"max_iterations": 8}, verbose=False)
    for i, (items, labels) in enumerate(zip(X, y)):
        trainer.append(items, labels, i % 3)
    for group in (0, 1, 2):
        trainer.train("", holdout=group)
        train = [i for i in range(60) if i % 3 != group]
        expected = chain_of(trainer, [X[i] for i in train], [y[i] for i in train])
        assert_same_bits(trainer.crf_, expected)
        held = [i for i in range(60) if i % 3 == group]
        score = expected.score([X[i] for i in held], [y[i] for i in held])
        assert trainer.logparser is not None
        assert trainer.logparser.last_iteration is not None
        assert trainer.logparser.last_iteration["item_accuracy_float"] == pytest.approx(score, rel=1e-12)


def test_training_again_and_appending_in_between() -> None:
    X, y = data(40)
    trainer = Trainer(params={"max_iterations": 8}, verbose=False)
    for items, labels in zip(X[:30], y[:30]):
        trainer.append(items, labels)
    trainer.train("")
    first = trainer.crf_
    n, predicted = first.encoder_.n_attributes, first.predict(X).tolist()
    for items, labels in zip(X[30:], y[30:]):
        trainer.append(items, labels)
    assert first.encoder_.n_attributes == n
    assert first.predict(X).tolist() == predicted
    trainer.train("")
    assert_same_bits(trainer.crf_, chain_of(trainer, X, y))


def test_arguments_may_be_changed_afterwards() -> None:
    """A loop that clears and refills its lists, as python-crfsuite allows."""
    X, y = data(40)
    trainer = Trainer(params={"max_iterations": 8}, verbose=False)
    items: list[Any] = []
    labels: list[str] = []
    for sequence, gold in zip(X, y):
        items[:] = [dict(item) if isinstance(item, dict) else list(item) for item in sequence]
        labels[:] = gold
        trainer.append(items, labels)
        for item in items:
            item.clear()
        items.clear()
        labels.clear()
    trainer.train("")
    assert_same_bits(trainer.crf_, chain_of(trainer, X, y))


def test_item_sequences_are_read_at_once() -> None:
    X, y = data(40)
    trainer = Trainer(params={"max_iterations": 8}, verbose=False)
    for items, labels in zip(X, y):
        copies = [dict(item) if isinstance(item, dict) else list(item) for item in items]
        sequence = ItemSequence(copies)
        copies.clear()
        assert len(sequence) == len(items)
        trainer.append(sequence, labels)
    trainer.train("")
    other = Trainer(params={"max_iterations": 8}, verbose=False)
    for items, labels in zip(X, y):
        other.append(items, labels)
    other.train("")
    np.testing.assert_allclose(trainer.crf_.weights_, other.crf_.weights_, rtol=1e-12)


MEMORY = """
import random, sys
from {module} import Trainer

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

random.seed(1)
trainer = Trainer(verbose=False)
trainer.append([["a"]], ["A"])
before = resident()
for i in range(20000):
    words = [random.randrange(20000) for _ in range(20)]
    items = [[f"{{name}}={{w % size}}" for name, size in NAMES] for w in words]
    trainer.append(items, [f"L{{w % 9}}" for w in words])
print(resident() - before)
"""
NAMES = [(name, size) for name, size in zip("abcdefghij", [20000, 20000, 5000, 999, 100, 50, 20, 10, 3, 1])]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_beside_the_original() -> None:
    """4 million attributes of 400,000 items: no more than python-crfsuite holds for them."""
    pytest.importorskip("pycrfsuite")

    def kilobytes(module: str) -> int:
        code = f"NAMES = {NAMES!r}\n" + MEMORY.format(module=module)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return int(done.stdout)

    mine, peer = kilobytes("fieldcraft.compat.pycrfsuite"), kilobytes("pycrfsuite")
    assert mine <= peer, f"{mine} kB where python-crfsuite holds {peer} kB"

"""The probability of a span is the sum over all labelings that contain it, under every scheme."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fieldcraft import FieldcraftError, Span
from fieldcraft.corpus.schemes import is_tag_set, spans
from oracles import chain as oracle
from unit.models.small import LABELS, batch, chains, model


def types_of(kind: str) -> list[str]:
    if kind == "plain":
        return LABELS[kind]
    if kind == "bare":
        return [""]
    return sorted({name[2:] for name in LABELS[kind] if name != "O"})


@pytest.mark.parametrize("kind", LABELS)
def test_every_span(kind: str) -> None:
    crf = model(LABELS[kind])
    X = batch(lengths=(4, 0, 1, 3))
    asked = [
        [(a, b, label) for a in range(len(x)) for b in range(a + 1, len(x) + 1) for label in types_of(kind)]
        for x in X
    ]
    found = crf.span_probability(X, asked)
    tagged = kind != "plain"
    assert is_tag_set(LABELS[kind]) == tagged
    for values, wanted, chain in zip(found, asked, chains(crf, X)):
        expected = np.zeros(len(wanted))
        for path, p in oracle.distribution(chain).items():
            labels = [crf.classes_[k] for k in path]
            inside = set(spans(labels)) if tagged else set()
            for k, (a, b, label) in enumerate(wanted):
                if Span(a, b, label) in inside if tagged else labels[a:b] == [label] * (b - a):
                    expected[k] += p
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
        assert all(type(value) is float for value in values)


@pytest.mark.parametrize("kind", ["iob1", "iob2", "iobes", "bilou"])
def test_entities_that_start_at_a_token_exclude_each_other(kind: str) -> None:
    crf = model(LABELS[kind])
    X = batch(lengths=(5,))
    for start in range(5):
        asked = [(start, end, t) for end in range(start + 1, 6) for t in types_of(kind)]
        (values,) = crf.span_probability(X, [asked])
        assert math.fsum(values) <= 1.0 + 1e-12


def test_spans_may_be_spans_or_tuples() -> None:
    crf = model(LABELS["iob2"])
    X = batch(lengths=(3,))
    assert crf.span_probability(X, [[Span(0, 2, "A")]]) == crf.span_probability(X, [[(0, 2, "A")]])
    assert crf.span_probability(X, [[]]) == [[]]


@pytest.mark.parametrize(("kind", "known"), [("iob2", "A, B"), ("plain", "D, N, V")])
def test_an_unknown_type_is_refused(kind: str, known: str) -> None:
    with pytest.raises(FieldcraftError, match=f"'Z'.* the model has no such label; it has {known}"):
        model(LABELS[kind]).span_probability(batch(lengths=(3,)), [[(0, 2, "Z")]])


@pytest.mark.parametrize("kind", ["plain", "iobes"])
def test_windows_of_label_sets(kind: str) -> None:
    """The core's window probability against the oracle's, for windows at every place."""
    crf = model(LABELS[kind])
    X = batch(lengths=(4, 2, 1))
    S = len(crf.classes_)
    rng = np.random.default_rng(0)
    predictor = crf._predictor()
    potentials = predictor.scorer.potentials(crf.encoder_.encode(X, grow=False))
    for i, chain in enumerate(chains(crf, X)):
        for first in range(len(X[i])):
            for last in range(first + 1, len(X[i]) + 1):
                allowed = rng.random((last - first, S)) < 0.6
                window = potentials, [i], [first], [0, last - first], allowed
                (value,) = predictor.structure.operation("window_probability")(*window)
                everywhere = np.ones((len(X[i]), S), bool)
                everywhere[first:last] = allowed
                expected = oracle.range_probability(chain, everywhere.tolist())
                assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)

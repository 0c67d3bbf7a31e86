"""Threads share the attributes when features are counted: the index is the same for any number of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldcraft.design import build_design
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.labels import PartialLabels

LABELS = 5
TOKENS = 20_000  # with some four attributes each


def corpus(rng: np.random.Generator) -> tuple[FreeFeatures, Encoded]:
    """Attributes of every frequency; those that begin with > belong to pairs of labels."""
    names = [f"{'>' if i % 7 == 0 else 'w'}{i}" for i in range(3000)]
    frequent = 1.0 / np.arange(1, len(names) + 1)
    drawn = rng.choice(len(names), (TOKENS, 4), p=frequent / frequent.sum())
    tokens = [[names[i] for i in row] for row in drawn]
    cuts = np.sort(rng.choice(TOKENS, 800, replace=False))
    sequences = [tokens[a:b] for a, b in zip([0, *cuts], [*cuts, TOKENS])]
    encoder = FreeFeatures(edge_prefix=">")
    return encoder, encoder.encode(sequences, grow=True)


def columns(index: FeatureIndex) -> list[bytes]:
    parts = (index.attribute, index.labels, index.template, index.count, index.family)
    return [np.ascontiguousarray(part).tobytes() for part in parts]


def gold(rng: np.random.Generator, kind: str) -> Any:
    labels = rng.integers(0, LABELS, TOKENS).astype(np.int32)
    if kind == "labels":
        return labels
    lengths = rng.integers(0, 3, TOKENS)  # nothing known, one label, two candidates
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    return PartialLabels(ptr, rng.integers(0, LABELS, int(ptr[-1])).astype(np.int32))


@pytest.mark.parametrize("kind", ["labels", "partial labels"])
@pytest.mark.parametrize("features", ["supported", "all"])
def test_the_index_is_the_same_for_any_number_of_threads(kind: str, features: str) -> None:
    rng = np.random.default_rng(0)
    encoder, encoded = corpus(rng)
    labels = gold(rng, kind)
    made = [
        columns(build_design(encoder, encoded, labels, LABELS, features=features, n_jobs=n).index)
        for n in (1, 2, 3, 7, 16, 2**31 - 1)
    ]
    assert all(other == made[0] for other in made[1:])


def test_counts_are_those_of_counting_by_hand() -> None:
    rng = np.random.default_rng(1)
    encoder, encoded = corpus(rng)
    labels = gold(rng, "labels")
    index = build_design(encoder, encoded, labels, LABELS, n_jobs=3).index
    token = np.repeat(np.arange(TOKENS), np.diff(encoded.token_ptr))
    on_node = encoder.attribute_template[encoded.attributes] == 0
    pairs, counts = np.unique(
        np.stack([encoded.attributes[on_node], labels[token[on_node]]]), axis=1, return_counts=True
    )
    mine = (index.attribute >= 0) & ~index.is_edge
    assert np.array_equal(np.stack([index.attribute[mine], index.label[mine]]), pairs)
    assert np.array_equal(index.count[mine], counts)

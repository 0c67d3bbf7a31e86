"""Harmed and mended sites against an oracle that goes token by token."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from feature_names import named
from hypothesis import given
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft.errors import InputError
from oracles import discriminative as oracle

EDGE = "e:"
LABELS = ["O", "B-X", "I-X"]


def drawn(seed: int) -> tuple[list[list[list[str]]], list[list[list[str]]]]:
    """Sequences, and three labellings: gold, a, b; b has a label that the model does not know."""
    rng = random.Random(seed)
    names = [*(f"w={c}" for c in "abcd"), "e:x", "e:y"]
    lengths = [rng.choice([0, 1, 2, 5]) for _ in range(6)] + [3]
    X = [[[rng.choice(names) for _ in range(rng.randint(0, 2))] for _ in range(n)] for n in lengths]
    gold = [[rng.choice(LABELS) for _ in range(n)] for n in lengths]
    noisy = [
        [[g if rng.random() < 0.5 else rng.choice([*LABELS, "B-NEW"]) for g in labels] for labels in gold]
        for _ in range(2)
    ]
    return X, [gold, *noisy]


@given(st.integers(0, 10_000))
def test_sites(seed: int) -> None:
    X, (gold, a, b) = drawn(seed)
    crf = fc.ChainCRF(edge_prefix=EDGE, n_jobs=1, optimiser=fc.LBFGS(max_iterations=2)).fit(X, gold)
    mask = np.random.default_rng(seed).random(len(crf.features_)) < 0.15
    wanted = {feature for feature, taken in zip(named(crf), mask) if taken}
    found = fc.sites(gold, a, b, X=X, model=crf, features=mask)
    for listed, expected in zip((found.harmed, found.mended), oracle.sites(X, gold, a, b, wanted, EDGE)):
        rows = [
            (
                *(site.sequence, site.token, site.gold, site.a, site.b, site.type),
                {(f.attribute, f.previous, f.label) for f in site.features},
            )
            for site in listed
        ]
        assert rows == expected
    assert found.metric == "span_f"
    scores = [fc.metrics.span_scores(gold, x).micro.f for x in (a, b, oracle.repaired(gold, a, b))]
    assert [found.a, found.b, found.repaired] == scores
    (_, only_a), (only_b, _) = fc.compare(gold, a, b, resamples=1).tokens
    assert (len(found.harmed), len(found.mended)) == (only_a, only_b)


def cities() -> tuple[fc.ChainCRF, list[list[str]], list[list[str]]]:
    X = [["in", "New", "York"], ["York", "is"], ["he", "is"]]
    y = [["O", "I-LOC", "I-LOC"], ["I-LOC", "O"], ["O", "O"]]
    templates = "word\nin(cities, word)\nedge"
    names = fc.Gazetteer("cities", ["New York", "York"])
    return fc.ChainCRF(templates, gazetteers=[names], n_jobs=1).fit(X, y), X, y


def test_the_three_types_by_hand() -> None:
    crf, X, y = cities()
    worse = [["I-LOC", "O", "I-LOC"], ["I-LOC", "O"], ["I-LOC", "O"]]
    found = fc.sites(
        *(y, y, worse), X=X, model=crf, features=fc.discriminative.gazetteers(crf), names=("old", "new")
    )
    shown = [(site.sequence, site.token, site.word, site.type) for site in found.harmed]
    assert shown == [(0, 0, "in", "elsewhere"), (0, 1, "New", "A"), (2, 0, "he", "B")]
    assert [feature.attribute for feature in found.harmed[1].features] == ["in(cities, word)"]
    weight = found.harmed[1].features[0].weight
    assert found.harmed[1].features[0].label == "I-LOC"
    assert found.harmed[0].features == found.harmed[2].features == ()
    assert found.mended == ()
    assert found.repaired == found.a == 1.0
    assert found.b < 1.0
    assert found.counts()["harmed"] == {"A": 1, "elsewhere": 1, "B": 1}
    text = str(found)
    assert f"in(cities, word) -> I-LOC {weight:+.2f}" in text
    assert "old" in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["harmed"][1]["word"] == "New"
    assert plain["counts"]["mended"] == {"A": 0, "elsewhere": 0, "B": 0}


def test_equal_labellings_have_no_sites() -> None:
    crf, X, y = cities()
    found = fc.sites(y, y, y, X=X, model=crf, features=np.ones(len(crf.features_), bool))
    assert found.harmed == found.mended == ()
    assert "harmed" in str(found)


def test_label_pairs_count_as_active_after_a_first_token() -> None:
    crf, X, y = cities()
    worse = [["I-LOC", "O", "O"], ["I-LOC", "O"], ["O", "O"]]
    pairs = crf.features_.attribute < 0
    found = fc.sites(y, y, worse, X=X, model=crf, features=pairs)
    assert [(site.token, site.type, site.features) for site in found.harmed] == [
        (0, "elsewhere", ()),
        (1, "A", ()),
        (2, "A", ()),
    ]


def test_long_lists_are_cut_short() -> None:
    crf, _, _ = cities()
    X, y = [["he"] * 25], [["O"] * 25]
    found = fc.sites(y, y, [["I-LOC"] * 25], X=X, model=crf, features=fc.discriminative.gazetteers(crf))
    assert len(found.harmed) == 25
    assert str(found).endswith("… and 5 more")


def test_refusals() -> None:
    crf, X, y = cities()
    mask = fc.discriminative.gazetteers(crf)
    with pytest.raises(InputError, match="old: 2 predicted sequences"):
        fc.sites(y, y[:2], y, X=X, model=crf, features=mask, names=("old", "new"))
    with pytest.raises(InputError, match="each token needs one label"):
        fc.sites(y, y, y, X=X[:2], model=crf, features=mask)
    with pytest.raises(InputError, match="one bool per weight"):
        fc.sites(y, y, y, X=X, model=crf, features=mask[1:])
    with pytest.raises(InputError, match="features=None"):
        fc.sites(y, y, y, X=X, model=crf, features=None)

"""Detectors of discriminative features against an oracle that goes token by token."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from feature_names import named
from hypothesis import given
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.pools import discriminative as found
from fieldcraft.pools.discriminative import detect
from oracles import discriminative as oracle

Corpus = tuple[list[list[list[str]]], list[list[str]]]
EDGE = "e:"


def corpus(seed: int, n: int = 8) -> Corpus:
    """Random tokens with node and edge attributes, repeated ones too; some sequences are empty."""
    rng = random.Random(seed)
    names = [*(f"w={c}" for c in "abcdefgh"), "e:x", "e:y", "e:z"]
    lengths = [rng.choice([0, 1, 2, 5]) for _ in range(n)] + [3]
    X = [[[rng.choice(names) for _ in range(rng.randint(0, 4))] for _ in range(m)] for m in lengths]
    return X, [[rng.choice("PQR") for _ in range(m)] for m in lengths]


def trained(X: object, y: object, **settings: object) -> fc.ChainCRF:
    settings = {"edge_prefix": EDGE, "n_jobs": 1, "optimiser": fc.LBFGS(max_iterations=2), **settings}
    return fc.ChainCRF(**settings).fit(X, y)  # type: ignore[arg-type]


@given(st.integers(0, 10_000))
def test_families(seed: int) -> None:
    X, y = corpus(seed)
    X = [[sorted(set(token)) for token in tokens] for tokens in X]
    crf = trained(X, y)
    counted = oracle.families(X, y, EDGE)
    alone = {f: n for f, (n, seen) in counted.items() if n == seen}
    rows = named(crf)
    for mask, wanted in (
        (found.family_singletons(crf.features_), {f for f, n in alone.items() if n == 1}),
        (found.family_ntons(crf.features_), {f for f, n in alone.items() if n > 1}),
        (found.family_ntons(crf.features_, least=2, most=3), {f for f, n in alone.items() if 2 <= n <= 3}),
    ):
        assert mask.dtype == bool
        assert {f for f, taken in zip(rows, mask) if taken} == wanted


@given(st.integers(0, 10_000))
def test_company_and_loners(seed: int) -> None:
    X, y = corpus(seed)
    crf = trained(X, y)
    means, rows = oracle.company(X, y, EDGE), named(crf)
    assert found.mean_company(crf, X, y).tolist() == [float(means[f]) for f in rows]
    order = sorted(range(len(rows)), key=lambda row: (means[rows[row]], row))
    for size in {1, len(rows) // 2 or 1, len(rows)}:
        assert set(np.flatnonzero(found.loners(crf, X, y, size=size))) == set(order[:size])


def test_company_does_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = corpus(3, n=60)
    crf = trained(X, y)
    whole = found.mean_company(crf, X, y)
    monkeypatch.setattr(found, "BLOCK", 7)
    np.testing.assert_array_equal(found.mean_company(crf, X, y), whole)


def test_values_of_zero_are_not_active() -> None:
    X, y = [[{"a": 1.0, "b": 3.0}], [{"a": 2.0, "b": 1.0}]], [["P"], ["P"]]
    crf = trained(X, y, edge_prefix=None)
    encoded = crf.encoder_.encode(X, grow=False)._replace(values=np.array([1.0, 0.0, 2.0, 1.0]))
    means = found.company(crf.features_, encoded, np.zeros(2, np.int32), 1)
    assert dict(zip((name for name, _, _ in named(crf)), means)) == {"a": 0.5, "b": 1.0}


def test_label_pairs_are_in_no_family() -> None:
    crf = trained([[["w=a"], ["w=a"]]], [["P", "Q"]])
    assert named(crf)[0] == (None, "P", "Q")
    assert crf.features_.count[0] == crf.features_.family[0] == 1
    assert not found.family_singletons(crf.features_).any()


def test_features_that_do_not_occur_are_never_loners() -> None:
    X, y = corpus(5)
    crf = trained(X, y, features="all")
    means = oracle.company(X, y, EDGE)
    got = found.mean_company(crf, X, y)
    assert [bool(np.isinf(mean)) for mean in got] == [f not in means for f in named(crf)]
    assert np.isinf(got).any()
    with pytest.raises(InputError, match=f"only {len(means)} features occur"):
        found.loners(crf, X, y, size=len(means) + 1)
    assert not np.isinf(got[found.loners(crf, X, y, size=len(means))]).any()
    assert not found.family_singletons(crf.features_)[crf.features_.count == 0].any()


def test_sizes_are_nested() -> None:
    X, y = corpus(7, n=40)
    crf = trained(X, y)
    masks = [found.loners(crf, X, y, size=size) for size in (2, 5, 11)]
    assert [int(mask.sum()) for mask in masks] == [2, 5, 11]
    assert not (masks[0] & ~masks[1]).any()
    assert not (masks[1] & ~masks[2]).any()


def with_gazetteer() -> tuple[fc.ChainCRF, list[list[str]], list[list[str]]]:
    X = [["in", "New", "York"], ["York", "is"], ["in", "is"]]
    y = [["O", "LOC", "LOC"], ["LOC", "O"], ["O", "O"]]
    templates = "word\nin(cities, word)\nword & in(cities, word[1])\nedge: in(cities, word)\nedge"
    cities = fc.Gazetteer("cities", ["New York", "York"])
    return fc.ChainCRF(templates, gazetteers=[cities], n_jobs=1).fit(X, y), X, y


def test_gazetteer_features() -> None:
    crf, _, _ = with_gazetteer()
    mask = found.gazetteers(crf)
    texts = [text for text, _, _ in named(crf)]
    assert [text is not None and "cities" in text for text in texts] == mask.tolist()
    assert mask.any()
    assert not mask.all()


def test_gazetteer_features_of_a_model_without_any() -> None:
    crf = fc.ChainCRF("word\nedge", n_jobs=1).fit([["a", "b"]], [["P", "Q"]])
    assert not found.gazetteers(crf).any()
    assert not found.gazetteers(trained(*corpus(0))).any()


def test_detect_by_name() -> None:
    crf, X, y = with_gazetteer()
    shared = crf._training().share(X, y)
    ask = lambda features: detect(features, shared.encoder, shared.design, 2)  # noqa: E731
    np.testing.assert_array_equal(ask("gazetteers"), found.gazetteers(crf))
    np.testing.assert_array_equal(ask("family_singletons"), found.family_singletons(crf.features_))
    np.testing.assert_array_equal(ask("family_ntons"), found.family_ntons(crf.features_))
    np.testing.assert_array_equal(ask("loners:3"), found.loners(crf, X, y, size=3))
    np.testing.assert_array_equal(ask(found.family_singletons), found.family_singletons(crf.features_))
    np.testing.assert_array_equal(ask(found.gazetteers(crf)), found.gazetteers(crf))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("gazetteer", "choose one of gazetteers, family_singletons"),
        ("family_ntons:3", "choose one of"),
        ("loners:many", "a whole number"),
        ("loners", "only .* features occur"),
        (None, "features=None"),
        (lambda index: np.zeros(len(index), bool), "no such feature"),
        (np.ones(3, bool), "one bool per weight"),
    ],
)
def test_detect_refuses(asked: object, message: str) -> None:
    crf, X, y = with_gazetteer()
    shared = crf._training().share(X, y)
    with pytest.raises(InputError, match=message):
        detect(asked, shared.encoder, shared.design, 2)


def test_refusals(tmp_path: Path) -> None:
    X, y = corpus(1)
    crf = trained(X, y)
    with pytest.raises(InputError, match="size is 0"):
        found.loners(crf, X, y, size=0)
    with pytest.raises(InputError, match="most is 1"):
        found.family_ntons(crf.features_, most=1)
    with pytest.raises(InputError, match="was not seen in training"):
        found.loners(crf, X, [["Z"] * len(labels) for labels in y], size=1)
    crf.save(tmp_path / "small.fc", compact=True)
    with pytest.raises(InputError, match="no counts"):
        found.family_singletons(fc.load(tmp_path / "small.fc").features_)


def test_loners_need_complete_labels() -> None:
    X: list[list[list[str]]] = [[["a"], ["b"]], [["a"]]]
    crf = fc.ChainCRF(objective="marginal_likelihood", n_jobs=1)
    shared = crf._training().share(X, [["P", None], ["Q"]])
    with pytest.raises(InputError, match="partial labels"):
        detect("loners:1", shared.encoder, shared.design, 2)

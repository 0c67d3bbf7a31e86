"""The sets with gazetteers and their subsets: they cover the whole, and read the same tokens."""

from __future__ import annotations

import pytest

from fieldcraft import ChainCRF, Gazetteer, Templates
from fieldcraft.errors import FieldcraftError
from fieldcraft.features.named import GAZETTEERS

SUBSETS = ("s2", "n", "o", "a", "g")


def names(name: str) -> set[str]:
    return set(Templates.named(name).names)


def test_subsets_are_disjoint_and_cover_the_whole() -> None:
    parts = [names(f"entities-{name}") for name in SUBSETS]
    whole = names("entities-gazetteers")
    assert set().union(*parts) == whole
    assert sum(map(len, parts)) == len(whole)
    assert whole - names("entities-g") == names("entities")


def test_s1_is_simple_and_part_of_s2() -> None:
    assert names("entities-s1") == names("simple")
    assert names("entities-s2") - names("entities-s1") == {"edge: word"}
    assert Templates.named("entities-s1").edge_bias
    assert Templates.named("entities-s2").edge_bias
    assert not any(Templates.named(f"entities-{name}").edge_bias for name in SUBSETS[1:])


def test_gazetteers_plain_and_lexicalised() -> None:
    plain = [f"in({name}, word)" for name in GAZETTEERS]
    assert Templates.named("entities-g").names == [*plain, *(f"{name} & word" for name in plain)]
    assert Templates.named("entities-gazetteers").gazetteers == list(GAZETTEERS)


def test_sets_add_up_and_read_the_same_tokens() -> None:
    both = Templates.named("entities-s1") + Templates.named("entities-g")
    assert both.columns == ["word", "pos"]
    assert both.edge_bias
    assert set(both.names) == names("entities-s1") | names("entities-g")
    lists = [Gazetteer(name, ["Rome"] if name == "places" else ["Ada"]) for name in GAZETTEERS]
    X, y = [[("Ada", "NNP"), ("saw", "VBD"), ("Rome", "NNP")]], [["I-PER", "O", "I-LOC"]]
    crf = ChainCRF(both, gazetteers=lists, n_jobs=1).fit(X, y)
    texts = crf.encoder_.attribute_text(range(crf.encoder_.n_attributes))
    assert {"in(places, word)", "in(places, word) & word=Rome", "in(male, word) & word=Ada"} <= set(texts)
    assert "in(places, word) & word=Ada" not in texts
    with pytest.raises(FieldcraftError, match="no gazetteer is called 'surnames'"):
        ChainCRF("entities-gazetteers", n_jobs=1).fit(X, y)

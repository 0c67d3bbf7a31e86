"""Columns are read by several threads: the same attributes and errors as on the calling thread alone.

Strings of a subclass of str are read by the calling thread, one by one: they are the standard here.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from typing import Any

import pytest

from fieldcraft import _core
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates

THREADS = (1, 2, 3, 7, 2**31 - 1)
SEQUENCES = 500  # of some 20 tokens: several blocks
TEMPLATES = """columns word pos
word[-1..1]
lower(word)
suffix(word, 3)
shape(word)
word[-1] & word
pos[-1] & pos & pos[1]
edge: pos
"""
WORDS = {
    "ascii": ["The", "old", "dog", "sat", "down", "at", "3.15", "in", "the", "U.S.", "and", "looked"],
    "latin": ["été", "Straße", "façade", "Naïve", "Ærø", "ÑO", "über", "çà", "œuvre"],
    "wide": ["学", "犬", "日本語", "Москва", "γλώσσα", "עברית", "कखग", "한국어"],
    "astral": ["𝔞", "😀x", "x𐍈y", "𠀀𠀁", "é😀", "z"],
}


class Name(str):
    """A str that only the calling thread reads."""


Columns = dict[str, list[Any]]


def corpus(words: list[str], make: Callable[[str], str] = str, seed: int = 0) -> list[Columns]:
    """New string objects: Python has no UTF-8 of them yet."""
    rng = random.Random(seed)

    def column(n: int, kinds: int) -> list[str]:
        return [make("".join([rng.choice(words), str(rng.randrange(kinds))])) for _ in range(n)]

    lengths = [rng.randrange(40) for _ in range(SEQUENCES)]
    return [{"word": column(n, 300), "pos": column(n, 2)} for n in lengths]


def features() -> TemplateFeatures:
    return TemplateFeatures(Templates.parse(TEMPLATES))


def same(a: Encoded, b: Encoded) -> bool:
    return all(x is y is None or x.tobytes() == y.tobytes() for x, y in zip(a, b))


def state(encoder: TemplateFeatures) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in encoder.state()[1].items()}


@pytest.mark.parametrize("name", WORDS)
def test_growing_numbers_everything_as_one_by_one(name: str) -> None:
    standard = features()
    expected = standard.encode(corpus(WORDS[name], Name), grow=True)
    for n_threads in THREADS:
        encoder = features()
        assert same(encoder.encode(corpus(WORDS[name]), grow=True, n_threads=n_threads), expected)
        assert state(encoder) == state(standard)


@pytest.mark.parametrize("name", WORDS)
def test_a_table_leaves_out_what_it_does_not_know(name: str) -> None:
    encoder = features()
    encoder.encode(corpus(WORDS[name], seed=1)[:60], grow=True)
    expected = encoder.encode(corpus(WORDS[name], Name, seed=2), grow=False)
    before = state(encoder)
    for n_threads in THREADS:
        assert same(encoder.encode(corpus(WORDS[name], seed=2), grow=False, n_threads=n_threads), expected)
    assert state(encoder) == before
    grown = encoder.encode(corpus(WORDS[name], seed=2), grow=True, n_threads=3)
    assert same(grown, encoder.encode(corpus(WORDS[name], Name, seed=2), grow=False))


def test_sequences_of_a_corpus_are_read_like_dicts() -> None:
    X = corpus(WORDS["ascii"])
    as_corpus = [Sequence(columns) for columns in X]
    assert same(
        features().encode(X, grow=True, n_threads=2), features().encode(as_corpus, grow=True, n_threads=2)
    )


def test_a_mixture_of_strings_is_read_by_the_calling_thread() -> None:
    X, Y = corpus(WORDS["latin"]), corpus(WORDS["latin"])
    for columns in Y[::50]:
        columns["pos"] = [Name(word) for word in columns["pos"]]
    assert same(features().encode(X, grow=True, n_threads=3), features().encode(Y, grow=True, n_threads=3))


BAD: dict[str, Callable[[Columns], None]] = {
    "a number": lambda columns: columns["word"].__setitem__(1, 3),
    "bytes": lambda columns: columns["pos"].__setitem__(1, b"x"),
    "a surrogate": lambda columns: columns["word"].__setitem__(1, "\udc00"),
    "a column too short": lambda columns: columns["pos"].pop(),
    "a column too long": lambda columns: columns["pos"].append("x"),
    "no column": lambda columns: columns.pop("pos") and None,
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("at", [0, 200, SEQUENCES - 1])
def test_the_first_error_is_that_of_one_thread_and_leaves_no_trace(kind: str, at: int) -> None:
    def broken(make: Callable[[str], str]) -> list[Columns]:
        X = corpus(WORDS["ascii"], make)
        X[at] = {"word": [make(w) for w in "abc"], "pos": [make(w) for w in "def"]}
        BAD[kind](X[at])
        for columns in X[at + 1 : at + 50]:
            columns["pos"].append(None)  # columns are checked one after the other
        return X

    with pytest.raises(InputError) as standard:
        features().encode(broken(Name), grow=True)
    X, few = broken(str), corpus(WORDS["ascii"])[:5]
    for n_threads in THREADS:
        encoder = features()
        encoder.encode(few, grow=True)
        before = state(encoder)
        for grow in (True, False):
            with pytest.raises(InputError) as caught:
                encoder.encode(X, grow=grow, n_threads=n_threads)
            assert str(caught.value) == str(standard.value)
        assert state(encoder) == before
    assert str(standard.value).startswith(f"sequence {at}")


@pytest.mark.alone
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_signal_ends_the_reading(n_threads: int) -> None:
    columns = [[["a", "b", "c"] * 4] * 400_000] * 2
    table = _core.TemplateTable(features()._plan)

    class EndedError(Exception):
        pass

    def end(*_: object) -> None:
        raise EndedError

    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(EndedError):
            table.encode(columns, ["word", "pos"], lambda *_: pytest.fail("all was read"), True, n_threads)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert table.n_attributes == 0

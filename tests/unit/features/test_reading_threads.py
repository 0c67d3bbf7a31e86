"""Features are read by several threads: the same ids, values and errors as one by one.

The expected ids are computed here in plain Python: attributes are numbered as they first appear.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.user_features import FreeFeatures

THREADS = (1, 2, 3, 7)
SEQUENCES = 600  # of some 20 tokens: several windows of several blocks
Corpus = list[Any]

WORDS = {
    "ascii": ["the", "old", "dog", "sat", "down", "and", "looked", "at", "nothing", "in", "particular"],
    "latin": ["été", "Straße", "façade", "naïve", "Ærø", "ño", "über", "çà", "œuvre"],
    "wide": ["学", "犬", "日本語", "Москва", "γλώσσα", "עברית", "कखग", "한국어"],
    "astral": ["𝔞", "😀x", "x𐍈y", "𠀀𠀁", "é😀", "z"],
}


class Name(str):
    """A str that is not exactly a str."""


def fresh(rng: random.Random, words: list[str]) -> str:
    """A new string object, which Python has no UTF-8 of yet."""
    return "".join([rng.choice(words), "-", rng.choice(words), str(rng.randrange(300))])


def lists(words: list[str]) -> Corpus:
    rng = random.Random(1)
    return [
        [[fresh(rng, words) for _ in range(rng.randrange(6))] for _ in range(rng.randrange(40))]
        for _ in range(SEQUENCES)
    ]


def by_length() -> Corpus:
    """Names of 0 to 40 bytes that begin or end alike, some of them with zeros in front."""
    rng = random.Random(3)

    def name() -> str:
        n, kind = rng.randrange(41), rng.randrange(4)
        text = ["x" * n, "\0" * (n // 3) + "x" * (n - n // 3), f"{rng.randrange(50):x}" * n, "é" * (n // 2)]
        return rng.choice(["", "y"]) + text[kind][:40] + rng.choice(["", "\0", "y"])

    return [[[name() for _ in range(5)] for _ in range(20)] for _ in range(SEQUENCES)]


def value(rng: random.Random, words: list[str], *, foreign: bool) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: fresh(rng, words),
        lambda: rng.choice([True, False, 0, 1, 3, -7, 2**60 + 1, 2**53 + 1, 0.0, 0.25, -1e300]),
        lambda: [fresh(rng, words)] * 2,
        lambda: (fresh(rng, words), "x"),
        lambda: {fresh(rng, words): 2.5, "deep": {"er": [fresh(rng, words)]}},
    ]
    if foreign:
        kinds += [
            lambda: {"b", "a"},
            lambda: np.float32(0.5),
            lambda: np.int64(3),
            lambda: np.str_("v"),
            lambda: Name("n"),
        ]
    return rng.choice(kinds)()


def items(words: list[str], *, foreign: bool) -> Corpus:
    """Every form of an item; ``foreign``: also those that only the calling thread may read."""
    rng = random.Random(2)

    def item() -> Any:
        kind = rng.randrange(5 + (foreign and rng.random() < 0.02))
        if kind == 0:
            return fresh(rng, words)
        if kind == 1:
            return tuple(fresh(rng, words) for _ in range(rng.randrange(3)))
        if kind < 5:
            rare = foreign and rng.random() < 0.02
            return {fresh(rng, words): value(rng, words, foreign=rare) for _ in range(rng.randrange(4))}
        return {Name("s"), fresh(rng, words)}

    return [rng.choice([list, tuple])(item() for _ in range(rng.randrange(30))) for _ in range(SEQUENCES)]


CORPORA: dict[str, Callable[[], Corpus]] = {
    **{f"lists, {name}": lambda words=words: lists(words) for name, words in WORDS.items()},
    **{f"items, {name}": lambda words=words: items(words, foreign=False) for name, words in WORDS.items()},
    "lists, every length": by_length,
    "items, some foreign": lambda: items(WORDS["latin"], foreign=True),
}


def spelled(item: Any, prefix: str = "") -> list[tuple[str, float]]:
    """The attributes of an item by the rules of the documentation."""
    if isinstance(item, str):
        return [(prefix + item, 1.0)]
    if isinstance(item, (list, tuple)):
        return [(prefix + name, 1.0) for name in item]
    if isinstance(item, (set, frozenset)):
        return [(prefix + name, 1.0) for name in sorted(item)]
    out = []
    for key, given in item.items():
        if isinstance(given, (str, list, tuple, set, dict)):
            out += spelled(given, f"{prefix}{key}:")
        elif given != 0:
            out.append((prefix + key, float(given)))
    return out


def expected(X: Corpus) -> tuple[list[int], list[int], list[int], list[float], list[str]]:
    number: dict[str, int] = {}
    offsets, ptr, ids, values = [0], [0], [], []
    for sequence in X:
        for item in sequence:
            for name, one in spelled(item):
                ids.append(number.setdefault(name, len(number)))
                values.append(one)
            ptr.append(len(ids))
        offsets.append(len(ptr) - 1)
    return offsets, ptr, ids, values, list(number)


def same(a: Encoded, b: Encoded) -> bool:
    return all(
        (x is None and y is None) or (x is not None and y is not None and x.tobytes() == y.tobytes())
        for x, y in zip(a, b)
    )


def test_this_python_is_read_in_parallel() -> None:
    """Otherwise the tests below compare one thread with itself."""
    assert _core.reads_in_parallel()
    assert _core.looks_into_lists()


@pytest.mark.parametrize("hash_size", [1_000_003, 2**31 - 3])
def test_a_name_has_one_hash_however_it_is_read(hash_size: int) -> None:
    X = by_length()[:40]
    read = FreeFeatures(hash_size=hash_size).encode(X, grow=True, n_threads=2)
    foreign = [[[Name(name) for name in item] for item in sequence] for sequence in X]
    assert same(read, FreeFeatures(hash_size=hash_size).encode(foreign, grow=True))
    for name in (name for sequence in X for item in sequence for name in item):
        ctypes.pythonapi.PyUnicode_AsUTF8(ctypes.py_object(name))  # from now on Python keeps its UTF-8
    assert same(read, FreeFeatures(hash_size=hash_size).encode(X, grow=True))


@pytest.mark.parametrize("allocator", ["pymalloc", "malloc", "debug"])
def test_what_memory_contained_before_does_not_matter(allocator: str) -> None:
    """Some flags of a str are never set: they are what was there, and debugging allocators fill memory."""
    program = "from fieldcraft import _core; assert _core.reads_in_parallel() and _core.looks_into_lists()"
    subprocess.run([sys.executable, "-c", program], env=os.environ | {"PYTHONMALLOC": allocator}, check=True)


@pytest.mark.parametrize("name", CORPORA)
def test_ids_follow_first_appearance(name: str) -> None:
    offsets, ptr, ids, values, names = expected(CORPORA[name]())
    for n_threads in THREADS:
        encoder = FreeFeatures()
        encoded = encoder.encode(CORPORA[name](), grow=True, n_threads=n_threads)  # strings not read before
        assert encoded.offsets.tolist() == offsets
        assert encoded.token_ptr.tolist() == ptr
        assert encoded.attributes.tolist() == ids
        assert (np.ones(len(ids)) if encoded.values is None else encoded.values).tolist() == values
        assert encoder.attribute_text(range(encoder.n_attributes)) == names


@pytest.mark.parametrize("name", ["lists, every length", "lists, wide", "items, some foreign"])
def test_a_table_finds_its_names_however_often_it_was_asked(name: str) -> None:
    """After many lookups the table keeps short names side by side, until it grows."""
    known, number = SEQUENCES // 3, dict[str, int]()
    encoder = FreeFeatures()
    for grown in (known, 2 * known):
        encoder.encode(CORPORA[name]()[:grown], grow=True, n_threads=2)
        X = CORPORA[name]()
        for sequence in X[:grown]:
            for item in sequence:
                for one, _ in spelled(item):
                    number.setdefault(one, len(number))
        ids = [number.get(one, -1) for sequence in X for item in sequence for one, _ in spelled(item)]
        expected_ids = [i for i in ids if i >= 0]
        assert 0 < len(expected_ids) < len(ids)
        for n_threads in (1, 2, 3, 2, 1, 3):
            found = encoder.encode(CORPORA[name](), grow=False, n_threads=n_threads)
            assert found.attributes.tolist() == expected_ids


def test_threads_read_the_same_values() -> None:
    """So much that a thread that comes late still finds something to read."""
    X = [[{"size": i + 0.5, "same": 3}] * 20 for i in range(20_000)]
    one, many = (FreeFeatures().encode(X, grow=True, n_threads=n) for n in (1, 3))
    assert one.values is not None
    assert same(one, many)


@pytest.mark.parametrize("n_threads", THREADS)
def test_more_new_names_than_the_table_has_room_for(n_threads: int) -> None:
    """Names that occur once, one of two megabytes, and a sequence with as many as many others together."""
    rng = random.Random(3)
    X = [[[f"n{rng.randrange(10**9)}" for _ in range(25)] for _ in range(20)] for _ in range(400)]
    X[250] = [[f"many{i % 90_000}" for i in range(100_000)]]
    X[300][0][0] = "long" * 500_000
    _, _, ids, _, names = expected(X)
    encoder = FreeFeatures()
    assert encoder.encode(X, grow=True, n_threads=n_threads).attributes.tolist() == ids
    assert encoder.attribute_text(range(encoder.n_attributes)) == names


@pytest.mark.parametrize("n_threads", THREADS)
def test_an_encoder_that_knows_names_gets_more_of_them(n_threads: int) -> None:
    first, second = lists(WORDS["ascii"])[:300], lists(WORDS["latin"])[:300] + lists(WORDS["ascii"])
    second[20][0:0] = [{"a set": {"b", "a"}}]  # left to the calling thread
    _, _, ids, _, names = expected(first + second)
    encoder = FreeFeatures()
    before = encoder.encode(first, grow=True, n_threads=n_threads)
    after = encoder.encode(second, grow=True, n_threads=n_threads)
    assert before.attributes.tolist() + after.attributes.tolist() == ids
    assert encoder.attribute_text(range(encoder.n_attributes)) == names


def test_more_threads_than_there_can_be() -> None:
    X = lists(WORDS["ascii"])
    one, many = (FreeFeatures().encode(X, grow=True, n_threads=n) for n in (1, 2**31 - 1))
    assert same(one, many)


@pytest.mark.parametrize("hash_size", [None, 1000])
@pytest.mark.parametrize("name", CORPORA)
def test_known_and_unknown_attributes_on_any_number_of_threads(name: str, hash_size: int | None) -> None:
    X = CORPORA[name]()
    encoder = FreeFeatures(hash_size=hash_size)
    encoder.encode(X[: SEQUENCES // 3], grow=True)
    frozen = [encoder.encode(X, grow=False, n_threads=n) for n in THREADS]
    assert all(same(frozen[0], other) for other in frozen[1:])
    before = encoder.n_attributes
    grown = encoder.encode(X, grow=True, n_threads=3)  # a table that has names already
    assert hash_size is not None or encoder.n_attributes > before
    assert same(grown, encoder.encode(X, grow=False, n_threads=1))


BAD: dict[str, Any] = {
    "a number": 3.5,
    "a number among strings": ["a", 3],
    "too deep": [["a"]],
    "not finite": {"k": float("inf")},
    "no number": {"k": object()},
    "a surrogate": ["\ud800"],
    "a surrogate in a dict": {"k": "x\udfff"},
    "another key": {1: "x"},
    "huge": {"k": 10**400},
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("at", [0, 130, SEQUENCES - 1])
def test_the_first_error_is_reported_as_on_one_thread(kind: str, at: int) -> None:
    X = lists(WORDS["ascii"])
    X[at] = [["fine"], BAD[kind], ["fine"]]
    for later in range(at + 1, min(at + 200, SEQUENCES)):
        X[later] = [["fine"], None]
    messages = set()
    for n_threads in THREADS:
        for grow in (True, False):
            with pytest.raises(InputError) as caught:
                FreeFeatures().encode(X, grow=grow, n_threads=n_threads)
            messages.add(str(caught.value))
    (message,) = messages
    assert message.startswith(f"sequence {at}, token 1: ")


def test_a_sequence_that_is_no_list_is_reported_where_it_stands() -> None:
    X: list[Any] = lists(WORDS["ascii"])
    X[77] = "text"
    with pytest.raises(InputError, match="^sequence 77: a sequence must be a list"):
        FreeFeatures().encode(X, grow=True, n_threads=2)


def test_code_that_runs_while_features_are_read_may_change_them() -> None:
    X: list[Any] = lists(WORDS["ascii"])

    class Vandal(float):
        def __float__(self) -> float:
            del X[100:]
            return 1.0

    vandal = np.array(Vandal(), object)  # a number of another type: the calling thread asks it
    X[30] = [{"k": vandal}]
    encoded = FreeFeatures().encode(X, grow=True, n_threads=3)
    assert 100 <= len(encoded.offsets) - 1 <= SEQUENCES
    assert int(encoded.offsets[-1]) == len(encoded.token_ptr) - 1


MANY = 400_000


class Signal:
    """A number that tells the other thread that reading has begun."""

    def __init__(self, event: threading.Event) -> None:
        self.event = event

    def __float__(self) -> float:
        self.event.set()
        return 1.0

    def __index__(self) -> int:
        return 1


@pytest.mark.alone
@pytest.mark.parametrize("n_threads", [1, 2])
def test_other_threads_run_while_features_are_read(n_threads: int) -> None:
    """They may shorten the list: how long it is, is asked again."""
    begun = threading.Event()
    X: list[Any] = [[{"k": Signal(begun)}], *([[["a", "b", "c"]] * 10] * MANY)]
    whole = len(X)

    def shorten() -> None:
        begun.wait()
        del X[10:]

    thread = threading.Thread(target=shorten)
    thread.start()
    encoded = FreeFeatures().encode(X, grow=True, n_threads=n_threads)
    thread.join()
    assert 10 <= len(encoded.offsets) - 1 < whole


@pytest.mark.alone
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_signal_ends_the_reading(n_threads: int) -> None:
    X = [[["a", "b", "c"]] * 10] * MANY + [[["last"]]]
    encoder = FreeFeatures()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            encoder.encode(X, grow=True, n_threads=n_threads)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert encoder.ids(["a", "last"]).tolist() == [0, -1]

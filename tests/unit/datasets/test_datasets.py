"""The embedded synthetic datasets: reproducible, well-formed, labelled, and neither trivial."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from random import Random

import pytest

from fieldcraft.corpus import Corpus
from fieldcraft.corpus.datasets import addresses, seminars, split
from fieldcraft.corpus.datasets.addresses import COUNTRIES, FIELDS
from fieldcraft.corpus.datasets.grammar import expand, parse_rules
from fieldcraft.corpus.datasets.seminar_rules import SEMINARS
from fieldcraft.errors import InputError

GENERATORS = {"addresses": addresses, "seminars": seminars}
TYPES = {"addresses": set(FIELDS), "seminars": {"speaker", "location", "start", "end"}}


def digest(corpus: Corpus) -> str:
    text = hashlib.sha256()
    for sequence in corpus:
        for column in (*sequence.columns.values(), sequence.labels):
            text.update("\t".join(column).encode() + b"\n")
    return text.hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "n", "seed", "expected"),
    [
        ("addresses", 300, 0, "c753e2101758421c"),
        ("addresses", 50, 7, "c7ebc6b34baae4c3"),
        ("seminars", 40, 0, "cd84a07c6170e0a6"),
        ("seminars", 10, 7, "b30b824ab57c600d"),
    ],
)
def test_the_data_are_the_same_everywhere(name, n, seed, expected):
    """Figures are quoted for these data; a changed generator must change these digests too."""
    assert digest(GENERATORS[name](n, seed=seed)) == expected


@pytest.mark.parametrize("name", GENERATORS)
def test_a_larger_corpus_begins_with_the_smaller_one(name):
    make = GENERATORS[name]
    assert list(make(12, seed=3))[:5] == list(make(5, seed=3))
    assert list(make(5, seed=3)) != list(make(5, seed=4))
    assert len(make(0)) == 0


@pytest.mark.parametrize("name", GENERATORS)
def test_source_and_docstring_say_synthetic(name):
    corpus = GENERATORS[name](2, seed=5)
    assert corpus.source == f"synthetic: {name}(n=2, seed=5)"
    assert corpus[:1].source == corpus.source
    assert "synthetic" in (GENERATORS[name].__doc__ or "")


@pytest.mark.parametrize("name", GENERATORS)
def test_labels_are_iob2_and_tokens_are_words(name):
    types: Counter[str] = Counter()
    for sequence in GENERATORS[name](200):
        words, labels = sequence.columns["word"], sequence.labels
        assert len(words) == len(labels) > 0
        assert all(word and word == "".join(word.split()) for word in words)
        assert not any(mark in word for word in words for mark in "{}<>~|")
        for before, label in zip(["O", *labels], labels, strict=False):
            if label.startswith("I-"):
                assert before[2:] == label[2:]
            types[label[2:]] += label.startswith("B-")
    assert set(types) - {""} == TYPES[name]
    assert min(types[type_] for type_ in TYPES[name]) >= 20


def test_defaults():
    assert len(addresses()) == 2000
    assert len(seminars()) == 300
    assert addresses(1).column_names == ["word"]
    assert seminars(1).column_names == ["word", "line"]
    assert addresses(1).label_names == ("field",)


def fields_of_words(corpus: Corpus) -> dict[str, set[str]]:
    fields: defaultdict[str, set[str]] = defaultdict(set)
    for sequence in corpus:
        for word, label in zip(sequence.columns["word"], sequence.labels, strict=True):
            fields[word.lower()].add(label[2:])
    return fields


def test_words_of_addresses_are_ambiguous_and_new_ones_keep_coming():
    corpus = addresses()
    fields = fields_of_words(corpus)
    assert {"recipient", "street", "city"} <= fields["lincoln"]
    assert {"recipient", "city"} <= fields["paris"]
    assert {"city", "region"} <= fields["washington"]
    tokens = [w.lower() for sequence in corpus for w in sequence.columns["word"] if w.isalpha()]
    ambiguous = sum(len(fields[word]) > 1 for word in tokens) / len(tokens)
    assert 0.4 < ambiguous < 0.9
    seen = set(fields_of_words(corpus[:1600]))
    late = [w.lower() for sequence in corpus[1600:] for w in sequence.columns["word"]]
    assert 0.1 < sum(word not in seen for word in late) / len(late) < 0.4


def test_names_in_seminar_bodies_need_the_heading():
    """The word before a body name does not tell: it precedes speakers and others alike."""
    before: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    repeated = 0
    for sequence in seminars():
        words, labels = sequence.columns["word"], sequence.labels
        speakers = Counter(w for w, y in zip(words, labels, strict=True) if y.endswith("-speaker"))
        repeated += any(count > 1 for word, count in speakers.items() if word.isalpha())
        for index in range(1, len(words)):
            before[words[index - 1]][labels[index] == "B-speaker"] += 1
    for cue in ("by", "of", "work", "meet", "like"):
        assert before[cue][True] >= 5
        assert before[cue][False] >= 5
    assert repeated > 150


def test_lines_of_seminars():
    for sequence in seminars(30):
        lines = sequence.columns["line"]
        assert lines[0] == "first"
        assert set(lines) <= {"first", "inside"}
        assert len(lines) == len(sequence)


def test_split_is_a_partition_that_keeps_order_and_depends_on_the_seed():
    corpus = addresses(50)
    train, test = split(corpus, fraction=0.7, seed=1)
    place = {id(sequence): index for index, sequence in enumerate(corpus)}
    parts = [[place[id(sequence)] for sequence in part] for part in (train, test)]
    assert [len(part) for part in parts] == [35, 15]
    assert sorted(parts[0] + parts[1]) == list(range(50))
    assert parts == [sorted(part) for part in parts]
    assert train.source == corpus.source
    assert list(split(corpus, fraction=0.7, seed=2)[0]) != list(train)
    assert [len(part) for part in split(corpus, fraction=1.0)] == [50, 0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: addresses(-1), "addresses: n must be 0 or more; got -1"),
        (lambda: seminars(-1), "seminars: n must be 0 or more; got -1"),
        (lambda: split(addresses(2), fraction=1.5), "fraction must lie between 0 and 1; got 1.5"),
    ],
)
def test_bad_input_is_explained(call, text):
    with pytest.raises(InputError, match=text):
        call()


@pytest.mark.parametrize("rules", [*COUNTRIES, SEMINARS])
def test_every_rule_that_is_named_exists(rules):
    for name, alternatives in rules.items():
        assert alternatives, name
        for text in alternatives:
            assert set(re.findall(r"\{(\w+)\}", text)) <= set(rules), (name, text)


def test_grammar_fills_placeholders_and_continues_lines():
    rules = parse_rules("""
a = {b}-#% | {b}-#%
  | {b}-#%
b = @x
""")
    assert rules == {"a": ("{b}-#%",) * 3, "b": ("@x",)}
    text = expand("<{a}>", rules, Random(0))
    assert text[1].isupper()
    assert text[2:4] == "x-"
    assert text[4].isdigit()
    assert text[5] in "123456789"
    assert text[0] + text[6:] == "<>"

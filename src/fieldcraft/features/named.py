"""Template sets by name. Columns are ``word`` and ``pos``.

simple    label bigrams, start and stop; (label, word). The same for tagging and entities.
tagging   adds words around, words and affixes in lower case, and shapes.
tagging-plain  simple, words around and (label before, label, word); no affixes.
entities  adds word and tag bigrams, orthography, affixes, length and Collins' formats.
entities-words  for words without tags: words and affixes in lower case instead.
a1 … a4   entities and more and more n-grams of words and tags: a ladder into overfitting.
entities-gazetteers  entities and membership in six gazetteers, plain and with the word.
announcements  for skip chains: words, tags, forms, lists of names, times and dates at offsets -4 .. 4.
entities-s1 … -g     its subsets: s1 (= simple) in s2; s2, n, o, a and g are disjoint and cover it.

docs/templates.md documents choices that the sources leave open. Hazard: sets for tagging must not look at
``pos``, which they predict. n, o, a and g have no label pairs: add them to s1 or s2.
"""

from __future__ import annotations

from typing import Any

_TESTS = """\
contains_digit(word)
contains_upper(word)
contains_hyphen(word)
contains_period(word)
contains_punctuation(word)
is_digits(word)
is_number(word)
is_alphanumeric(word)
is_roman(word)
is_upper(word)
is_lower(word)
is_mixed(word)
is_title(word)
is_initial(word)
is_acronym(word)
"""

_AFFIXES = """\
prefix(word, 1..4)
suffix(word, 1..4)
"""

_LENGTH = "length(word)\n"

_COLLINS = """\
collins(word[-1..1])
collins(word[-2]) & collins(word[-1])
collins(word[-1]) & collins(word)
collins(word[1]) & collins(word[2])
collins(word[-2]) & collins(word[-1]) & collins(word)
collins(word[-1]) & collins(word) & collins(word[1])
collins(word) & collins(word[1]) & collins(word[2])
"""

_LABELS = """\
edge
first
last
"""

_PLAIN = """\
edge: word
word[-2..2]
"""

_NGRAMS = """\
word[-2] & word[-1]
word[1] & word[2]
pos
pos[-2] & pos[-1]
pos[1] & pos[2]
"""

_WORDS = "word[-2..2]\nlower(word[-1..1])\n"
_LOWER_AFFIXES = """\
prefix(lower(word), 1..4)
suffix(lower(word), 1..4)
"""

GAZETTEERS = ("surnames", "female", "male", "places", "companies", "organisations")
_GAZETTEERS = "".join(f"in({name}, word)\n" for name in GAZETTEERS) + "".join(
    f"in({name}, word) & word\n" for name in GAZETTEERS
)

_RUNGS = (
    "pos[-2..2]\n",
    "word[-1] & word\nword & word[1]\n",
    "pos[-1] & pos\npos & pos[1]\n"
    "word[-2] & word[-1] & word\nword[-1] & word & word[1]\nword & word[1] & word[2]\n",
    "pos[-2] & pos[-1] & pos\npos[-1] & pos & pos[1]\npos & pos[1] & pos[2]\n",
)

# Announcements: the features of table 4.1 of the relational paper, at offsets -4 .. 4. Times and dates are
# looked for with regular expressions, those that span tokens as conjunctions.
_FORMS = ("[A-Z][a-z]+", "[A-Z][A-Z]+", "[A-Z]", "[A-Z]+", "[A-Z]+[a-z]+[A-Z]+[a-z]+")
_HONORIFICS = "(?i:dr|prof|professor|mr|mrs|ms|sir|dean|president|director|phd)"
_CLOCK, _HALF, _DASH = r"\d{1,2}(:\d\d)?", r"(?i:[ap]\.?m\.?|noon)", "(?i:-+|to|until|till)"
_MONTHS = "(?i:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_DAYS = "(?i:mon|tues|wednes|thurs|fri|satur|sun)day"


def _seen(pattern: str, at: int) -> str:
    return f"matches(word[{at}], /^{pattern}$/)"


def _sequence(at: int, *patterns: str) -> str:
    """Patterns of neighbouring words, the first at an offset."""
    return " & ".join(_seen(pattern, at + i) for i, pattern in enumerate(patterns)) + "\n"


def _announcement(at: int) -> list[str]:
    """What a word of an announcement looks like, at an offset; some lines are those of other offsets, too."""
    single = [_seen(pattern, at) + "\n" for pattern in (*_FORMS, _HONORIFICS, _MONTHS, _DAYS)]
    lists = [f"in({name}, word[{at}])\n" for name in ("surnames", "female", "male")]
    followed: list[tuple[Any, ...]] = [(at, _CLOCK, _DASH), (at, _CLOCK, _HALF, _DASH), (at, _HALF, _DASH)]
    preceded: list[tuple[Any, ...]] = [
        (at - 1, _DASH, _CLOCK),
        (at - 2, _DASH, _CLOCK, _HALF),
        (at, _CLOCK, _HALF),
    ]
    dates: list[tuple[Any, ...]] = [
        (at, r"\d{1,2}", _MONTHS),
        (at - 1, _MONTHS, r"\d{1,2}"),
        (at, r"\d{1,2}", "-", _MONTHS),
    ]
    dates += [(at - 2, r"\d{1,2}", "-", _MONTHS), (at, r"(19|20)\d\d")]
    spans = [_sequence(first, *patterns) for first, *patterns in (*followed, *preceded, *dates)]
    return [f"word[{at}]\n", f"pos[{at}]\n", *single, *lists, *spans]


_COLUMNS = "columns word pos\n"
_ENTITIES = _COLUMNS + _LABELS + _PLAIN + _NGRAMS + _TESTS + _AFFIXES + _LENGTH + _COLLINS
_SUBSETS = {  # of entities-gazetteers
    "s1": _LABELS + "word\n",
    "s2": _LABELS + "edge: word\nword\n",
    "n": "word[-2..-1]\nword[1..2]\n" + _NGRAMS,
    "o": _TESTS + _LENGTH,
    "a": _AFFIXES + _COLLINS,
    "g": _GAZETTEERS,
}


def _rung(n: int) -> str:
    """Set a<n>: the entities and the first n rungs; `pos` of the entities is in the first rung already."""
    base = "".join(line for line in _ENTITIES.splitlines(keepends=True) if line != "pos\n")
    return base + "".join(_RUNGS[:n])


NAMED: dict[str, str] = {
    "simple": "columns word\n" + _LABELS + "word\n",
    "tagging": "columns word\n" + _LABELS + _WORDS + _LOWER_AFFIXES + "shape(word[-1..1])\n",
    "entities": _ENTITIES,
    "entities-words": "columns word\n"
    + (_LABELS + _WORDS + _TESTS + _AFFIXES + _LENGTH + _COLLINS + _LOWER_AFFIXES),
    **{f"a{n}": _rung(n) for n in range(1, len(_RUNGS) + 1)},
    "entities-gazetteers": _ENTITIES + _GAZETTEERS,
    **{f"entities-{name}": _COLUMNS + text for name, text in _SUBSETS.items()},
    "announcements": _COLUMNS
    + _LABELS
    + "".join(dict.fromkeys(line for at in range(-4, 5) for line in _announcement(at))),
    "tagging-plain": "columns word\n" + _LABELS + _PLAIN,
}

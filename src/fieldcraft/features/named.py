"""Template sets by name. Columns are ``word`` and ``pos``.

simple    label bigrams, start and stop; (label, word). The same for tagging and entities.
tagging   adds words around and (label before, label, word).
entities  adds word and tag bigrams, orthography, affixes, length and Collins' formats.
entities-words  for words without tags: words and affixes in lower case instead.
a1 … a4   entities and more and more n-grams of words and tags: a ladder into overfitting.
entities-gazetteers  entities and membership in six gazetteers, plain and with the word.
entities-s1 … -g     its subsets: s1 (= simple) in s2; s2, n, o, a and g are disjoint and cover it.

docs/templates.md documents choices that the sources leave open. Hazard: ``tagging`` must not look at
``pos``, which it predicts. n, o, a and g have no label pairs: add them to s1 or s2.
"""

from __future__ import annotations

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

_TAGGING = """\
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
_COLUMNS = "columns word pos\n"
_ENTITIES = _COLUMNS + _LABELS + _TAGGING + _NGRAMS + _TESTS + _AFFIXES + _LENGTH + _COLLINS
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
    "tagging": "columns word\n" + _LABELS + _TAGGING,
    "entities": _ENTITIES,
    "entities-words": "columns word\n"
    + (_LABELS + _WORDS + _TESTS + _AFFIXES + _LENGTH + _COLLINS + _LOWER_AFFIXES),
    **{f"a{n}": _rung(n) for n in range(1, len(_RUNGS) + 1)},
    "entities-gazetteers": _ENTITIES + _GAZETTEERS,
    **{f"entities-{name}": _COLUMNS + text for name, text in _SUBSETS.items()},
}

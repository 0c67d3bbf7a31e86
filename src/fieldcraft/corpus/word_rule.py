"""The rule `words`: one regular expression, put together from named parts.

The parts in the order in which they are tried:

    plain      a word or number with a blank or plain punctuation behind it (most of a text)
    unspaced   each character of a script written without blanks (Han, kana, Thai, Lao, Khmer,
               Burmese), with the marks that combine with it
    address    https://…, www.…, name@example.org, example.org
    slashed    c/o, n/a, km/h
    negation   did|n't: the verb, then n't
    acronym    U.S.A., p.m., e.g.
    short      Dr., St., Inc., Hauptstr. (by a list) and initials, J. before a word
    number     3.50, 1,234, 10:30, 2024-01-31, 1/2, 12-14, 28/B, .5
    compound   well-known, O'Neill, AT&T
    word       letters, digits, marks and _ in a row
    mention    @name, #topic
    clitic     John|'s, they|'re
    run        ..., --, !!!
    emoji      with its modifiers; joined ones and flags are one token
    sign       any other character, with the marks that combine with it

Blanks are white space, control characters and marks of direction or width, which are not seen.

Hazards: linear time rests on two facts. Where a part may fail behind a long match, the next part takes
that match as a whole; where it may not, its repetitions are bounded (64 characters before an @, 15
links of a compound). Letters and marks are those of Python's Unicode tables: a character that is
newer than them is a sign.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# Scripts written without blanks: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F),
    (0x20000, 0x323AF),
)
_LAST = 0x20000  # behind it lie Han, which is unspaced, and marks that select a variant
_VARIANTS = (0xE0100, 0xE01EF)
_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_JOINERS = r"\xad\u200c\u200d"  # inside of words: soft hyphen, Persian and Indic joiners
_LETTER, _END, _CLITICS = r"[^\W\d_]", r"(?!\w)", "s|m|d|re|ve|ll"
_APOSTROPHE, _HYPHEN = "'\u2019", "\\-\u2010\u2011"
_CAPITAL = "[A-ZÀ-ÖØ-Þ\u0391-\u03ab\u0400-\u042f]"
_ALONE = r",;:/&+()\[\]{}\"$%<>|^`\\"  # signs that open nothing longer
_TRAILING = r".,;:!?'\u2019\"\u201d\u00bb)\]}>*"
_DOMAINS = "com|org|net|edu|gov|mil|int|info|biz|io|ai|app|dev|eu|uk|us|ca|de|fr|nl|es|it|jp|ch|at|be|au"
# Shortened words that keep their dot: always, where they have a capital, where a number follows.
_SHORT = """
    mr mrs ms dr prof st sr jr sra srta sig mme mlle rev capt lt sgt sen pres hr hrn
    inc ltd corp bros dept univ assn vs etc cf approx attn
    feb apr aug sept oct nov dec tue tues wed thu thur thurs
    apt ste bldg rm ave blvd rd ln hwy pkwy sq ct boul str apdo avda ctra pza urb pol postf núm
    ala ariz calif colo conn fla minn neb nev okla penn tenn tex wis lancs lincs yorks bucks herts hants
"""
_SHORT_IF_CAPITAL = """
    Hon Gen Col Maj Gov Rep Co Al Ed Eds Jan Mar Jun Jul Sep Mon Fri Sat Fl Av Pl Dr
    Ark Del Ind Kan Mass Mich Miss Mont Ore Wash
"""
_SHORT_BEFORE_NUMBERS = "no nos nr vol fig figs eq sec ch p pp art app apt fl int esc tel ext ref"


@lru_cache(maxsize=1)
def _word_and_mark_classes() -> tuple[str, str]:
    """Insides of character classes: the characters of words, and marks that combine."""
    kinds = [unicodedata.category(chr(code)) for code in range(_LAST)]
    marks = {code for code, kind in enumerate(kinds) if kind[0] == "M"}
    words = marks | {code for code, kind in enumerate(kinds) if kind[0] in "LN" or kind == "Pc"}
    for first, last in _UNSPACED:
        words.difference_update(c for c in range(first, last + 1) if c < _LAST and kinds[c] != "Nd")
    tail = _range(*_VARIANTS)
    return _class(words) + tail + _JOINERS, _class(marks) + tail


def _class(members: Iterable[int]) -> str:
    """The inside of a character class: the runs of consecutive members."""
    runs: list[list[int]] = []
    for code in sorted(members):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(_range(first, last) for first, last in runs)


def _range(first: int, last: int) -> str:
    return f"\\U{first:08x}-\\U{last:08x}"


def character_pattern() -> str:
    """Any character but blanks, with its marks."""
    _, mark = _word_and_mark_classes()
    return rf"\S[{mark}]*"


def word_pattern() -> str:
    """The whole rule: its parts in order, those that open with a word's character behind one look."""
    inside, mark = _word_and_mark_classes()
    word, unspaced = f"[{inside}]", "".join(_range(*pair) for pair in _UNSPACED)
    plain = rf"{word}+(?![{inside}.@/:+&{_APOSTROPHE}{_HYPHEN}]|,\d)"
    parts = [
        plain,
        rf"[{unspaced}{_ALONE}][{mark}]*",
        rf"(?=[\w{_JOINERS}])(?:{'|'.join(_wordlike(word))})",
        rf"[@#](?={_LETTER}){word}+",  # mention
        rf"[{_APOSTROPHE}](?<=\w.)(?i:{_CLITICS}){_END}",
        r"\.(?<![^\s$\u00a3\u20ac(].)\d+\w*",  # fraction
        r"([.!?\-=*~])\1+",  # run
        *_emoji(),
        rf"{word}+|.[{mark}]*",  # marks that open a word; sign
    ]
    return f"(?=[^{_UNSEEN}])(?:{'|'.join(parts)})"


def _wordlike(word: str) -> list[str]:
    """The parts that open with a letter or a digit and go on behind something else than a blank."""
    negation = f"(?i:n)[{_APOSTROPHE}](?i:t){_END}"
    clitic = f"[{_APOSTROPHE}](?i:{_CLITICS}){_END}"
    body = r'[^\s<>"\x00-\x1f]'
    return [
        rf"(?i:(?:https?|ftp)://|www\.){body}*(?![{_TRAILING}]){body}",  # address
        r"\w[\w.+\-]{0,63}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}",
        rf"(?i:(?:[a-z0-9\-]{{1,63}}\.){{1,4}}(?:{_DOMAINS}))(?![.\-]?\w)",
        rf"{_LETTER}{{1,2}}/{_LETTER}{{1,2}}(?![/\w])",  # slashed
        rf"{word}+?(?={negation})",
        rf"(?<=\w){negation}",
        rf"{_LETTER}(?:\.{_LETTER}){{1,15}}{_END}\.?{_END}",  # acronym
        *_short_words(),
        rf"{_CAPITAL}\.(?=\s*\w)",  # initial
        rf"\d+(?:[.,:/{_HYPHEN}]\d+){{1,15}}\w*",  # number
        rf"\d{{1,9}}/{_LETTER}(?![/\w])",
        rf"{word}+(?:(?!{clitic})[&{_APOSTROPHE}{_HYPHEN}]{word}+){{1,15}}",  # compound
        rf"{word}+",
    ]


def _short_words() -> list[str]:
    guard = rf"(?={_LETTER}{{1,6}}\.{_END})"  # spares most words the long lists
    capital = _SHORT_IF_CAPITAL.split()
    listed = "|".join([*capital, *map(str.upper, capital)])
    return [
        rf"{guard}(?:(?i:{'|'.join(_SHORT.split())})|{listed})\.",
        rf"{guard}(?i:{'|'.join(_SHORT_BEFORE_NUMBERS.split())})\.(?=\s*#?\d)",
        rf"{_LETTER}{{1,40}}(?i:str)\.{_END}",
    ]


def _emoji() -> list[str]:
    picture = "[\u203c\u2049\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    dress = "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]{0,9}"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    return [flag, f"{picture}{dress}(?:\u200d{picture}{dress}){{0,9}}"]

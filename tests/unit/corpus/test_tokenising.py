"""Tokens of raw text: what they are, where they lie, and that hostile text is no trap."""

from __future__ import annotations

import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft.corpus.tokenising import (
    RULES,
    Token,
    Tokenizer,
    describe_tokenizer,
    resolve_tokenizer,
    restore_tokenizer,
    tokenize,
)
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.store.files import read_arrays, write_arrays

CASES = {
    "sentence": ("He left, then (again) stopped.", "He left , then ( again ) stopped ."),
    "negation": ("I don't, CAN'T and won’t.", "I do n't , CA N'T and wo n’t ."),
    "clitics": ("John's dog; they're, I'll, boys' Bob's", "John 's dog ; they 're , I 'll , boys ' Bob 's"),
    "inner apostrophes": ("O'Neill's rock'n'roll l'eau", "O'Neill 's rock'n'roll l'eau"),
    "quotes": ("'so' \"it\" «was» “good”", "' so ' \" it \" « was » “ good ”"),
    "titles": ("Dr. No met Mrs. Roe at Acme Inc. yesterday.", "Dr. No met Mrs. Roe at Acme Inc. yesterday ."),
    "initials": ("J. K. Rowling, J.K. Rowling, J.Smith", "J. K. Rowling , J.K. Rowling , J. Smith"),
    "acronyms": ("the U.S.A. at 5 p.m., e.g. here", "the U.S.A. at 5 p.m. , e.g. here"),
    "capital only": ("I sat. On Sat. we go.", "I sat . On Sat. we go ."),
    "number only": ("no. No. 5 of the app. app. 5", "no . No. 5 of the app . app. 5"),
    "streets": ("Hauptstr. 3, St. Louis, 28/B", "Hauptstr. 3 , St. Louis , 28/B"),
    "numbers": ("3.50 1,234.56 10:30 1/2 12-14 .5 x.5", "3.50 1,234.56 10:30 1/2 12-14 .5 x . 5"),
    "dates": ("2024-01-31, 31/01/2024. 3rd", "2024-01-31 , 31/01/2024 . 3rd"),
    "money": ("$3.50, £5m, 10% and $.50", "$ 3.50 , £ 5m , 10 % and $ .50"),
    "comma behind a number": ("in 1999, 2000 and 3,x", "in 1999 , 2000 and 3 , x"),
    "hyphens": ("well-known 3-year-old - and -- so", "well-known 3-year-old - and -- so"),
    "ampersand": ("AT&T and R&D & Sons", "AT&T and R&D & Sons"),
    "slashes": ("c/o n/a and/or", "c/o n/a and / or"),
    "runs": ("well... no!!! ?? **", "well ... no !!! ?? **"),
    "addresses": (
        "see https://x.org/a?b=c#d, (www.y.com) or a.b+c@mail.example.co.uk; z.com.",
        "see https://x.org/a?b=c#d , ( www.y.com ) or a.b+c@mail.example.co.uk ; z.com .",
    ),
    "no address": ("http://... end.Start a@b", "http : / / ... end . Start a @b"),
    "mentions": ("@ada likes #crf, #1", "@ada likes #crf , # 1"),
    "accents": ("naïve cafe\u0301 Lindenstraße", "naïve cafe\u0301 Lindenstraße"),
    "hindi": ("हिन्दी में है।", "हिन्दी में है ।"),
    "persian": ("می‌خواهم بروم", "می‌خواهم بروم"),
    "korean": ("한국어 문장.", "한국어 문장 ."),
    "chinese": ("我在东京123楼。", "我 在 东 京 123 楼 。"),
    "japanese": ("タワーに行く", "タ ワ ー に 行 く"),
    "thai": ("ที่ไทย ๑๒๓", "ที่ ไ ท ย ๑๒๓"),
    "emoji": ("ok👍🏽👍 👩‍👩‍👧 🇬🇧🇫🇷 ❤️", "ok 👍🏽 👍 👩‍👩‍👧 🇬🇧 🇫🇷 ❤️"),
    "line breaks": ("a\nb\r\n\tc\u2028d\u00a0e", "a b c d e"),
}


def texts(tokens):
    return [token.text for token in tokens]


@pytest.mark.parametrize("name", CASES)
def test_words(name):
    text, expected = CASES[name]
    assert texts(tokenize(text)) == expected.split(" ")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("words", ["a", "b", "\ud800", "c", "d"]),
        ("whitespace", ["a\x00b\ud800c\u200bd"]),
        ("characters", ["a", "\x00", "b", "\ud800", "c", "\u200b", "d"]),
    ],
)
def test_what_cannot_be_seen(rule, expected):
    assert texts(tokenize("a\x00b\ud800c\u200bd", rule)) == expected


@pytest.mark.parametrize("rule", RULES)
def test_nothing_to_see(rule):
    for text in ("", " ", "\n\t \u3000\u2029"):
        assert tokenize(text, rule) == []


def test_bare_marks_and_controls_of_words():
    assert tokenize("\x00\x1b\x7f\u200b\ufeff\u202e") == []
    assert texts(tokenize("\u0301 a")) == ["\u0301", "a"]
    assert texts(tokenize("\ufeffHello")) == ["Hello"]


def test_whitespace_splits_as_str_does():
    text = "A. 'b'\x1c c\x85d\u3000e\u200bf\n"
    assert texts(tokenize(text, "whitespace")) == text.split()


def test_characters_keep_their_marks():
    assert texts(tokenize("e\u0301 ab", "characters")) == ["e\u0301", "a", "b"]


CHARACTERS = st.one_of(
    st.characters(),  # surrogates and controls too
    st.sampled_from("aB1.,'’-@/:#&n t\u0301\u200d東👍🇬 \n\x00\ud800"),
)


@given(st.text(CHARACTERS), st.sampled_from(list(RULES)))
def test_offsets_law(text, rule):
    end = 0
    for token in tokenize(text, rule):
        assert end <= token.start < token.end
        assert text[token.start : token.end] == token.text
        assert text[end : token.start].isspace() or end == token.start or rule == "words"
        end = token.end


@given(st.text(CHARACTERS))
def test_every_seen_character_lies_in_a_word(text):
    covered = {i for token in tokenize(text) for i in range(token.start, token.end)}
    for i, character in enumerate(text):
        if character.isprintable() and not character.isspace():
            assert i in covered


HOSTILE = [
    *("a", "a.", "a-", "a'", "a@", "a:", "A. ", "1,", "1.", "1/", "n't", "http://", "www.", "http://.", "'"),
    *("@", "-", ".", ".,", "/", "c/", "#a", "+a", "x&", "mr.", "no. ", "e\u0301", "\u0301", "\u200d", " "),
    *("👩\u200d", "🇬", "東", "ภา", "\x00", "\ud800", "aaaaaaaaaaaaaaaa", "str.", "aStr.-", "\ufe0f👍"),
]


@pytest.mark.parametrize("ending", ["", "'.@-n't"])
@pytest.mark.parametrize("unit", HOSTILE)
def test_long_runs_are_no_trap(unit, ending):
    """A tenth of a second at most; in quadratic time it would be far more than the limit."""
    text = unit * (12_000 // len(unit)) + ending
    begin = time.process_time()
    tokens = tokenize(text)
    assert time.process_time() - begin < 1.0
    assert all(text[token.start : token.end] == token.text for token in tokens)


def test_a_pattern_of_ones_own():
    letters = Tokenizer(pattern="([a-z])[a-z]*|", name="letters")
    assert letters("ab 1 c") == [Token("ab", 0, 2), Token("c", 5, 6)]
    assert tokenize("ab 1 c", letters) == letters("ab 1 c")
    assert fc.tokenize is tokenize
    assert fc.Tokenizer is Tokenizer


@pytest.mark.parametrize(
    "given_", ["words", "characters", Tokenizer(pattern=r"\w+"), Tokenizer(name="words")]
)
def test_description_and_pickle_make_it_again(given_):
    tokenizer = resolve_tokenizer(given_)
    described = json.loads(json.dumps(tokenizer.to_dict()))
    assert Tokenizer.from_dict(described) == tokenizer == pickle.loads(pickle.dumps(tokenizer))
    assert resolve_tokenizer(tokenizer) is tokenizer
    restored = restore_tokenizer(json.loads(json.dumps(describe_tokenizer(given_))))
    assert resolve_tokenizer(restored) == tokenizer
    assert isinstance(restored, str) == (tokenizer.pattern is None)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tokenize("a", "word"), "no tokenizer is called 'word'; there are words, whitespace"),
        (lambda: tokenize("a", None), "is neither a rule"),
        (lambda: tokenize(b"a"), "got bytes"),
        (lambda: tokenize(["a"]), "got list"),
        (lambda: resolve_tokenizer(Tokenizer()), "no tokenizer is called ''"),
        (lambda: resolve_tokenizer(Tokenizer(pattern="(")), r"'\(' is not a regular expression"),
        (lambda: resolve_tokenizer(Tokenizer(pattern=b"a")), "must be strings"),
        (lambda: resolve_tokenizer(Tokenizer(pattern="a", name="words")), "is the name of a rule"),
        (lambda: restore_tokenizer("word"), "no tokenizer is called 'word'"),
        (lambda: restore_tokenizer(None), "described by its name and its pattern"),
        (lambda: Tokenizer.from_dict({"name": "words"}), "described by its name and its pattern"),
        (lambda: Tokenizer.from_dict("words"), "described by its name and its pattern"),
        (lambda: Tokenizer.from_dict({"name": "x", "pattern": None}), "no tokenizer is called 'x'"),
        (lambda: Tokenizer.from_dict({"name": [], "pattern": "a"}), "must be strings"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(InputError, match=text):
        call()


LONG = "[\x00-\U0010ffff]" * 4000  # takes 19 seconds to compile


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (LONG, "has 20,000 characters; at most 2,000 are allowed"),
        ("a" * 2001, "has 2,001 characters"),
        ("a{1001}", r"repetition \{1001\}; at most 1,000 are allowed"),
        ("a{2,1001}b", r"repetition \{2,1001\}"),
        ("a{99999999999999999999}", "repetition"),
        ("a{,5000}", "repetition"),
        ("(?:a{3}){4000,}", r"repetition \{4000,\}"),
    ],
    ids=["long", "longer by one", "count", "range", "huge", "upper", "nested"],
)
def test_patterns_that_could_take_long_are_refused(pattern, text, tmp_path):
    """Before they are compiled, when a model is trained, saved or loaded."""
    X, y = [[["a"]]], [["N"]]
    begin = time.process_time()
    with pytest.raises(InputError, match=text):
        fc.ChainCRF(tokenizer=Tokenizer(pattern=pattern)).fit(X, y)
    crf = fc.ChainCRF().fit(X, y)
    crf.tokenizer = Tokenizer(pattern=pattern)
    with pytest.raises(InputError, match=text):
        crf.save(tmp_path / "x.fc")
    crf.tokenizer = Tokenizer(pattern="a")
    crf.save(tmp_path / "x.fc")
    header, arrays = read_arrays(tmp_path / "x.fc")
    header["parameters"]["tokenizer"]["pattern"] = pattern
    write_arrays(tmp_path / "x.fc", header, arrays)
    with pytest.raises(ModelFileError, match=text):
        fc.load(tmp_path / "x.fc")
    assert time.process_time() - begin < 0.4


@pytest.mark.parametrize("pattern", ["a" * 2000, "a{1000}", "a{1,1000}", r"a\{5000\}", "a{,}"])
def test_patterns_at_the_limit(pattern):
    resolve_tokenizer(Tokenizer(pattern=pattern))

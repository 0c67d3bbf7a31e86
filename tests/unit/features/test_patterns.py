"""Files of CRF++ and Wapiti: read as they are, shown as those tools write them."""

from __future__ import annotations

import numpy as np
import pytest

from fieldcraft.errors import TemplateError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.patterns import python_regex
from fieldcraft.features.templates import Templates

CRFPP = """\
# Unigram
U00:%x[-2,0]
U01:%x[0,0]/%x[0,1]
U02:%x[1,1]%x[-1,0]

U03
# Bigram
B
B04:%x[0,1]
"""
WAPITI = """\
*
u:1-%x[-5,0]
U:2-%X[0,0]
u:3-%t[-1,0,"^\\u"]
u:4-%m[ 0,0,"\\d*$"]
b:5-%M[0,0,"^.\\u?"]
*:6-%x[@1,1]-%x[@-1,1]-%x[@4,1]
""".replace("[ 0", "[0")
TOKENS = [[("The", "DT"), ("cat", "NN"), ("X9", "CD")]]


def texts(templates, tokens=TOKENS):
    features = TemplateFeatures(templates)
    encoded = features.encode(tokens, grow=True)
    shown = features.attribute_text(encoded.attributes)
    return [shown[a:b] for a, b in zip(encoded.token_ptr, encoded.token_ptr[1:])]


def read(tmp_path, text, **options):
    path = tmp_path / "patterns.txt"
    path.write_text(text, encoding="utf-8")
    return Templates.read(path, **options)


def test_crfpp(tmp_path):
    templates = read(tmp_path, CRFPP)
    assert (templates.format, templates.edge_bias, templates.positional) == ("crfpp", True, True)
    assert templates.columns == ["0", "1"]
    assert [t.part for t in templates] == ["node"] * 4 + ["edge"]
    assert [t.window for t in templates] == [(-2, -2), (0, 0), (-1, 1), (0, 0), (0, 0)]
    assert texts(templates) == [
        ["U00:_B-2", "U01:The/DT", "U02:NN_B-1", "U03"],
        ["U00:_B-1", "U01:cat/NN", "U02:CDThe", "U03", "B04:NN"],
        ["U00:The", "U01:X9/CD", "U02:_B+1cat", "U03", "B04:CD"],
    ]


def test_wapiti(tmp_path):
    templates = read(tmp_path, WAPITI)
    assert (templates.format, templates.edge_bias) == ("wapiti", True)
    assert texts(templates) == [
        ["*", "u:1-_x-#", "U:2-the", "u:3-false", "u:4-", "*:6-DT-CD-_x+1"],
        [
            "*",
            "u:1-_x-4",
            "U:2-cat",
            "u:3-true",
            "u:4-",
            "b:5-c",
            "*:6-DT-CD-_x+1",
            "*:6-DT-CD-_x+1",
        ],
        [
            "*",
            "u:1-_x-3",
            "U:2-x9",
            "u:3-false",
            "u:4-9",
            "b:5-x",
            "*:6-DT-CD-_x+1",
            "*:6-DT-CD-_x+1",
        ],
    ]


@pytest.mark.parametrize(("text", "format"), [(CRFPP, "crfpp"), (WAPITI, "wapiti")])
def test_round_trips(tmp_path, text, format):
    templates = read(tmp_path, text)
    assert Templates.parse(str(templates), format=format) == templates
    features = TemplateFeatures(templates)
    encoded = features.encode(TOKENS, grow=True)
    again = TemplateFeatures.from_state(*features.state())
    assert np.array_equal(again.encode(TOKENS, grow=False).attributes, encoded.attributes)
    assert again.edge_bias


def test_auto_tells_formats_apart(tmp_path):
    assert read(tmp_path, "U00:%x[0,0]\nB\n").format == "crfpp"
    assert read(tmp_path, "u:%x[0,0]\n").format == "wapiti"
    assert read(tmp_path, 'U:%t[0,0,"a"]\n').format == "wapiti"
    assert read(tmp_path, "U00:%x[0,0]\n", format="wapiti").format == "wapiti"
    assert read(tmp_path, "word\nedge\n").format == "fieldcraft"
    assert read(tmp_path, "U\n").format == "crfpp"
    assert read(tmp_path, "B[1]\n").format == "fieldcraft"


def test_corpus_columns_go_by_position():
    templates = Templates.parse("U:%x[0,1]", format="crfpp")
    assert texts(templates, [{"word": ["a"], "tag": ["b"]}]) == [["U:b"]]


def test_bag_of_words():
    """Lines of one text share their attributes; a word is known wherever it was seen."""
    features = TemplateFeatures(Templates.parse("U:%x[-1,0]\nU:%x[0,0]\nU:%x[1,0]", format="crfpp"))
    encoded = features.encode([["a", "b"]], grow=True)
    assert features.attribute_text(encoded.attributes) == [
        "U:_B-1",
        "U:a",
        "U:b",
        "U:a",
        "U:b",
        "U:_B+1",
    ]
    assert encoded.attributes.tolist() == [0, 1, 2, 1, 2, 3]
    assert features.encode([["b", "b", "a"]], grow=False).attributes.tolist() == [
        *(0, 2, 2),
        *(2, 2, 1),
        *(2, 1, 3),
    ]


@pytest.mark.parametrize("text", ["U:%x[0,0]\nU:%x[0,1]", "U:%x[0,0]/%x[1,0]\nU:%x[1,0]/%x[0,0]"])
def test_bags_over_different_columns_are_refused(text):
    with pytest.raises(TemplateError, match="name them apart"):
        TemplateFeatures(Templates.parse(text, format="crfpp")).encode(TOKENS, grow=True)


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("crfpp", "\nX00:%x[0,0]", "f:2: a line begins with U or B"),
        ("crfpp", "*:%x[0,0]", "a line begins with U or B"),
        ("crfpp", "U:%x[0]", "a macro that is not %x[row,col]"),
        ("crfpp", "U:%q[0,0]", "a macro that is not"),
        ("crfpp", 'U:%t[0,0,"a"]', "CRF++ knows only %x[row,col]"),
        ("crfpp", "U:%x[5,0]", "CRF++ looks at most 4 tokens away"),
        ("wapiti", "u:%t[0,0]", "%t and %m also"),
        ("wapiti", 'u:%x[0,0,"a"]', "%x takes row and column"),
        ("wapiti", "u:%x[*1,0]", "a row read from a column is not supported"),
        ("wapiti", "u:%x[@0,0]", "tokens are counted from 1"),
        ("wapiti", 'u:%t[0,0,"a**"]', "is not a regular expression of Wapiti's"),
    ],
)
def test_refusals(format, text, message):
    with pytest.raises(TemplateError) as caught:
        Templates.parse(text, format=format, where="f")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("wapiti", "python"),
    [
        (r"^\u\l*$", r"(?s)\A[A-Z][a-z]*?\Z"),
        (r"a.\D?", r"(?s)a.[^0-9]?"),
        (r"a+(b)\.$x", r"(?s)a\+\(b\)\.\$x"),
    ],
)
def test_dialect(wapiti, python):
    assert python_regex(wapiti) == python

"""On real corpora: the incidences that string keys give, and the feature counts of the thesis."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from oracles import templates as oracle

WORDS = "word[-2..2]\nword[-1] & word\nword & word[1]\n"
CHUNKING = (
    "columns word pos\n"
    + WORDS
    + "pos[-2..2]\npos[-2] & pos[-1]\npos[-1] & pos\npos & pos[1]\npos[1] & pos[2]\n"
    + "pos[-2] & pos[-1] & pos\npos[-1] & pos & pos[1]\npos & pos[1] & pos[2]\n"
)
ENTITIES = (
    "columns word pos chunk\n"
    + WORDS
    + "pos[-2..2]\npos[-1] & pos\npos & pos[1]\nchunk[-1..1]\nlower(word)\nshape(word[-1..1])\n"
    + "shape(word[-1]) & shape(word)\nshape(word) & shape(word[1])\n"
    + "prefix(word, 1..4)\nsuffix(word, 1..4)\n"
)
TAGGING = "columns word\n" + WORDS + "lower(word)\nshape(word)\nprefix(word, 1..4)\nsuffix(word, 1..4)\n"


def uni(column, offsets, steps=()):
    return [[("column", column, list(steps), o)] for o in offsets]


def conjoined(column, *groups, steps=()):
    return [[("column", column, list(steps), o) for o in group] for group in groups]


def affixes():
    names = [(name, n) for name in ("prefix", "suffix") for n in range(1, 5)]
    return [t for step in names for t in uni("word", [0], [step])]


def word_terms():
    return uni("word", range(-2, 3)) + conjoined("word", (-1, 0), (0, 1))


SHAPE = [("shape", None)]
SPECS = {
    "chunking": word_terms()
    + uni("pos", range(-2, 3))
    + conjoined("pos", *[(o, o + 1) for o in range(-2, 2)])
    + conjoined("pos", *[(o, o + 1, o + 2) for o in range(-2, 1)]),
    "entities": word_terms()
    + uni("pos", range(-2, 3))
    + conjoined("pos", (-1, 0), (0, 1))
    + uni("chunk", range(-1, 2))
    + uni("word", [0], [("lower", None)])
    + uni("word", range(-1, 2), SHAPE)
    + conjoined("word", (-1, 0), (0, 1), steps=SHAPE)
    + affixes(),
    "tagging": word_terms() + uni("word", [0], [("lower", None)]) + uni("word", [0], SHAPE) + affixes(),
}


def read(path, columns, *, docstart=True, size=None):
    """The first ``size`` sentences as dicts of columns; names beyond the columns are dropped."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    blocks = text.split("\n\n", -1 if size is None else 2 * size)  # document marks are blocks too
    blocks = blocks if size is None else blocks[: 2 * size]
    rows = [[line.split() for line in block.split("\n") if line.strip()] for block in blocks]
    rows = [[r for r in s if docstart or r[0] != "-DOCSTART-"] for s in rows]
    return [{c: [r[i] for r in s] for i, c in enumerate(columns)} for s in rows if s][:size]


@pytest.mark.parametrize(
    ("name", "text", "train", "test", "columns"),
    [
        ("chunking", CHUNKING, "conll2000/train.txt.gz", "conll2000/test.txt", ("word", "pos")),
        ("tagging", TAGGING, "conll2000/train.txt.gz", "conll2000/test.txt", ("word",)),
        (
            "entities",
            ENTITIES,
            "conll2003/eng.train.gz",
            "conll2003/eng.testb",
            ("word", "pos", "chunk"),
        ),
    ],
)
@pytest.mark.parametrize("size", [200, pytest.param(None, marks=pytest.mark.slow)])
def test_same_incidences_as_string_keys(data_file, name, text, train, test, columns, size):
    """The benchmarks' attribute sets, token by token and id by id, growing and frozen."""
    features = TemplateFeatures(Templates.parse(text))
    spec = [("node", terms) for terms in SPECS[name]]
    seen, unseen = (read(data_file(f), columns, docstart=False, size=size) for f in (train, test))
    table = {}
    for corpus, grow in ((seen, True), (unseen, False)):
        encoded = features.encode(corpus, grow=grow)
        expected = oracle.encode(corpus, spec, table, grow=grow)
        assert encoded.attributes.tolist() == [i for row in expected for i in row]
        assert np.diff(encoded.token_ptr).tolist() == [len(row) for row in expected]
    assert features.n_attributes == len(table)


def supported(features, encoded, labels):
    """Distinct (attribute, label) and (attribute, label before, label), and label pairs."""
    names = {label: i for i, label in enumerate(sorted({y for s in labels for y in s}))}
    y = np.array([names[label] for s in labels for label in s], np.int64)
    before = np.concatenate([[-1], y[:-1]])
    before[encoded.offsets[:-1]] = -1
    token = np.repeat(np.arange(len(y)), np.diff(encoded.token_ptr))
    edge = np.array([t.part == "edge" for t in features.templates])[features.attribute_template]
    on_edge = edge[encoded.attributes]
    size = len(names) + 1
    keys = (encoded.attributes.astype(np.int64) * size + y[token]) * size
    keys += np.where(on_edge, before[token], -1) + 1
    pairs = (before * size + y)[before >= 0]
    return len(np.unique(keys)), len(np.unique(pairs))


@pytest.mark.parametrize(
    ("name", "counted", "published", "tolerance"),
    [
        # One more than ours in the thesis' way of counting: the stop position has a word, too.
        ("simple", 24_817, 24_819, 0.0001),
        # The predicates of orthography are not defined there to the letter.
        pytest.param("entities", 441_976, 450_346, 0.02, marks=pytest.mark.slow),
    ],
)
def test_feature_counts_of_the_thesis(data_file, name, counted, published, tolerance):
    """Raw IOB1, document marks kept as sentences of one token."""
    corpus = read(data_file("conll2003/eng.train.gz"), ("word", "pos", "chunk", "ner"))
    assert len(corpus) == 14_987
    features = TemplateFeatures(Templates.named(name))
    encoded = features.encode(corpus, grow=True)
    with_attributes, label_pairs = supported(features, encoded, [s["ner"] for s in corpus])
    assert with_attributes + label_pairs == counted
    assert counted == pytest.approx(published, rel=tolerance)


def five(tag):
    """The five categories of McCallum et al.: nouns, verbs, adjectives, adverbs, others."""
    return {"NN": "N", "VB": "V", "JJ": "J", "RB": "R"}.get(tag[:2], "O")


@pytest.mark.parametrize(
    ("name", "counted", "published", "tolerance"),
    [
        # The thesis drew its 7,300 sentences by chance and restored the treebank's tags; ours are Brill's.
        pytest.param("simple", 18_029, 18_482, 0.03, marks=pytest.mark.slow),
        # Table 4.2 does not say what else its tagging set looks at: 36,000 features stay unexplained.
        pytest.param("tagging-plain", 153_357, 189_339, 0.2, marks=pytest.mark.slow),
    ],
)
def test_feature_counts_of_tagging(data_file, name, counted, published, tolerance):
    """As many sentences as the thesis had, the first ones, with its five tags."""
    corpus = read(data_file("conll2000/train.txt.gz"), ("word", "pos"))[:7300]
    features = TemplateFeatures(Templates.named(name))
    encoded = features.encode(corpus, grow=True)
    labels = [[five(tag) for tag in s["pos"]] for s in corpus]
    assert sum(supported(features, encoded, labels)) == counted
    assert counted == pytest.approx(published, rel=tolerance)


@pytest.mark.slow
def test_the_ladder_into_overfitting(data_file):
    """Each rung has all templates of the one below and more; the counts are those of the docs."""
    corpus = read(data_file("conll2003/eng.train.gz"), ("word", "pos", "chunk", "ner"))
    labels = [s["ner"] for s in corpus]
    before, counts = set(Templates.named("entities").names), []
    for name in ("a1", "a2", "a3", "a4"):
        templates = Templates.named(name)
        assert before < set(templates.names)
        assert len(set(templates.names)) == len(templates)
        before = set(templates.names)
        features = TemplateFeatures(templates)
        counts.append(sum(supported(features, features.encode(corpus, grow=True), labels)))
    assert counts == [442_827, 654_872, 1_129_040, 1_164_632]


@pytest.mark.slow
def test_the_subsets_of_the_thesis_add_up(data_file):
    """Those of table 8.8 but the gazetteers: the counts are those of the docs, and cover STANDARD."""
    corpus = read(data_file("conll2003/eng.train.gz"), ("word", "pos", "chunk", "ner"))
    labels, counts = [s["ner"] for s in corpus], []
    for name in ("s1", "s2", "n", "o", "a"):
        templates = Templates.named(f"entities-{name}")
        features = TemplateFeatures(templates)
        observed, pairs = supported(features, features.encode(corpus, grow=True), labels)
        counts.append(observed + pairs * templates.edge_bias)
    assert counts == [24_817, 51_979, 317_850, 209, 71_938]
    assert sum(counts[1:]) == 441_976

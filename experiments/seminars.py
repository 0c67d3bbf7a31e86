"""The CMU seminar announcements as sequences: one document is one sequence.

Tags of paragraphs and sentences are removed first, since they may cross those of the fields; the first line
of a message, its id, is left out. Tokens are runs of letters (with an apostrophe inside), numbers (3:30 is
one), a.m and p.m, and runs of one other character. Labels are IO: I-speaker, I-location, I-stime, I-etime, O.
Line ends are not seen, as in the features of the paper. Part-of-speech tags are predicted by a chain that is
trained here, on the English web treebank (its Penn tags), since the paper's Brill tagger is not at hand.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from experiments.gazetteers import FILES, _entries
from fieldcraft.corpus import Corpus

FIELDS = ("stime", "etime", "location", "speaker")
_LAYOUT = re.compile(r"</?(?:paragraph|sentence)>")
_FIELD = re.compile(r"<(/?)(stime|etime|location|speaker)>")
_TOKEN = re.compile(r"(?i:\b[ap]\.m\b)|[A-Za-z]+(?:'[A-Za-z]+)?|\d+(?::\d+)?|([^\w\s])\1*|_+")
TAGGER = "edge\nfirst\nlast\nword[-1..1]\nlower(word)\nprefix(word, 1..3)\nsuffix(word, 1..4)\nshape(word)\n"
TAGGER += "contains_digit(word)\nis_capitalised(word)\nword[-1] & word\nword & word[1]\n"


def tokens(text: str) -> tuple[list[str], list[str]]:
    """Words and labels of a message."""
    text = _LAYOUT.sub("", text.partition("\n")[2])
    words: list[str] = []
    labels: list[str] = []
    at, label = 0, "O"
    for tag in [*_FIELD.finditer(text), None]:
        piece = text[at : tag.start() if tag else len(text)]
        found = [match.group() for match in _TOKEN.finditer(piece)]
        words += found
        labels += [label] * len(found)
        if tag is not None:
            at, label = tag.end(), "O" if tag.group(1) else f"I-{tag.group(2)}"
    return words, labels


def read(data: Path, n: int | None = None) -> Corpus:
    """The documents in the order of the file; the first n."""
    with gzip.open(data / "cmu_seminars" / "seminars.jsonl.gz", "rt") as lines:
        rows = [tokens(json.loads(line)["text"]) for line in lines][:n]
    return Corpus.from_columns({"word": [row[0] for row in rows]}, [row[1] for row in rows])


def tagged(corpus: Corpus, data: Path, *, sentences: int | None = None, seed: int = 0) -> Corpus:
    """The corpus with a column pos, predicted by a chain trained on the web treebank."""
    path = data / "ud_en_ewt" / "en_ewt-ud-train.conllu.gz"
    train = fc.read(path, columns=["form", "xpos"], label="xpos")[:sentences]
    X = [{"word": sequence.columns["form"]} for sequence in train]
    tagger = fc.ChainCRF(TAGGER, optimiser=fc.AveragedPerceptron(max_iterations=5), random_state=seed)
    tagger.fit(X, train.labels)
    return corpus.with_column("pos", list(tagger.predict([{"word": row} for row in corpus.column("word")])))


def name_lists(data: Path) -> list[Any]:
    """The lists of names that the template set announcements looks at."""
    named = ("surnames", "female", "male")
    return [
        fc.Gazetteer(name, _entries(data / "gazetteers", FILES[name]), case="insensitive") for name in named
    ]


def folds(n: int, seed: int = 0, parts: int = 5) -> list[np.ndarray[Any, Any]]:
    """Documents of each test part: a permutation by seed, cut into five."""
    return np.array_split(np.random.default_rng(seed).permutation(n), parts)

"""Chunks of CoNLL-2000: the data, the templates to choose from, one training and its answer.

Labels are those of the files (IOB2), or the same spans spelled as IOBES, with B and I apart from single
tokens and ends; answers are always compared as spans. `np` keeps noun phrases alone, `all` all eleven types.
The development part is the last fifth of the training sentences.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import fieldcraft as fc

Labels = list[list[str]]
PIECES = {
    "base": """
word[-2..2]
pos[-2..2]
word[-1] & word
word & word[1]
pos[-2] & pos[-1]
pos[-1] & pos
pos & pos[1]
pos[1] & pos[2]
pos[-2] & pos[-1] & pos
pos[-1] & pos & pos[1]
pos & pos[1] & pos[2]
pos[-1] & word
pos & word
edge
edge: pos
""",
    "affixes": """
suffix(lower(word), 1..4)
prefix(lower(word), 1..4)
shape(word)
""",
    "shapes": """
shape(word[-1..1])
is_capitalised(word)
contains_digit(word)
contains_hyphen(word)
""",
    "crossed": """
word[-1] & pos
word & pos[1]
pos & word[1]
pos[-1] & word & pos[1]
""",
    "wide": """
word[-3]
word[3]
pos[-3]
pos[3]
pos[-3] & pos[-2] & pos[-1]
pos[1] & pos[2] & pos[3]
""",
    "long": """
pos[-2] & pos[-1] & pos & pos[1]
pos[-1] & pos & pos[1] & pos[2]
pos[-2] & pos[-1] & pos & pos[1] & pos[2]
""",
    "words": """
word[-1] & word & word[1]
word[-2] & word[-1]
word[1] & word[2]
""",
    "edges": """
edge: word
edge: word[-1]
edge: pos[1]
edge: pos[-1] & pos
""",
    "tag-edges": """
edge: pos[-1]
edge: pos[1]
edge: pos[-1] & pos
edge: pos & pos[1]
""",
    "lower": """
lower(word[-1..1])
""",
}


class Setting(NamedTuple):
    """A model: pieces of templates, the spelling of the labels, the states, the variance of the prior."""

    pieces: tuple[str, ...]
    scheme: str = "iob2"
    states: str = "labels"
    variance: float = 5.0

    def __str__(self) -> str:
        return f"{'+'.join(self.pieces)} {self.scheme} {self.states} variance {self.variance:g}"


class Trained(NamedTuple):
    """The predicted labels, in IOB2, and what the training took; ``seconds`` are processor time."""

    predicted: Labels
    space: str
    weights: int
    iterations: int
    evaluations: int
    seconds: float


class Chunks(NamedTuple):
    """Sentences and their labels, in IOB2."""

    train: Any
    y_train: Labels
    test: Any
    y_test: Labels


def templates(pieces: tuple[str, ...]) -> str:
    """The lines of the pieces, each once."""
    return "\n".join(dict.fromkeys(line for name in pieces for line in PIECES[name].split("\n") if line))


def read(task: str, part: str, sentences: int | None = None) -> Chunks:
    """``development``: four fifths of the training data and the last; ``test``: all of it, the test set."""
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data")) / "conll2000"
    columns = {"columns": ["word", "pos", "chunk"], "label": "chunk"}
    train = fc.read(folder / "train.txt.gz", **columns)[:sentences]
    if part == "development":
        cut = len(train) * 4 // 5
        train, test = train[:cut], train[cut:]
    else:
        test = fc.read(folder / "test.txt", **columns)[:sentences]
    return Chunks(train, _labels(train, task), test, _labels(test, task))


def _labels(corpus: Any, task: str) -> Labels:
    if task == "all":
        return [list(row) for row in corpus.labels]
    return [[label if label.endswith("-NP") else "O" for label in row] for row in corpus.labels]


def train(data: Chunks, setting: Setting, **options: Any) -> Trained:
    """Train and predict; ``options`` are further parameters of ChainCRF."""
    crf = fc.ChainCRF(
        templates(setting.pieces),
        states=setting.states,
        prior=fc.Gaussian(variance=setting.variance),
        **options,
    )
    begun = time.process_time()
    crf.fit(data.train, fc.schemes.convert(data.y_train, "conlleval", setting.scheme))
    seconds = time.process_time() - begun
    predicted = [list(row) for row in crf.predict(data.test)]
    return Trained(
        fc.schemes.convert(predicted, "conlleval", "iob2"),
        str(crf.states_).strip("<>"),
        len(crf.weights_),
        crf.n_iter_,
        crf.training_log_[-1].evaluations,
        seconds,
    )


def span_f(gold: Labels, predicted: Labels) -> float:
    """F of whole chunks, in per cent."""
    return 100 * float(fc.metrics.span_scores(gold, predicted).f)

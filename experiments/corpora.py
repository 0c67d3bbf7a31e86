"""The two tasks of the thesis' chapters 3 to 5, as its tables 3.1 and 3.2 describe them.

entities   CoNLL-2003 English. Labels stay IOB1 (8 of them; B-PER never occurs), -DOCSTART- lines stay
           sentences of one token: 14,987 / 3,466 / 3,684 sentences.
tagging    CoNLL-2000, tags collapsed to five, the training file cut at random into 7,300 and 1,636
           sentences; 2,012 to test on.

Hazard: the thesis restored the tags of the treebank in CoNLL-2000; here are those of the Brill tagger that
the files carry. Directions can be compared on that task, accuracies cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fieldcraft.corpus import Corpus, read

DEVELOPMENT = 1636  # sentences of CoNLL-2000's training file that are held out
FIVE = {"NN": "N", "VB": "V", "JJ": "J", "RB": "R"}  # by the first two letters; every other tag is O
LADDER = {name: name for name in ("simple", "a1", "a2", "a3", "a4")}
GAZETTEERS = {"standard+g": "entities-gazetteers"}


class Splits(NamedTuple):
    """A corpus in three parts."""

    train: Corpus
    development: Corpus
    test: Corpus

    def first(self, n: int | None) -> Splits:
        """The first sentences of each part; all for None."""
        return Splits(*(part[:n] for part in self))


class Task(NamedTuple):
    """What is learnt and how it is scored.

    templates : the name of the template set for each of the thesis' feature sets
    about : what a reader of the results must know of the data
    """

    read: Callable[[Path, int], Splits]
    metric: str
    score: str
    templates: dict[str, str]
    about: str


def entities(data: Path, seed: int) -> Splits:
    """CoNLL-2003; the split is given, so the seed has no part."""
    del seed
    names = ("eng.train.gz", "eng.testa", "eng.testb")
    columns = "word pos chunk ner"
    parts = (read(data / "conll2003" / n, columns=columns, label="ner", docstart="keep") for n in names)
    return Splits(*parts)


def tagging(data: Path, seed: int) -> Splits:
    """CoNLL-2000 with five tags; the seed cuts off the development sentences."""
    train, test = (
        read(data / "conll2000" / name, columns="word pos chunk", label="pos").respelled(collapsed)
        for name in ("train.txt.gz", "test.txt")
    )
    order = np.random.default_rng(seed).permutation(len(train)).tolist()
    held_out, rest = sorted(order[:DEVELOPMENT]), sorted(order[DEVELOPMENT:])
    return Splits(train[rest], train[held_out], test)


def collapsed(tags: list[str]) -> list[str]:
    """Nouns, verbs, adjectives, adverbs and others; modals (MD) and wh-adverbs (WRB) are others.

    >>> collapsed(["NNP", "VBZ", "MD", "RBR", "JJ", "."])
    ['N', 'V', 'O', 'R', 'J', 'O']
    """
    return [FIVE.get(tag[:2], "O") for tag in tags]


TASKS = {
    "entities": Task(
        entities,
        "span_f",
        "F score",
        {**LADDER, "standard": "entities", **GAZETTEERS},
        "CoNLL-2003 English, labels in IOB1, -DOCSTART- lines kept as sentences of one token.",
    ),
    "tagging": Task(
        tagging,
        "token_accuracy",
        "accuracy",
        {**LADDER, "standard": "tagging-plain"},
        "CoNLL-2000, tags collapsed to N, V, J, R and O, 1,636 training sentences drawn for development. "
        "The tags are those of the Brill tagger, where the thesis had the treebank's: "
        "directions can be compared, accuracies cannot.",
    ),
}

"""Tags and noun phrases jointly against one after the other, on CoNLL-2000, as a learning curve.

    python -m experiments.factorial [FOLDER] [--sentences 250 500 …] [--models joint cascaded …] [--jobs N]

FOLDER holds conll2000/. Models see words alone; tags (the Brill tags of the files) and noun phrases (B, I, O)
are both predicted on the test file.

joint      fc.FactorialCRF: a chain for the tags, one for the phrases, weights between their labels at a token
           and from a tag to the next token's phrase label
cascaded   a chain of tags, then a chain of phrases that also looks at tags: the given ones in training,
           predicted ones in the test
jackknife  the same, but the second chain is trained on tags that a tagger predicted which did not see the
           sentence (five parts)
words      a chain of phrases without tags

All have the same templates of words. The prior's variance is 10 or, with --choose, that of 3, 10 and 30 with
the best F on the last fifth of the sentences, which the models of that choice do not see; for the joint model
also whether there are weights from a tag to the next token's phrase label. F is conlleval's, of noun phrases.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import fieldcraft as fc
from fieldcraft.corpus import Corpus

SIZES = (250, 500, 1000, 2000, 4000, 8936)
WORDS = """columns word
edge
first
last
word[-2..2]
lower(word[-1..1])
word[-1] & word
word & word[1]
prefix(word, 1..3)
suffix(word, 1..4)
shape(word[-1..1])
contains_digit(word)
contains_hyphen(word)
is_title(word)
"""
TAGS = """columns word pos
edge: pos
pos[-2..2]
pos[-2] & pos[-1]
pos[-1] & pos
pos & pos[1]
pos[1] & pos[2]
pos[-1] & pos & pos[1]
pos & word
"""
BOTH = "columns word pos\n" + WORDS.partition("\n")[2] + TAGS.partition("\n")[2]
VARIANCE, VARIANCES = 10.0, (3.0, 10.0, 30.0)
PARTS = 5


def phrases(corpus: Corpus) -> Corpus:
    """The corpus with the labels of noun phrases alone."""

    def spelled(labels: list[str]) -> list[str]:
        return [label if label.endswith("-NP") else "O" for label in labels]

    return corpus.respelled(spelled)


def read(folder: Path) -> tuple[Corpus, Corpus]:
    """Training and test file: words, with tags and phrases as two label columns."""
    names = ("train.txt.gz", "test.txt")
    parts = [fc.read(folder / "conll2000" / name, columns="word pos chunk", label="chunk") for name in names]
    return phrases(parts[0]), phrases(parts[1])


def chosen(name: str, train: Corpus, options: dict[str, Any]) -> dict[str, Any]:
    """The settings with the best F on the last fifth of the training sentences."""
    cut = len(train) * 4 // 5
    crosses = ({"cross": True}, {"cross": False}) if name == "joint" else ({},)
    best, found = -1.0, options
    for variance in VARIANCES:
        for cross in crosses:
            asked = {**options, "prior": fc.Gaussian(variance=variance), **cross}
            _, guesses = MODELS[name](train[:cut], train[cut:], **asked)
            f = fc.metrics.span_scores(train[cut:].labels, [list(row) for row in guesses]).micro.f
            if f > best:
                best, found = f, asked
    return found


def tagger(corpus: Corpus, **options: Any) -> fc.ChainCRF:
    return fc.ChainCRF(WORDS, **options).fit(corpus.with_label("pos"))


def with_tags(corpus: Corpus, crf: fc.ChainCRF) -> Corpus:
    """The corpus with predicted tags in the place of the given ones."""
    return corpus.with_column("pos", list(crf.predict(corpus.with_label("pos"))))


def joint(train: Corpus, test: Corpus, **options: Any) -> tuple[Any, Any]:
    model = fc.FactorialCRF(WORDS, **{"cross": True, **options}).fit(train.with_label(["pos", "chunk"]))
    found = model.predict(test.with_label(["pos", "chunk"]))
    return [row["pos"] for row in found], [row["chunk"] for row in found]


def cascaded(train: Corpus, test: Corpus, **options: Any) -> tuple[Any, Any]:
    tagged = with_tags(test, tagger(train, **options))
    second = fc.ChainCRF(BOTH, **options).fit(train)
    return tagged.column("pos"), second.predict(tagged)


def jackknife(train: Corpus, test: Corpus, **options: Any) -> tuple[Any, Any]:
    tagged = with_tags(test, tagger(train, **options))
    sequences: list[Any] = [None] * len(train)
    for k in range(PARTS):
        own = list(range(k, len(train), PARTS))
        others = [i for i in range(len(train)) if i % PARTS != k]
        for i, sequence in zip(own, with_tags(train[own], tagger(train[others], **options))):
            sequences[i] = sequence
    second = fc.ChainCRF(BOTH, **options).fit(Corpus(sequences, label="chunk", fields=train.fields))
    return tagged.column("pos"), second.predict(tagged)


def words(train: Corpus, test: Corpus, **options: Any) -> tuple[Any, Any]:
    return None, fc.ChainCRF(WORDS, **options).fit(train.with_label("chunk")).predict(test)


MODELS = {"words": words, "cascaded": cascaded, "jackknife": jackknife, "joint": joint}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--sentences", nargs="+", type=int, default=SIZES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--choose", action="store_true", help="choose the prior on held-out sentences")
    parser.add_argument("--output", type=Path, help="a file for the results, one JSON object a line")
    given = parser.parse_args()
    train, test = read(Path(given.folder))
    gold = [row["pos"] for row in test.with_label(["pos", "chunk"]).labels]
    print("| sentences | model | tags right | NP precision | NP recall | NP F | CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    for n in given.sentences:
        for name in given.models:
            begun = time.process_time()
            options = {"prior": fc.Gaussian(variance=VARIANCE), "n_jobs": given.jobs}
            if given.choose:
                options = chosen(name, train[:n], options)
            tags, chunks = MODELS[name](train[:n], test, **options)
            seconds = time.process_time() - begun
            scores = fc.metrics.span_scores(test.labels, [list(row) for row in chunks]).micro
            right = None
            if tags is not None:
                pairs = [(a, b) for x, y in zip(gold, tags) for a, b in zip(x, y)]
                right = 100 * sum(a == b for a, b in pairs) / len(pairs)
            row = {
                "sentences": n,
                "model": name,
                "tags": right,
                "precision": 100 * scores.precision,
                "recall": 100 * scores.recall,
                "f": 100 * scores.f,
                "seconds": seconds,
                "variance": options["prior"].variance,
                "cross": options.get("cross", name == "joint"),
            }
            if given.output:
                with given.output.open("a") as out:
                    out.write(json.dumps(row) + "\n")
            shown = "" if right is None else f"{right:.2f}"
            print(
                f"| {n:,} | {name} | {shown} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f']:.2f} "
                f"| {seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

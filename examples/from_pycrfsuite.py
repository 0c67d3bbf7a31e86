"""A python-crfsuite programme with its import changed: Trainer, model file, Tagger, a look inside.

The line below is all that differs; with ``import pycrfsuite`` in its place the programme prints the same,
but for the rounding of numbers.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import fieldcraft as fc
from fieldcraft.compat import pycrfsuite

Sentence = list[tuple[str, str, str]]  # word, place in the line, label


def sentences(corpus: fc.Corpus) -> list[Sentence]:
    """The corpus as lists of tuples, which is how such programmes keep it."""
    return [[*zip(s.columns["word"], s.columns["line"], s.labels)] for s in corpus]


def word2features(sentence: Sentence, i: int) -> list[str]:
    """What the model sees at a word: the word itself and its neighbours."""
    word, line, _ = sentence[i]
    features = [
        "bias",
        f"word.lower={word.lower()}",
        f"word[-3:]={word[-3:]}",
        f"word.isupper={word.isupper()}",
        f"word.istitle={word.istitle()}",
        f"word.isdigit={word.isdigit()}",
        f"line={line}",
    ]
    for step in (-1, 1):
        if 0 <= i + step < len(sentence):
            other = sentence[i + step][0]
            features += [f"{step:+}:word.lower={other.lower()}", f"{step:+}:word.istitle={other.istitle()}"]
        else:
            features.append("BOS" if step < 0 else "EOS")
    return features


def sent2features(sentence: Sentence) -> list[list[str]]:
    return [word2features(sentence, i) for i in range(len(sentence))]


def sent2labels(sentence: Sentence) -> list[str]:
    return [label for _, _, label in sentence]


def train(sents: list[Sentence], path: str) -> None:
    """Learn from sentences and write a model file."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in sents:
        trainer.append(sent2features(sentence), sent2labels(sentence))
    trainer.set_params(
        {
            "c1": 1.0,  # strength of the penalty on absolute weights
            "c2": 1e-3,  # and of that on squared ones
            "max_iterations": 50,  # stop early
            "feature.possible_transitions": True,  # also pairs of labels that training does not show
        }
    )
    trainer.train(path)
    print(
        f"{len(trainer.logparser.iterations)} iterations, loss {trainer.logparser.last_iteration['loss']:.1f}"
    )


def look_inside(tagger: Any) -> None:
    """The strongest transitions and features."""
    info = tagger.info()
    print("Likely transitions:")
    for (before, label), weight in Counter(info.transitions).most_common(5):
        print(f"  {before:<11} -> {label:<11} {weight:6.2f}")
    print("Features that speak for a label:")
    for (attribute, label), weight in Counter(info.state_features).most_common(8):
        print(f"  {weight:6.2f}  {label:<11} {attribute}")


def main() -> None:
    """Train, tag, count, look inside."""
    corpus = fc.datasets.seminars(n=60)
    print(f"from {corpus.source}")
    train_sents, test_sents = map(sentences, fc.datasets.split(corpus, fraction=0.75, seed=0))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "seminars.model")
        train(train_sents, path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)

        example = test_sents[0]
        predicted = tagger.tag(sent2features(example))
        for (word, _, label), found in [*zip(example, predicted)][:12]:
            print(f"{word:<18}{label:<12}{found}")
        surest = [max((tagger.marginal(label, t), label) for label in tagger.labels()) for t in range(4)]
        print("marginals: " + ", ".join(f"{label} {p:.3f}" for p, label in surest))
        print(f"p(predicted) = {tagger.probability(predicted):.4f}")

        found = [tagger.tag(sent2features(sentence)) for sentence in test_sents]
        tokens = [*zip(chain.from_iterable(map(sent2labels, test_sents)), chain.from_iterable(found))]
        print(f"token accuracy {sum(a == b for a, b in tokens) / len(tokens):.4f}")
        look_inside(tagger)
        tagger.close()


if __name__ == "__main__":
    main()

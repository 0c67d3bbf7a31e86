"""Handwritten words, letter by letter: likelihood and margin on one tenth of the data.

    python -m experiments.ocr_letters [FOLDER]

FOLDER holds ocr_letters/letters.npz: 52,152 images of 16 x 8 pixels, in 6,877 words that are cut into ten
folds. A model is trained on the words of fold 1 (704 words) and tested on all the others; its features are
the pixels that are set, and a constant. The variance of the Gaussian prior and whether pixels get a weight
for labels that they were never seen with (features="all") are chosen on a quarter of the training words that
the models of that choice do not see.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fieldcraft as fc

FOLD = 1
FEATURES = ("supported", "all")


class Words(NamedTuple):
    """Sequences of attribute lists and of letters."""

    X: list[list[list[str]]]
    y: list[list[str]]

    def take(self, rows: Iterable[int]) -> Words:
        """Some of them."""
        kept = list(rows)
        return Words([self.X[i] for i in kept], [self.y[i] for i in kept])


class Method(NamedTuple):
    """A way to train, and the variances to choose from."""

    make: Callable[[float, str], fc.ChainCRF]
    variances: tuple[float, ...]


class Result(NamedTuple):
    """What was chosen, and the share of letters that are right."""

    variance: float
    features: str
    held_out: float
    test: float


def likelihood(variance: float, features: str) -> fc.ChainCRF:
    """Penalised likelihood by L-BFGS."""
    return fc.ChainCRF(prior=fc.Gaussian(variance=variance), features=features, optimiser="lbfgs")


def margin(variance: float, features: str) -> fc.ChainCRF:
    """Structured margin by block-coordinate Frank-Wolfe."""
    optimiser = fc.FrankWolfe(gap=1e-2, max_iterations=150)
    prior = fc.Gaussian(variance=variance)
    return fc.ChainCRF(prior=prior, features=features, objective="margin", optimiser=optimiser)


METHODS = {
    "likelihood": Method(likelihood, (0.1, 0.2, 0.5, 1.0, 2.0)),
    "margin": Method(margin, (0.01, 0.03, 0.1, 0.3)),
}


def words(archive: Any, rows: NDArray[np.int64]) -> Words:
    """The words of these numbers."""
    pixels, labels, offsets = (archive[name] for name in ("pixels", "labels", "offsets"))
    out = Words([], [])
    for i in rows.tolist():
        span = slice(int(offsets[i]), int(offsets[i + 1]))
        out.X.append([["constant", *(f"p{k}" for k in np.flatnonzero(image))] for image in pixels[span]])
        out.y.append([chr(ord("a") + int(letter)) for letter in labels[span]])
    return out


def read(path: Path) -> tuple[Words, Words]:
    """Training words and test words."""
    with np.load(path, allow_pickle=False) as stored:
        archive = {name: stored[name] for name in stored}
    inside = archive["folds"] == FOLD
    return words(archive, np.flatnonzero(inside)), words(archive, np.flatnonzero(~inside))


def run(method: Method, train: Words, test: Words, *, seed: int = 0) -> Result:
    """Choose on held-out training words, train on all of them, test."""
    order = np.random.default_rng(seed).permutation(len(train.X)).tolist()
    cut = 3 * len(order) // 4
    inner, held_out = train.take(order[:cut]), train.take(order[cut:])
    scores = {
        choice: float(method.make(*choice).fit(*inner).score(*held_out))
        for choice in product(method.variances, FEATURES)
    }
    best = max(scores, key=lambda choice: scores[choice])
    crf = method.make(*best).fit(*train)
    return Result(*best, scores[best], float(crf.score(*test)))


def main() -> None:
    """Both methods, one line each."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")
    train, test = read(Path(given) / "ocr_letters" / "letters.npz")
    print(f"{len(train.X)} words to train on, {len(test.X)} to test on")
    for name, method in METHODS.items():
        found = run(method, train, test)
        print(
            f"{name:10}  variance {found.variance:g}, features {found.features}: "
            f"{100 * found.test:.2f} % of letters (held-out words {100 * found.held_out:.2f} %)"
        )


if __name__ == "__main__":
    main()

"""Chunks of CoNLL-2000: second order against first order on the same templates.

    python -m experiments.second_order [np|all] [SPACE ...]

`np` reduces the labels to noun phrases, `all` keeps all eleven types; SPACE is a state space (labels,
ngrams:2+observed, ngrams:2). Prints F on the test data, seconds of processor time per evaluation of the
objective, and whether the difference from the first space is significant. The data is found through
FIELDCRAFT_DATA (default ../shared/data).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import fieldcraft as fc

TEMPLATES = """
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
"""
SPACES = ("labels", "ngrams:2+observed", "ngrams:2")
VARIANCE = 5.0


def labelled(corpus: Any, task: str) -> list[list[str]]:
    """The labels; for `np` those of noun phrases alone."""
    if task == "all":
        return [list(row) for row in corpus.labels]
    return [[label if label.endswith("-NP") else "O" for label in row] for row in corpus.labels]


def main(arguments: list[str]) -> int:
    """Train, score, compare."""
    task = arguments[0] if arguments else "np"
    spaces = arguments[1:] or list(SPACES)
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data")) / "conll2000"
    train, test = (
        fc.read(folder / name, columns=["word", "pos", "chunk"], label="chunk")
        for name in ("train.txt.gz", "test.txt")
    )
    gold, answers = labelled(test, task), []
    for space in spaces:
        crf = fc.ChainCRF(TEMPLATES, states=space, prior=fc.Gaussian(variance=VARIANCE))
        begun = time.process_time()
        crf.fit(train, labelled(train, task))
        seconds = time.process_time() - begun
        answers.append([list(row) for row in crf.predict(test)])
        f = fc.metrics.span_scores(gold, answers[-1]).f
        print(
            f"{task} {space}: F {100 * f:.2f}; {crf.states_}; {len(crf.weights_):,} weights; "
            f"{crf.n_iter_} iterations, {seconds / crf.n_iter_:.2f} s each ({crf.optimiser_.name})",
            flush=True,
        )
        if len(answers) > 1:
            print(fc.compare(gold, answers[0], answers[-1], names=(spaces[0], space)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

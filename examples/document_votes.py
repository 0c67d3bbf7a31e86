"""A second model sees how a document's other mentions were labelled (CoNLL-2003, real data).

    python examples/document_votes.py [FOLDER]

FOLDER holds conll2003/. The first model is a chain. The second one is a chain with the same features and two
clique templates more, whose factors fc.document_votes makes of the first one's labels: by cross-validation in
training.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import fieldcraft as fc

TEMPLATES = """columns word
edge
word[-1..1]
shape(word[-1..1])
prefix(word, 1..3)
suffix(word, 1..3)
"""


def graphs(corpus: fc.Corpus, first: fc.ChainCRF, predicted: Any, *, votes: bool) -> list[fc.GraphInstance]:
    """Documents: the words' attributes, neighbours, and votes."""
    encoded, names = first.encoder_.encode(corpus, grow=False), first.classes_.tolist()
    attributes = sparse.csr_array(
        (np.ones(len(encoded.attributes)), encoded.attributes, encoded.token_ptr),
        shape=(encoded.offsets[-1], first.encoder_.n_attributes),
    )
    made = []
    for document, labels, a, b in zip(corpus, predicted, encoded.offsets[:-1], encoded.offsets[1:]):
        cliques: dict[str, Any] = {
            "words": (np.arange(b - a), attributes[a:b]),
            "edge": (np.stack([np.arange(b - a - 1), np.arange(1, b - a)], 1), None),
        }
        if votes:
            cliques |= fc.document_votes(document.columns["word"], labels, names)
        made.append(fc.GraphInstance(b - a, cliques, list(document.labels)))
    return made


def main(folder: Path, n: int = 40) -> None:
    """Train on n documents, score on as many others."""
    reading = {"columns": "word pos chunk ner", "label": "ner", "scheme": "iob2", "documents": True}
    train, test = (
        fc.read(folder / "conll2003" / name, **reading)[:n] for name in ("eng.train.gz", "eng.testa")
    )
    first = fc.ChainCRF(TEMPLATES)
    unseen = fc.cross_val_predict(first, train, cv=4)
    said = first.fit(train).predict(test)
    found = {"first model": said}
    for title, votes in {"as a graph": False, "with votes": True}.items():
        templates = ["words", "edge", *(["majority", "inside"] if votes else [])]
        names, optimiser = first.classes_.tolist(), fc.LBFGS(max_iterations=40)
        second = fc.GraphCRF(templates, labels=names, optimiser=optimiser)
        second.fit(graphs(train, first, unseen, votes=votes))
        found[title] = second.predict(graphs(test, first, said, votes=votes))
    for title, labels in found.items():
        f = fc.metrics.span_scores(test.labels, [list(row) for row in labels]).micro.f
        print(f"{title:12} F {100 * f:.1f} on {len(test)} documents")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")))

"""Papers that cite each other get their topics together (Cora, real data).

    python examples/linked_papers.py [FOLDER]

FOLDER holds cora/. A fifth of the topics is known; the others follow from words and from the neighbours.
"""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import fieldcraft as fc


def main(folder: Path) -> None:
    """Label all papers with and without their citations."""
    with gzip.open(folder / "cora" / "cora.content.gz", "rt") as lines:
        cells = [line.split() for line in lines]
    ids, topics = [row[0] for row in cells], np.array([row[-1] for row in cells], object)
    words = sparse.csr_array(np.array([row[1:-1] for row in cells], float))
    cites = [line.split() for line in (folder / "cora" / "cora.cites").read_text().splitlines()]
    links = fc.links(ids, [a for a, _ in cites], [b for _, b in cites])
    known = np.random.default_rng(0).random(len(ids)) < 0.2
    given = [topic if k else None for topic, k in zip(topics, known)]
    print(f"{len(ids):,} papers, {len(links):,} links, {known.sum()} topics known")
    for name, relations in {"words alone": {}, "words and citations": {"cites": links}}.items():
        model = fc.CollectiveClassifier(
            inference={"method": "propagation", "schedule": "tree", "tolerance": 1e-3},
            decoding="propagation",
            optimiser=fc.LBFGS(max_iterations=4),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # citations have cycles: propagation is not exact
            right = model.fit(words, relations, given).score(words, relations, topics, given)
        print(f"{name:20} {100 * right:.1f} per cent of the other topics are right")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")))

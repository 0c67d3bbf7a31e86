"""Tags and noun phrases of a sentence together (CoNLL-2000, real data).

    python examples/tags_and_phrases.py [FOLDER]

FOLDER holds conll2000/. The model sees words alone and predicts two label columns.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import fieldcraft as fc

TEMPLATES = """columns word
word[-1..1]
suffix(word, 1..3)
shape(word)
"""


def main(folder: Path) -> None:
    """Train on 60 sentences; tag another one."""
    both = ["pos", "chunk"]
    corpus = fc.read(folder / "conll2000" / "train.txt.gz", columns="word pos chunk", label="chunk")
    corpus = corpus.respelled(lambda labels: [y if y.endswith("-NP") else "O" for y in labels])
    train, test = corpus[:60].with_label(both), corpus[60:100].with_label(both)
    model = fc.FactorialCRF(TEMPLATES, cross=True, optimiser=fc.LBFGS(max_iterations=25)).fit(train)
    sizes = ", ".join(f"{len(labels)} {name} labels" for name, labels in model.classes_.items())
    print(f"{len(train)} sentences, {sizes}; {100 * model.score(test):.0f} per cent right in 40 others\n")
    found, sure = model.predict(test[:1])[0], model.predict_proba(test[:1])[0]
    for t, word in enumerate(test[0].columns["word"][:12]):
        print(f"{word:12} {found['pos'][t]:5} {found['chunk'][t]:5} {sure['chunk'][t].max():.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")))

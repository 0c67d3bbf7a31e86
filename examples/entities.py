"""Entities from a column file: write it, read it, train with templates and a development set."""

from __future__ import annotations

import tempfile
from pathlib import Path

import fieldcraft as fc

TEMPLATES = """
lower(word[-2..2])
lower(word[-1]) & lower(word)
shape(word[-1..1])
suffix(word, 1..3)
line                    # does the token open a line?
edge
"""


def write_files(folder: Path) -> None:
    """A training, a development and a test file of synthetic announcements, in CoNLL's format."""
    corpus = fc.datasets.seminars(n=200)
    print(f"from {corpus.source}")
    rest, test = fc.datasets.split(corpus, fraction=0.8, seed=0)
    train, dev = fc.datasets.split(rest, fraction=0.8, seed=1)
    for name, part in {"train": train, "dev": dev, "test": test}.items():
        fc.write(part, folder / f"{name}.conll")


def main() -> None:
    """Train until the development score no longer rises, then tag and score the test file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        columns = ["word", "line", "field"]
        train, dev, test = (
            fc.read(folder / f"{part}.conll", columns=columns, label="field")
            for part in ("train", "dev", "test")
        )
        crf = fc.ChainCRF(templates=TEMPLATES).fit(train, X_dev=dev, patience=10)
        best = max(record.held_out for record in crf.training_log_ if record.held_out is not None)
        print(f"{crf.n_iter_} iterations, {crf.stop_reason_}; best development F {100 * best:.2f}")

        predicted = crf.predict(test)
        fc.write(test, folder / "tagged.conll", predicted=predicted)
        print("\n".join((folder / "tagged.conll").read_text().splitlines()[:8]))
        print(fc.metrics.report(test.labels, predicted))


if __name__ == "__main__":
    main()

"""Expected calibration error and log-loss before and after a calibration, on data used for neither.

python -m experiments.calibration

Trains on the training part of CoNLL-2003 (names, IOB2), CoNLL-2000 (chunks) and WNUT-17 with Gaussian priors
of variance 1 and 100, calibrates on the development part (of CoNLL-2000, which has none, on the last 1,500
training sentences, which are not trained on), and measures on the test part.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import fieldcraft as fc

DATA = Path(os.environ.get("FIELDCRAFT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
NER = {"columns": ["word", "pos", "chunk", "ner"], "label": "ner"}
CHUNKS = {"columns": ["word", "pos", "chunk"], "label": "chunk"}
WORDS = "lower(word[-2..2])\nshape(word[-1..1])\nprefix(word, 3)\nsuffix(word, 3)\nedge"
TWEETS = {"columns": ["word", "ner"], "label": "ner"}


def conll2003() -> list[Any]:
    folder = DATA / "conll2003"
    parts = [fc.read(folder / name, **NER) for name in ("eng.train.gz", "eng.testa", "eng.testb")]
    return ["entities", *(part.to_scheme("iob2") for part in parts)]


def conll2000() -> list[Any]:
    folder = DATA / "conll2000"
    train, test = (fc.read(next(folder.glob(f"{name}*")), **CHUNKS) for name in ("train", "test"))
    return ["word[-2..2]\npos[-2..2]\nedge", train[:-1500], train[-1500:], test]


def wnut17() -> list[Any]:
    folder = DATA / "wnut17"
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    return [
        WORDS,
        *(fc.read(folder / name, **TWEETS) for name in names),
    ]


def main() -> None:
    """Print a row of a Markdown table for each corpus and prior."""
    print("| corpus | variance | temperature | calibration error | log-loss | log p per sentence | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for name, load in (("CoNLL-2003", conll2003), ("CoNLL-2000", conll2000), ("WNUT-17", wnut17)):
        templates, train, held_out, test = load()
        for variance in (1.0, 100.0):
            crf = fc.ChainCRF(templates, prior=fc.Gaussian(variance=variance)).fit(train)
            begun = time.process_time()
            calibrated = fc.calibrate(crf, held_out)
            seconds = time.process_time() - begun
            pairs = [
                fc.metrics.reliability(test.labels, model.predict_proba(test), model.classes_)
                for model in (crf, calibrated)
            ]
            known = [i for i, row in enumerate(test.labels) if set(row) <= set(crf.classes_)]
            means = [float(model.log_probability(test[known]).mean()) for model in (crf, calibrated)]
            cells = [
                f"{pairs[0].error:.4f} to {pairs[1].error:.4f}",
                f"{pairs[0].log_loss:.4f} to {pairs[1].log_loss:.4f}",
                f"{means[0]:.3f} to {means[1]:.3f}",
            ]
            same = list(crf.predict(test)) == list(calibrated.predict(test))
            assert same, "the best labels changed"
            heat = f"{calibrated.temperature_:.3f}"
            print(f"| {name} | {variance:g} | {heat} | {' | '.join(cells)} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()

"""Entities of CoNLL-2003: labels that are valid in training and decoding, in decoding only, or not at all.

    python -m experiments.valid_labels [iob2] [iobes] [--out FOLDER] [--sentences N]

none         a plain chain; labels that no span can have are read as conlleval reads them
decoding     the same weights; predictions under constraints that leave only valid labels
both         the state space has the valid transitions only, in training too

Templates "entities", Gaussian of variance VARIANCE, labels spelled as IOB2 or IOBES, document marks left out.
Prints F on the development part (testa) and on the test part (testb), how many sentences had labels that are
not valid, and tests of the differences from `none`. The report goes to experiments/results/valid-labels.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import fieldcraft as fc

RESULTS = Path(__file__).parent / "results"
VARIANCE = 10.0
PARTS = ("testa", "testb")
WAYS = ("none", "decoding", "both")
Labels = list[list[str]]


def rules(labels: list[str], scheme: str) -> list[Any]:
    """Constraints that leave the valid labellings: forbidden neighbours, first and last labels.

    >>> [str(rule) for rule in rules(["B-X", "I-X", "O"], "iob2")]
    ['forced 0 B-X O', 'forbidden O I-X']
    """
    follows = fc.schemes.may_follow
    first = [label for label in labels if follows(None, label, scheme)]
    found = [fc.forced(0, *first)]
    for before in labels:
        wrong = [after for after in labels if not follows(before, after, scheme)]
        if wrong:
            found.append(fc.forbidden(before, *wrong))
    return found


def endings(labels: list[str], scheme: str) -> list[str]:
    """The labels with which a sentence may end."""
    return [label for label in labels if fc.schemes.may_follow(label, None, scheme)]


def constraints_of(labels: list[str], scheme: str, lengths: list[int]) -> list[list[Any]]:
    """A list for each sentence: the rules, and its last token's label."""
    common, last = rules(labels, scheme), endings(labels, scheme)
    if len(last) == len(labels):
        return [common] * len(lengths)
    return [[*common, fc.forced(n - 1, *last)] if n else [] for n in lengths]


def read(name: str, scheme: str, sentences: int | None) -> tuple[Any, Labels]:
    """Sentences and their labels."""
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data")) / "conll2003"
    corpus = fc.read(folder / name, columns=["word", "pos", "chunk", "ner"], label="ner")[:sentences]
    return corpus, fc.schemes.convert([list(row) for row in corpus.labels], "iob1", scheme)


def run(scheme: str, sentences: int | None) -> dict[str, Any]:
    """Train the two models, answer in three ways; everything that the report needs."""
    train, y = read("eng.train.gz", scheme, sentences)
    tests = {part: read(f"eng.{part}", scheme, sentences) for part in PARTS}
    out: dict[str, Any] = {"scheme": scheme, "gold": {p: t[1] for p, t in tests.items()}, "predicted": {}}
    out["seconds"], out["weights"], out["invalid"] = {}, {}, {}
    for way, states in (("none", "labels"), ("both", scheme)):
        crf = fc.ChainCRF("entities", states=states, prior=fc.Gaussian(variance=VARIANCE), optimiser="lbfgs")
        begun = time.process_time()
        crf.fit(train, y)
        out["seconds"][way], out["weights"][way] = time.process_time() - begun, len(crf.weights_)
        out["predicted"][way] = {part: rows(crf.predict(tests[part][0])) for part in PARTS}
        if way == "none":
            names = crf.classes_.tolist()
            limits = {p: constraints_of(names, scheme, [len(r) for r in tests[p][1]]) for p in PARTS}
            out["predicted"]["decoding"] = {
                part: rows(crf.predict(tests[part][0], constraints=limits[part])) for part in PARTS
            }
    for way in WAYS:
        out["invalid"][way] = {
            part: sum(bool(fc.schemes.validate(row, scheme)) for row in out["predicted"][way][part])
            for part in PARTS
        }
    return out


def rows(predicted: Any) -> Labels:
    """Predictions as lists."""
    return [list(row) for row in predicted]


def report(found: dict[str, Any]) -> str:
    """Markdown of one scheme."""
    lines = [f"## {found['scheme'].upper()}", ""]
    lines += ["| valid in | testa F | testb F | sentences not valid | weights |", "|---|---|---|---|---|"]
    for way in WAYS:
        f = [100 * fc.metrics.span_scores(found["gold"][p], found["predicted"][way][p]).f for p in PARTS]
        wrong = " and ".join(str(found["invalid"][way][p]) for p in PARTS)
        weights = found["weights"].get(way, found["weights"]["none"])
        lines.append(f"| {way} | {f[0]:.2f} | {f[1]:.2f} | {wrong} | {weights:,} |")
    for way in WAYS[1:]:
        gold, answers = found["gold"]["testb"], found["predicted"]
        compared = fc.compare(
            gold, answers["none"]["testb"], answers[way]["testb"], metric="span_f", names=("none", way)
        )
        lines += ["", "On testb:", "", "```", str(compared), "```"]
    each = ", ".join(f"{way} {seconds:.0f} s" for way, seconds in found["seconds"].items())
    return "\n".join([*lines, "", f"Processor time of the trainings: {each}.", ""])


def main(arguments: list[str] | None = None) -> None:
    """Run the schemes that were named, both by default."""
    parser = argparse.ArgumentParser(prog="python -m experiments.valid_labels", description=__doc__)
    parser.add_argument("schemes", nargs="*", default=["iob2", "iobes"])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the report")
    parser.add_argument("--sentences", type=int, help="of each part, to see that it runs")
    options = parser.parse_args(arguments)
    text = ["# Valid labels: entities of CoNLL-2003", "", "`python -m experiments.valid_labels`", ""]
    text += [f'Templates "entities", Gaussian of variance {VARIANCE:g}, L-BFGS.', ""]
    for scheme in options.schemes:
        found = run(scheme, options.sentences)
        text.append(report(found))
        print(text[-1], flush=True)
        if options.sentences is None or options.out != RESULTS:
            (options.out / "valid-labels.md").write_text("\n".join(text), encoding="utf-8")
            figures = {key: found[key] for key in ("scheme", "seconds", "weights", "invalid")}
            with (options.out / "valid-labels.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()

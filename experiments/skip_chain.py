"""Seminar announcements: a skip chain against a linear chain, five folds.

    python -m experiments.skip_chain [FOLDER] [--folds 0 1 2 3 4] [--inner] [--models NAME …] [-o FILE]
    python -m experiments.skip_chain --report FILE …
    python -m experiments.skip_chain --widths

FOLDER holds cmu_seminars/, ud_en_ewt/ and gazetteers/. Features are the template set ``announcements``, those
of table 4.1 of the paper on relational learning; skip edges join all equal capitalised words, without a cap,
and look at the features of both ends, or-ed. Folds are a permutation of all documents by seed 0. Penalties
are chosen on an inner split (80/20, seed 1) of the training part of fold 0 (--inner), by the mean of the four
token F1, for skip chains among those that at least halve the inconsistent repeats of the chosen linear chain
there. Each training writes a line of JSON as it ends; --report makes the tables from such lines.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from experiments import seminars
from experiments.seminars import FIELDS
from fieldcraft.corpus import Corpus

PAPER = {  # tables 4.2 and 4.3: F1 by field and their mean, inconsistently mislabelled tokens
    "linear": ([97.5, 97.5, 88.3, 77.3, 90.2], [12.6, 3.2, 6.4, 30.2]),
    "skip": ([96.7, 97.2, 88.1, 80.4, 90.6], [17.0, 5.2, 0.6, 4.8]),
}
SPEAKER = {"linear": (86.5, 70.0), "skip": (85.1, 76.8)}  # precision and recall in the paper's text
MODELS = [f"linear:{v}" for v in ("10", "1", "100")]
MODELS += [f"skip:10:{v}:full" for v in ("0.03", "0.1", "0.01")]
MODELS += [f"skip:10:{v}:agreement" for v in ("0.1", "0.03", "0.01")]
MODELS += ["skip:10:0.1:full:two_stage", "skip:10:1:full:two_stage", "skip:10:1:full"]


def model(name: str, lists: list[Any], iterations: int) -> Any:
    """linear:VARIANCE, or skip:VARIANCE:VARIANCE of skip edges:TYING and flags.

    Flags: two_stage; propagation (alone), estimated (by propagation where sums are not exact).
    """
    kind, *settings = name.split(":")
    if kind == "linear":
        return fc.ChainCRF("announcements", prior=fc.Gaussian(float(settings[0])), gazetteers=lists)
    options: dict[str, Any] = {"gazetteers": lists, "optimiser": fc.LBFGS(max_iterations=iterations)}
    chain, skip = map(float, settings[:2])
    prior = fc.Gaussian(fc.groups.by_part({"skip": skip}, otherwise=chain))
    inference: Any = "propagation" if "propagation" in settings else "auto"
    if "estimated" in settings:
        inference = {"method": "auto", "wide": "propagation"}
    return fc.SkipChainCRF(
        "announcements",
        prior=prior,
        max_pairs_per_word=None,
        skip_tying=settings[2],
        two_stage="two_stage" in settings,
        inference=inference,
        **options,
    )


def scores(test: Corpus, predicted: Iterable[list[str]]) -> dict[str, Any]:
    """Token counts (right, predicted, gold) and inconsistent repeats of each field."""
    answers = list(predicted)
    pairs = [pair for gold, found in zip(test.labels, answers) for pair in zip(gold, found)]
    repeats = fc.metrics.inconsistent_repeats(test.column("word"), test.labels, answers)
    out: dict[str, Any] = {}
    for field in FIELDS:
        label = f"I-{field}"
        right = sum(a == b == label for a, b in pairs)
        out[field] = [right, sum(b == label for _, b in pairs), sum(a == label for a, _ in pairs)]
    return {"counts": out, "repeats": {field: repeats.get(field, 0) for field in FIELDS}}


def f1(counts: list[int]) -> float:
    """In per cent."""
    return 200.0 * counts[0] / max(1, counts[1] + counts[2])


def trained(name: str, train: Corpus, test: Corpus, lists: list[Any], iterations: int) -> dict[str, Any]:
    """One training and its scores."""
    begun = resource.getrusage(resource.RUSAGE_SELF)
    crf = model(name, lists, iterations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the iteration limit; the line says why it stopped
        crf.fit(train)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    found = scores(test, crf.predict(test))
    return {
        "model": name,
        "mean": round(float(np.mean([f1(counts) for counts in found["counts"].values()])), 3),
        **found,
        "cpu": round(spent.ru_utime + spent.ru_stime - begun.ru_utime - begun.ru_stime, 1),
        "iterations": crf.n_iter_,
        "stopped": crf.stop_reason_,
        "unconverged": [record.unconverged for record in crf.training_log_][-1],
        "pairs": getattr(crf, "n_pairs_", 0),
        "objective": crf.objective_value_,
    }


def split(n: int, fold: int, *, inner: bool) -> tuple[list[int], list[int]]:
    """Documents to train on and to test on."""
    test = seminars.folds(n)[fold]
    train = np.setdiff1d(np.arange(n), test)
    if inner:
        order = np.random.default_rng(1).permutation(train)
        test, train = order[: len(order) // 5], order[len(order) // 5 :]
    return train.tolist(), test.tolist()


def report(lines: list[dict[str, Any]]) -> str:
    """Tables 4.2 and 4.3 for each model, means over folds, and the inner split that chose among them."""
    out = ["Inner split of fold 0 (mean of four F1):", ""]
    out += ["| model | mean F1 | inconsistent repeats | CPU s | not converged |", "|---|---|---|---|---|"]
    for one in sorted((x for x in lines if x["inner"]), key=lambda x: -x["mean"]):
        repeats, failed = sum(one["repeats"].values()), one["unconverged"] or 0
        out.append(f"| {one['model']} | {one['mean']:.2f} | {repeats} | {one['cpu']:.0f} | {failed} |")
    out += ["", "Five folds:", ""]
    head = [
        "model",
        *FIELDS,
        "overall",
        "speaker P",
        "speaker R",
        *(f"repeats {f}" for f in FIELDS),
        "CPU s",
        "folds",
    ]
    out += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for kind, (row, repeats) in PAPER.items():
        cells = [
            f"the paper's {kind} chain",
            *map(str, row),
            *map(str, SPEAKER[kind]),
            *map(str, repeats),
            "",
            "5",
        ]
        out.append("| " + " | ".join(cells) + " |")
    for name in dict.fromkeys(x["model"] for x in lines if not x["inner"]):
        mine = [x for x in lines if x["model"] == name and not x["inner"]]
        out.append("| " + " | ".join([name, *_means(mine), str(len(mine))]) + " |")
    return "\n".join(out)


def _means(rows: list[dict[str, Any]]) -> list[str]:
    by_field = [np.mean([f1(row["counts"][field]) for row in rows]) for field in FIELDS]
    counts = [row["counts"]["speaker"] for row in rows]
    precision = np.mean([100 * c[0] / max(1, c[1]) for c in counts])
    recall = np.mean([100 * c[0] / max(1, c[2]) for c in counts])
    repeats = [np.mean([row["repeats"][field] for row in rows]) for field in FIELDS]
    numbers = [*by_field, np.mean(by_field), precision, recall, *repeats]
    return [*(f"{x:.1f}" for x in numbers), f"{np.mean([row['cpu'] for row in rows]):.0f}"]


def widths(corpus: Corpus) -> str:
    """Largest cliques of the junction trees (min-fill) of all documents, with all equal capitalised words."""
    from fieldcraft.features.word_pairs import WordPairs

    rule, found = WordPairs("same", None), []
    for words in corpus.column("word"):
        graph = fc.FactorGraph(np.full(len(words), 5))
        chain = np.stack([np.arange(len(words) - 1), np.arange(1, len(words))], 1)
        graph.add(np.concatenate([chain, rule.of(words)]), np.zeros((5, 5)))
        found.append(graph.width().variables)
    sizes = np.array(found)
    return (
        f"{len(sizes)} documents: {(sizes >= 10).sum()} with cliques of 10 or more, {(sizes >= 14).sum()} of "
        f"14 or more, the largest {sizes.max()} (the paper: 29 of 485, 11, 61)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.skip_chain", description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--folds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--inner", action="store_true", help="the inner split of fold 0 instead of the folds")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--iterations", type=int, default=100, help="of a skip chain, at most")
    parser.add_argument("--documents", type=int, help="the first documents alone")
    parser.add_argument("--widths", action="store_true", help="junction trees of all documents, no training")
    parser.add_argument("--report", nargs="+", metavar="FILE", help="tables from lines that were written")
    parser.add_argument("-o", "--output", help="a file to which lines are added")
    given = parser.parse_args()
    if given.report:
        lines = [json.loads(line) for path in given.report for line in Path(path).read_text().splitlines()]
        print(report(lines))
        return
    data = Path(given.folder)
    corpus = seminars.read(data, given.documents)
    if given.widths:
        print(widths(corpus))
        return
    corpus, lists = seminars.tagged(corpus, data), seminars.name_lists(data)
    for fold in [0] if given.inner else given.folds:
        train, test = split(len(corpus), fold, inner=given.inner)
        for name in given.models:
            line = trained(name, corpus[train], corpus[test], lists, given.iterations)
            text = json.dumps({"fold": fold, "inner": given.inner, **line})
            print(text, flush=True)
            if given.output:
                with Path(given.output).open("a", encoding="utf-8") as file:
                    file.write(text + "\n")


if __name__ == "__main__":
    main()

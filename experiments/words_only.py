"""Entities and tags from words alone: which templates and which variance, chosen on development data.

    python -m experiments words-only [--corpus wnut17] [--share 1/3] [--sets standard tests+affixes]
    python -m experiments words-only --report

The yardstick of the default template sets `entities-words` and `tagging`. Each set of SETS is trained with
each variance of VARIANCES on WNUT-17 and on CoNLL-2003 without its columns of tags, each set of TAG_SETS on
English EWT (universal tags). Every training appends a line to results/words-only.jsonl; what is there already
is not trained again. `--share 2/3` trains the second third of the sets, for several processes at once.
`--report` takes the best line by development score and that of the default, reads the test set for these two
only, and writes results/words-only.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import fieldcraft as fc

RESULTS = Path(__file__).parent / "results"
NAME = "words-only"
DEFAULT = "default"
VARIANCES = (1.0, 3.0, 10.0)
# a change of 1e-5 of the objective in ten iterations hardly moves the score
LBFGS = fc.LBFGS(max_iterations=300, objective_tolerance=1e-5, period=10, memory=15)

_TESTS = [
    *("contains_digit", "contains_upper", "contains_hyphen", "contains_period", "contains_punctuation"),
    *("is_digits", "is_number", "is_alphanumeric", "is_roman", "is_upper", "is_lower", "is_mixed"),
    *("is_title", "is_initial", "is_acronym"),
]
_FEW = ["is_title", "is_upper", "contains_digit", "contains_punctuation"]
BLOCKS = {
    "word": "word",
    "near": "word[-1..1]",
    "around": "word[-2..2]",
    "pairs": "word[-1] & word\nword & word[1]",
    "sides": "word[-2] & word[-1]\nword[1] & word[2]",
    "edge": "edge: word",
    "lower": "lower(word)",
    "lower-near": "lower(word[-1..1])",
    "lower-around": "lower(word[-2..2])",
    "lower-pairs": "lower(word[-1]) & lower(word)\nlower(word) & lower(word[1])",
    "tests": "\n".join(f"{test}(word)" for test in _TESTS),
    "tests-near": "\n".join(f"{test}(word[{at}])" for test in _FEW for at in (-1, 1)),
    "affixes": "prefix(word, 1..4)\nsuffix(word, 1..4)",
    "lower-affixes": "prefix(lower(word), 1..4)\nsuffix(lower(word), 1..4)",
    "affixes-3": "prefix(word, 1..3)\nsuffix(word, 1..3)",
    "affixes-5": "prefix(word, 1..5)\nsuffix(word, 1..5)",
    "affixes-near": "prefix(word[-1], 3)\nsuffix(word[-1], 3)\nprefix(word[1], 3)\nsuffix(word[1], 3)",
    "length": "length(word)",
    "shape": "shape(word)",
    "shape-near": "shape(word[-1..1])",
    "shape-pairs": "shape(word[-1]) & shape(word)\nshape(word) & shape(word[1])",
    "edge-shape": "edge: shape(word)",
    "collins": "collins(word[-1..1])",
    "collins-pairs": "collins(word[-2]) & collins(word[-1])\ncollins(word[-1]) & collins(word)\n"
    "collins(word[1]) & collins(word[2])",
    "collins-threes": "collins(word[-2]) & collins(word[-1]) & collins(word)\n"
    "collins(word[-1]) & collins(word) & collins(word[1])\n"
    "collins(word) & collins(word[1]) & collins(word[2])",
}
_FORMS = "collins collins-pairs collins-threes"
_STANDARD = f"around sides tests affixes length {_FORMS}"
_LOWER = f"around lower-near tests affixes length {_FORMS}"
SETS = {
    "simple": "word",
    "near": "near",
    "around": "around",
    "tagging": "around edge",
    "affixes": "around affixes",
    "tests": "around tests",
    "shapes": "around shape",
    "formats": f"around {_FORMS}",
    "tests+affixes": "around tests affixes",
    "shapes+affixes": "around shape-near affixes",
    "formats+affixes": f"around affixes {_FORMS}",
    "all of a word": "word lower tests affixes length shape",
    "all of a word, near words": "near lower tests affixes length shape",
    "standard": _STANDARD,
    "standard, edge": f"{_STANDARD} edge",
    "standard without sides": _STANDARD.replace(" sides", ""),
    "standard without formats": _STANDARD.replace(f" {_FORMS}", ""),
    "standard without tests": _STANDARD.replace(" tests", ""),
    "standard without affixes": _STANDARD.replace(" affixes", ""),
    "standard, tests near": f"{_STANDARD} tests-near",
    "standard, word pairs": f"{_STANDARD} pairs",
    "standard, shapes": f"{_STANDARD} shape-near shape-pairs",
    "standard, lower": f"{_STANDARD} lower-near",
    "standard, affixes near": f"{_STANDARD} affixes-near",
    "lower": _LOWER,
    "lower around": _LOWER.replace("lower-near", "lower-around"),
    "lower without words around": _LOWER.replace("around", "word"),
    "lower, tests near": f"{_LOWER} tests-near",
    "lower, lower affixes": f"{_LOWER} lower-affixes",
    "lower, shapes": f"{_LOWER} shape-near shape-pairs",
    "lower, shapes, tests near": f"{_LOWER} shape-near shape-pairs tests-near",
    "lower, pairs of words": f"{_LOWER} lower-pairs",
    "lower, edge of shapes": f"{_LOWER} shape-near shape-pairs edge-shape",
    "lower, affixes near": f"{_LOWER} affixes-near",
    "everything": f"{_LOWER} sides shape-near shape-pairs tests-near affixes-near lower-affixes "
    "lower-pairs edge",
}
_TAGS = "around lower-near affixes shape-near"
TAG_SETS = {
    "simple": "word",
    "around": "around",
    "plain": "around edge",
    "near": "near affixes shape",
    "affixes": "around affixes",
    "affixes to 3": "around affixes-3",
    "affixes to 5": "around affixes-5",
    "lower affixes": "around lower-affixes",
    "affixes, edge": "around edge affixes",
    "affixes, shape": "around affixes shape",
    "affixes, shapes": "around affixes shape-near",
    "affixes, tests": "around affixes tests",
    "affixes, tests, length": "around affixes tests length",
    "affixes, formats": f"around affixes {_FORMS}",
    "affixes, lower": "around lower-near affixes",
    "lower, shape": "around lower-near affixes shape",
    "lower, shapes": _TAGS,
    "lower, shapes, affixes to 3": _TAGS.replace("affixes", "affixes-3"),
    "lower, shapes, affixes to 5": _TAGS.replace("affixes", "affixes-5"),
    "lower, shapes, lower affixes": _TAGS.replace("affixes", "lower-affixes"),
    "lower, shapes, both affixes": f"{_TAGS} lower-affixes",
    "lower, shapes, affixes near": f"{_TAGS} affixes-near",
    "lower, shapes, edge": f"{_TAGS} edge",
    "lower, shapes, edge of shapes": f"{_TAGS} edge-shape",
    "lower, shapes, pairs of shapes": f"{_TAGS} shape-pairs",
    "lower, shapes, tests": f"{_TAGS} tests",
    "lower, shapes, pairs": f"{_TAGS} pairs",
    "lower, shapes, lower pairs": f"{_TAGS} lower-pairs",
    "lower, shapes, sides": f"{_TAGS} sides",
    "lower, shapes, near words": _TAGS.replace("around", "near"),
    "lower around, shapes": _TAGS.replace("lower-near", "lower-around"),
    "everything": f"{_TAGS} edge tests length shape-pairs pairs lower-pairs sides affixes-near lower-affixes",
}


class Data(NamedTuple):
    """A corpus: where its parts are, its columns (those of CoNLL-U if none are named) and what is tried."""

    folder: str
    train: str
    development: str
    test: str
    columns: tuple[str, ...] | None
    sets: dict[str, str]
    metric: str = "F"
    optimiser: Any = LBFGS

    def read(self, data: Path, part: str) -> fc.Corpus:
        """One part, with words and labels alone."""
        label: Any = "upos" if self.columns is None else -1
        corpus = fc.read(data / self.folder / getattr(self, part), columns=self.columns, label=label)
        words = corpus.column("form" if self.columns is None else "word")
        return fc.Corpus.from_columns({"word": words}, corpus.labels, label="label")

    def templates(self, name: str) -> Any:
        """The templates of a set; None for the default, which the library chooses."""
        if name == DEFAULT:
            return None
        return "\n".join(["edge", "first", "last", *(BLOCKS[block] for block in self.sets[name].split())])

    def trained(self, name: str, variance: float | None, train: fc.Corpus, previous: Any = None) -> Any:
        """A model; gradient methods begin at the weights of ``previous``, which has the same features."""
        prior: Any = "auto" if variance is None else fc.Gaussian(variance=variance)
        optimiser = "auto" if variance is None else self.optimiser
        crf = previous or fc.ChainCRF(self.templates(name), warm_start=optimiser != "auto")
        return crf.set_params(prior=prior, optimiser=optimiser).fit(train)

    def score(self, crf: Any, corpus: fc.Corpus) -> float:
        """F of spans, or the share of tokens that are right, per cent."""
        answers = [list(row) for row in crf.predict(corpus)]
        if self.metric == "accuracy":
            return round(100 * fc.metrics.token_accuracy(corpus.labels, answers), 2)
        return round(100 * fc.metrics.span_scores(corpus.labels, answers).f, 2)


CORPORA = {
    "wnut17": Data(
        "wnut17", "wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated", ("word", "ner"), SETS
    ),
    "conll2003": Data(
        "conll2003", "eng.train.gz", "eng.testa", "eng.testb", ("word", "pos", "chunk", "ner"), SETS
    ),
    "ewt": Data(
        "ud_en_ewt",
        *(f"en_ewt-ud-{part}.conllu.gz" for part in ("train", "dev", "test")),
        columns=None,
        sets=TAG_SETS,
        metric="accuracy",
        optimiser="auto",  # dual ascent, which takes a third of the time here
    ),
}


def search(corpus: str, names: list[str], data: Path, output: Path, sentences: int | None) -> None:
    """Train the sets, strong priors first, and write a line for each training."""
    task = CORPORA[corpus]
    known = {(row["corpus"], row["set"], row["variance"]) for row in lines(output)}
    train, development = (task.read(data, part)[:sentences] for part in ("train", "development"))
    for name in names:
        crf = None
        for variance in (None,) if name == DEFAULT else VARIANCES:
            if (corpus, name, variance) in known:
                continue
            begun = time.process_time()
            crf = task.trained(name, variance, train, crf)
            row = {
                "corpus": corpus,
                "set": name,
                "variance": variance,
                "development": task.score(crf, development),
                "features": len(crf.weights_),
                "iterations": crf.n_iter_,
                "seconds": round(time.process_time() - begun, 1),
            }
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def lines(path: Path) -> list[dict[str, Any]]:
    """The trainings so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def report(data: Path, folder: Path) -> str:
    """The table, best first, and the test scores of the best and of the default."""
    rows = lines(folder / f"{NAME}.jsonl")
    text = [
        "# Entities and tags from words alone",
        "",
        "`python -m experiments words-only`, then `--report`.",
        "",
    ]
    for corpus, task in CORPORA.items():
        mine = sorted((r for r in rows if r["corpus"] == corpus), key=lambda r: -float(r["development"]))
        if not mine:
            continue
        best = next(row for row in mine if row["set"] != DEFAULT)
        default = next((row for row in mine if row["set"] == DEFAULT), None)
        text += [f"## {corpus}", "", f"{len(mine)} trainings of {len({r['set'] for r in mine})} sets.", ""]
        train, test = (task.read(data, part) for part in ("train", "test"))
        for title, row in (("best", best), ("default", default)):
            if row is not None:
                score = task.score(task.trained(row["set"], row["variance"], train), test)
                text.append(f"- {title}: {described(row, task.metric)}; test {task.metric} {score:.2f}")
        text += [
            "",
            f"| set | variance | development {task.metric} | features | iterations | seconds |",
            "|---|" + "---:|" * 5,
        ]
        text += [_cells(row) for row in mine]
        text.append("")
    return "\n".join(text)


def described(row: dict[str, Any], metric: str) -> str:
    """A training in words."""
    variance = "" if row["variance"] is None else f", variance {row['variance']:g}"
    return f"{row['set']}{variance}: development {metric} {row['development']:.2f}"


def _cells(row: dict[str, Any]) -> str:
    variance = "auto" if row["variance"] is None else f"{row['variance']:g}"
    numbers = f"{row['development']:.2f} | {row['features']:,} | {row['iterations']} | {row['seconds']:.0f}"
    return f"| {row['set']} | {variance} | {numbers} |"


def main(arguments: list[str] | None = None) -> None:
    """Search, or write the report."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments {NAME}", description=__doc__)
    add = parser.add_argument
    add("--corpus", choices=list(CORPORA), action="append", help="one of the corpora; all by default")
    add("--sets", nargs="*", help="some of the sets; all by default")
    add("--share", default="1/1", help="the second third of the sets: 2/3")
    add("--quick", action="store_true", help="150 sentences, to see that it runs")
    add("--report", action="store_true", help="write the report from the lines")
    add("--into", type=Path, default=RESULTS, help="folder of the lines and the report")
    add("--data", type=Path, default=Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data")))
    options = parser.parse_args(arguments)
    options.into.mkdir(parents=True, exist_ok=True)
    if options.report:
        (options.into / f"{NAME}.md").write_text(report(options.data, options.into), encoding="utf-8")
        return
    number, of = map(int, options.share.split("/"))
    output = options.into / f"{NAME}.jsonl"
    for corpus in options.corpus or CORPORA:
        names = (options.sets or [DEFAULT, *CORPORA[corpus].sets])[number - 1 :: of]
        search(corpus, names, options.data, output, 150 if options.quick else None)


if __name__ == "__main__":
    main()

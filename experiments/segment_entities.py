"""Names in CoNLL-2003: a chain whose lists of names match exactly, segments with similarities to these lists.

Both have the templates "entities-gazetteers" of tokens, the six lists, a Gaussian prior and L-BFGS. The chain
is trained on the labels of IOB2 and of IOBES; segments of up to ten tokens with templates and functions as in
VARIANTS. Every model's labels of both test sets are written to --predictions. F on test set A chooses one
chain of each scheme and one segment model, and on test set B these alone are scored.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fieldcraft as fc
from experiments.gazetteers import FILES, gazetteers
from experiments.span_features import SpanFeatures
from fieldcraft.corpus.schemes import convert

WHOLE = "segment.length\nsegment.text\nsegment.shape\n"
NEAR = "".join(f"near({name}, word)\n" for name in FILES)
ENDS = (
    "last(word)\nafter(word)\nlast(suffix(word, 1..4))\nlast(pos)\nafter(pos)\nlast(lower(word))\n"
    "last(shape(word))\n"
)
TAGS = "before(pos)\nsegment.text(pos)\n"
ALL = WHOLE + "segment.lower\n" + NEAR + ENDS
FEW = "segment.length\n" + NEAR + ENDS
THREE = ("lengths", "pattern", "members")
MAX_LENGTH = 10  # tokens of the longest name of the training data


class Variant(NamedTuple):
    """What a model looks at besides tokens; a scheme for chains, templates and functions for segments."""

    scheme: str = ""
    templates: str = ""
    functions: tuple[str, ...] = ()
    variance: float = 10.0
    whole: float | None = None  # variance of features of whole segments, where it differs


VARIANTS = {
    **{
        f"chain, {scheme}, variance {v:g}": Variant(scheme, variance=v)
        for scheme in ("iob2", "iobes")
        for v in (3.0, 10.0, 30.0)
    },
    "near + ends + lengths": Variant(templates=FEW, functions=("lengths",)),
    "near + ends + three": Variant(templates=FEW, functions=THREE),
    "all + lengths": Variant(templates=ALL, functions=("lengths",)),
    "all + lengths, whole 2": Variant(templates=ALL, functions=("lengths",), whole=2.0),
    "all + lengths, whole 2, not near": Variant(
        templates=ALL.replace(NEAR, ""), functions=("lengths",), whole=2.0
    ),
    "all + three": Variant(templates=ALL, functions=THREE),
    "all + three, whole 2": Variant(templates=ALL, functions=THREE, whole=2.0),
    "all + three + tags": Variant(templates=ALL + TAGS, functions=THREE),
    "all + four": Variant(templates=ALL, functions=(*THREE, "around")),
}


class Data(NamedTuple):
    """Sequences with their labels."""

    X: Any
    y: Any


def entities_of(data: Path, name: str, n: int | None) -> Data:
    """A part of CoNLL-2003, in IOB2."""
    columns = ["word", "pos", "chunk", "ner"]
    corpus = fc.read(data / "conll2003" / name, columns=columns, label="ner")[:n]
    return Data(corpus, convert(corpus.labels, "iob1", "iob2"))


def model_of(variant: Variant, lists: Any, iterations: int, jobs: int | None) -> Any:
    """The model of a variant, not yet trained."""
    variance: Any = variant.variance
    if variant.whole is not None:
        variance = fc.groups.by_template({"segment*": variant.whole}, otherwise=variant.variance)
    shared: dict[str, Any] = {"gazetteers": lists, "prior": fc.Gaussian(variance=variance)}
    shared |= {"optimiser": fc.LBFGS(max_iterations=iterations), "n_jobs": jobs}
    if variant.scheme:
        return fc.ChainCRF("entities-gazetteers", **shared)
    functions = SpanFeatures(variant.functions, lists) if variant.functions else None
    return fc.SegmentCRF(
        "entities-gazetteers",
        segment_templates=variant.templates,
        segment_features=functions,
        max_length=MAX_LENGTH,
        **shared,
    )


class Predictions:
    """Labels of the test sets by variant, in a folder: NAME.npz with those of sets a and b, and NAME.json."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def rows(self) -> dict[str, Any]:
        """What is known of each variant that was trained, in the order of VARIANTS."""
        found = [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]
        by_name = {row["name"]: row for row in found}
        return {name: by_name[name] for name in VARIANTS if name in by_name}

    def keep(self, row: dict[str, Any], labels: dict[str, list[Any]]) -> None:
        """Write the labels of a variant and its row."""
        names = sorted({name for rows in labels.values() for row in rows for name in row})
        number = {name: i for i, name in enumerate(names)}
        arrays = {
            part: np.array([number[name] for row in rows for name in row], np.uint8)
            for part, rows in labels.items()
        }
        np.savez_compressed(self._path(row["name"], "npz"), names=np.array(names), **arrays)
        self._path(row["name"], "json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")

    def labels(self, name: str, part: str, like: Any) -> list[list[str]]:
        """The labels of a variant for one set, cut like its own."""
        with np.load(self._path(name, "npz")) as arrays:
            flat = arrays["names"][arrays[part]].tolist()
        bounds = np.concatenate([[0], np.cumsum([len(row) for row in like])]).tolist()
        return [flat[a:b] for a, b in zip(bounds, bounds[1:])]

    def _path(self, name: str, ending: str) -> Path:
        return self.folder / f"{name.replace(' + ', '-').replace(', ', '-').replace(' ', '-')}.{ending}"


def train(name: str, options: argparse.Namespace, to: Predictions) -> None:
    """Train a variant, and write its labels of both test sets and F on the first."""
    variant, lists = VARIANTS[name], gazetteers(options.data)
    X, y = entities_of(options.data, "eng.train.gz", options.sentences)
    scheme = variant.scheme or "iob2"
    model = model_of(variant, lists, options.iterations, options.jobs)
    used = time.process_time()
    model.fit(X, y if scheme == "iob2" else convert(y, "iob2", scheme))
    row = {"name": name, "weights": len(model.weights_), "cpu": round(time.process_time() - used)}
    labels = {}
    for part in ("a", "b"):
        held = entities_of(options.data, f"eng.test{part}", options.sentences)
        found = list(model.predict(held.X))
        labels[part] = found if scheme == "iob2" else convert(found, scheme, "iob2")
        if part == "a":
            row["f_a"] = 100 * fc.metrics.span_scores(held.y, labels["a"]).f
    row |= {"iterations": options.iterations, "sentences": len(y)}
    to.keep(row, labels)
    print(f"{name} | {row['weights']:,} | {row['cpu']} | {row['f_a']:.2f}", flush=True)


def entities(options: argparse.Namespace) -> list[str]:
    """Train the variants that are missing; the report, unless only some variants were asked for."""
    to = Predictions(options.predictions)
    begun = time.monotonic()
    for name in options.only or VARIANTS:
        late = time.monotonic() - begun > (options.seconds or float("inf"))
        if name not in to.rows() and not late:
            train(name, options, to)
    return [] if options.only else report(options, to)


def report(options: argparse.Namespace, to: Predictions) -> list[str]:
    """F of all on test set A; on test set B that of the chosen ones, with tests of the differences."""
    rows = to.rows()
    head = ["model", "weights", "processor seconds", "F, test set A"]
    lines = table(
        head, [[name, f"{r['weights']:,}", f"{r['cpu']}", f"{r['f_a']:.2f}"] for name, r in rows.items()]
    )
    chosen = [best_of(rows, scheme) for scheme in ("iob2", "iobes", "")]
    gold = entities_of(options.data, "eng.testb", options.sentences).y
    found = {name: to.labels(name, "b", gold) for name in chosen}
    scored = [[name, f"{100 * fc.metrics.span_scores(gold, found[name]).f:.2f}"] for name in chosen]
    lines += ["", *table(["chosen on test set A", "F, test set B"], scored)]
    for other in chosen[:2]:
        test = fc.compare(gold, found[other], found[chosen[2]], metric="span_f")
        lines += ["", f"a: {other}; b: {chosen[2]}", "", "```", str(test), "```"]
    return lines


def best_of(rows: dict[str, Any], scheme: str) -> str:
    """The variant of a scheme with the greatest F on test set A; similarities are required of segments."""
    own = [name for name in rows if VARIANTS[name].scheme == scheme]
    able = [name for name in own if scheme or NEAR in VARIANTS[name].templates]
    return max(able, key=lambda name: float(rows[name]["f_a"]))


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]

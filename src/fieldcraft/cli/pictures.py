"""What `fieldcraft plot` draws: a function for each kind of picture, by name.

A function takes what the command read and draws into a file; ``needs`` says what that is: "model" alone,
"labelled" files, "files" whose labels may be unknown, or nothing but "results".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from fieldcraft.errors import InputError


class Asked(NamedTuple):
    """The arguments: model and corpus (None where not needed), first file, number of a sequence, output."""

    model: Any
    corpus: Any
    file: str
    sequence: int
    path: str

    def one(self) -> Any:
        """The corpus of the sequence alone."""
        if self.sequence >= len(self.corpus):
            raise InputError(
                f"there is no sequence {self.sequence}; the files have {len(self.corpus)}, counted from 0"
            )
        return self.corpus[self.sequence : self.sequence + 1]


class Picture(NamedTuple):
    """A kind of picture."""

    draw: Callable[[Asked], Any]
    needs: str


def _curves(asked: Asked) -> Any:
    from fieldcraft.plots import learning_curves

    log = getattr(asked.model, "training_log_", None)
    if not log:
        raise InputError(f"{asked.file} has no log of its training")
    held_out = [record.held_out for record in log]
    seconds, iterations = [r.seconds for r in log], [r.iteration for r in log]
    return learning_curves(
        [r.objective for r in log], held_out, seconds, iterations=iterations, path=asked.path
    )


def _transitions(asked: Asked) -> Any:
    from fieldcraft.plots import transitions

    seen = asked.model.inspect(top=1)
    return transitions(seen.transitions, seen.labels, path=asked.path)


def _weights(asked: Asked) -> Any:
    from fieldcraft.plots import template_weights

    rows = asked.model.inspect(top=1).templates
    names, total, active = zip(*((row.template, row.total, row.active) for row in rows))
    return template_weights(names, total, active, path=asked.path)


def _confusion(asked: Asked) -> Any:
    from fieldcraft.evaluation.confusion import confusion
    from fieldcraft.plots import confusion as draw

    names, matrix = confusion(asked.corpus.labels, list(asked.model.predict(asked.corpus)))
    return draw(matrix, names, path=asked.path)


def _types(asked: Asked) -> Any:
    from fieldcraft.evaluation.confusion import span_confusion
    from fieldcraft.plots import confusion as draw

    names, matrix = span_confusion(asked.corpus.labels, list(asked.model.predict(asked.corpus)))
    return draw(matrix, names, unit="spans", path=asked.path)


def _reliability(asked: Asked) -> Any:
    from fieldcraft.evaluation.calibration import reliability
    from fieldcraft.plots import reliability as draw

    proba = asked.model.predict_proba(asked.corpus)
    return draw(reliability(asked.corpus.labels, proba, asked.model.classes_.tolist()), path=asked.path)


def _thresholds(asked: Asked) -> Any:
    from fieldcraft.plots import precision_recall
    from fieldcraft.plots.confidence import spans_by_confidence

    predicted = asked.model.scored(asked.corpus).predict_spans()
    return precision_recall(*spans_by_confidence(predicted, asked.corpus.spans()), path=asked.path)


def _sentence(asked: Asked) -> Any:
    from fieldcraft.plots import labelled_text

    if not asked.path.endswith((".html", ".htm")):
        raise InputError(f"{asked.path}: a labelled sentence is a web page; end the name with .html")
    one = asked.one()
    gold = one[0].spans() if one[0].labels is not None else None
    words = one[0].columns.get("word") or next(iter(one[0].columns.values()))
    return labelled_text(words, asked.model.scored(one).predict_spans()[0], gold).to_html(asked.path)


def _segments(asked: Asked) -> Any:
    from fieldcraft.plots import segmentation

    one = asked.one()
    words = one[0].columns.get("word") or next(iter(one[0].columns.values()))
    known = hasattr(asked.model, "boundary_probability")
    borders = asked.model.boundary_probability(one)[0] if known else None
    return segmentation(words, asked.model.scored(one).predict_spans()[0], borders, path=asked.path)


def _graph(asked: Asked) -> Any:
    from fieldcraft.plots import factor_graph
    from fieldcraft.structures.graph import FactorGraph

    graph = FactorGraph.read(asked.file)
    scopes = [scope.tolist() for group in graph.groups for scope in group.scope]
    return factor_graph(scopes, graph.infer().variables, path=asked.path)


def _tuning(asked: Asked) -> Any:
    from fieldcraft.tuning.tuned import Tried, Tuning

    try:
        head, *lines = [
            json.loads(line) for line in Path(asked.file).read_text(encoding="utf-8").splitlines()
        ]
        rows = tuple(Tried(**line) for line in lines)
        told = Tuning(str(head.get("metric", "score")), "", 0, 0, rows, None)
    except (ValueError, TypeError, AttributeError):
        raise InputError(f"{asked.file} has no results of `tune`; give its --results file") from None
    return told.plot(asked.path)


def _bake_off(asked: Asked) -> Any:
    from fieldcraft.plots import score_by_seconds

    try:
        facts = json.loads(Path(asked.file).read_text(encoding="utf-8"))
        curves = {
            row["entry"]: ([p["seconds"] for p in row["points"]], [p["score"] or 0.0 for p in row["points"]])
            for row in facts["results"]
        }
        title = f"{facts['sequences']:,} sequences, {facts['tokens']:,} tokens"
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{asked.file} has no results of `bake-off`; give its --json file") from None
    return score_by_seconds(curves, metric=str(facts["metric"]), title=title, path=asked.path)


PICTURES = {
    "curves": Picture(_curves, "model"),
    "transitions": Picture(_transitions, "model"),
    "weights": Picture(_weights, "model"),
    "confusion": Picture(_confusion, "labelled"),
    "types": Picture(_types, "labelled"),
    "reliability": Picture(_reliability, "labelled"),
    "thresholds": Picture(_thresholds, "labelled"),
    "sentence": Picture(_sentence, "files"),
    "segments": Picture(_segments, "files"),
    "tuning": Picture(_tuning, "results"),
    "bake-off": Picture(_bake_off, "results"),
    "graph": Picture(_graph, "results"),
}

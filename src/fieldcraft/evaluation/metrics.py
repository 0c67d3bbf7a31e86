"""Scores of predicted labellings against gold ones, and the choice of one by name.

    token accuracy    = tokens labelled as in gold / tokens
    sequence accuracy = sequences labelled wholly as in gold / sequences
    span scores       = precision, recall and F of spans, counted as conlleval counts them

Every metric takes ``(gold, predicted)``, a list of labels per sequence each, and gives a number
between 0 and 1, larger for better, 0 where there is nothing to score. ``Metric.on_ids`` gives the
same metric for concatenated label ids with offsets, which is what training asks each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.evaluation.scores import Score, SpanScores, f_score, score_table
from fieldcraft.evaluation.span_scorer import SpanCounts, SpanScorer, read_prefixed

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "SpanCounts",
    "SpanScorer",
    "SpanScores",
    "f_score",
    "forms_scheme",
    "report",
    "resolve_metric",
    "sequence_accuracy",
    "span_scores",
    "token_accuracy",
]

Labellings: TypeAlias = Iterable[Sequence[str]]
Ids: TypeAlias = NDArray[np.integer[Any]]
ListMetric: TypeAlias = Callable[[Labellings, Labellings], float]
IdMetric: TypeAlias = Callable[[Ids, Ids, Ids], float]  # gold, predicted, offsets


class _Encoded(NamedTuple):
    names: list[str]
    gold: NDArray[np.int32]  # [tokens] ids into names
    predicted: NDArray[np.int32]  # [tokens]
    offsets: NDArray[np.int64]  # [N + 1]


def token_accuracy(gold: Labellings, predicted: Labellings) -> float:
    """The share of tokens whose label is right.

    >>> token_accuracy([["N", "V"], ["N"]], [["N", "N"], ["N"]])
    0.6666666666666666
    """
    return METRICS["token_accuracy"](gold, predicted)


def sequence_accuracy(gold: Labellings, predicted: Labellings) -> float:
    """The share of sequences with every label right (an empty sequence is right).

    >>> sequence_accuracy([["N", "V"], ["N"]], [["N", "N"], ["N"]])
    0.5
    """
    return METRICS["sequence_accuracy"](gold, predicted)


def span_scores(gold: Labellings, predicted: Labellings, *, scheme: str = "conlleval") -> SpanScores:
    """Precision, recall and F of spans, per type and over all, exactly as conlleval counts them.

    ``scheme="conlleval"`` reads IOB1, IOB2, IO, IOBES and BILOU, also where ill-formed;
    ``scheme="raw"`` takes each label but O as a span of one token.

    >>> scores = span_scores([["B-LOC", "I-LOC", "O", "B-PER"]], [["I-LOC", "I-LOC", "O", "O"]])
    >>> scores.micro.precision, scores.micro.recall, scores.by_type["LOC"].f
    (1.0, 0.5, 1.0)
    """
    encoded = _encode(gold, predicted)
    scorer = SpanScorer(encoded.names, scheme)
    return scorer.scores(encoded.gold, encoded.predicted, encoded.offsets)


def report(gold: Labellings, predicted: Labellings, *, scheme: str = "conlleval") -> str:
    """A table of span scores, in per cent, with token and sequence accuracy below it."""
    encoded = _encode(gold, predicted)
    scorer, arrays = SpanScorer(encoded.names, scheme), encoded[1:]
    tokens, sequences = len(encoded.gold), len(encoded.offsets) - 1
    return "\n".join(
        [
            score_table(scorer.scores(*arrays)),
            f"token accuracy {100 * _token_accuracy(*arrays):.2f} ({tokens} tokens), "
            f"sequence accuracy {100 * _sequence_accuracy(*arrays):.2f} ({sequences} sequences)",
        ]
    )


@dataclass(frozen=True)
class Metric:
    """A score by name: call it on label lists, or ``on_ids(label_names)`` for arrays of ids."""

    name: str
    function: ListMetric
    on_ids: Callable[[Sequence[str]], IdMetric]

    def __call__(self, gold: Labellings, predicted: Labellings) -> float:
        return self.function(gold, predicted)


def resolve_metric(metric: str | ListMetric | Metric, labels: Iterable[str] | Labellings) -> Metric:
    """The metric that a name or a function ``(gold, predicted) -> float`` stands for.

    ``labels`` are the label names, or label lists. ``"auto"`` is conlleval's span F if they form a
    scheme, else token accuracy.

    >>> resolve_metric("auto", ["O", "B-LOC", "I-LOC"]).name
    'span_f'
    >>> resolve_metric("auto", ["NN", "VB"]).name
    'token_accuracy'
    """
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        return _user_metric(metric)
    name = metric
    if name == "auto":
        name = "span_f" if forms_scheme(labels) else "token_accuracy"
    if name not in METRICS:
        names = ", ".join(["auto", *METRICS])
        raise InputError(f"metric={metric!r} is not one of {names}, nor a function")
    return METRICS[name]


def forms_scheme(labels: Iterable[str] | Labellings) -> bool:
    """Whether all labels are O or B/I/E/S/L/U, a dash and a type (or a bare B and I are there)."""
    names = set(chain.from_iterable([x] if np.ndim(x) == 0 else x for x in labels))
    if not all(isinstance(name, str) and _is_prefixed(name) for name in names):
        return False
    return any("-" in name for name in names) or {"B", "I"} <= names


def _is_prefixed(label: str) -> bool:
    try:
        read_prefixed(label)
    except InputError:
        return False
    return True


def _encode(gold: Labellings, predicted: Labellings) -> _Encoded:
    expected, found = list(gold), list(predicted)
    if len(expected) != len(found):
        raise InputError(
            f"{len(found)} predicted sequences where gold has {len(expected)}; pass them in pairs"
        )
    lengths = [len(labels) for labels in expected]
    if lengths != [len(labels) for labels in found]:
        raise _length_error(expected, found)
    place: dict[str, int] = {}
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    ids = [
        np.array([place.setdefault(label, len(place)) for label in chain.from_iterable(side)])
        for side in (expected, found)
    ]
    return _Encoded(list(place), ids[0].astype(np.int32), ids[1].astype(np.int32), offsets)


def _length_error(gold: list[Sequence[str]], predicted: list[Sequence[str]]) -> InputError:
    index = next(i for i, pair in enumerate(zip(gold, predicted)) if len(pair[0]) != len(pair[1]))
    return InputError(
        f"sequence {index}: {len(predicted[index])} predicted labels where gold has "
        f"{len(gold[index])}; label every token once"
    )


def _token_accuracy(gold: Ids, predicted: Ids, offsets: Ids) -> float:  # noqa: ARG001
    return float(np.mean(gold == predicted)) if len(gold) else 0.0


def _sequence_accuracy(gold: Ids, predicted: Ids, offsets: Ids) -> float:
    n_sequences = len(offsets) - 1
    if n_sequences <= 0:
        return 0.0
    errors = np.concatenate(([0], np.cumsum(gold != predicted)))  # [tokens + 1] errors before t
    return float(np.mean(errors[offsets[1:]] == errors[offsets[:-1]]))


def _named(name: str, on_ids: Callable[[Sequence[str]], IdMetric]) -> Metric:
    def of_labels(gold: Labellings, predicted: Labellings) -> float:
        encoded = _encode(gold, predicted)
        return on_ids(encoded.names)(encoded.gold, encoded.predicted, encoded.offsets)

    return Metric(name, of_labels, on_ids)


def _span_metric(name: str, value: Callable[[SpanScores], float], *, scheme: str = "conlleval") -> Metric:
    def on_ids(label_names: Sequence[str]) -> IdMetric:
        scorer = SpanScorer(label_names, scheme)
        return lambda gold, predicted, offsets: value(scorer.scores(gold, predicted, offsets))

    return _named(name, on_ids)


def _user_metric(function: ListMetric) -> Metric:
    def on_ids(label_names: Sequence[str]) -> IdMetric:
        def score(gold: Ids, predicted: Ids, offsets: Ids) -> float:
            return float(
                function(_decode(gold, offsets, label_names), _decode(predicted, offsets, label_names))
            )

        return score

    return Metric(getattr(function, "__name__", type(function).__name__), function, on_ids)


def _decode(ids: Ids, offsets: Ids, label_names: Sequence[str]) -> list[list[str]]:
    labels = [label_names[label] for label in ids.tolist()]
    bounds = offsets.tolist()
    return [labels[start:end] for start, end in pairwise(bounds)]


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        _named("token_accuracy", lambda _: _token_accuracy),
        _named("sequence_accuracy", lambda _: _sequence_accuracy),
        _span_metric("span_f", lambda scores: scores.micro.f),
        _span_metric("span_precision", lambda scores: scores.micro.precision),
        _span_metric("span_recall", lambda scores: scores.micro.recall),
        _span_metric("span_macro_f", lambda scores: scores.macro.f),
    )
}

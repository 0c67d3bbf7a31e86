"""Scores of predicted labellings against gold ones, and the choice of one by name.

    token accuracy    = tokens labelled as in gold / tokens
    sequence accuracy = sequences labelled wholly as in gold / sequences
    span scores       = precision, recall and F of spans, counted as conlleval counts them

Every metric takes ``(gold, predicted)``, a list of labels per sequence each, and returns a number
between 0 and 1, larger for better, 0 where there is nothing to score. ``Metric.on_ids`` returns the
same metric for concatenated label ids with offsets, which training evaluates each iteration;
``scorer`` returns it as a scikit-learn scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.evaluation import labellings, reports
from fieldcraft.evaluation.calibration import Reliability, expected_calibration_error, log_loss, reliability
from fieldcraft.evaluation.confusion import Confusion, confusion, span_confusion
from fieldcraft.evaluation.labellings import Ids, Labellings
from fieldcraft.evaluation.repeats import inconsistent_repeats
from fieldcraft.evaluation.scores import Score, SpanScores, check_average, f_score
from fieldcraft.evaluation.span_rules import pair_tables, read_prefixed
from fieldcraft.evaluation.span_scorer import SpanCounts, SpanScorer
from fieldcraft.spelling import suggestion

__all__ = [
    "METRICS",
    "Confusion",
    "Metric",
    "Reliability",
    "Score",
    "Scorer",
    "SpanCounts",
    "SpanScorer",
    "SpanScores",
    "confusion",
    "expected_calibration_error",
    "f_score",
    "forms_scheme",
    "inconsistent_repeats",
    "log_loss",
    "reliability",
    "report",
    "resolve_metric",
    "scorer",
    "sequence_accuracy",
    "span_confusion",
    "span_scores",
    "summary",
    "token_accuracy",
]

ListMetric: TypeAlias = Callable[[Labellings, Labellings], float]
IdMetric: TypeAlias = Callable[[Ids, Ids, Ids], float]  # gold, predicted, offsets


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


def span_scores(
    gold: Labellings, predicted: Labellings, *, scheme: str = "conlleval", mode: str = "lenient"
) -> SpanScores:
    """Precision, recall and F of spans, per type and over all, exactly as conlleval counts them.

    ``scheme="conlleval"`` reads IOB1, IOB2, IO, IOBES and BILOU, also where ill-formed;
    ``scheme="raw"`` takes each label but O as a span of one token. ``mode="strict"`` counts as
    seqeval's strict mode: only spans that obey ``scheme`` (iob1, iob2, ioe1, ioe2, iobes, bilou).

    >>> gold, predicted = [["B-LOC", "I-LOC", "O", "B-PER"]], [["I-LOC", "I-LOC", "O", "O"]]
    >>> scores = span_scores(gold, predicted)
    >>> scores.micro.precision, scores.micro.recall, scores.by_type["LOC"].f
    (1.0, 0.5, 1.0)
    >>> span_scores(gold, predicted, scheme="iob2", mode="strict").micro.predicted
    0
    """
    encoded = labellings.encode(gold, predicted)
    return SpanScorer(encoded.names, scheme, mode).scores(*encoded[1:])


def report(
    gold: Labellings,
    predicted: Labellings,
    *,
    format: str = "table",
    scheme: str = "auto",
    mode: str = "lenient",
) -> str:
    """Scores by type and accuracies in per cent: a table, or line by line what conlleval prints.

    ``scheme="auto"`` scores spans if the labels form a scheme (B-LOC, I-LOC, O), else each label.

    >>> print(report([["B-LOC", "O"]], [["B-LOC", "O"]], format="conlleval"))
    processed 2 tokens with 1 phrases; found: 1 phrases; correct: 1.
    accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00
                  LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
    """
    write, encoded = reports.resolve_format(format), labellings.encode(gold, predicted)
    return write(encoded, _span_scorer(encoded.names, scheme, mode).scores(*encoded[1:]))


def summary(
    gold: Labellings, predicted: Labellings, *, scheme: str = "auto", mode: str = "lenient"
) -> dict[str, Any]:
    """Everything that ``report`` shows as plain dicts and numbers, ready for JSON.

    >>> summary([["B-LOC", "O"]], [["B-LOC", "O"]])["spans"]["micro"]["f"]
    1.0
    """
    encoded = labellings.encode(gold, predicted)
    return reports.as_dict(encoded, _span_scorer(encoded.names, scheme, mode).scores(*encoded[1:]))


def _span_scorer(names: list[str], scheme: str, mode: str) -> SpanScorer:
    """The scorer of a scheme; "auto" is conlleval's for labels of spans, else raw: each label but O."""
    if scheme == "auto":
        scheme = (
            "conlleval" if mode != "lenient" or not names or forms_scheme(names) or names == ["O"] else "raw"
        )
    return SpanScorer(names, scheme, mode)


@dataclass(frozen=True)
class Metric:
    """A score by name: call it on label lists, or ``on_ids(label_names)`` for arrays of ids."""

    name: str
    function: ListMetric
    on_ids: Callable[[Sequence[str]], IdMetric]

    def __call__(self, gold: Labellings, predicted: Labellings) -> float:
        return self.function(gold, predicted)


def resolve_metric(metric: str | ListMetric | Metric, labels: Iterable[str] | Labellings) -> Metric:
    """The metric of a name or of a function ``(gold, predicted) -> float``.

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
    if not isinstance(name, str) or name not in METRICS:
        names = ", ".join(["auto", *METRICS])
        near = suggestion(metric, METRICS)
        raise InputError(f"metric={metric!r} is not one of {names}, nor a function{near}")
    return METRICS[name]


@dataclass(frozen=True)
class _Measure:
    """One number of the span scores."""

    part: str  # precision, recall or f
    average: str = "micro"
    type: str | None = None
    alpha: float | None = None
    beta: float | None = None

    def __call__(self, scores: SpanScores) -> float:
        if self.alpha is None and self.beta is None:
            return float(getattr(scores.of(self.type, average=self.average), self.part))
        balance = {"alpha": self.alpha, "beta": self.beta}
        if self.type is not None:
            return scores.of(self.type).f_score(**balance)
        return scores.f_score(average=self.average, **balance)


@dataclass(frozen=True)
class Scorer:
    """A metric as scikit-learn calls it: ``(estimator, X, y) -> number``; it can be pickled."""

    metric: str | ListMetric
    measure: _Measure | None = None
    scheme: str = "conlleval"
    mode: str = "lenient"

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        gold = X.labels if y is None else y
        return float(self._resolved(gold)(gold, estimator.predict(X)))

    def _resolved(self, gold: Labellings) -> Metric:
        if self.measure is None:
            return resolve_metric(self.metric, gold)
        return _span_metric("span", self.measure, scheme=self.scheme, mode=self.mode)


def scorer(
    metric: str | ListMetric = "auto",
    *,
    average: str | None = None,
    type: str | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    scheme: str = "conlleval",
    mode: str = "lenient",
) -> Scorer:
    """A scorer for ``cross_val_score``, ``GridSearchCV`` and the like.

    Parameters
    ----------
    metric : a name, "auto" or a function ``(gold, predicted) -> float``
    average : of a span score over types: "micro" (default), "macro", "weighted"
    type : score the spans of this type alone
    alpha, beta : balance of precision and recall in a span F
    scheme, mode : as in ``span_scores``

    >>> class Echo:
    ...     def predict(self, X):
    ...         return X
    >>> scorer("span_f1", type="PER")(Echo(), [["B-PER", "O"]], [["B-PER", "B-LOC"]])
    1.0
    """
    part = _SPAN_PARTS.get(metric) if isinstance(metric, str) else None
    settings = (average, type, alpha, beta)
    if part is None:
        resolve_metric(metric, [])
        if any(value is not None for value in settings) or (scheme, mode) != ("conlleval", "lenient"):
            raise InputError(
                f"average, type, alpha, beta, scheme and mode are settings of {', '.join(_SPAN_PARTS)}; "
                f"metric={metric!r} has none"
            )
        return Scorer(metric)
    if type is not None and average is not None:
        raise InputError("type= selects one type and average= averages all of them; pass one")
    if part != "f" and (alpha is not None or beta is not None):
        raise InputError(f"alpha and beta balance F; metric={metric!r} has no use for them")
    f_score(1.0, 1.0, alpha=alpha, beta=beta)
    pair_tables([], scheme, mode)
    return Scorer(metric, _Measure(part, check_average(average or "micro"), type, alpha, beta), scheme, mode)


def forms_scheme(labels: Iterable[str] | Labellings) -> bool:
    """Whether all labels are O or B/I/E/S/L/U, a dash and a type (or there are a bare B and I)."""
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


def _named(name: str, on_ids: Callable[[Sequence[str]], IdMetric]) -> Metric:
    def of_labels(gold: Labellings, predicted: Labellings) -> float:
        encoded = labellings.encode(gold, predicted)
        return on_ids(encoded.names)(encoded.gold, encoded.predicted, encoded.offsets)

    return Metric(name, of_labels, on_ids)


def _span_metric(name: str, value: _Measure, *, scheme: str = "conlleval", mode: str = "lenient") -> Metric:
    def on_ids(label_names: Sequence[str]) -> IdMetric:
        scorer = SpanScorer(label_names, scheme, mode)
        return lambda gold, predicted, offsets: value(scorer.scores(gold, predicted, offsets))

    return _named(name, on_ids)


def _user_metric(function: ListMetric) -> Metric:
    def on_ids(label_names: Sequence[str]) -> IdMetric:
        def score(gold: Ids, predicted: Ids, offsets: Ids) -> float:
            sides = (labellings.decode(ids, offsets, label_names) for ids in (gold, predicted))
            return float(function(*sides))

        return score

    return Metric(getattr(function, "__name__", type(function).__name__), function, on_ids)


_SPAN_PARTS = {"span_f": "f", "span_f1": "f", "span_precision": "precision", "span_recall": "recall"}

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        _named("token_accuracy", lambda _: labellings.token_accuracy),
        _named("sequence_accuracy", lambda _: labellings.sequence_accuracy),
        *(_span_metric(name, _Measure(part)) for name, part in _SPAN_PARTS.items()),
        _span_metric("span_macro_f", _Measure("f", "macro")),
    )
}

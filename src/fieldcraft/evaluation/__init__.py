"""How good predicted labellings are: token, sequence and span scores."""

from fieldcraft.evaluation.metrics import (
    METRICS,
    Metric,
    Score,
    SpanCounts,
    SpanScorer,
    SpanScores,
    f_score,
    forms_scheme,
    report,
    resolve_metric,
    sequence_accuracy,
    span_scores,
    token_accuracy,
)

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

"""How good predicted labellings are: token, sequence and span scores."""

from fieldcraft.evaluation.metrics import (
    METRICS,
    Metric,
    Score,
    Scorer,
    SpanCounts,
    SpanScorer,
    SpanScores,
    f_score,
    forms_scheme,
    report,
    resolve_metric,
    scorer,
    sequence_accuracy,
    span_scores,
    summary,
    token_accuracy,
)

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "Scorer",
    "SpanCounts",
    "SpanScorer",
    "SpanScores",
    "f_score",
    "forms_scheme",
    "report",
    "resolve_metric",
    "scorer",
    "sequence_accuracy",
    "span_scores",
    "summary",
    "token_accuracy",
]

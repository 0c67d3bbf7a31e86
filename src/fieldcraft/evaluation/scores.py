"""Precision, recall and F from counts, and the table that shows them.

    precision = correct / predicted    recall = correct / gold
    F_alpha = 1 / (alpha / precision + (1 - alpha) / recall),  alpha = 1 / (1 + beta^2)

A quotient with nothing below the line is 0, as in conlleval. All values lie between 0 and 1; only
the table prints percentages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fieldcraft.errors import InputError


def f_score(
    precision: float, recall: float, *, alpha: float | None = None, beta: float | None = None
) -> float:
    """The weighted harmonic mean of precision and recall; alpha=0.5 (beta=1) unless said.

    alpha is the weight of precision, 0 to 1; beta says how many times recall matters more.

    >>> f_score(0.5, 1.0, alpha=1.0)
    0.5
    >>> round(f_score(0.5, 1.0), 4)
    0.6667
    """
    weight = _precision_weight(alpha, beta)
    if precision == 0.0 or recall == 0.0:
        return 0.0
    return 1.0 / (weight / precision + (1.0 - weight) / recall)


def _precision_weight(alpha: float | None, beta: float | None) -> float:
    if alpha is not None and beta is not None:
        raise InputError("alpha and beta say the same thing (alpha = 1 / (1 + beta^2)); pass one")
    if beta is not None and not beta >= 0.0:
        raise InputError(f"beta must be 0 or more; got {beta}")
    weight = 1.0 / (1.0 + beta * beta) if beta is not None else 0.5 if alpha is None else alpha
    if not 0.0 <= weight <= 1.0:
        raise InputError(f"alpha must lie between 0 and 1; got {alpha}")
    return weight


@dataclass(frozen=True)
class Score:
    """Precision, recall and F, with the counts of spans behind them."""

    precision: float
    recall: float
    f: float
    gold: int
    predicted: int
    correct: int

    def f_score(self, *, alpha: float | None = None, beta: float | None = None) -> float:
        """F with another balance of precision and recall."""
        return f_score(self.precision, self.recall, alpha=alpha, beta=beta)


@dataclass(frozen=True)
class SpanScores:
    """Scores per type, and over all: ``micro`` sums the counts, ``macro`` averages the types."""

    by_type: Mapping[str, Score]
    micro: Score
    macro: Score

    @property
    def f(self) -> float:
        """conlleval's overall F (micro)."""
        return self.micro.f


def score_from_counts(gold: int, predicted: int, correct: int) -> Score:
    """Precision, recall and F of one row of counts."""
    total = gold + predicted
    return Score(
        correct / predicted if predicted else 0.0,
        correct / gold if gold else 0.0,
        2 * correct / total if total else 0.0,  # one division: exact where P = R
        gold,
        predicted,
        correct,
    )


def scores_from_counts(
    types: Sequence[str], gold: Sequence[int], predicted: Sequence[int], correct: Sequence[int]
) -> SpanScores:
    """Scores of all types that occur in gold or predicted."""
    rows = {
        type_: score_from_counts(*counts)
        for type_, *counts in zip(types, gold, predicted, correct)
        if counts[0] or counts[1]
    }
    micro = score_from_counts(sum(gold), sum(predicted), sum(correct))
    return SpanScores(rows, micro, _macro(rows.values(), micro))


def _macro(rows: Iterable[Score], micro: Score) -> Score:
    scores = list(rows)
    if not scores:
        return micro
    return Score(
        fmean(score.precision for score in scores),
        fmean(score.recall for score in scores),
        fmean(score.f for score in scores),
        micro.gold,
        micro.predicted,
        micro.correct,
    )


def score_table(scores: SpanScores) -> str:
    """One line per type, then micro and macro; percentages with two digits."""
    rows = [*scores.by_type.items(), ("micro", scores.micro), ("macro", scores.macro)]
    width = max(len(name) for name, _ in rows)
    head = f"{'':{width}}  precision  recall       F    gold  predicted  correct"
    return "\n".join([head, *(_row(name, score, width) for name, score in rows)])


def _row(name: str, score: Score, width: int) -> str:
    precision, recall, f = (100.0 * value for value in (score.precision, score.recall, score.f))
    return (
        f"{name:{width}}  {precision:9.2f}  {recall:6.2f}  {f:6.2f}"
        f"  {score.gold:6d}  {score.predicted:9d}  {score.correct:7d}"
    )

"""Precision, recall and F from counts, per type and averaged.

    precision = correct / predicted    recall = correct / gold
    F_alpha = 1 / (alpha / precision + (1 - alpha) / recall),  alpha = 1 / (1 + beta^2)

A quotient with denominator 0 is 0, as in conlleval. All values lie between 0 and 1; only
reports print percentages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fieldcraft import markup
from fieldcraft.errors import InputError


def f_score(
    precision: float, recall: float, *, alpha: float | None = None, beta: float | None = None
) -> float:
    """The weighted harmonic mean of precision and recall; by default alpha=0.5 (beta=1).

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
        raise InputError("alpha and beta are equivalent (alpha = 1 / (1 + beta^2)); pass one")
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


# How much each type counts; None: the counts are summed before anything is divided.
AVERAGES: Mapping[str, Callable[[Score], int] | None] = {
    "micro": None,
    "macro": lambda _: 1,
    "weighted": lambda score: score.gold,
}


@dataclass(frozen=True)
class SpanScores:
    """Scores per type, and over all.

    ``micro`` sums the counts (conlleval's overall line), ``macro`` averages the types,
    ``weighted`` averages them by their number of gold spans.
    """

    by_type: Mapping[str, Score]
    micro: Score
    macro: Score
    weighted: Score

    @property
    def f(self) -> float:
        """conlleval's overall F (micro)."""
        return self.micro.f

    def of(self, type: str | None = None, *, average: str = "micro") -> Score:
        """The score of one type, of zeros where it does not occur, or an average over all."""
        check_average(average)
        if type is not None:
            return self.by_type.get(type, score_from_counts(0, 0, 0))
        score: Score = getattr(self, average)
        return score

    def _repr_html_(self) -> str:
        rows = {**self.by_type, **{f"({name} average)": self.of(average=name) for name in AVERAGES}}
        cells = [
            [
                name,
                *(f"{100 * value:.2f}" for value in (row.precision, row.recall, row.f)),
                *(f"{n:,}" for n in (row.gold, row.predicted, row.correct)),
            ]
            for name, row in rows.items()
        ]
        head = ["type", "precision", "recall", "F", "gold", "predicted", "correct"]
        return markup.fragment(markup.table(head, cells), markup.paragraph("in per cent"))

    def f_score(
        self, *, average: str = "micro", alpha: float | None = None, beta: float | None = None
    ) -> float:
        """F with another balance; averages over types are those of each type's F."""
        weigh = AVERAGES[check_average(average)]
        if weigh is None:
            return self.micro.f_score(alpha=alpha, beta=beta)
        rows = list(self.by_type.values())
        return _mean([row.f_score(alpha=alpha, beta=beta) for row in rows], [weigh(row) for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and numbers, ready for JSON."""
        averages = {name: asdict(getattr(self, name)) for name in AVERAGES}
        return {"by_type": {name: asdict(row) for name, row in self.by_type.items()}, **averages}


def check_average(name: str) -> str:
    """The name; InputError if it is unknown."""
    if name not in AVERAGES:
        raise InputError(f"average={name!r} is not one of {', '.join(AVERAGES)}")
    return name


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
    averages = {name: _average(list(rows.values()), micro, weigh) for name, weigh in AVERAGES.items()}
    return SpanScores(rows, **averages)


def _average(rows: Sequence[Score], micro: Score, weigh: Callable[[Score], int] | None) -> Score:
    if weigh is None or not rows:
        return micro
    weights = [weigh(row) for row in rows]
    precision, recall, f = (
        _mean([getattr(row, name) for row in rows], weights) for name in ("precision", "recall", "f")
    )
    return replace(micro, precision=precision, recall=recall, f=f)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    total = sum(weights)
    return sum(w * v for w, v in zip(weights, values)) / total if total else 0.0

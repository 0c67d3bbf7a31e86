"""Compares two labellings of the same sequences: scores, differences and significance tests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fieldcraft import markup
from fieldcraft.errors import InputError
from fieldcraft.evaluation import bootstrap, matched_pairs
from fieldcraft.evaluation.labellings import Encoded, Labellings, encode
from fieldcraft.evaluation.matched_pairs import MatchedPairs
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.evaluation.reports import aligned


@dataclass(frozen=True)
class Comparison:
    """The result of ``compare``. ``print`` shows a table, ``to_dict`` returns plain values.

    Parameters
    ----------
    metric : name of the score
    a, b : the scores
    interval : of ``difference``, by bootstrap over sequences
    level, resamples, seed : of the interval
    tokens : ((both right, only a right), (only b right, both wrong))
    by_sequence, by_token : matched-pairs tests
    names : what a and b are called in the table
    """

    metric: str
    a: float
    b: float
    interval: tuple[float, float]
    level: float
    resamples: int
    seed: int
    tokens: tuple[tuple[int, int], tuple[int, int]]
    by_sequence: MatchedPairs
    by_token: MatchedPairs
    names: tuple[str, str] = ("a", "b")

    @property
    def difference(self) -> float:
        """The score of b minus that of a."""
        return self.b - self.a

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {**asdict(self), "difference": self.difference}

    def __str__(self) -> str:
        a, b = self.names
        (both, only_a), (only_b, neither) = self.tokens
        total = max(1, both + only_a + only_b + neither)
        low, high = (100 * end for end in self.interval)
        rows = [
            ["", a, b, "difference", f"{100 * self.level:g} % interval"],
            [
                self.metric,
                *_percent(self.a, self.b),
                f"{100 * self.difference:+.2f}",
                f"{low:+.2f} {high:+.2f}",
            ],
            ["tokens right", *_percent((both + only_a) / total, (both + only_b) / total), "", ""],
        ]
        table = [
            ["tokens", f"{b} right", f"{b} wrong"],
            [f"{a} right", f"{both:,}", f"{only_a:,}"],
            [f"{a} wrong", f"{only_b:,}", f"{neither:,}"],
        ]
        tests = [["matched pairs", "n", "differing", "two-sided p", f"{a} better", f"{b} better", ""]]
        tests += [
            [f"by {t.unit}", f"{t.n:,}", f"{t.differing:,}", *_p(t), t.method]
            for t in (self.by_sequence, self.by_token)
        ]
        return "\n\n".join([*map(aligned, (rows, table, tests)), self.verdict()])

    def verdict(self) -> str:
        """Which is better, by how much, and whether that may be chance, in one sentence.

        "May be chance" where the test by sequence gives p of 0.05 or more, or where the interval contains 0.
        """
        a, b = self.names
        if self.difference == 0:
            return f"{a} and {b} have the same {self.metric}, {100 * self.a:.2f}."
        better, worse = (b, a) if self.difference > 0 else (a, b)
        low, high = sorted(100 * (end if self.difference > 0 else -end) for end in self.interval)
        p = self.by_sequence.two_sided
        chance = p >= 0.05 or low <= 0 <= high
        return (
            f"{better} is better than {worse} by {100 * abs(self.difference):.2f} points of {self.metric} "
            f"({100 * self.level:g} % interval {low:+.2f} to {high:+.2f}; p = {p:.2g} by sequence): "
            f"{'the difference may be chance' if chance else 'more than chance'}."
        )

    def _repr_html_(self) -> str:
        (both, only_a), (only_b, neither) = self.tokens
        low, high = (100 * end for end in self.interval)
        interval = f"{low:+.2f} to {high:+.2f}"
        scores = [self.metric, *_percent(self.a, self.b), f"{100 * self.difference:+.2f}", interval]
        a, b = self.names
        tests = [
            [f"by {t.unit}", f"{t.n:,}", f"{t.differing:,}", *_p(t)]
            for t in (self.by_sequence, self.by_token)
        ]
        return markup.fragment(
            markup.table(["", a, b, "difference", f"{100 * self.level:g} % interval"], [scores]),
            markup.table(
                ["tokens", f"{b} right", f"{b} wrong"],
                [[f"{a} right", f"{both:,}", f"{only_a:,}"], [f"{a} wrong", f"{only_b:,}", f"{neither:,}"]],
            ),
            markup.table(
                ["matched pairs", "n", "differing", "two-sided p", f"{a} better", f"{b} better"], tests
            ),
        )


def compare(
    gold: Labellings,
    a: Labellings,
    b: Labellings,
    *,
    metric: str = "auto",
    scheme: str = "conlleval",
    mode: str = "lenient",
    resamples: int = 5000,
    level: float = 0.95,
    seed: int = 0,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare two labellings a and b of the same sequences.

    Parameters
    ----------
    gold, a, b : a list of labels per sequence each
    metric : "auto" (span F if the labels form a scheme, else token accuracy), "token_accuracy",
        "sequence_accuracy", "span_f", "span_precision" or "span_recall"
    scheme, mode : how spans are counted, as in ``metrics.span_scores``
    resamples, level, seed : of the bootstrap interval
    names : what to call a and b

    >>> gold = [["N", "V"], ["N", "V"], ["N"]]
    >>> result = compare(gold, [["N", "N"], ["N", "N"], ["N"]], gold)
    >>> result.metric, result.a, result.b, result.tokens
    ('token_accuracy', 0.6, 1.0, ((3, 0), (2, 0)))
    >>> result.by_sequence.two_sided, result.by_sequence.b_better
    (0.5, 0.25)
    """
    rows = [list(labels) for labels in gold]
    first, second = _encoded(rows, a, names[0]), _encoded(rows, b, names[1])
    chosen = resolve_metric(metric, [first.names, second.names])
    ours, theirs = (bootstrap.quotient(chosen.name, side, scheme, mode) for side in (first, second))
    right = [side.gold == side.predicted for side in (first, second)]
    errors = [bootstrap.errors_by_sequence(side) for side in (first, second)]
    return Comparison(
        chosen.name,
        ours.score(),
        theirs.score(),
        bootstrap.interval(ours, theirs, resamples=resamples, level=level, seed=seed),
        level,
        resamples,
        seed,
        _two_by_two(*right),
        matched_pairs.by_sequence(*errors),
        matched_pairs.by_token(*right),
        (str(names[0]), str(names[1])),
    )


def _encoded(gold: list[list[str]], labels: Labellings, name: str) -> Encoded:
    try:
        return encode(gold, labels)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _two_by_two(a: Any, b: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    both, only_a, only_b = (int(np.sum(part)) for part in (a & b, a & ~b, ~a & b))
    return (both, only_a), (only_b, len(a) - both - only_a - only_b)


def _percent(*values: float) -> list[str]:
    return [f"{100 * value:.2f}" for value in values]


def _p(test: MatchedPairs) -> list[str]:
    return [f"{p:.4g}" for p in (test.two_sided, test.a_better, test.b_better)]

"""The tests of significance against SciPy, hand-made counts, and all resamples of tiny data."""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics

import numpy as np
import pytest
from scipy import stats

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.evaluation import bootstrap, matched_pairs

LABELS = ["O", "B-X", "I-X", "B-Y"]
Labelling = list[list[str]]


def random_gold(n: int, seed: int) -> Labelling:
    rng = random.Random(seed)
    return [[rng.choice(LABELS) for _ in range(rng.randint(0, 9))] for _ in range(n)]


def noisy(gold: Labelling, share: float, seed: int) -> Labelling:
    rng = random.Random(seed)
    return [[rng.choice(LABELS) if rng.random() < share else x for x in labels] for labels in gold]


def errors(gold: Labelling, labels: Labelling) -> list[int]:
    return [sum(g != x for g, x in zip(*pair)) for pair in zip(gold, labels)]


def test_two_by_two_by_hand() -> None:
    gold = [["A", "A", "A"], ["A", "A"], []]
    a = [["A", "A", "B"], ["B", "B"], []]
    b = [["A", "B", "A"], ["A", "B"], []]
    found = fc.compare(gold, a, b)
    assert found.tokens == ((1, 1), (2, 1))
    assert (found.a, found.b, found.metric) == (2 / 5, 3 / 5, "token_accuracy")
    assert found.difference == pytest.approx(0.2)
    assert (found.by_token.n, found.by_token.differing) == (5, 3)
    assert (found.by_sequence.n, found.by_sequence.differing) == (3, 1)
    assert (found.by_sequence.two_sided, found.by_sequence.b_better, found.by_sequence.a_better) == (
        1,
        0.5,
        1,
    )


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (0, 3), (5, 5), (1, 12), (480, 600), (9000, 9400)])
def test_by_token_is_the_binomial_test(only_a: int, only_b: int) -> None:
    a = np.repeat([True, False, True, False], [only_a, only_b, 7, 4])
    b = np.repeat([False, True, True, False], [only_a, only_b, 7, 4])
    found = matched_pairs.by_token(a, b)
    n = only_a + only_b
    for ours, alternative in (
        (found.a_better, "greater"),
        (found.b_better, "less"),
        (found.two_sided, "two-sided"),
    ):
        expected = stats.binomtest(only_a, n, alternative=alternative).pvalue if n else 1.0
        assert ours == pytest.approx(expected, rel=1e-9)
    assert found.method == "exact"
    assert found.differing == n


@pytest.mark.parametrize("seed", range(3))
def test_many_sequences_have_equation_3_5(seed: int) -> None:
    """W = mean / (deviation / sqrt N), from the thesis, by the standard library."""
    gold = random_gold(300, seed)
    a, b = noisy(gold, 0.3, seed + 10), noisy(gold, 0.25, seed + 20)
    z = [x - y for x, y in zip(errors(gold, a), errors(gold, b))]
    w = statistics.mean(z) / (statistics.stdev(z) / math.sqrt(len(z)))
    normal, found = statistics.NormalDist(), fc.compare(gold, a, b, resamples=10).by_sequence
    assert found.method == "normal"
    assert found.two_sided == pytest.approx(2 * normal.cdf(-abs(w)), rel=1e-9)
    assert found.a_better == pytest.approx(normal.cdf(w), rel=1e-9)
    assert found.b_better == pytest.approx(normal.cdf(-w), rel=1e-9)


@pytest.mark.parametrize("z", [[2, -1, 3, 0, 1], [1], [0, 0], [-4, 1, 1, 1, 2, -2, 5], [3, 3, 3, -1]])
def test_few_sequences_try_all_signs(z: list[int]) -> None:
    a, b = np.array([max(x, 0) for x in z]), np.array([max(-x, 0) for x in z])
    sums = [sum(s * x for s, x in zip(signs, z)) for signs in itertools.product((1, -1), repeat=len(z))]
    found = matched_pairs.by_sequence(a, b)
    assert found.method == "exact"
    assert found.a_better == pytest.approx(sum(s <= sum(z) for s in sums) / len(sums), rel=1e-12)
    assert found.b_better == pytest.approx(sum(s >= sum(z) for s in sums) / len(sums), rel=1e-12)
    assert found.two_sided == pytest.approx(sum(abs(s) >= abs(sum(z)) for s in sums) / len(sums), rel=1e-12)


def test_swapping_the_runs_swaps_the_sides() -> None:
    gold = random_gold(80, 1)
    a, b = noisy(gold, 0.3, 2), noisy(gold, 0.2, 3)
    one, other = fc.compare(gold, a, b, resamples=50), fc.compare(gold, b, a, resamples=50)
    assert one.by_sequence.a_better == pytest.approx(other.by_sequence.b_better)
    assert one.by_token.two_sided == other.by_token.two_sided
    assert one.difference == -other.difference
    assert one.interval == pytest.approx([-end for end in reversed(other.interval)])


def test_equal_and_constant_differences() -> None:
    gold = random_gold(60, 4)
    same = fc.compare(gold, gold, gold, resamples=20)
    assert same.interval == (0, 0)
    assert same.by_sequence.two_sided == same.by_token.two_sided == 1.0
    always = matched_pairs.by_sequence(np.full(60, 2), np.full(60, 1))
    assert (always.two_sided, always.b_better, always.a_better) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("metric", list(bootstrap.QUOTIENTS))
def test_scores_are_those_of_the_metrics(metric: str) -> None:
    gold = random_gold(50, 5)
    a, b = noisy(gold, 0.4, 6), noisy(gold, 0.2, 7)
    found = fc.compare(gold, a, b, metric=metric, resamples=10)
    assert found.a == pytest.approx(fc.metrics.METRICS[metric](gold, a), rel=1e-12)
    assert found.b == pytest.approx(fc.metrics.METRICS[metric](gold, b), rel=1e-12)


def test_span_f_is_chosen_for_schemes_and_rules_are_kept() -> None:
    gold, ill = [["B-X", "I-X"]], [["I-X", "I-X"]]
    assert fc.compare(gold, gold, ill).metric == "span_f"
    strict = fc.compare(gold, gold, ill, scheme="iob2", mode="strict")
    assert (strict.a, strict.b) == (1.0, 0.0)


def test_interval_of_all_resamples() -> None:
    """Three sequences: the 27 ways to draw three of them, counted out."""
    gold = [["A", "A", "A", "A"], ["A", "A"], ["A"]]
    a = [["A", "B", "B", "B"], ["A", "B"], ["A"]]
    b = [["A", "A", "A", "B"], ["B", "B"], ["A"]]
    right = [(1, 3, 4), (1, 0, 2), (1, 1, 1)]
    ways = []
    for drawn in itertools.product(right, repeat=3):
        of_a, of_b, tokens = map(sum, zip(*drawn))
        ways.append((of_b - of_a) / tokens)
    expected = np.quantile(ways, [0.25, 0.75], method="inverted_cdf")
    found = fc.compare(gold, a, b, level=0.5, resamples=20_000)
    assert found.interval == pytest.approx(expected, abs=1e-12)


def test_interval_has_the_level_it_says() -> None:
    """The percentile interval of a mean of many sequences is the normal one."""
    rng = np.random.default_rng(0)
    right_a, right_b, n = rng.integers(0, 11, 400), rng.integers(0, 11, 400), np.full(400, 10.0)
    a, b = (bootstrap.Quotient(right.astype(float), n) for right in (right_a, right_b))
    low, high = bootstrap.interval(a, b, resamples=20_000, level=0.9, seed=1)
    mean, deviation = np.mean(right_b - right_a) / 10, np.std(right_b - right_a) / 10 / 20
    expected = stats.norm.interval(0.9, mean, deviation)
    assert (low, high) == pytest.approx(expected, abs=0.03 * deviation * 2)


def test_seeds_fix_the_interval() -> None:
    gold = random_gold(40, 8)
    a, b = noisy(gold, 0.3, 9), noisy(gold, 0.3, 10)
    first, again, other = (fc.compare(gold, a, b, resamples=200, seed=s).interval for s in (0, 0, 1))
    assert first == again != other


def test_text_and_dict() -> None:
    gold = random_gold(60, 11)
    found = fc.compare(gold, noisy(gold, 0.3, 12), gold, names=("old", "new"), resamples=100)
    shown = str(found)
    for part in ("old", "new", "span_f", "95 % interval", "new wrong", "by sequence", "normal", "exact"):
        assert part in shown
    facts = json.loads(json.dumps(found.to_dict()))
    assert facts["difference"] == found.b - found.a
    assert facts["by_sequence"]["two_sided"] == found.by_sequence.two_sided


def test_what_is_refused() -> None:
    gold = [["A"], ["A", "B"]]
    refusals = [
        (lambda: fc.compare(gold, gold, gold[:1]), "b: 1 predicted sequences where gold has 2"),
        (
            lambda: fc.compare(gold, [["A"], ["A"]], gold),
            "a: sequence 1: 1 predicted labels where gold has 2",
        ),
        (lambda: fc.compare(gold, gold, gold, metric="span_macro_f"), "not a quotient of sums"),
        (lambda: fc.compare(gold, gold, gold, level=1.0), "level is 1.0"),
        (lambda: fc.compare(gold, gold, gold, resamples=0), "resamples is 0"),
        (lambda: fc.compare(gold, gold, gold, seed=-1), "seed is -1"),
    ]
    for call, part in refusals:
        with pytest.raises(InputError, match=part):
            call()


def test_nothing_to_compare() -> None:
    found = fc.compare([], [], [], resamples=5)
    assert (found.a, found.interval, found.by_sequence.two_sided) == (0.0, (0.0, 0.0), 1.0)
    assert str(found)

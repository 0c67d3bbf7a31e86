"""Evaluations in blocks: every width of rows, shared columns, long sequences, values without a gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.design import Design, native_columns, native_tokens
from fieldcraft.problems import crew
from unit.training.corpora import Floats, design_of, draw, draw_large, fused, plain, same
from unit.training.test_fused import agree, functional


@pytest.mark.parametrize("n_labels", [31, 33, 40, 41, 48, 49, 56])
def test_every_width_of_rows(n_labels: int) -> None:
    """Up to 48 labels have kernels of their own width, others do not; labels of rare features come last."""
    rng = np.random.default_rng(n_labels)
    X, y = draw(rng, n_labels, [40, 3, 3, 7, 1, 25], n_names=30, per_token=6, values=n_labels % 2 == 0)
    design = design_of(X, y, n_labels)
    weights = rng.normal(size=len(design.index))
    found = fused(design, n_labels, weights)
    agree(found, functional(design, n_labels, weights))
    agree(found, plain(design, n_labels, weights))


def _with_twins(rng: np.random.Generator, *, values: bool) -> list[Any]:
    """Attributes a, b and c always come together, c twice at times, and d in all places but one."""
    X: list[Any] = []
    for length in (6, 4, 9, 1):
        tokens: list[Any] = []
        for _ in range(length):
            names = ["a", "b", "c", "d"] if rng.random() < 0.5 else ["x"]
            if values:
                value = float(rng.normal())
                tokens.append({name: value if name != "c" else value + 1 for name in names})
            else:
                tokens.append([*names, "c"] if rng.random() < 0.3 else names)
        X.append(tokens)
    X[0][0] = {"d": 2.0} if values else ["d", "x"]
    return X


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("n_labels", [2, 9, 17])
@pytest.mark.parametrize("min_count", [1, 3])
def test_columns_that_are_equal_or_nearly_so(n_labels: int, min_count: int, *, values: bool) -> None:
    """Equal columns share a sum; one that differs in one value, one place or one repetition does not."""
    rng = np.random.default_rng(n_labels)
    X = _with_twins(rng, values=values)
    y = [[f"L{rng.integers(n_labels):03d}" for _ in tokens] for tokens in X]
    design = design_of(X, y, n_labels, min_count=min_count)
    weights = rng.normal(size=len(design.index))
    agree(fused(design, n_labels, weights), plain(design, n_labels, weights))


@pytest.mark.parametrize("edges", [False, True])
def test_a_sequence_longer_than_sixteen_bits_count(*, edges: bool) -> None:
    rng = np.random.default_rng(3)
    X, y = draw_large(rng, 3, [66_000, 5], n_names=9, per_token=1, edges=edges)
    design = design_of(X, y, 3, edges=edges)
    weights = rng.normal(size=len(design.index))
    expected = functional(design, 3, weights)
    agree(fused(design, 3, weights), expected, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("values", [False, True])
def test_more_rows_of_one_width_than_sixteen_bits_count(*, values: bool) -> None:
    rng = np.random.default_rng(8)
    names = np.concatenate([rng.permutation(75_000) for _ in range(3)]).reshape(-1, 30, 10)
    X: list[Any] = [[[f"n{i}" for i in token] for token in tokens] for tokens in names.tolist()]
    if values:
        X = [[dict.fromkeys(token, 0.5) for token in tokens] for tokens in X]
    y = [[f"L{k:03d}" for k in row] for row in rng.integers(3, size=(len(X), 30)).tolist()]
    design = design_of(X, y, 3)
    _, seen = np.unique(design.index.attribute, return_counts=True)
    assert np.sum(seen > 1) > 66_000
    weights, along = rng.normal(size=(2, len(design.index)))
    problem, gradient = _problem(design, 3, None, by_sequence=True), np.empty(len(weights))
    assert problem.evaluate(weights, gradient, None) == pytest.approx(problem.value(weights), rel=1e-12)
    rise = (problem.value(weights + 1e-4 * along) - problem.value(weights - 1e-4 * along)) / 2e-4
    assert gradient @ along == pytest.approx(rise, rel=1e-6)  # the error of the quotient


@pytest.mark.parametrize("n_labels", [3, 20, 50])
def test_more_attributes_at_a_token_than_a_byte_counts(n_labels: int) -> None:
    """Many tokens with as many attributes of a kind, and some with more than 255 of them."""
    rng = np.random.default_rng(n_labels)
    names = [f"n{i}" for i in range(600)]
    X: list[Any] = [
        [[*rng.choice(names, size=n, replace=False)] for n in (1, 280, 599, 2)] for _ in range(12)
    ]
    X += [[["alone"]] * 300]
    y = [[f"L{rng.integers(n_labels):03d}" for _ in tokens] for tokens in X]
    design = design_of(X, y, n_labels)
    weights = 0.1 * rng.normal(size=len(design.index))
    agree(fused(design, n_labels, weights), functional(design, n_labels, weights), abs=1e-8)


@pytest.mark.parametrize(("n_labels", "edges"), [(5, True), (40, False), (100, False)])
def test_groups_of_blocks_add_up_in_turn(n_labels: int, *, edges: bool) -> None:
    """Columns of one block, of several in a group and of several groups; edges and wide rows, too."""
    rng = np.random.default_rng(n_labels)
    X, y = draw_large(rng, n_labels, rng.integers(0, 60, size=400), n_names=900, per_token=3, edges=edges)
    design = design_of(X, y, n_labels, edges=edges)
    weights = rng.normal(size=len(design.index))
    once = fused(design, n_labels, weights)
    agree(once, functional(design, n_labels, weights), abs=1e-8)
    for n_jobs in (2, 16):
        with crew(n_jobs):
            again = fused(design, n_labels, weights, n_jobs=n_jobs)
        assert again.value == once.value
        assert np.array_equal(again.gradient, once.gradient)


def test_threads_share_many_blocks_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    X, y = draw_large(rng, 5, rng.integers(0, 60, size=1500), n_names=3000, per_token=4)
    design = design_of(X, y, 5)
    weights = rng.normal(size=len(design.index))
    once = fused(design, 5, weights)
    agree(once, functional(design, 5, weights), abs=1e-8)
    for n_jobs in (2, 3, 7, 16, 24):
        with crew(n_jobs):
            again = fused(design, 5, weights, n_jobs=n_jobs)
        assert again.value == once.value
        assert np.array_equal(again.gradient, once.gradient)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_many_features_in_any_order(*, shuffled: bool, edges: bool) -> None:
    """Setting up goes piece by piece over features and attributes; an index need not be in their order."""
    rng = np.random.default_rng(9)
    X, y = draw_large(rng, 3, [30] * 1500, n_names=60_000, per_token=3, edges=edges)
    for i, tokens in enumerate(X):  # most attributes are rare, as in text
        tokens[i % 30] = [*tokens[i % 30], *(f"n/{i}-{k}" for k in range(25))]
    design = design_of(X, y, 3, edges=edges)
    index, n = design.index, len(design.index)
    order = rng.permutation(n) if shuffled else np.arange(n)
    columns = index.attribute[order], index.previous[order], index.label[order]
    weights = rng.normal(size=n)
    expected = functional(design, 3, weights)
    for n_jobs in (1, 3):
        with crew(n_jobs):
            problem = _core.chain_problem(
                _core.Columns(index.n_attributes, *columns),
                3,
                native_tokens(design.encoded),
                design.gold,
                None,
                n_jobs,
            )
            gradient = np.full(n, np.nan)
            value = problem.evaluate(np.ascontiguousarray(weights[order]), gradient, None)
        assert value == pytest.approx(expected.value, rel=1e-10)
        same(gradient, expected.gradient[order], abs=1e-8)
    assert n > 50_000
    assert index.n_attributes > 40_000


@pytest.mark.parametrize("size", [100.0, 160.0, 400.0, 2000.0])
def test_scores_beyond_the_range_of_the_quick_way(size: float) -> None:
    rng = np.random.default_rng(5)
    X, y = draw(rng, 4, [5, 9, 2, 1], n_names=5)
    design = design_of(X, y, 4)
    weights = rng.normal(size=len(design.index)) * size
    agree(fused(design, 4, weights), plain(design, 4, weights), abs=1e-8)


def _problem(design: Design, n_labels: int, weights: Floats | None, *, by_sequence: bool) -> Any:
    columns, tokens = native_columns(design.index), native_tokens(design.encoded)
    return _core.chain_problem(columns, n_labels, tokens, design.gold, weights, 2, by_sequence)


@pytest.mark.parametrize("edges", [False, True])
def test_values_without_a_gradient(*, edges: bool) -> None:
    rng = np.random.default_rng(6)
    X, y = draw(rng, 7, rng.integers(0, 12, size=200), values=True, edges=edges)
    design = design_of(X, y, 7, edges=edges)
    each = rng.gamma(2.0, size=len(X))
    weights = rng.normal(size=len(design.index))
    problem = _problem(design, 7, each, by_sequence=True)
    expected = plain(design, 7, weights, sequence_weights=each)
    assert problem.value(weights) == pytest.approx(expected.value, rel=1e-10)
    gradient = np.empty(len(weights))
    assert problem.evaluate(weights, gradient, None) == pytest.approx(expected.value, rel=1e-10)
    same(gradient, expected.gradient)
    same(problem.empirical, _problem(design, 7, each, by_sequence=False).empirical)
    problem.use("softmax_margin", design.gold, 1.0 - np.eye(7), None, None)
    value = problem.value(weights)
    assert value == pytest.approx(problem.evaluate(weights, gradient, None), rel=1e-12)
    assert value > expected.value


@pytest.mark.parametrize("each", [False, True])
def test_the_penalty_of_an_evaluation(*, each: bool) -> None:
    """It is the same as the loss and the penalty one after the other."""
    rng = np.random.default_rng(9)
    X, y = draw_large(rng, 5, rng.integers(1, 30, size=400), n_names=3000, per_token=4)
    design = design_of(X, y, 5)
    n = len(design.index)
    weights, mean = rng.normal(size=(2, n))
    precision = rng.uniform(0.5, 2.0, size=n)
    if not each:
        mean, precision = mean[:1], precision[:1]
    expected = np.empty(n)
    problem = _problem(design, 5, None, by_sequence=False)
    value = problem.evaluate(weights, expected, None)
    penalty = _core.gaussian(weights, mean, precision, expected, 1)
    gradient = np.empty(n)
    loss, found = problem.evaluate_penalised(weights, gradient, mean, precision)
    assert (loss, found) == (value, pytest.approx(penalty, rel=1e-13))
    assert np.array_equal(gradient, expected)
    with pytest.raises(ValueError, match="one number or one per weight"):
        problem.evaluate_penalised(weights, gradient, np.zeros(n - 1), precision)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("features", ["supported", "all"])
def test_counts_of_the_index_are_the_empirical_part(*, features: str, edges: bool) -> None:
    rng = np.random.default_rng(8)
    X, y = draw(rng, 5, rng.integers(0, 12, size=200), edges=edges)
    X[3][0] = [*X[3][0], X[3][0][0]] if X[3] else []  # an attribute twice
    design = design_of(X, y, 5, features=features, edges=edges)
    counts = design.gold_counts()
    assert counts is not None
    for by_sequence in (False, True):
        assert np.array_equal(_problem(design, 5, None, by_sequence=by_sequence).empirical, counts)
    assert replace(design, index=design.index.select(np.ones(len(counts), bool))).gold_counts() is None
    valued = design_of(*draw(rng, 5, [4, 3], values=True), 5)
    assert valued.gold_counts() is None


def test_a_problem_for_evaluations_has_no_values_alone() -> None:
    design = design_of(*draw(np.random.default_rng(7), 2, [4, 3]), 2)
    problem = _problem(design, 2, None, by_sequence=False)
    with pytest.raises(ValueError, match="made for evaluations of the whole corpus"):
        problem.value(np.zeros(len(design.index)))

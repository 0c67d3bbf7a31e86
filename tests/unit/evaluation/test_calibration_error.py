"""Expected calibration error and log-loss against loops over tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

CLASSES = ["A", "B", "C"]


def random_case(seed: int) -> tuple[list[list[str]], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, 30)
    tables = [rng.dirichlet([0.5] * 3, n) for n in lengths]
    return [[CLASSES[i] for i in rng.integers(3, size=n)] for n in lengths], tables


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_against_a_loop(bins: int) -> None:
    gold, tables = random_case(3)
    cells: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    losses = []
    for labels, table in zip(gold, tables):
        for label, row in zip(labels, table.tolist()):
            top = max(row)
            number = next(k for k in range(bins) if top <= (k + 1) / bins)
            cells[number].append((top, CLASSES[row.index(top)] == label))
            losses.append(-math.log(row[CLASSES.index(label)]))
    gaps = [abs(sum(c for c, _ in cell) - sum(r for _, r in cell)) for cell in cells]
    error = math.fsum(gaps) / len(losses)
    assert fc.metrics.expected_calibration_error(gold, tables, CLASSES, bins=bins) == pytest.approx(
        error, rel=1e-9
    )
    assert fc.metrics.log_loss(gold, tables, CLASSES) == pytest.approx(
        math.fsum(losses) / len(losses), rel=1e-9
    )
    found = fc.metrics.reliability(gold, tables, CLASSES, bins=bins)
    assert found.count.tolist() == [len(cell) for cell in cells]
    assert f"expected calibration error {error:.4f}" in str(found)


def test_edges() -> None:
    nothing = fc.metrics.reliability([], [], CLASSES)
    assert (nothing.error, nothing.log_loss) == (0.0, 0.0)
    unknown = fc.metrics.log_loss([["Z"]], [[[0.2, 0.3, 0.5]]], CLASSES)
    assert unknown == pytest.approx(300 * math.log(10))
    with pytest.raises(InputError, match="sequence 0: probabilities of shape"):
        fc.metrics.log_loss([["A"]], [[[0.5, 0.5]]], CLASSES)
    with pytest.raises(InputError, match="0 arrays of probabilities for 1 sequences"):
        fc.metrics.log_loss([["A"]], [], CLASSES)

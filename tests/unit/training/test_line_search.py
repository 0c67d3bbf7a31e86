"""What an accepted step promises: the strong Wolfe conditions, at the last point that was evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft.optimisers.line_search import CURVATURE, ROUNDING, SUFFICIENT, Point, wolfe_step

Curve = Callable[[float], tuple[float, float]]


def quadratic(a: float) -> tuple[float, float]:
    return 0.5 * (a - 3.0) ** 2, a - 3.0


def softplus(a: float) -> tuple[float, float]:
    """Steep, then nearly flat: the minimum of log(1 + e^-10a) + a/100."""
    return math.log1p(math.exp(-min(10 * a, 700))) + a / 100, -10 / (1 + math.exp(min(10 * a, 700))) + 0.01


def quartic(a: float) -> tuple[float, float]:
    return (a - 1.0) ** 4 + 0.2 * a, 4 * (a - 1.0) ** 3 + 0.2


def wall(a: float) -> tuple[float, float]:
    """Overflows beyond 2, as a likelihood does for huge weights."""
    return (math.inf, math.nan) if a >= 2 else (-math.log(2 - a) - 3 * a, 1 / (2 - a) - 3)


CURVES = [quadratic, softplus, quartic, wall]


class Watched:
    """A curve that remembers where it was asked."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.asked = curve, [0.0]

    def __call__(self, step: float) -> tuple[float, float]:
        self.asked.append(step)
        return self.curve(step)


@pytest.mark.parametrize("curve", CURVES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("first", [1e-4, 1e-2, 0.3, 1.0, 1.9, 7.0, 100.0, 1e4])
def test_strong_wolfe(curve: Curve, first: float) -> None:
    start = Point(0.0, *curve(0.0))
    assert start.slope < 0
    watched = Watched(curve)
    found = wolfe_step(watched, start, first, 30)
    assert found is not None
    assert found.value <= start.value + SUFFICIENT * found.step * start.slope
    assert abs(found.slope) <= CURVATURE * abs(start.slope)
    assert watched.asked[-1] == found.step
    assert (found.value, found.slope) == curve(found.step)


@given(st.floats(-3, 3), st.floats(0.01, 50), st.floats(0.01, 100), st.floats(1e-3, 1e3), st.floats(0.1, 5))
def test_any_convex_curve(shift: float, steep: float, pull: float, first: float, low: float) -> None:
    """Softplus plus a parabola: what one weight sees of a penalised likelihood."""

    def curve(a: float) -> tuple[float, float]:
        z = steep * (a - shift)
        value = np.logaddexp(0, -z) + 0.5 * (a - low) ** 2 / pull
        return float(value), float(-steep / (1 + np.exp(min(z, 700))) + (a - low) / pull)

    start = Point(0.0, *curve(0.0))
    if start.slope >= -1e-8:
        return
    found = wolfe_step(curve, start, first, 40)
    assert found is not None
    assert found.value <= start.value + SUFFICIENT * found.step * start.slope
    assert abs(found.slope) <= CURVATURE * abs(start.slope)


def test_slopes_decide_where_values_are_noise() -> None:
    """f = 1e8 + a^2-ish below its rounding error: the approximate condition still finds the minimum."""

    def curve(a: float) -> tuple[float, float]:
        return 1e8 + 1e-9 * 0.5 * (a - 1) ** 2, 1e-9 * (a - 1)

    start = Point(0.0, *curve(0.0))
    found = wolfe_step(curve, start, 1.0, 20)
    assert found is not None
    assert found.step == 1.0
    assert found.value <= start.value + ROUNDING * abs(start.value)


def test_no_step_is_found_where_none_lowers_the_value() -> None:
    """The slope lies: f rises everywhere."""
    found = wolfe_step(lambda a: (1.0 + a, 1.0), Point(0.0, 1.0, -1.0), 1.0, 20)
    assert found is None


def test_the_number_of_trials_is_kept() -> None:
    watched = Watched(lambda a: (-a, -1.0))  # falls for ever: no step is flat enough
    found = wolfe_step(watched, Point(0.0, 0.0, -1.0), 1.0, 5)
    assert len(watched.asked) - 1 <= 6
    assert found is not None
    assert found.value < 0.0
    assert watched.asked[-1] == found.step

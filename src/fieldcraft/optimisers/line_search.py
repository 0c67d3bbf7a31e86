"""A step length along a descent direction that satisfies the strong Wolfe conditions.

    f(a) <= f(0) + c1 a f'(0)      and      |f'(a)| <= c2 |f'(0)|

Bracketing, then cubic interpolation. Close to the optimum f changes by less than its rounding error and
the first condition means nothing; there the slopes decide (Hager and Zhang's approximate condition).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

SUFFICIENT = 1e-4  # c1
CURVATURE = 0.9  # c2; conjugate directions need a closer minimum
ROUNDING = 1e-10  # relative change of f that is taken for noise: a sum over a corpus has cancelled


class Point(NamedTuple):
    """A step with the value and slope at its end."""

    step: float
    value: float
    slope: float


def wolfe_step(
    evaluate: Callable[[float], tuple[float, float]],
    start: Point,
    step: float,
    max_trials: int,
    *,
    curvature: float = CURVATURE,
) -> Point | None:
    """The accepted point, or None when no step was found that lowers f.

    ``evaluate(step)`` returns value and slope; the last call is always the accepted step.
    """
    low, high = start, None
    for _ in range(max_trials):
        here = Point(step, *evaluate(step))
        if _good_enough(here, start, curvature):
            return here
        if not math.isfinite(here.value) or _too_high(here, start, low):
            high = here
        else:
            if (high is not None and here.slope * (high.step - low.step) >= 0) or (
                high is None and here.slope >= 0
            ):
                high = low
            low = here
        step = _extrapolate(low) if high is None else _interpolate(low, high)
    if low.step > 0 and low.value < start.value:
        return Point(low.step, *evaluate(low.step))
    return None


def _good_enough(here: Point, start: Point, curvature: float) -> bool:
    if not math.isfinite(here.value) or not math.isfinite(here.slope):
        return False
    flat = abs(here.slope) <= curvature * abs(start.slope)
    lower = here.value <= start.value + SUFFICIENT * here.step * start.slope
    if lower and flat:
        return True
    level = abs(here.value - start.value) <= ROUNDING * abs(start.value)
    return level and curvature * start.slope <= here.slope <= (2 * SUFFICIENT - 1) * start.slope


def _too_high(here: Point, start: Point, low: Point) -> bool:
    limit = start.value + SUFFICIENT * here.step * start.slope
    return here.value > limit or here.value >= low.value


def _extrapolate(low: Point) -> float:
    return 4.0 * low.step


def _interpolate(low: Point, high: Point) -> float:
    """Minimum of the cubic through both points, kept well inside the bracket."""
    width = high.step - low.step
    middle = low.step + 0.5 * width
    if not (math.isfinite(high.value) and math.isfinite(high.slope)):
        return low.step + 0.1 * width
    if width == 0.0:  # steps too small to differ
        return middle
    a = low.slope + high.slope - 3.0 * (high.value - low.value) / width
    square = a * a - low.slope * high.slope
    if square < 0.0:
        return middle
    root = math.copysign(math.sqrt(square), width)
    denominator = high.slope - low.slope + 2.0 * root
    if denominator == 0.0:
        return middle
    fraction = 1.0 - (high.slope + root - a) / denominator
    return low.step + min(max(fraction, 0.1), 0.9) * width

"""What a training says while it runs and when it has not ended as it should."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from fieldcraft.design import Encoder
from fieldcraft.errors import TrainingWarning
from fieldcraft.optimisers import Optimiser
from fieldcraft.problems.curvatures import LARGE_VALUES


def likely_cause(encoder: Encoder, attribute: int, value: float) -> str:
    """The attribute with the largest values, where they are large enough to be the cause of trouble."""
    if value <= LARGE_VALUES:
        return ""
    name = encoder.attribute_text([attribute])[0]
    return f"the attribute {name!r} has values up to {value:g}; divide them so that they are about 1"


def warn_of_failure(reason: str, cause: str) -> None:
    """Say that training failed, and what is probably the cause."""
    warnings.warn(f"training did not converge: {reason}; {cause}", TrainingWarning, stacklevel=6)


def warn_of_limit(callbacks: Iterable[Any], optimiser: Optimiser, cause: str) -> None:
    """Say that training ended too early, and why; callbacks with a method ``warn`` do so in their way."""
    remedy = f"raise max_iterations of {type(optimiser).__name__}, or use a stronger prior"
    problem = (
        f"training stopped after {optimiser.max_iterations} iterations, before it had converged; "
        f"{cause or remedy}"
    )
    listeners = [callback.warn for callback in callbacks if hasattr(callback, "warn")]
    for listener in listeners:
        listener(problem)
    if not listeners:
        warnings.warn(problem, TrainingWarning, stacklevel=6)


def tell(callbacks: Iterable[Any], event: str, *facts: Any) -> None:
    """Call the method of this name of the callbacks that have it."""
    for callback in callbacks:
        if hasattr(callback, event):
            getattr(callback, event)(*facts)

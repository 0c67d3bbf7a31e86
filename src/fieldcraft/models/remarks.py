"""What a training says while it runs and when it has not ended as it should."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from fieldcraft.design import Encoder
from fieldcraft.errors import TrainingWarning
from fieldcraft.optimisers import Optimiser


def warn_of_large_values(reason: str, encoder: Encoder, attribute: int, value: float) -> None:
    """Say that training failed, and which attribute is probably the cause."""
    name = encoder.attribute_text([attribute])[0]
    warnings.warn(
        f"training did not converge: {reason}; the attribute {name!r} has values up to {value:g}; divide "
        "them so that they are about 1",
        TrainingWarning,
        stacklevel=4,
    )


def warn_of_limit(callbacks: Iterable[Any], optimiser: Optimiser) -> None:
    """Say that training ended too early; callbacks with a method ``warn`` do so in their way."""
    problem = (
        f"training stopped after {optimiser.max_iterations} iterations, before it had converged; raise "
        f"max_iterations of {type(optimiser).__name__}, or use a stronger prior"
    )
    listeners = [callback.warn for callback in callbacks if hasattr(callback, "warn")]
    for listener in listeners:
        listener(problem)
    if not listeners:
        warnings.warn(problem, TrainingWarning, stacklevel=4)


def tell(callbacks: Iterable[Any], event: str, *facts: Any) -> None:
    """Call the method of this name of the callbacks that have it."""
    for callback in callbacks:
        if hasattr(callback, event):
            getattr(callback, event)(*facts)

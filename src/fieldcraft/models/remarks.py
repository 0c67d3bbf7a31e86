"""What a training says while it runs and when it has not ended as it should."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from fieldcraft.design import Encoder
from fieldcraft.errors import TrainingWarning
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.several import parts_of
from fieldcraft.models.default_templates import Chosen
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


def remarks_on(chosen: Chosen | None, encoder: Encoder, score_every: int | None) -> Iterator[str]:
    """What is worth knowing before a training starts."""
    if chosen is not None:
        yield chosen.why
    looks = [part.templates for part in parts_of(encoder) if isinstance(part, TemplateFeatures)]
    columns = list(dict.fromkeys(name for templates in looks for name in templates.named_columns))
    if len(columns) > 1:
        yield (
            f"the templates look at the columns {', '.join(columns)}: the model labels files or sequences "
            f"that have them, not raw text; for raw text use templates over {columns[0]} alone, such as "
            "entities-words or tagging"
        )
    if (score_every or 1) > 1:
        yield f"held-out data is scored every {score_every} iterations, and at the end"


def tell(callbacks: Iterable[Any], event: str, *facts: Any) -> None:
    """Call the method of this name of the callbacks that have it."""
    for callback in callbacks:
        if hasattr(callback, event):
            getattr(callback, event)(*facts)

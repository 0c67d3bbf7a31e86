"""What a penalty must do for a model to exist."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.priors import Prior


def refuse_runaways(prior: Prior, design: Design, mask: NDArray[Any] | None) -> None:
    """Refuse a prior that leaves weights free which only ever make wrong labelings likelier.

    A feature that training never shows has its minimum at minus infinity unless the penalty holds it. That
    is sure where labels are whole and values not negative. No prior at all is a choice of its own.
    """
    index, values = design.index, design.encoded.values
    mixed = values is not None and bool(np.any(values < 0))
    if not prior.parts() or design.partial is not None or mixed:
        return
    loose = (index.count == 0) & (index.family > 0) & ~prior.holds(len(index))
    if mask is not None:
        loose &= mask
    if loose.any():
        raise InputError(
            f"{type(prior).__name__} puts no penalty on {np.count_nonzero(loose)} weights of features that "
            f"training never shows (the first is weight {int(np.flatnonzero(loose)[0])}): they would run to "
            "minus infinity; give them a finite variance or scale, or use features='supported'"
        )

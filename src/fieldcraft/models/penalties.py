"""A check that the penalised objective has a minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.priors import Prior


def refuse_runaways(prior: Prior, design: Design, mask: NDArray[Any] | None, *, mixed: bool) -> None:
    """Raise an InputError if a prior does not penalise features that occur in wrong labellings only.

    The best weight of a feature that is never observed is minus infinity, unless it is penalised. This is
    certain if all labels are known and no value is negative (``mixed``: some are). Training without any prior
    is allowed.
    """
    index = design.index
    if not prior.parts() or design.partial is not None or mixed:
        return
    loose = (index.count == 0) & (index.family > 0)
    if mask is not None:
        loose &= mask
    if loose.any() and (loose := loose & ~prior.holds(len(index))).any():
        raise InputError(
            f"{type(prior).__name__} puts no penalty on {np.count_nonzero(loose)} weights of features that "
            f"training never shows (the first is weight {int(np.flatnonzero(loose)[0])}): they would run to "
            "minus infinity; pass a finite variance or scale, or use features='supported'"
        )

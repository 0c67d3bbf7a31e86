"""How much memory the answers of a chain need, before it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.memory import check_memory

if TYPE_CHECKING:
    from fieldcraft.structures.states import StateSpace


def check_rows(states: StateSpace, offsets: NDArray[np.int64]) -> None:
    """Refuse marginals of all transitions at every token that do not fit."""
    S, tokens = states.n_states, int(offsets[-1]) if len(offsets) else 0
    what = f"a number for each of {S:,} x {S:,} transitions at each of {tokens:,} tokens"
    check_memory(tokens * S * S * 8, what, "ask for fewer sequences at a time, or for totals")


def check_samples(n: int, offsets: Any) -> None:
    """Refuse more samples than fit."""
    tokens = int(offsets[-1]) if len(offsets) else 0
    what = f"{n:,} samples of {tokens:,} tokens"
    check_memory(n * tokens * 4, what, "draw fewer samples at a time, each time with another seed")

"""Beams: which states of a position a search or a training looks at.

    beam=20      the 20 states whose prefixes have the largest sums (in Viterbi: the best prefixes)
    beam=0.999   the fewest states that have 99.9 % of these sums
    beam=None    all states

A step from k of S states costs k * S operations instead of S * S. What the beam drops is lost: the sums of
the kept states are lower bounds. ``LinearChain.beam_partition`` also returns an upper bound on what was lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fieldcraft.errors import InputError


class Beam(NamedTuple):
    """``states`` of them, or, if that is 0, as many as have ``mass``; 0 and 1 for all states."""

    states: int
    mass: float


ALL = Beam(0, 1.0)


def resolve_beam(beam: Any) -> Beam:
    """The beam of a parameter; InputError if it is neither None nor a number of states nor a mass.

    >>> resolve_beam(20), resolve_beam(0.99), resolve_beam(None) == ALL
    (Beam(states=20, mass=1.0), Beam(states=0, mass=0.99), True)
    """
    if beam is None:
        return ALL
    if isinstance(beam, (int, np.integer)) and not isinstance(beam, bool) and beam >= 1:
        return Beam(int(beam), 1.0)
    if isinstance(beam, (float, np.floating)) and 0 < beam < 1:
        return Beam(0, float(beam))
    raise InputError(
        f"beam={beam!r}; give a number of states (1, 2 …), a mass between 0 and 1 (0.999), or None"
    )

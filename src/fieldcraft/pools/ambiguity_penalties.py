"""Penalties f(A) on the ambiguity A of a pool, which co-operative training adds to the members' losses.

    inverse          f(A) = gamma / A
    inverse_square   f(A) = gamma / A^2
    preferred        f(A) = gamma strength (A - A0)^2 / 2

The first two have no value at A = 0, where all members are equal. Any object with the methods ``value(A)``
and ``derivative(A)`` is a penalty, too; gamma multiplies it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from fieldcraft.errors import InputError


class AmbiguityPenalty(Protocol):
    """A function of the ambiguity, and its derivative."""

    def value(self, ambiguity: float) -> float:
        """f(A)."""

    def derivative(self, ambiguity: float) -> float:
        """f'(A)."""


@dataclass(frozen=True)
class Inverse:
    """1 / A^power."""

    power: int = 1

    def value(self, ambiguity: float) -> float:
        return math.inf if ambiguity <= 0 else ambiguity**-self.power

    def derivative(self, ambiguity: float) -> float:
        return -math.inf if ambiguity <= 0 else -self.power * ambiguity ** (-self.power - 1)


@dataclass(frozen=True)
class PreferredDiversity:
    """Penalty strength (A - ambiguity)^2 / 2: the members are to differ so much, not more and not less.

    Parameters
    ----------
    ambiguity : the preferred A, in nats per sequence
    strength : how much a difference from it costs

    Examples
    --------
    >>> PreferredDiversity(0.5, strength=2.0).value(0.8)  # 2 x 0.3^2 / 2
    0.09000000000000002
    """

    ambiguity: float
    strength: float = 1.0

    def __post_init__(self) -> None:
        for name in ("ambiguity", "strength"):
            number = getattr(self, name)
            if not (isinstance(number, (int, float)) and math.isfinite(number) and number >= 0):
                raise InputError(f"{name}={number!r} of PreferredDiversity; give a number, zero or greater")

    def value(self, ambiguity: float) -> float:
        """f(A)."""
        return 0.5 * self.strength * (ambiguity - self.ambiguity) ** 2

    def derivative(self, ambiguity: float) -> float:
        """f'(A)."""
        return self.strength * (ambiguity - self.ambiguity)


PENALTIES: dict[str, AmbiguityPenalty] = {"inverse": Inverse(), "inverse_square": Inverse(2)}


def resolve_penalty(penalty: Any) -> AmbiguityPenalty:
    """The penalty of a name, or an object with the methods of one."""
    if isinstance(penalty, str) and penalty in PENALTIES:
        return PENALTIES[penalty]
    if not all(callable(getattr(penalty, method, None)) for method in ("value", "derivative")):
        raise InputError(
            f"penalty={penalty!r}; give one of {', '.join(PENALTIES)}, fc.PreferredDiversity, or an object "
            "with value(A) and derivative(A)"
        )
    chosen: AmbiguityPenalty = penalty
    return chosen

"""A prior's settings: one number, a vector over the weights, or a rule that gives one.

A rule is a function of the feature index, resolved when the features are known: an object of groups.py,
which a model file keeps by its name and numbers, or any function of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex

Floats = NDArray[np.float64]


class Names(NamedTuple):
    """What the numbers in a feature index stand for."""

    labels: Sequence[str]
    templates: Sequence[str]


class Limits(NamedTuple):
    """Between what a setting must lie."""

    low: float = -np.inf
    zero: bool = False  # may it be ``low`` itself
    finite: bool = False

    def wrong(self, values: Floats) -> NDArray[np.bool_]:
        """Where values break them."""
        below = values < self.low if self.zero else values <= self.low
        return np.isnan(values) | below | (self.finite & np.isinf(values))

    def __str__(self) -> str:
        least = f"{'at least' if self.zero else 'greater than'} {self.low:g}"
        told = [*([least] if self.low > -np.inf else []), *(["finite"] if self.finite else [])]
        return " and ".join(told)


POSITIVE = Limits(0.0)
STRENGTH = Limits(0.0, zero=True, finite=True)
FINITE = Limits(finite=True)


@dataclass(frozen=True)
class Rule:
    """Numbers for all weights from the feature index. A new kind is a subclass."""

    kinds: ClassVar[dict[str, type[Rule]]] = {}  # by name, for model files
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        Rule.kinds[cls.kind] = cls

    def numbers(self) -> Sequence[Any]:
        """What it may give, to be refused before any work."""
        raise NotImplementedError

    def check(self, name: str, limits: Limits) -> None:
        """Refuse numbers that ``name`` may not have."""
        for value in self.numbers():
            per_weight(value, None, f"{name} in {self.kind}", limits)

    def __call__(self, index: FeatureIndex, names: Names) -> Floats:
        """[F] the numbers."""
        raise NotImplementedError


Setting = ArrayLike | Rule | Callable[[FeatureIndex], ArrayLike]


def per_weight(value: Any, n_weights: int | None, name: str, limits: Limits) -> Floats:
    """``value`` as a vector of length 1 or ``n_weights`` within limits; None checks the numbers alone."""
    wanted = "one number or one per weight" + ("" if n_weights is None else f" ({n_weights})")
    try:
        vector = np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; give {wanted}") from None
    if vector.ndim != 1 or (n_weights is not None and len(vector) not in (1, n_weights)):
        raise InputError(f"{name} has shape {vector.shape}; give {wanted}")
    bad = np.flatnonzero(limits.wrong(vector))
    if len(bad):
        at = int(bad[0])
        where = f"{name}[{at}]" if len(vector) > 1 else name
        raise InputError(f"{where} is {vector[at]:g}; it must be {limits}")
    return np.ascontiguousarray(vector)


def resolve_setting(value: Any, index: FeatureIndex, names: Names, name: str) -> Floats:
    """[F] what a rule, or any function of the index, gives."""
    given = value(index, names) if isinstance(value, Rule) else value(index)
    vector = np.asarray(given)
    if vector.shape not in ((), (1,), (len(index),)):
        raise InputError(
            f"the function given for {name} returned shape {vector.shape}; "
            f"it must return one number per weight ({len(index)})"
        )
    return vector  # its numbers are looked at by per_weight


def describe(value: Any) -> Any:
    """A setting as a file shows it."""
    if isinstance(value, Rule):
        return {"rule": value.kind, **vars(value)}
    if callable(value):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    array = np.asarray(value)
    if array.ndim == 2:  # a small matrix, not one number per weight
        return array.tolist()
    return array.item() if array.ndim == 0 else f"vector of {array.size}"


def restore(described: Any) -> Any:
    """Undo ``describe``; what only has a name cannot be restored and is refused."""
    if isinstance(described, dict):
        numbers = dict(described)
        kind = Rule.kinds[numbers.pop("rule")]
        return kind(**{name: frozen(value) for name, value in numbers.items()})
    if isinstance(described, str):
        raise ValueError(f"a {described} was not stored")
    return frozen(described)


def frozen(value: Any) -> Any:
    """Lists of lists as tuples of tuples."""
    return tuple(map(frozen, value)) if isinstance(value, (list, tuple)) else value


def storable(value: Any) -> bool:
    """Can a file keep this setting."""
    return isinstance(value, Rule) or (not callable(value) and np.ndim(value) != 1)

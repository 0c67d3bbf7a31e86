"""A prior's settings: one number, a vector over the weights, or a rule that returns one.

A rule is a function of the feature index, resolved when the features are known: an object of groups.py,
which a model file stores by its name and numbers, or any function of the user.
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
    """Names of the labels and templates in a feature index."""

    labels: Sequence[str]
    templates: Sequence[str]


class Limits(NamedTuple):
    """The limits of a setting."""

    low: float = -np.inf
    zero: bool = False  # whether ``low`` itself is allowed
    finite: bool = False

    def wrong(self, values: Floats) -> NDArray[np.bool_]:
        """Which values are outside."""
        below = values < self.low if self.zero else values <= self.low
        return np.isnan(values) | below | (self.finite & np.isinf(values))

    def __str__(self) -> str:
        least = f"{'at least' if self.zero else 'greater than'} {self.low:g}"
        rules = [*([least] if self.low > -np.inf else []), *(["finite"] if self.finite else [])]
        return " and ".join(rules)


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
        """The numbers that it may return, to be checked before training."""
        raise NotImplementedError

    def check(self, name: str, limits: Limits) -> None:
        """InputError for numbers that the setting ``name`` may not have."""
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
    """[F] the numbers of a rule or of any function of the index."""
    numbers = value(index, names) if isinstance(value, Rule) else value(index)
    vector = np.asarray(numbers)
    if vector.shape not in ((), (1,), (len(index),)):
        raise InputError(
            f"the function for {name} returned shape {vector.shape}; "
            f"it must return one number per weight ({len(index)})"
        )
    return vector  # per_weight checks its numbers


def describe(value: Any) -> Any:
    """A setting as stored in a file."""
    if isinstance(value, Rule):
        return {"rule": value.kind, **vars(value)}
    if callable(value):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    array = np.asarray(value)
    if array.ndim == 2:  # a small matrix, not one number per weight
        return array.tolist()
    return array.item() if array.ndim == 0 else f"vector of {array.size}"


def restore(described: Any) -> Any:
    """Undoes ``describe``; ValueError for vectors and functions, which are not stored."""
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
    """Whether a file can store this setting."""
    return isinstance(value, Rule) or (not callable(value) and np.ndim(value) != 1)

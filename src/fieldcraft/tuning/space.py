"""The search space: settings by name, each between two ends or one of several values.

    name                 a parameter of the estimator that is listed in SEARCHED, e.g. templates
    prior__setting       a setting of its prior, e.g. prior__variance; or in short, variance

A point of the space has one coordinate from 0 to 1 per dimension, on a logarithmic scale if all values are
greater than zero. Coordinates define neighbours, and golden section search works on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers import handled_by
from fieldcraft.priors import Prior, resolve_prior
from fieldcraft.tuning.bake_off_entry import read_value

ENCODES = ("templates", "features", "min_count", "gazetteers", "functions", "hash_size", "edge_prefix")
SEARCHED = (*ENCODES, "prior")
PRIOR = "prior__"
Settings = dict[str, Any]


@dataclass(frozen=True)
class Between:
    """All numbers between two ends; on a logarithmic scale if both are greater than zero.

    Parameters
    ----------
    first, last : the ends; a search goes from first to last, so start with the strong penalty

    >>> [round(value, 3) for value in Between(0.1, 1000).grid(5)]
    [0.1, 1.0, 10.0, 100.0, 1000.0]
    """

    first: float
    last: float

    def check(self, name: str) -> None:
        """Raise an InputError for invalid ends."""
        for end in (self.first, self.last):
            if not isinstance(end, Real) or isinstance(end, bool) or not math.isfinite(end):
                raise InputError(f"{name}: an end is {end!r}; pass two finite numbers, e.g. 0.1 and 1000")
        if self.first == self.last:
            raise InputError(f"{name}: both ends are {self.first:g}; there is nothing between them")

    @property
    def logarithmic(self) -> bool:
        """Whether the scale is logarithmic."""
        return min(self.first, self.last) > 0

    def at(self, coordinate: float) -> float:
        """The value at a coordinate from 0 to 1."""
        if coordinate in (0.0, 1.0):
            return float(self.last if coordinate else self.first)  # the ends without rounding
        if self.logarithmic:
            return float(self.first * math.exp(coordinate * math.log(self.last / self.first)))
        return float(self.first + coordinate * (self.last - self.first))

    def place(self, value: float) -> float:
        """The coordinate of a value."""
        if self.logarithmic:
            return math.log(value / self.first) / math.log(self.last / self.first)
        return (value - self.first) / (self.last - self.first)

    def grid(self, points: int) -> list[float]:
        """``points`` values, both ends included."""
        return [self.at(i / (points - 1)) for i in range(points)] if points > 1 else [self.at(0.0)]


@dataclass(frozen=True)
class Dimension:
    """One dimension of the space; ``name`` is the full name."""

    name: str
    values: Between | tuple[Any, ...]

    @property
    def encodes(self) -> bool:
        """Whether each value needs a separate encoding."""
        return self.name in ENCODES

    def known(self) -> tuple[Any, ...]:
        """The values, or the ends between which they lie."""
        values = self.values
        return (values.first, values.last) if isinstance(values, Between) else values

    def grid(self, points: int) -> Sequence[Any]:
        """The values of a grid."""
        return self.values.grid(points) if isinstance(self.values, Between) else self.values

    def place(self, value: Any) -> float:
        """The coordinate of a value; the position in the list for values that are not numbers."""
        scale = self._scale
        return scale.place(value) if scale is not None else float(self.known().index(value))

    @cached_property
    def _scale(self) -> Between | None:
        values = self.known()
        numbers = all(isinstance(v, Real) and not isinstance(v, bool) and math.isfinite(v) for v in values)
        return Between(min(values), max(values)) if numbers and min(values) < max(values) else None


def make_space(crf: ChainCRF, over: Mapping[str, Any]) -> tuple[Dimension, ...]:
    """The dimensions, those that encode first; invalid names and values raise an InputError."""
    if not isinstance(over, Mapping) or not over:
        raise InputError("over has nothing to search; write e.g. over={'variance': fc.Between(0.1, 1000)}")
    dimensions = [Dimension(_full_name(crf, name), _values(name, values)) for name, values in over.items()]
    names = [dimension.name for dimension in dimensions]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"over has {name} twice; leave one out")
    return tuple(sorted(dimensions, key=lambda dimension: not dimension.encodes))


def read_over(texts: Iterable[str]) -> dict[str, Any]:
    """Dimensions from their spellings: ``variance=0.1..1000`` or ``templates=simple,entities``.

    >>> read_over(["variance=0.1..1000", "min_count=1,2"])
    {'variance': Between(first=0.1, last=1000), 'min_count': [1, 2]}
    """
    over: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise InputError(f"{text!r}: write NAME=FIRST..LAST or NAME=VALUE,VALUE: 'variance=0.1..1000'")
        if name in over:
            raise InputError(f"{text!r}: {name} is there twice; leave one out")
        first, dots, last = values.partition("..")
        ends = Between(read_value(first), read_value(last))
        over[name] = ends if dots else [read_value(value) for value in values.split(",")]
    return over


def applied(crf: ChainCRF, settings: Settings) -> ChainCRF:
    """A new estimator with these settings."""
    made = type(crf)(**crf.get_params())
    made.set_params(**{name: value for name, value in settings.items() if not name.startswith(PRIOR)})
    of_prior = {name.removeprefix(PRIOR): value for name, value in settings.items() if name.startswith(PRIOR)}
    return made.set_params(prior=_with(_prior(made), of_prior))


def plain(settings: Settings) -> dict[str, Any]:
    """Settings for JSON: numbers and texts unchanged, objects by their repr."""
    return {
        name: value if isinstance(value, (str, int, float)) else repr(value)
        for name, value in settings.items()
    }


def spelled(settings: Settings) -> str:
    """Settings in one short line."""
    shown = ((name.removeprefix(PRIOR), value) for name, value in settings.items())
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in shown
    )


def _values(name: str, values: Any) -> Between | tuple[Any, ...]:
    if isinstance(values, Between):
        values.check(name)
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{name}: {values!r} is no range; pass fc.Between(first, last) or a list of values")
    listed = tuple(values)
    if not listed:
        raise InputError(f"{name}: the list of values is empty; pass at least one")
    if any(
        plain({"": value}) in [plain({"": other}) for other in listed[:i]] for i, value in enumerate(listed)
    ):
        raise InputError(f"{name}: a value is there twice; leave one out")
    return listed


def _full_name(crf: ChainCRF, name: str) -> str:
    if name in SEARCHED:
        return name
    setting = name.removeprefix(PRIOR)
    known = [field.name for field in fields(_prior(crf))]
    if setting not in known:
        has = ", ".join([*known, *SEARCHED])
        raise InputError(f"{name!r} cannot be searched over; with this model choose from {has}")
    return PRIOR + setting


def _with(prior: Prior, settings: Settings) -> Prior:
    known = [field.name for field in fields(prior)]
    for name in settings:
        if name not in known:
            has = ", ".join(known) or "none"
            raise InputError(f"{type(prior).__name__} has no {name} to search over; its settings: {has}")
    return replace(prior, **settings)


def _prior(crf: ChainCRF) -> Prior:
    return resolve_prior(crf.prior, handled_by(crf.optimiser, crf.objective))

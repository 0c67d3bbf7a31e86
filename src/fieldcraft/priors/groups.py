"""Groups of weights: settings of a prior that differ from feature to feature.

A rule replaces a number, and is resolved when the features are known:

    Gaussian(variance=by_count_bins({(1, 3): 4, (4, 10): 9}, otherwise=inf))
    Gaussian(variance=by_dependency(transitions=100, emissions=10))
    Gaussian(variance=times_count(0.5))
    Gaussian(variance=lambda index: np.where(index.window[:, 0] < 0, 1.0, 10.0))

Every group must contain a weight, and no weight may be in two groups: both are likely mistakes.
Counts are those of the feature index: training positions, whatever the sample weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.priors.settings import POSITIVE, Floats, Limits, Names, Rule, per_weight

Mask = NDArray[np.bool_]
Bin = int | tuple[float, float]
LABEL_PAIRS = "label pairs"  # the name for features of labels alone, which have no template


def by_count_cutoff(threshold: int, *, rare: float, frequent: float) -> Rule:
    """One number for features seen at most ``threshold`` times, another for all others.

    >>> from fieldcraft import Gaussian
    >>> Gaussian(variance=by_count_cutoff(2, rare=4.0, frequent=float("inf"))).settings()["variance"]["rule"]
    'groups'
    """
    return Grouped("count", (((0, threshold), rare),), frequent)


def by_count_bins(bins: Mapping[Bin, float], *, otherwise: float | None = None) -> Rule:
    """A number for each range of counts: ``{(first, last): number}``, ends included, or ``{count: …}``."""
    pairs = [((key, key) if isinstance(key, int) else tuple(key), value) for key, value in bins.items()]
    return Grouped("count", tuple(pairs), otherwise)


def by_dependency(*, transitions: float, emissions: float) -> Rule:
    """One number for features that look at the label before, another for those that do not."""
    return Grouped("dependency", (("transitions", transitions), ("emissions", emissions)), None)


def by_part(numbers: Mapping[str, float], *, otherwise: float | None = None) -> Rule:
    """A number for each part: "node", "edge", "skip" (the skip edges of a skip chain), "segment" …"""
    return Grouped("part", tuple(numbers.items()), otherwise)


def by_template(numbers: Mapping[str, float], *, otherwise: float | None = None) -> Rule:
    """A number for each template, by its name; ``*`` and ``?`` are wildcards.

    Features of labels alone have no template and are called ``"label pairs"``. For features that users
    compute the templates are ``"features"`` and ``"edges"``.
    """
    return Grouped("template", tuple(numbers.items()), otherwise)


def by_label(numbers: Mapping[str, float], *, otherwise: float | None = None) -> Rule:
    """A number for each (current) label; ``*`` and ``?`` are wildcards."""
    return Grouped("label", tuple(numbers.items()), otherwise)


def times_count(number: float, *, unseen: float = 1.0) -> Rule:
    """``number`` times the feature's count: frequent features are regularised less.

    A count of 0 (which occurs with features="all") is replaced by ``unseen``, since a variance of 0 would fix
    the weight.
    """
    return Individual("count", number, unseen)


def by_reliability(number: float, *, unseen: float = 1.0) -> Rule:
    """``number`` over the variance of the feature's count, estimated from its context.

    A feature that occurs at a of the n positions of its observation has a probability there with a posterior
    Beta(1 + a, 1 + n - a), of variance V = (1 + a) (1 + n - a) / ((n + 2)^2 (n + 3)). Its count has the
    variance n V: the larger, the less reliable, and the stronger the penalty on the weight. If the
    observation does not occur (n = 0), ``unseen`` replaces the factor n.
    """
    return Individual("reliability", number, unseen)


@dataclass(frozen=True)
class Grouped(Rule):
    """Weights in groups that do not overlap, a number each.

    Parameters
    ----------
    by : the criterion of the groups: a key of MASKS
    groups : (key, number) of each
    otherwise : number of the weights in no group; None if every weight must be in one
    """

    kind = "groups"

    by: str
    groups: tuple[tuple[Any, float], ...]
    otherwise: float | None

    def numbers(self) -> Sequence[Any]:
        rest = [] if self.otherwise is None else [self.otherwise]
        return [*(number for _, number in self.groups), *rest]

    def check(self, name: str, limits: Limits) -> None:
        super().check(name, limits)
        CHECKS[self.by]([key for key, _ in self.groups])

    def __call__(self, index: FeatureIndex, names: Names) -> Floats:
        return np.asarray(self.numbers(), np.float64)[self.owners(index, names)]

    def owners(self, index: FeatureIndex, names: Names) -> NDArray[np.int64]:
        """[F] the position of each weight's group in ``numbers``; the last one for weights in none."""
        owner = np.full(len(index), -1, np.int64)
        for k, (key, _) in enumerate(self.groups):
            mask = MASKS[self.by](key, index, names)
            self._refuse(k, mask, owner, index, names)
            owner[mask] = k
        if self.otherwise is None and np.any(owner < 0):
            raise InputError(
                f"{np.count_nonzero(owner < 0)} of {len(index)} weights are in none of the groups by "
                f"{self.by}; give otherwise="
            )
        return np.where(owner < 0, len(self.groups), owner)

    def _refuse(
        self, k: int, mask: Mask, owner: NDArray[np.int64], index: FeatureIndex, names: Names
    ) -> None:
        shown = _shown(self.by, self.groups[k][0])
        if not mask.any():
            raise InputError(f"{shown} covers no weight ({_known(self.by, index, names)}); leave it out")
        twice = np.flatnonzero(mask & (owner >= 0))
        if len(twice):
            other = _shown(self.by, self.groups[owner[twice[0]]][0])
            raise InputError(f"{other} and {shown} overlap in {len(twice)} weights; each needs one group")


@dataclass(frozen=True)
class Individual(Rule):
    """A different number for each weight: one number times a ratio.

    Parameters
    ----------
    by : a key of RATIOS
    number : factor of the ratios
    unseen : replaces a count of 0
    """

    kind = "individual"

    by: str
    number: float
    unseen: float

    def numbers(self) -> Sequence[Any]:
        return [self.number]

    def check(self, name: str, limits: Limits) -> None:
        super().check(name, limits)
        if self.by not in RATIOS:
            raise InputError(f"individual numbers by {self.by!r}; choose one of {', '.join(RATIOS)}")
        per_weight(self.unseen, None, f"unseen in {self.kind}", POSITIVE)

    def __call__(self, index: FeatureIndex, names: Names) -> Floats:
        del names
        return self.number * RATIOS[self.by](index, self.unseen)


def _of_counts(key: tuple[float, float], index: FeatureIndex, names: Names) -> Mask:
    del names
    return np.asarray((index.count >= key[0]) & (index.count <= key[1]))


def _of_dependency(key: str, index: FeatureIndex, names: Names) -> Mask:
    del names
    return index.is_edge if key == "transitions" else ~index.is_edge


def _of_part(key: str, index: FeatureIndex, names: Names) -> Mask:
    del names
    return index.belongs_to(key)


def _of_template(key: str, index: FeatureIndex, names: Names) -> Mask:
    matching = np.array([*matches(key, names.templates), *matches(key, [LABEL_PAIRS])], bool)
    return np.asarray(matching[index.template])  # -1, the last one, is the label pairs


def _of_label(key: str, index: FeatureIndex, names: Names) -> Mask:
    return np.asarray(np.array(matches(key, names.labels), bool)[index.label])


MASKS: dict[str, Callable[[Any, FeatureIndex, Names], Mask]] = {
    "count": _of_counts,
    "dependency": _of_dependency,
    "part": _of_part,
    "template": _of_template,
    "label": _of_label,
}


def _counts(index: FeatureIndex, unseen: float) -> Floats:
    return np.where(index.count > 0, index.count, unseen)


def _reliabilities(index: FeatureIndex, unseen: float) -> Floats:
    n = index.family.astype(np.float64)
    a = np.minimum(index.count, n)
    spread = (1.0 + a) * (1.0 + n - a) / ((n + 2.0) ** 2 * (n + 3.0))
    return np.asarray(1.0 / (spread * np.where(n > 0, n, unseen)))


RATIOS: dict[str, Callable[[FeatureIndex, float], Floats]] = {
    "count": _counts,
    "reliability": _reliabilities,
}


def matches(pattern: str, names: Sequence[str]) -> list[bool]:
    """Which names match: the equal one, or those that match the wildcards; brackets are literal."""
    if pattern in names:
        return [name == pattern for name in names]
    wild = {"*": ".*", "?": "."}
    fits = re.compile("".join(wild.get(c) or re.escape(c) for c in pattern), re.DOTALL)
    return [fits.fullmatch(name) is not None for name in names]


def _check_bins(bins: Sequence[tuple[float, float]]) -> None:
    for bounds in bins:
        if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1]:
            raise InputError(f"count bin {bounds}: give (first, last) with 0 <= first <= last, or one count")
    ordered = sorted(bins)
    for one, other in zip(ordered, ordered[1:]):
        if other[0] <= one[1]:
            raise InputError(f"count bins {one} and {other} overlap; each count needs one bin")


def _check_names(keys: Sequence[str]) -> None:
    for key in keys:
        if not isinstance(key, str):
            raise InputError(f"the group {key!r} is a {type(key).__name__}; groups are named by strings")


CHECKS: dict[str, Callable[[Sequence[Any]], None]] = {
    "count": _check_bins,
    "dependency": _check_names,
    "part": _check_names,
    "template": _check_names,
    "label": _check_names,
}


def _shown(by: str, key: Any) -> str:
    return f"the group of {by} {key!r}"


def _known(by: str, index: FeatureIndex, names: Names) -> str:
    counts = f"counts run from {min(index.count, default=0)} to {max(index.count, default=0)}"
    return {
        "count": counts,
        "dependency": "there are no such features",
        "part": f"parts: {', '.join(index.parts)}",
        "template": f"templates: {', '.join([*names.templates, LABEL_PAIRS])}",
        "label": f"labels: {', '.join(names.labels)}",
    }[by]

"""Summary of a model: counts, settings, transitions, strongest features, templates.

Layout: ``transitions[y_prev, y]`` is the weight of the label pair alone, NaN if the pair has none (it
was not seen in training); pairs combined with an observation are features like the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.inspection.overview_sections import overview_sections
from fieldcraft.inspection.report import Report, Section
from fieldcraft.inspection.search import attribute_ids, template_numbers
from fieldcraft.inspection.weights import FeatureWeight, Floats, Rows, WeightTable

SETTINGS = (
    *("prior_", "optimiser_", "objective_value_", "n_iter_", "stop_reason_"),
    *("features", "min_count", "hash_size", "decoding"),
)
PAIRS = "label pairs"


class Extremes(NamedTuple):
    """The strongest features for and against, strongest first."""

    positive: tuple[FeatureWeight, ...]
    negative: tuple[FeatureWeight, ...]

    def to_dict(self) -> dict[str, Any]:
        """Pure JSON types."""
        return {name: [f.to_dict() for f in listed] for name, listed in self._asdict().items()}


class Transition(NamedTuple):
    """A label pair with its weight."""

    previous: str
    label: str
    weight: float


class TemplateWeights(NamedTuple):
    """The weights of a template; ``largest`` is signed."""

    template: str
    features: int
    active: int
    total: float
    largest: float


class AttributeWeights(NamedTuple):
    """One attribute with all its features."""

    attribute: str
    template: str
    features: tuple[FeatureWeight, ...]

    def to_dict(self) -> dict[str, Any]:
        """Pure JSON types."""
        return {**self._asdict(), "features": [f.to_dict() for f in self.features]}


@dataclass(frozen=True, repr=False)
class Inspection(Report):
    """Summary of a model.

    labels       in the order of ``classes_``
    n_features, n_attributes, n_active    weights, attributes, weights that are not zero
    settings     prior, optimiser, objective value …, as far as they are known
    transitions  [Y, Y] weights of label pairs, NaN if a pair has none
    strongest, weakest     label pairs for and against, of ``label`` if it is not None
    top          the strongest matching features for and against
    by_label     the same for each label
    templates    features, active ones, sum of |w| and largest weight of each template
    attributes   with ``attribute=``: every attribute that matches, with all its labels
    asked        the arguments label, attribute and template
    n_matching   features that match
    """

    labels: list[str]
    n_features: int
    n_attributes: int
    n_active: int
    settings: Mapping[str, Any]
    transitions: Floats
    strongest: tuple[Transition, ...]
    weakest: tuple[Transition, ...]
    top: Extremes
    by_label: Mapping[str, Extremes]
    templates: tuple[TemplateWeights, ...]
    attributes: tuple[AttributeWeights, ...]
    asked: Mapping[str, str | None]
    n_matching: int

    def __repr__(self) -> str:
        return f"<Inspection of {self.n_features} features, {len(self.labels)} labels>"

    def title(self) -> str:
        """The title, one line."""
        return f"{len(self.labels)} labels, {self.n_features} features, {self.n_active} active"

    def sections(self) -> list[Section]:
        """The sections with their tables."""
        return overview_sections(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as pure JSON types; absent transitions are None."""
        matrix = [[None if np.isnan(w) else w for w in row] for row in self.transitions.tolist()]
        return {
            "labels": list(self.labels),
            "n_features": self.n_features,
            "n_attributes": self.n_attributes,
            "n_active": self.n_active,
            "n_matching": self.n_matching,
            "asked": dict(self.asked),
            "settings": dict(self.settings),
            "transitions": matrix,
            "strongest": [t._asdict() for t in self.strongest],
            "weakest": [t._asdict() for t in self.weakest],
            "top": self.top.to_dict(),
            "by_label": {label: listed.to_dict() for label, listed in self.by_label.items()},
            "templates": [t._asdict() for t in self.templates],
            "attributes": [a.to_dict() for a in self.attributes],
        }


def inspect_model(
    model: Any,
    table: WeightTable,
    *,
    top: int = 20,
    label: str | None = None,
    attribute: str | None = None,
    template: str | None = None,
) -> Inspection:
    """The `Inspection` of a fitted model; see ``ChainCRF.inspect``."""
    check_top(top)
    wanted = None if label is None else table.label_number(label)
    rows = _matching_rows(table, wanted, attribute, template)
    pairs = _transitions(table)
    strongest, weakest = _strongest_pairs(table.labels, pairs, wanted, top)
    return Inspection(
        labels=table.labels,
        n_features=len(table.index),
        n_attributes=int(table.encoder.n_attributes),
        n_active=int(np.count_nonzero(table.weights)),
        settings=_settings(model),
        transitions=pairs,
        strongest=strongest,
        weakest=weakest,
        top=_extremes(table, rows, top),
        by_label=dict(_by_label(table, rows, wanted, top)),
        templates=tuple(_templates(table)),
        attributes=() if attribute is None else tuple(_attributes(table, rows, top)),
        asked={"label": label, "attribute": attribute, "template": template},
        n_matching=len(rows),
    )


def check_top(top: Any) -> None:
    """Raise an InputError unless ``top`` is an integer, at least 1."""
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
        raise InputError(f"top is {top!r}; it must be a whole number, at least 1")


def _settings(model: Any) -> dict[str, Any]:
    """The training of the model; objects by their repr."""
    facts = {name.rstrip("_"): getattr(model, name, None) for name in SETTINGS}
    plain = (bool, int, float, str)
    return {
        name: value if isinstance(value, plain) else " ".join(repr(value).split())
        for name, value in facts.items()
        if value is not None
    }


def _matching_rows(
    table: WeightTable, label: int | None, attribute: str | None, template: str | None
) -> Rows:
    """Rows with an attribute that match the arguments."""
    index = table.index
    mask = index.attribute >= 0  # [F]
    if label is not None:
        mask &= (index.label == label) | (index.previous == label)
    if template is not None:
        mask &= np.isin(table.template, template_numbers(template, table))
    if attribute is not None:
        mask &= np.isin(index.attribute, attribute_ids(attribute, table))
    return np.flatnonzero(mask)


def _extremes(table: WeightTable, rows: Rows, top: int) -> Extremes:
    return Extremes(
        table.describe(rows[_largest(table.weights[rows], top)]),
        table.describe(rows[_largest(-table.weights[rows], top)]),
    )


def _largest(values: Floats, top: int) -> Rows:
    """Positions of the largest values above zero, largest first; equal ones in their order."""
    kept = np.flatnonzero(values > 0)
    if len(kept) > top:
        bound = np.partition(values[kept], len(kept) - top)[len(kept) - top]
        kept = kept[values[kept] >= bound]
    return kept[np.argsort(-values[kept], kind="stable")[:top]]


def _by_label(table: WeightTable, rows: Rows, label: int | None, top: int) -> Iterator[tuple[str, Extremes]]:
    """Per label the extremes of the features with that current label."""
    current = table.index.label[rows]
    order = np.argsort(current, kind="stable")
    bounds = np.searchsorted(current[order], np.arange(len(table.labels) + 1))
    for y in range(len(table.labels)) if label is None else [label]:
        yield table.labels[y], _extremes(table, rows[order[bounds[y] : bounds[y + 1]]], top)


def _transitions(table: WeightTable) -> Floats:
    index, n = table.index, len(table.labels)
    matrix = np.full((n, n), np.nan)
    rows = np.flatnonzero(index.attribute < 0)
    cells = index.previous[rows], index.label[rows]
    np.fmax.at(matrix, cells, table.weights[rows])  # the largest of several states with these labels
    return matrix


def _strongest_pairs(
    labels: list[str], matrix: Floats, label: int | None, top: int
) -> tuple[tuple[Transition, ...], tuple[Transition, ...]]:
    """Pairs above zero, largest first, and below zero, lowest first."""
    previous, current = np.nonzero(~np.isnan(matrix))
    touched = np.full(len(current), True) if label is None else (previous == label) | (current == label)
    previous, current = previous[touched], current[touched]
    weights = matrix[previous, current]

    def listed(rows: NDArray[np.int64]) -> tuple[Transition, ...]:
        return tuple(
            Transition(labels[x], labels[y], w)
            for x, y, w in zip(previous[rows], current[rows], weights[rows].tolist())
        )

    return listed(_largest(weights, top)), listed(_largest(-weights, top))


def _templates(table: WeightTable) -> Iterator[TemplateWeights]:
    """One row for each template that has features, then the label pairs alone."""
    names = [PAIRS, *table.template_names]
    number, size = table.template + 1, np.abs(table.weights)  # [F]
    features = np.bincount(number, minlength=len(names))
    active = np.bincount(number[size > 0], minlength=len(names))
    total = np.bincount(number, weights=size, minlength=len(names))
    high, low = np.zeros(len(names)), np.zeros(len(names))
    np.maximum.at(high, number, table.weights)
    np.minimum.at(low, number, table.weights)
    largest = np.where(high >= -low, high, low)
    for k in [*range(1, len(names)), 0]:
        if features[k]:
            yield TemplateWeights(
                names[k], int(features[k]), int(active[k]), float(total[k]), float(largest[k])
            )


def _attributes(table: WeightTable, rows: Rows, top: int) -> Iterator[AttributeWeights]:
    """The attributes with the largest weights, each with its features, largest first."""
    rows = rows[np.argsort(-np.abs(table.weights[rows]), kind="stable")]
    ids = table.index.attribute[rows]
    distinct, firsts = np.unique(ids, return_index=True)
    for wanted in distinct[np.argsort(firsts)[:top]]:
        features = table.describe(rows[ids == wanted])
        yield AttributeWeights(features[0].attribute, features[0].template, features)

"""The tables of an `Inspection`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fieldcraft.inspection.report import Cell, Section, Table, signed
from fieldcraft.inspection.weights import FeatureWeight

if TYPE_CHECKING:
    from fieldcraft.inspection.overview import Inspection, Transition

WIDEST_MATRIX = 24  # labels; beyond it only the extremes are shown
PER_LABEL = 5  # features for and against; label= shows all


def overview_sections(found: Inspection) -> list[Section]:
    """Everything for a whole model; else only the matching features."""
    asked = {name: value for name, value in found.asked.items() if value is not None}
    if not asked:
        model = [_settings(found), _transitions(found), _templates(found)]
        return [*model, *_extremes(found, ""), *_labels(found)]
    what = f" of {found.n_matching} with {', '.join(f'{name} {value!r}' for name, value in asked.items())}"
    pairs = [_pairs(found)] if list(asked) == ["label"] else []
    if not found.n_matching:
        return [*pairs, Section("Strongest features" + what, ["no feature matches"])]
    listed = [Section(entry.attribute, [_features(entry.features)]) for entry in found.attributes]
    return [*pairs, *listed, *(_extremes(found, what) if len(listed) != 1 else [])]


def _extremes(found: Inspection, what: str) -> list[Section]:
    return [
        Section(f"Strongest {name} features{what}", [_features(listed)])
        for name, listed in found.top._asdict().items()
    ]


def _settings(found: Inspection) -> Section:
    rows = [[Cell("labels", "quiet"), Cell(" ".join(found.labels), "label")]]
    counts = {"weights": found.n_features, "active weights": found.n_active, "attributes": found.n_attributes}
    for name, value in {**counts, **found.settings}.items():
        rows.append(
            [
                Cell(name.replace("_", " "), "quiet"),
                Cell(f"{value:.6g}" if isinstance(value, float) else str(value)),
            ]
        )
    return Section("Model", [Table(["", ""], "<<", rows)])


def _transitions(found: Inspection) -> Section:
    known = found.transitions[~np.isnan(found.transitions)]
    if not known.size:
        return Section("Transitions", ["label pairs have no weights of their own"])
    if len(found.labels) > WIDEST_MATRIX:
        return _pairs(found)
    rows = [
        [Cell(label, "label"), *(signed(None if np.isnan(w) else w) for w in row)]
        for label, row in zip(found.labels, found.transitions.tolist())
    ]
    table = Table(["from \\ to", *found.labels], "<" + ">" * len(found.labels), rows)
    return Section("Transitions (a dot: the pair has no weight)", [table])


def _pairs(found: Inspection) -> Section:
    return Section("Strongest and weakest transitions", [_steps(found.strongest), _steps(found.weakest)])


def _steps(listed: Sequence[Transition]) -> Table:
    largest = max((abs(t.weight) for t in listed), default=0.0)
    rows = [[signed(t.weight, largest), Cell(t.previous, "label"), Cell(t.label, "label")] for t in listed]
    return Table(["weight", "from", "to"], "><<", rows)


def _templates(found: Inspection) -> Section:
    rows = [
        [
            Cell(t.template),
            Cell(str(t.features)),
            Cell(str(t.active)),
            Cell(f"{t.total:.1f}"),
            signed(t.largest),
        ]
        for t in found.templates
    ]
    table = Table(["template", "features", "active", "sum |w|", "largest"], "<>>>>", rows)
    return Section("Templates", [table], folded=len(rows) > 12)


def _features(listed: Sequence[FeatureWeight]) -> Table | str:
    if not listed:
        return "none"
    largest = max(abs(f.weight) for f in listed)
    rows = [
        [
            signed(f.weight, largest),
            Cell(_configuration(f), "label"),
            Cell(f.attribute),
            Cell(str(f.count), "quiet"),
        ]
        for f in listed
    ]
    return Table(["weight", "label", "attribute", "count"], "><<>", rows)


def _configuration(feature: FeatureWeight) -> str:
    return feature.label if feature.previous is None else f"{feature.previous} -> {feature.label}"


def _labels(found: Inspection) -> Iterator[Section]:
    """The first few of each label, folded."""
    for label, listed in found.by_label.items():
        parts = [_features(features[:PER_LABEL]) for features in listed if features]
        if parts:
            yield Section(f"Label {label}", parts, folded=True)

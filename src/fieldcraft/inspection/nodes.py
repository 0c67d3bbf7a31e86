"""Why a node of a graph got its label: the votes of its features and of its neighbours.

    vote of feature f    = x_f (weight[f, label] - weight[f, other])
    vote of neighbour u  = table[label, y_u] - table[other, y_u]       y_u its label, predicted or known

The votes add up to the difference of the two labels' scores while the neighbours have these labels.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fieldcraft.inspection.report import Cell, Report, Section, Table, signed


@dataclass(frozen=True)
class Neighbour:
    """A neighbour of a node: by which relation, with which label, and its vote."""

    node: str
    relation: str
    label: str
    known: bool
    vote: float


@dataclass(frozen=True)
class NodeExplanation(Report):
    """The label of a node against another one.

    features : (name, value, vote), the strongest first
    neighbours : the strongest first
    rest : the sum of the votes that are not listed
    """

    node: str
    label: str
    probability: float
    other: str
    other_probability: float
    features: list[tuple[str, float, float]]
    neighbours: list[Neighbour]
    rest: float

    @property
    def difference(self) -> float:
        """The sum of all votes."""
        votes = [vote for _, _, vote in self.features] + [one.vote for one in self.neighbours]
        return sum(votes) + self.rest

    def title(self) -> str:
        return (
            f"{self.node}: {self.label} {self.probability:.3f} over {self.other} {self.other_probability:.3f}"
        )

    def sections(self) -> list[Section]:
        votes = [abs(vote) for _, _, vote in self.features] + [abs(one.vote) for one in self.neighbours]
        largest = max(votes, default=0.0)
        features = [
            [signed(vote, largest), Cell(name), Cell("" if value == 1 else f"{value:g}", "quiet")]
            for name, value, vote in self.features
        ]
        neighbours = [
            [
                signed(one.vote, largest),
                Cell(one.node),
                Cell(one.label, "label"),
                Cell("known" if one.known else "predicted", "quiet"),
                Cell(one.relation, "quiet"),
            ]
            for one in self.neighbours
        ]
        total = f"difference of the scores {self.difference:+.3f}, of which not listed {self.rest:+.3f}"
        return [
            Section("Features", [Table(["vote", "feature", "value"], "><>", features)]),
            Section(
                "Neighbours",
                [Table(["vote", "node", "label", "", "relation"], "><<<<", neighbours)]
                if neighbours
                else ["none"],
            ),
            Section("Together", [total]),
        ]

    def to_dict(self) -> dict[str, Any]:
        features = [dict(zip(("feature", "value", "vote"), one)) for one in self.features]
        return {**asdict(self), "features": features, "difference": self.difference}

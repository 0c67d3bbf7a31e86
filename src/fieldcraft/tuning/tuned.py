"""What a search found: a row per place, as text, as plain values, as a picture; and the best model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fieldcraft.evaluation.reports import aligned
from fieldcraft.tuning.space import spelled

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF

HEAD = ["settings", "score", "value", "active", "features", "iterations", "seconds"]


@dataclass(frozen=True)
class Tried:
    """One place of the space.

    Parameters
    ----------
    settings : its settings by full name; objects as they are shown
    score : of the model on the held-out data
    value : the objective, prior included, that was reached
    active, features : weights that are not zero; all
    iterations, evaluations, seconds : of training alone
    reason, converged : how it ended
    """

    settings: dict[str, Any]
    score: float
    value: float
    active: int
    features: int
    iterations: int
    evaluations: int
    seconds: float
    reason: str
    converged: bool

    @property
    def entry(self) -> str:
        """The settings in one line."""
        return spelled(self.settings)

    @property
    def error(self) -> None:
        """None: a place that fails ends the search."""
        return None


@dataclass(frozen=True)
class Tuning:
    """All rows in the order in which they were tried. ``print`` shows the table.

    Parameters
    ----------
    metric : of the scores
    method : that chose the places
    sequences, tokens : trained on
    rows : a row per place that was finished
    model : the estimator with the best held-out score, trained; None where nothing was finished
    interrupted : did Ctrl-C end the search
    """

    metric: str
    method: str
    sequences: int
    tokens: int
    rows: tuple[Tried, ...]
    model: ChainCRF | None
    interrupted: bool = False

    @property
    def best(self) -> Tried | None:
        """The row with the best held-out score; of equal ones the first."""
        return max(self.rows, key=lambda row: row.score, default=None)

    def __str__(self) -> str:
        lines = aligned([HEAD, *map(_cells, self.rows)], cut=False).splitlines()
        ends = ["ended", *(row.reason for row in self.rows)]
        return "\n".join([*(f"{line}  {end}" for line, end in zip(lines, ends)), "", *self._notes()])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain values, ready for JSON."""
        facts = {name: value for name, value in vars(self).items() if name != "model"}
        return {**facts, "rows": [asdict(row) for row in self.rows]}

    def plot(self, path: Any) -> None:
        """Draw score and active weights against what was searched into a PNG (or what matplotlib knows)."""
        from fieldcraft.tuning.curves import draw_curve

        draw_curve(self, path)

    def _notes(self) -> list[str]:
        data = f"{self.sequences:,} sequences, {self.tokens:,} tokens"
        notes = [f"{data}; score: {self.metric} on held-out data, in per cent"]
        if self.best is not None:
            notes.append(f"best: {self.best.entry}, {100 * self.best.score:.2f}")
        return notes


def _cells(row: Tried) -> list[str]:
    numbers = f"{100 * row.score:.2f}", f"{row.value:.2f}", f"{row.active:,d}", f"{row.features:,d}"
    return [row.entry, *numbers, str(row.iterations), f"{row.seconds:.1f}"]

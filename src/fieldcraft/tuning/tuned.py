"""The result of a search: a row per point, as text, as plain values, as a plot; and the best model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fieldcraft.evaluation.reports import aligned
from fieldcraft.tuning.space import PRIOR, spelled

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF

HEAD = ["settings", "score", "value", "active", "features", "iterations", "seconds"]


@dataclass(frozen=True)
class Tried:
    """One point of the space.

    Parameters
    ----------
    settings : its settings by full name; objects by their repr
    score : on the held-out data
    value : final value of the objective, prior included
    active, features : number of weights that are not zero, and of all
    iterations, evaluations, seconds : of training alone
    reason, converged : how training ended
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
        """None: a point that fails stops the search."""
        return None


@dataclass(frozen=True)
class Tuning:
    """All rows in the order in which they were tried. ``print`` shows the table.

    Parameters
    ----------
    metric : name of the metric
    method : name of the search method
    sequences, tokens : size of the training data
    rows : a row per finished point
    model : the estimator with the best held-out score, trained; None if no point was finished
    interrupted : whether Ctrl-C stopped the search
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
        """The row with the best held-out score; the first of equal ones."""
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
        """Draw score and active weights into a PNG (or any format of matplotlib)."""
        from fieldcraft.tuning.curves import draw_curve

        draw_curve(self, path)

    def _notes(self) -> list[str]:
        data = f"{self.sequences:,} sequences, {self.tokens:,} tokens"
        notes = [f"{data}; score: {self.metric} on held-out data, in per cent"]
        if self.best is not None:
            notes.append(f"best: {self.best.entry}, {100 * self.best.score:.2f}")
        return [*notes, *(f"warning: {warning}" for warning in self.warnings())]

    def warnings(self) -> list[str]:
        """Settings of the prior whose best value lies at an end of the range: a better one may lie beyond."""
        found = []
        settings = self.best.settings if self.best is not None else {}
        for name in (name for name in settings if name.startswith(PRIOR)):
            tried = [row.settings[name] for row in self.rows]
            if not all(isinstance(value, (int, float)) for value in tried) or len(set(tried)) < 3:
                continue
            here, ends = settings[name], (min(tried), max(tried))
            if here in ends:
                beyond = here / 100 if here == ends[0] else here * 100
                wider = f"{name.removeprefix(PRIOR)}={here:g}..{beyond:g}"
                found.append(f"the best lies at the end of the range; search beyond it too: --over {wider}")
        return found


def _cells(row: Tried) -> list[str]:
    numbers = f"{100 * row.score:.2f}", f"{row.value:.2f}", f"{row.active:,d}", f"{row.features:,d}"
    return [row.entry, *numbers, str(row.iterations), f"{row.seconds:.1f}"]

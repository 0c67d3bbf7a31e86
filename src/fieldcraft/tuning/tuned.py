"""The result of a search: a row per point, as text, as plain values, as a plot; and the best model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fieldcraft import markup
from fieldcraft.evaluation.reports import aligned
from fieldcraft.plots.curves import TuningLine
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

    def _repr_html_(self) -> str:
        rows = [[*_cells(row), row.reason] for row in self.rows]
        return markup.fragment(markup.table([*HEAD, "ended"], rows), *map(markup.paragraph, self._notes()))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain values, ready for JSON."""
        facts = {name: value for name, value in vars(self).items() if name != "model"}
        return {**facts, "rows": [asdict(row) for row in self.rows]}

    def plot(self, path: Any = None) -> Any:
        """Draw score and active weights against the setting with the most numbers.

        One line for each combination of the others; without numbers, points are in the order in which they
        were tried. Returns the figure, and writes it to ``path``.
        """
        from fieldcraft.plots import tuning_curve

        axis = _axis(self.rows)
        lines = _lines(self.rows, axis)
        numbers = [x for line in lines.values() for x in line.setting]
        best = "" if self.best is None else f"best: {self.best.entry}, {100 * self.best.score:.2f}"
        return tuning_curve(
            lines,
            axis="point" if axis is None else axis.removeprefix(PRIOR),
            metric=self.metric,
            logarithmic=axis is not None and all(x > 0 for x in numbers),
            title=best,
            path=path,
        )

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


def _axis(rows: Sequence[Tried]) -> str | None:
    """The setting with the most numbers, if any has several."""
    names = rows[0].settings if rows else ()
    values = {name: {row.settings[name] for row in rows} for name in names}
    several = {name: len(of) for name, of in values.items() if len(of) > 1 and all(map(_is_number, of))}
    return max(several, key=several.__getitem__, default=None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _lines(rows: Sequence[Tried], axis: str | None) -> dict[str, TuningLine]:
    """One line for each combination of the settings that are not on the axis; its points in order."""
    lines: dict[str, list[tuple[float, Tried]]] = {}
    for number, row in enumerate(rows):
        others = {} if axis is None else {n: v for n, v in row.settings.items() if n != axis}
        x = float(number if axis is None else row.settings[axis])
        lines.setdefault(spelled(others), []).append((x, row))
    ordered = {name: sorted(line, key=lambda pair: pair[0]) for name, line in lines.items()}
    return {
        name: TuningLine(
            [x for x, _ in line], [row.score for _, row in line], [row.active for _, row in line]
        )
        for name, line in ordered.items()
    }


def _cells(row: Tried) -> list[str]:
    numbers = f"{100 * row.score:.2f}", f"{row.value:.2f}", f"{row.active:,d}", f"{row.features:,d}"
    return [row.entry, *numbers, str(row.iterations), f"{row.seconds:.1f}"]

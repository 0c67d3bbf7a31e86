"""What a table and a figure are: rows that name a configuration and what the thesis printed for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.archive import Model, Part, Result
from experiments.configuration import Configuration
from experiments.pool import Pool


@dataclass(frozen=True)
class Row:
    """A line: its name, the model, and the thesis' figures in the order of the table's measures.

    A line without figures is ours: what the thesis did with settings of its own, chosen here.
    """

    name: str
    configuration: Configuration | Pool
    thesis: tuple[float, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of the thesis.

    Parameters
    ----------
    number, title, task : as there; the task is a row of corpora.TASKS
    rows : its lines
    measures : what is printed of each: rows of MEASURES; those past the thesis' figures are ours alone
    baselines : (name, configuration) of what each line is tested against
    against_end : test against the end of the first baseline's training, too
    intervals : beside each test, the difference of the scores and its interval
    notes : what a reader must know
    """

    number: str
    title: str
    task: str
    rows: tuple[Row, ...]
    measures: tuple[str, ...] = ("development", "test")
    baselines: tuple[tuple[str, Configuration | Pool], ...] = ()
    against_end: bool = False
    intervals: bool = False
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the command line knows it."""
        return f"table-{self.number}"


@dataclass(frozen=True)
class Figure:
    """A figure of the thesis: one training, iteration by iteration. ``drawn`` is a row of CURVES."""

    number: str
    title: str
    configuration: Configuration
    drawn: str
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the command line knows it."""
        return f"figure-{self.number}"


@dataclass(frozen=True)
class Contrast:
    """A table of two models' errors on the test set: tokens that both, one or none of them has right.

    Parameters
    ----------
    number, title, task : as in a table
    before, after : (name, configuration) of a model without certain features and of one with them
    thesis : ((both right, only before), (only after, both wrong)) as printed there
    repaired : the score that is printed for ``after`` with all its harm undone; None if there is none
    notes : what a reader must know
    """

    number: str
    title: str
    task: str
    before: tuple[str, Configuration | Pool]
    after: tuple[str, Configuration | Pool]
    thesis: tuple[tuple[int, int], tuple[int, int]]
    repaired: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the command line knows it."""
        return f"table-{self.number}"


@dataclass(frozen=True)
class Measure:
    """A number of a result. Scores are per cent, with two digits; counts have none."""

    heading: str
    of: Callable[[Result], float | None]
    digits: int = 2

    def shown(self, number: float | None, *, signed: bool = False) -> str:
        """The number as a table has it."""
        if number is None:
            return ""
        return f"{number:+,.{self.digits}f}" if signed else f"{number:,.{self.digits}f}"


def _per_cent(part: Part | None) -> float | None:
    return None if part is None else 100 * part.score


def _end(result: Result) -> Model | None:
    """At the end of training: the model itself where it was not followed; None if it was not awaited."""
    plain = result.configuration
    followed = any(member["follow"] for member in plain.get("pool", [plain]))
    return result.end if followed else result.model


def _scored(part: str) -> Callable[[Result], float | None]:
    """The score of a part of the data at the end of training."""
    return lambda result: None if (end := _end(result)) is None else _per_cent(getattr(end, part))


MEASURES = {
    "development": Measure("development", lambda result: _per_cent(result.model.development)),
    "test": Measure("test", lambda result: _per_cent(result.model.test)),
    "active": Measure("active weights", lambda result: float(result.model.active), 0),
    "share": Measure("first member's share", lambda result: result.chosen[0]),
    "features": Measure("features", lambda result: float(result.features), 0),
    "converged": Measure("converged, development", _scored("development")),
    "converged test": Measure("converged, test", _scored("test")),
    "converged active": Measure(
        "converged, active", lambda result: None if (end := _end(result)) is None else float(end.active), 0
    ),
}
CurvePoint = tuple[int, float, int]  # iteration, development score, active weights
CURVES: dict[str, tuple[str, Callable[[CurvePoint], float]]] = {
    "score": ("development score, per cent", lambda point: 100 * point[1]),
    "active": ("weights that are not zero", lambda point: point[2]),
}

"""The result of a bake-off: a row per entry, as text, as Markdown, as plain values, as a plot."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fieldcraft import markup
from fieldcraft.evaluation.reports import aligned
from fieldcraft.tuning.trial import Point

HEAD = ["entry", "objective", "prior", "value", "gap", "score", "p", "seconds", "MB", "active", "iterations"]
LEFT = 3  # columns of words; the others are numbers


@dataclass(frozen=True)
class Result:
    """The row of one entry. Numbers are None if there is an ``error``.

    Parameters
    ----------
    entry : its name
    objective, optimiser, prior : their spellings
    value : final value of the objective, prior included
    gap : duality gap as a fraction of it, for methods that compute one
    score : of the model on the held-out data
    p_value : two-sided, of the matched-pairs test by sequence against the best entry; None for the best
    seconds : of training, without encoding and without scoring
    scoring_seconds : of the held-out scores after the iterations
    memory : MB that training added at its peak
    active, features : number of weights that are not zero, and of all
    iterations, reason, converged : how training ended
    points : one per iteration
    error : the reason if there is no model
    """

    entry: str
    objective: str
    optimiser: str
    prior: str
    value: float | None = None
    gap: float | None = None
    score: float | None = None
    p_value: float | None = None
    seconds: float | None = None
    scoring_seconds: float | None = None
    memory: float | None = None
    active: int | None = None
    features: int | None = None
    iterations: int = 0
    reason: str = ""
    converged: bool = False
    points: tuple[Point, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class BakeOff:
    """All rows, best score first; failed entries last. ``print`` shows the table.

    Parameters
    ----------
    metric : name of the metric
    sequences, tokens : size of the training data
    results : a row per entry that was started
    interrupted : whether Ctrl-C omitted entries
    """

    metric: str
    sequences: int
    tokens: int
    results: tuple[Result, ...]
    interrupted: bool = False

    @property
    def best(self) -> Result | None:
        """The entry with the best held-out score."""
        return self.results[0] if self.results and self.results[0].error is None else None

    def __str__(self) -> str:
        lines = aligned([HEAD, *map(cells, self.results)], left=LEFT, cut=False).splitlines()
        ends = ["ended", *map(ended, self.results)]
        return "\n".join([*(f"{line}  {end}" for line, end in zip(lines, ends)), "", *self.notes()])

    def _repr_html_(self) -> str:
        rows = [[*cells(row), ended(row)] for row in self.results]
        table = markup.table([*HEAD, "ended"], rows, left=LEFT)
        return markup.fragment(table, *map(markup.paragraph, self.notes()))

    def markdown(self) -> str:
        """The table and its notes as Markdown."""
        rule = ["---"] * LEFT + ["---:"] * (len(HEAD) - LEFT) + ["---"]
        rows = [[*HEAD, "ended"], rule, *([*cells(row), ended(row)] for row in self.results)]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        return "\n".join([table, "", *(f"- {note}" for note in self.notes())]) + "\n"

    def notes(self) -> list[str]:
        """The meaning of the columns."""
        return [
            f"{self.sequences:,} sequences, {self.tokens:,} tokens; score: {self.metric} on held-out data, "
            "in per cent",
            "p: two-sided, matched pairs by sequence, against the best entry",
            "value: compares within one objective and prior; gap: to its minimum at the most, of the value",
            "seconds: training without encoding and without scoring; MB: added by training at its peak",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        facts = asdict(self)
        for row, result in zip(facts["results"], self.results):
            row["points"] = [point._asdict() for point in result.points]
        return facts

    def plot(self, path: Any = None) -> Any:
        """Draw score against seconds for all entries; returns the figure, and writes it to ``path``."""
        from fieldcraft.plots import score_by_seconds

        curves = {row.entry: _curve(row) for row in self.results if row.points}
        title = f"{self.sequences:,} sequences, {self.tokens:,} tokens"
        return score_by_seconds(curves, metric=self.metric, title=title, path=path)


def _curve(row: Result) -> tuple[list[float], list[float]]:
    """Seconds and scores after the iterations; the last score is that of the model."""
    scores = [point.score or 0.0 for point in row.points]
    return [point.seconds for point in row.points], [*scores[:-1], float(row.score or scores[-1])]


def ended(result: Result) -> str:
    """Why an entry stopped, or its error."""
    return result.reason if result.error is None else result.error


def cells(result: Result) -> list[str]:
    """A row of the table."""
    if result.error is not None:
        return [result.entry, result.objective, result.prior, "refused", *[""] * (len(HEAD) - 4)]
    score = None if result.score is None else 100 * result.score
    numbers = [(result.value, ".2f"), (result.gap, ".1e"), (score, ".2f"), (result.p_value, ".2g")]
    numbers += [(result.seconds, ".1f"), (result.memory, ".0f"), (result.active, ",d")]
    texts = ["" if number is None else f"{number:{how}}" for number, how in numbers]
    return [result.entry, result.objective, result.prior, *texts, str(result.iterations)]

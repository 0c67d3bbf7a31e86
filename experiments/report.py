"""Results as Markdown: the thesis' figures beside ours, what was chosen, and how it was made.

Differences are tested as the thesis tests them: matched pairs by sentence, on wrong tokens, one-sided, in the
direction in which they lie; * marks p < 0.05. That is a test of token errors, also where F is printed; where
a table asks for it, the difference of the scores stands beside it, with an interval by bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from experiments.archive import Model, Part, Result
from experiments.configuration import Configuration
from experiments.corpora import TASKS
from experiments.table import CURVES, MEASURES, Figure, Row, Table
from fieldcraft.evaluation import bootstrap, matched_pairs

SIGNIFICANT = 0.05
READING = (
    "Settings are chosen on development data. Differences from a baseline: matched pairs by sentence, on "
    "wrong tokens, one-sided in the direction of the difference; * is p < 0.05. Lines without figures of the "
    "thesis are ours alone."
)
LEVEL, RESAMPLES = 0.95, 10_000
INTERVALS = (
    "After each test: the difference of the scores, and where it lies in the middle 95 % of 10,000 draws of "
    "the sentences with replacement."
)
Results = Callable[[Configuration], Result]


def write(one: Table | Figure, results: Results, folder: Path, command: str) -> str:
    """The report of a table or figure, written into the folder too."""
    if isinstance(one, Table):
        return write_table(one, results, folder, command)
    return write_figure(one, results, folder, command)


def write_table(table: Table, results: Results, folder: Path, command: str) -> str:
    """The table's report."""
    task = TASKS[table.task]
    tested = _baselines(table, results)
    found = [(row, results(row.configuration)) for row in table.rows]
    body = [_cells(table, row, result, tested) for row, result in found]
    text = [
        f"# Table {table.number}: {table.title}",
        f"{task.about} Scores: {task.score}, in per cent. {READING}",
        _markdown([_heads(table, [name for name, _ in tested]), *body]),
        *([INTERVALS] if table.intervals else []),
        *table.notes,
        "## Trainings",
        _trainings(found),
        _made([result for _, result in found], command),
    ]
    return _write(folder / f"{table.name}.md", text)


def write_figure(figure: Figure, results: Results, folder: Path, command: str) -> str:
    """The figure's report and its PNG."""
    result = results(figure.configuration)
    heading, value = CURVES[figure.drawn]
    folder.mkdir(parents=True, exist_ok=True)
    _draw(folder / f"{figure.name}.png", figure, result)
    ends = [result.curve[0], result.curve[result.model.iteration - 1], result.curve[-1]]
    rows = [[name, str(p[0]), f"{value(p):,.10g}"[:9]] for name, p in zip(("first", "best", "last"), ends)]
    text = [
        f"# Figure {figure.number}: {figure.title}",
        TASKS[figure.configuration.task].about,
        f"![{figure.title}]({figure.name}.png)",
        _markdown([["", "iteration", heading], *rows]),
        *figure.notes,
        _made([result], command),
    ]
    return _write(folder / f"{figure.name}.md", text)


def _baselines(table: Table, results: Results) -> list[tuple[str, Model]]:
    """What lines are tested against."""
    known = [(name, results(configuration)) for name, configuration in table.baselines]
    found = [(name, result.model) for name, result in known]
    if table.against_end:
        name, first = known[0]
        if first.end is None:
            raise ValueError(f"the training of {name} was not followed to its end")
        found.insert(1, (f"{name}, converged", first.end))
    return found


def _heads(table: Table, tested: Sequence[str]) -> list[str]:
    thesis = max(len(row.thesis) for row in table.rows)
    heads = [""]
    for i, name in enumerate(table.measures):
        heading = MEASURES[name].heading
        heads += [f"{heading}: thesis", "ours", "difference"] if i < thesis else [heading]
    tests = [f"{part} against {name}" for name in tested for part in _parts(table)]
    return [*heads, *tests, "chosen"]


def _cells(table: Table, row: Row, result: Result, tested: Sequence[tuple[str, Model]]) -> list[str]:
    thesis = max(len(other.thesis) for other in table.rows)
    cells = [row.name]
    for i, (name, theirs) in enumerate(zip_longest(table.measures, row.thesis)):
        measure = MEASURES[name]
        ours = measure.of(result)
        if i >= thesis:
            cells.append(measure.shown(ours))
            continue
        difference = None if theirs is None or ours is None else ours - theirs
        cells += [measure.shown(theirs), measure.shown(ours), measure.shown(difference, signed=True)]
    tests = [_test(table, other, result.model, part) for _, other in tested for part in _parts(table)]
    chosen = [f"{number:g}" for number in result.chosen]
    best = [f"iteration {result.model.iteration}"] if row.configuration.follow else []
    return [*cells, *tests, ", ".join([*chosen, *best])]


def _parts(table: Table) -> list[str]:
    """Which parts of the data differences are tested on."""
    return [part for part in ("development", "test") if part in table.measures]


def _test(table: Table, baseline: Model, model: Model, part: str) -> str:
    ours: Part | None = getattr(model, part)
    theirs: Part | None = getattr(baseline, part)
    if ours is None or theirs is None or baseline is model:
        return ""
    return _tested(theirs, ours) + (f"; {_difference(theirs, ours)}" if table.intervals else "")


def _tested(theirs: Part, ours: Part) -> str:
    test = matched_pairs.by_sequence(theirs.errors(), ours.errors())
    if test.differing == 0:
        return "equal"
    better = test.b_better <= test.a_better
    p = min(test.a_better, test.b_better)
    return f"{'better' if better else 'worse'}, p = {p:.2g}{'*' if p < SIGNIFICANT else ''}"


def _difference(theirs: Part, ours: Part) -> str:
    before, after = theirs.quotient(), ours.quotient()
    if before is None or after is None:
        raise ValueError("a result was archived without the shares of sentences; take it out and train again")
    low, high = bootstrap.interval(before, after, resamples=RESAMPLES, level=LEVEL, seed=0)
    return f"{100 * (after.score() - before.score()):+.2f} ({100 * low:+.2f} to {100 * high:+.2f})"


TRIED = ("setting", "development", "objective", "active", "iterations", "seconds", "stopped")


def _trainings(found: Iterable[tuple[Row, Result]]) -> str:
    """Every setting that was trained; the score is that of the weights that count."""
    lines = [
        [
            row.name,
            ", ".join(f"{number:g}" for number in point.setting),
            f"{100 * point.development:.2f}",
            f"{point.objective:,.1f}",
            f"{point.active:,}",
            str(point.iterations),
            f"{point.seconds:.1f}",
            point.reason,
        ]
        for row, result in found
        for point in result.path
    ]
    return _markdown([["", *TRIED], *lines])


def _made(results: Sequence[Result], command: str) -> str:
    """How the numbers came about: results that tables share are made once."""
    once = {result.key: result for result in results}.values()
    told = sorted({tuple(sorted(result.made.items())) for result in once})
    lines = [
        f"Command: `{command}`",
        f"Seconds of training and scoring: {sum(result.seconds for result in once):.0f}",
        *("Made with " + ", ".join(f"{name} {value}" for name, value in made) for made in told),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    ruled = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in ruled)


def _write(path: Path, paragraphs: Iterable[str]) -> str:
    text = "\n\n".join(paragraphs) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text


def _draw(path: Path, figure: Figure, result: Result) -> None:
    backend, figures = import_module("matplotlib.backends.backend_agg"), import_module("matplotlib.figure")
    heading, value = CURVES[figure.drawn]
    drawn: Any = figures.Figure(figsize=(8, 5), layout="constrained")
    canvas = backend.FigureCanvasAgg(drawn)
    axes = drawn.add_subplot()
    axes.plot([point[0] for point in result.curve], [value(point) for point in result.curve])
    axes.axvline(result.model.iteration, linestyle=":", color="grey", label="best on development data")
    axes.set_xlabel("iteration")
    axes.set_ylabel(heading)
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)
    canvas.print_figure(path, dpi=150)

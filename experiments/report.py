"""Results as Markdown: the thesis' figures beside ours, what was chosen, and how it was made.

Differences are tested as the thesis tests them: matched pairs by sentence, on wrong tokens, one-sided, in the
direction in which they lie; * marks p < 0.05. That is a test of token errors, also where F is printed; where
a table asks for it, the difference of the scores stands beside it, with an interval by bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from experiments.archive import Model, Part, Result
from experiments.configuration import Configuration
from experiments.contrasts import Contrasted, contrasted
from experiments.corpora import TASKS
from experiments.pool import Pool
from experiments.running import Laboratory
from experiments.table import CURVES, MEASURES, Contrast, Figure, Row, Table
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
Results = Callable[[Configuration | Pool], Result]


def write(one: Table | Contrast | Figure, laboratory: Laboratory, folder: Path, command: str) -> str:
    """The report of a table or figure, written into the folder too."""
    if isinstance(one, Table):
        return write_table(one, laboratory.result, folder, command)
    if isinstance(one, Contrast):
        return write_contrast(one, laboratory, folder, command)
    return write_figure(one, laboratory.result, folder, command)


def known_part(table: Table, laboratory: Laboratory) -> Table:
    """The lines and baselines of a table that are in the archive; a note names the other lines."""

    def known(configuration: Configuration | Pool) -> bool:
        needed = [configuration, *(configuration.members if isinstance(configuration, Pool) else ())]
        return all(laboratory.archive.get(laboratory.key(one)) is not None for one in needed)

    rows = tuple(row for row in table.rows if known(row.configuration))
    left = [row for row in table.rows if row not in rows]
    if not rows:
        raise SystemExit(f"nothing of {table.name} is in the archive; run without --known to train it")
    printed = [f"{row.name} (thesis: {', '.join(f'{n:,.2f}' for n in row.thesis)})" for row in left]
    notes = (f"**Not trained here:** {'; '.join(printed)}.",) if left else ()
    baselines = tuple(one for one in table.baselines if known(one[1]))
    return replace(table, rows=rows, baselines=baselines, notes=(*table.notes, *notes))


def write_table(table: Table, results: Results, folder: Path, command: str) -> str:
    """The table's report."""
    task = TASKS[table.task]
    tested = _baselines(table, results)
    found = [(row, results(row.configuration)) for row in table.rows]
    body = [_cells(table, row, result, tested) for row, result in found]
    members = [(name, results(one)) for row in table.rows for name, one in _members(row)]
    text = [
        f"# Table {table.number}: {table.title}",
        f"{task.about} Scores: {task.score}, in per cent. {READING}",
        markdown([_heads(table, [name for name, _ in tested]), *body]),
        *([INTERVALS] if table.intervals else []),
        *table.notes,
        "## Trainings",
        _trainings(members),
        _made([result for _, result in [*found, *members]], command),
    ]
    return write_text(folder / f"{table.name}.md", text)


SITES = (
    "Sites that only one of the two has right, by what the gazetteer features have to do with them: A, one "
    "is active there under some labelling; elsewhere, at another token of the sentence only; B, nowhere in "
    "the sentence. The thesis describes A and B without counting them."
)


MOVED = (
    "The models were trained again to label the test set: in {} and {} sentences the number of errors is not "
    "that of the archive, whose trainings are of an earlier version."
)


def write_contrast(contrast: Contrast, laboratory: Laboratory, folder: Path, command: str) -> str:
    """The report of two models' errors."""
    task = TASKS[contrast.task]
    found = contrasted(contrast, laboratory)
    results = [laboratory.result(configuration) for _, configuration in (contrast.before, contrast.after)]
    text = [
        f"# Table {contrast.number}: {contrast.title}",
        f"{task.about} Tokens of the test set; scores: {task.score}, in per cent.",
        markdown(_two_by_two(contrast, found)),
        markdown(_repaired(contrast, found)),
        f"Matched pairs by sentence, on wrong tokens: two-sided p = {found.p:.2g}.",
        SITES,
        markdown([["sites", *found.types["harmed"]], *_types(found)]),
        *contrast.notes,
        *([MOVED.format(*found.moved)] if any(found.moved) else []),
        _made(results, command),
    ]
    return write_text(folder / f"{contrast.name}.md", text)


def _two_by_two(contrast: Contrast, found: Contrasted) -> list[list[str]]:
    before, after = contrast.before[0], contrast.after[0]
    cells = zip(("right", "wrong"), contrast.thesis, found.tokens)
    heads = [f"{after} {right}: {whose}" for right in ("right", "wrong") for whose in ("thesis", "ours")]
    rows = [
        [f"{before} {right}", *(f"{n:,}" for pair in zip(theirs, ours) for n in pair)]
        for right, theirs, ours in cells
    ]
    return [["", *heads], *rows]


def _repaired(contrast: Contrast, found: Contrasted) -> list[list[str]]:
    theirs = "" if contrast.repaired is None else f"{contrast.repaired:.2f}"
    scores = [f"{100 * score:.2f}" for score in (found.before, found.after, found.repaired)]
    heads = [contrast.before[0], contrast.after[0], "harmed sites right: thesis", "ours"]
    return [["", *heads], ["score", *scores[:2], theirs, scores[2]]]


def _types(found: Contrasted) -> list[list[str]]:
    return [[kind, *(f"{n:,}" for n in row.values())] for kind, row in found.types.items()]


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
        markdown([["", "iteration", heading], *rows]),
        *figure.notes,
        _made([result], command),
    ]
    return write_text(folder / f"{figure.name}.md", text)


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
    return tested(theirs, ours) + (f"; {difference(theirs, ours)}" if table.intervals else "")


def tested(theirs: Part, ours: Part) -> str:
    test = matched_pairs.by_sequence(theirs.errors(), ours.errors())
    if test.differing == 0:
        return "equal"
    better = test.b_better <= test.a_better
    p = min(test.a_better, test.b_better)
    return f"{'better' if better else 'worse'}, p = {p:.2g}{'*' if p < SIGNIFICANT else ''}"


def difference(theirs: Part, ours: Part) -> str:
    before, after = theirs.quotient(), ours.quotient()
    if before is None or after is None:
        raise ValueError("a result was archived without the shares of sentences; take it out and train again")
    low, high = bootstrap.interval(before, after, resamples=RESAMPLES, level=LEVEL, seed=0)
    return f"{100 * (after.score() - before.score()):+.2f} ({100 * low:+.2f} to {100 * high:+.2f})"


TRIED = ("setting", "development", "objective", "active", "iterations", "seconds", "stopped")


def _members(row: Row) -> list[tuple[str, Configuration]]:
    """The trainings of a line, by name: one, or those of a pool's members."""
    if isinstance(row.configuration, Pool):
        return [
            (f"{row.name}: {member.mask or member.templates}", member) for member in row.configuration.members
        ]
    return [(row.name, row.configuration)]


def _trainings(found: Iterable[tuple[str, Result]]) -> str:
    """Every setting that was trained; the score is that of the weights that count."""
    lines = [
        [
            name,
            ", ".join(f"{number:g}" for number in point.setting),
            f"{100 * point.development:.2f}",
            f"{point.objective:,.1f}",
            f"{point.active:,}",
            str(point.iterations),
            f"{point.seconds:.1f}",
            point.reason,
        ]
        for name, result in found
        for point in result.path
    ]
    return markdown([["", *TRIED], *lines])


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


def markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    ruled = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in ruled)


def write_text(path: Path, paragraphs: Iterable[str]) -> str:
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

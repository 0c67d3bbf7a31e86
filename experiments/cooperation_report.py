"""Reports of the figures of chapter 7: the curves, and the pools at their best iteration."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.archive import read_lines
from experiments.cooperation import Cooperated, Followed, cooperated, file_of
from experiments.cooperation_figures import TASK, CooperationFigure
from experiments.corpora import TASKS
from experiments.report import difference, markdown, tested, write_text
from experiments.running import Laboratory


def known_curves(one: CooperationFigure, laboratory: Laboratory) -> CooperationFigure:
    """The curves of a figure that are in the file; a note names the others."""
    known, runs, left = read_lines(file_of(laboratory)), [], []
    for name, run in one.runs:
        gammas = [
            c.gamma for c in run.together.values() if c.key(laboratory) in known and c.gamma is not None
        ]
        if gammas and run.alone.key(laboratory) in known:
            runs.append((name, replace(run, gammas=tuple(gammas))))
        missing = [f"{gamma:g}" for gamma in run.gammas if gamma not in gammas]
        left += [f"{name}, gamma {', '.join(missing)}"] if missing else []
    if not runs:
        raise SystemExit(f"no curve of {one.name} is known; run without --known to train them")
    notes = (f"**Not followed here:** {'; '.join(left)}.",) if left else ()
    return replace(one, runs=tuple(runs), notes=(*one.notes, *notes))


def write_cooperation(one: CooperationFigure, laboratory: Laboratory, folder: Path, command: str) -> str:
    """The report of a figure, and its picture."""
    found = [(name, cooperated(wanted, laboratory)) for name, wanted in one.runs]
    folder.mkdir(parents=True, exist_ok=True)
    _draw(folder / f"{one.name}.png", one, found)
    heads = ["", "gamma", "iteration", "A", "development", "test", "development against alone"]
    rows = []
    for name, run in found:
        alone, best = run.alone, run.together[run.chosen]
        rows += [_row(f"{name}: plain pool", alone, start=True), _row(f"{name}: members alone", alone)]
        tests = [
            f"{tested(alone.part(p), best.part(p))}; {difference(alone.part(p), best.part(p))}"
            for p in ("development", "test")
        ]
        rows.append([*_row(name, best, run.chosen)[:-2], *tests])
    grids = [
        [name, gamma, str(f.best), str(len(f.ambiguity)), _ambiguity(f), f"{100 * max(f.development):.2f}"]
        for name, run in found
        for gamma, f in run.together.items()
    ]
    once = {f.key: f for _, run in found for f in run.curves}.values()
    made = [f"- Command: `{command}`", f"- Seconds: {sum(f.seconds for f in once):.0f}"]
    versions = sorted({tuple(sorted(f.made.items())) for f in once})
    made += ["- Made with " + ", ".join(f"{name} {value}" for name, value in told) for told in versions]
    text = [
        f"# Figure {one.number}: {one.title}",
        f"{TASKS[TASK].about} Scores: {TASKS[TASK].score}, in per cent, at the iteration with the best "
        "development score.",
        f"![{one.title}]({one.name}.png)",
        markdown([[*heads, "test against alone"], *rows]),
        "Gamma is chosen by the best development score of its curve; the test set is scored for it alone. "
        "All curves of a run have as many iterations of L-BFGS, with a memory for each member; one that is "
        "shorter found no step that lowers its objective.",
        markdown([["", "gamma", "best iteration", "of", "A", "development"], *grids]),
        *one.notes,
        "\n".join(made),
    ]
    return write_text(folder / f"{one.name}.md", text)


def _row(name: str, one: Followed, gamma: str = "", *, start: bool = False) -> list[str]:
    scores = [f"{100 * one.part(p, start=start).score:.2f}" for p in ("development", "test")]
    return [name, gamma, "0" if start else str(one.best), _ambiguity(one) if gamma else "", *scores, "", ""]


def _ambiguity(one: Followed) -> str:
    return f"{one.ambiguity[one.best - 1]:.3f}" if one.best else ""


def _draw(path: Path, one: CooperationFigure, found: list[tuple[str, Cooperated]]) -> None:
    backend, figures = import_module("matplotlib.backends.backend_agg"), import_module("matplotlib.figure")
    drawn: Any = figures.Figure(figsize=(8, 5), layout="constrained")
    canvas = backend.FigureCanvasAgg(drawn)
    axes = drawn.add_subplot()
    first = found[0][1]
    axes.axhline(100 * getattr(first.alone, one.part)[0], linestyle=":", color="grey", label="plain pool")
    alone = [100 * score for score in getattr(first.alone, one.part)]
    axes.plot(alone, linestyle="--", color="grey", label="members go on alone")
    for name, run in found:
        scores = [100 * score for score in getattr(run.together[run.chosen], one.part)]
        axes.plot(scores, label=f"{name}, gamma {run.chosen}")
    axes.set_xlabel("iteration")
    axes.set_ylabel(f"{TASKS[TASK].score}, {one.part} data, per cent")
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)
    canvas.print_figure(path, dpi=150)

"""Results as Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.judgement import Row, bounds, figures, rows
from benchmarks.measurements import Run

RESULTS = Path(__file__).resolve().parent / "results"
NOTES = """\
Both sides see the same attributes and features, c2 = 1 (variance 0.5), L-BFGS with a memory of 6; in
races fieldcraft takes the optimiser that it takes by default. Each figure is the best of its passes;
each process measures one thing, the sides in turn. A ratio says how many times better fieldcraft is;
the spread is how far the worst pass was from the best, CRFsuite's and ours. CPU seconds are the fewest of
each side's passes, all its threads together: what other programs on the machine disturb least. CRFsuite
has one thread. A race in which it takes more than a minute is run once, between two of ours. Its tagger
is handed lower case, shapes and affixes ready made when it starts from columns; ours computes them from
the words. Memory is what the work adds at its highest moment. Before a training is measured, of either
side, another process writes to half a gigabyte, so that memory which a virtual machine had handed back to its
host is there again.
S200 and S500 are synthetic."""


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _goal(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}x"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def _comparisons(runs: Sequence[Run]) -> list[str]:
    head = ["", "measurement", "unit", "CRFsuite", "fieldcraft", "ratio", "floor", "aim"]
    body = [
        [
            *(r.workload, r.title, r.unit, _number(r.peer), _number(r.ours), f"{r.ratio:.2f}x"),
            *(_goal(r.floor), _goal(r.aim), r.verdict),
            f"{r.peer_spread:.0%}, {r.ours_spread:.0%}",
            _cpu(r),
        ]
        for r in rows(runs)
    ]
    return table([*head, "verdict", "spread", "CPU seconds"], body) if body else []


def _cpu(row: Row) -> str:
    """CPU seconds of both sides, all threads together, and their ratio."""
    if row.peer_cpu is None or row.ours_cpu is None:
        return ""
    return f"{row.peer_cpu:.4g}, {row.ours_cpu:.4g}: {row.peer_cpu / row.ours_cpu:.2f}x"


def _limits(runs: Sequence[Run]) -> list[str]:
    body = [
        [b.title, b.unit, f"{b.value:.4g}", f"{b.bound:g}", "met" if b.met else "missed"]
        for b in bounds(runs)
    ]
    return table(["limit", "unit", "value", "bound", "verdict"], body) if body else []


def markdown(
    machine: dict[str, str], effort: dict[str, Any], runs: Sequence[Run], title: str = "Benchmarks"
) -> str:
    """The report."""
    machine = with_others(machine, runs)
    shown = [[w, t, _number(a), _number(b)] for w, t, a, b in figures(runs)]
    other = [
        [f"{r['task']}: {k}", str(v)]
        for r in runs
        if r["side"] in ("startup", "accuracy")
        for k, v in r.items()
        if k not in ("side", "task", "repeat", "others")
    ]
    lines = [f"# {title}", "", NOTES, "", f"Effort: {_listed(effort)}.", ""]
    lines += table(["machine", ""], [[k, v] for k, v in machine.items()])
    lines += _comparisons(runs) + _limits(runs)
    lines += table(["", "figure", "CRFsuite", "fieldcraft"], shown) if shown else []
    lines += table(["further", ""], other) if other else []
    return "\n".join(lines)


def with_others(machine: dict[str, str], runs: Sequence[Run]) -> dict[str, str]:
    """The machine, and how busy others kept it."""
    return machine | {"cores busy elsewhere": _range([r["others"] for r in runs])}


def _range(values: Sequence[float]) -> str:
    mean = sum(values) / len(values)
    return f"{mean:.2f} on average, {min(values):.2f} to {max(values):.2f} during a process"


def _listed(effort: dict[str, Any]) -> str:
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in effort.items())


def write(name: str, text: str, content: dict[str, Any]) -> None:
    """``results/name.md`` and ``.json``; model paths of temporary folders are left out."""
    RESULTS.mkdir(exist_ok=True)
    runs = [{k: v for k, v in run.items() if k != "model"} for run in content["runs"]]
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps({**content, "runs": runs}, indent=1) + "\n")

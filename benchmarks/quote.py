"""What README.md and the docs quote from the committed reports: a sentence about races, a table of ranges.

    python -m benchmarks.quote      # writes both between their marks, after a whole run was committed

Both give the range over all workloads, cut to whole numbers, never the best one alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence

from benchmarks.columns import ROOT
from benchmarks.judgement import rows
from benchmarks.measurements import Run
from benchmarks.races import OPTIMUM, to_optimum
from benchmarks.report import RESULTS
from benchmarks.workloads import WORKLOADS

QUOTED = ("README.md", "docs/index.md")
MARKED = re.compile(r"(<!-- races -->\n).*?(\n<!-- end of races -->)", re.DOTALL)
TABLED = ("docs/benchmarks.md", "docs/index.md")
TABLE = re.compile(r"(<!-- ranges -->\n).*?(\n<!-- end of ranges -->)", re.DOTALL)
SHOWN = {  # title of a measurement -> in words
    "lists to saved model, 2 threads": "50 iterations, from lists of strings to a saved model, two threads",
    "evaluation, 1 thread": "one evaluation of the objective and its gradient, one thread",
    "evaluation, 2 threads": "the same, two threads",
    "ingestion of lists, 2 threads": "from lists of strings to the arrays of training, two threads",
    "tagging lists, 1 thread": "labelling lists of strings, one thread",
    "tagging raw columns, 1 thread": "labelling raw columns, features included, one thread",
    "marginals, 1 thread": "probabilities of all labels, one thread",
}


def sentence(runs: Sequence[Run]) -> str:
    """How many times sooner we are where CRFsuite ends, for each penalty."""
    found = [*rows(runs)]
    parts = []
    for c2 in OPTIMUM:
        ratios = {row.workload: row.ratio for row in found if row.title == to_optimum(c2)}
        if ratios:
            parts.append(f"{_range(ratios.values())} times as fast with c2 = {c2:g} ({_tasks(ratios)})")
    return (
        "From attribute lists in memory, fieldcraft with two threads reaches python-crfsuite's last "
        f"objective {', '.join(parts)}."
    )


def ranges(runs: Sequence[Run]) -> str:
    """A line per measurement: how many times as fast, from the worst workload to the best."""
    found = [*rows(runs)]
    lines = ["| fieldcraft against python-crfsuite | times as fast | tasks |", "|---|---|---|"]
    for title, words in SHOWN.items():
        ratios = {r.workload: r.ratio for r in found if r.title == title and r.workload in WORKLOADS}
        if ratios:
            lines.append(f"| {words} | {_range(ratios.values())} | {_tasks(ratios)} |")
    return "\n".join(lines)


def _range(values: Iterable[float]) -> str:
    low, *_, high = sorted([*map(math.floor, values)] * 2)
    return f"{low}" if low == high else f"{low} to {high}"


def _tasks(workloads: Iterable[str]) -> str:
    labels = [int(re.findall(r"(\d+) labels", WORKLOADS[name].title)[0]) for name in workloads]
    return f"{len(labels)} {'task' if len(labels) == 1 else 'tasks'} of {_range(labels)} labels"


def committed() -> str:
    """The sentence of the report that is committed: that of the races, or of everything."""
    reports = (RESULTS / f"{name}.json" for name in ("races", "benchmarks"))
    return sentence(json.loads(next(r for r in reports if r.exists()).read_text())["runs"])


def committed_ranges() -> str:
    """The table of the report of everything that is committed."""
    return ranges(json.loads((RESULTS / "benchmarks.json").read_text())["runs"])


def main() -> None:
    for marks, text, names in ((MARKED, committed(), QUOTED), (TABLE, committed_ranges(), TABLED)):
        for name in names:
            page = (ROOT / name).read_text(encoding="utf-8")
            (ROOT / name).write_text(marks.sub(rf"\g<1>{text}\g<2>", page), encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()

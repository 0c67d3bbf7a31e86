"""The sentence about races that README.md and docs/index.md quote, from the committed report.

    python -m benchmarks.quote      # writes it between its two marks in both, after a whole run was committed

It gives the range over all workloads, cut to whole numbers, never the best one alone.
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


def main() -> None:
    text = committed()
    for name in QUOTED:
        page = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(MARKED.sub(rf"\g<1>{text}\g<2>", page), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

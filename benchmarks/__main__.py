"""``python -m benchmarks [W1 … W6 S200 S500 races startup accuracy] [--quick] [--check] [--passes n]``.

Without names everything is measured and written to results/benchmarks.md and .json; a part, or a quick
look, goes to results/partial.md and .json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import judgement, machine, report
from benchmarks.columns import data_folder
from benchmarks.plan import FULL, NAMES, QUICK, Effort, plan
from benchmarks.races import RACES, settled
from benchmarks.tasks import run

SETTINGS = ("workload", "side", "task", "name", "given", "threads")
SHOWN = (
    "seconds",
    "objective",
    "evaluation",
    "ingestion",
    "total",
    "memory",
    "strings",
    "columns",
    "marginals",
    "f1",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {' '.join([*NAMES, *RACES])}")
    parser.add_argument("--quick", action="store_true", help="one short pass: a look, not a claim")
    parser.add_argument("--check", action="store_true", help="exit 1 where a floor is missed")
    parser.add_argument("--passes", type=int, help="how often everything is measured")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in NAMES and name not in RACES]
    if unknown:
        parser.error(f"{unknown[0]} is no benchmark; there are {', '.join([*NAMES, *RACES])}")
    if not (data_folder() / "conll2000").is_dir():
        parser.error("the corpora are absent; set FIELDCRAFT_DATA to the folder that holds them")
    return given


def measure(names: list[str], effort: Effort) -> list[dict[str, Any]]:
    """Run the plan, telling each step as it ends."""
    done: list[dict[str, Any]] = []
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for settings in plan(names, effort, Path(folder), done):
            done.append(run(settings))
            _tell(done[-1], time.perf_counter() - begun)
    return settled(done)


def _tell(figures: dict[str, Any], seconds: float) -> None:
    what = " ".join(str(figures[k]) for k in SETTINGS if k in figures)
    shown = "  ".join(f"{k} {figures[k]:.4g}" for k in SHOWN if k in figures)
    print(f"{seconds:6.0f} s  {what}: {shown}", file=sys.stderr, flush=True)


def main() -> int:
    given = arguments()
    names = given.names or [n for n in NAMES if not (given.quick and n == "accuracy")]
    effort = QUICK if given.quick else FULL
    if given.passes:
        effort = effort._replace(passes=given.passes)
    described = machine.describe()
    runs = measure(names, effort)
    text = report.markdown(described, effort._asdict(), runs)
    whole = not given.names and not given.quick
    name = "benchmarks" if whole else "partial"
    content = {"machine": described, "effort": effort._asdict(), "runs": runs}
    report.write(name, text, content)
    print(text)
    missed = judgement.missed(runs) if given.check else []
    for sentence in missed:
        print(f"missed: {sentence}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

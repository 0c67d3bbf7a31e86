"""Rerun tables and figures: python -m experiments table-5.3 table-5.4

Reports go to experiments/results, trainings to results/archive.jsonl, from where a later run takes them.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path

from experiments import tables, words_only
from experiments.cooperation_figures import CooperationFigure
from experiments.cooperation_report import known_curves, write_cooperation
from experiments.report import known_part, write
from experiments.running import FULL, QUICK
from experiments.several import FOREVER, Place, Plan, run
from experiments.table import Table

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str] | None = None) -> None:
    """Run what was named."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == [words_only.NAME]:
        words_only.main(given[1:])
        return
    options = _parser().parse_args(arguments)
    if not options.names:
        print("\n".join(f"{name:12} {tables.load(name).title}" for name in tables.names()))
        return
    names = tables.names() if options.names == ["all"] else options.names
    wanted = [tables.load(name) for name in names]  # a wrong name is refused before any work
    folder = options.into or (Path(tempfile.mkdtemp()) if options.quick else RESULTS)
    effort = (QUICK if options.quick else FULL)._replace(patience=options.patience)
    place = Place(options.data, folder / "archive.jsonl", options.weights, effort, options.seed)
    if options.jobs > 1 or options.train:
        plan = Plan(place.laboratory())
        for one in wanted:
            plan.add(one)
        left = run(plan.works.values(), place, options.jobs, options.seconds)
        if left or options.train:
            print("\n".join(f"not done: {work.name}" for work in left), file=sys.stderr)
            return
    laboratory = place.laboratory()
    for one in wanted:
        command = _command(one.name, options)
        if isinstance(one, CooperationFigure):
            curves = known_curves(one, laboratory) if options.known else one
            print(write_cooperation(curves, laboratory, folder, command))
            continue
        part = known_part(one, laboratory) if options.known and isinstance(one, Table) else one
        print(write(part, laboratory, folder, command))
    print(f"written into {folder}", file=sys.stderr)


def _command(name: str, options: argparse.Namespace) -> str:
    """What a reader types to make the same: without the folders, which are this machine's."""
    rest = [*(["--quick"] if options.quick else []), *(["--seed", str(options.seed)] if options.seed else [])]
    rest += ["--known"] if options.known else []
    return shlex.join(["python", "-m", "experiments", name, *rest])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    add = parser.add_argument
    data = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    add("names", nargs="*", help="table-5.3, 5.3, figure-4.1 …, or all; none to list them")
    add("--quick", action="store_true", help="a few sentences and iterations, to see that it runs")
    add("--into", type=Path, help="folder of reports (default: experiments/results; a new one if quick)")
    add("--data", type=Path, default=data, help="folder of the datasets (default: FIELDCRAFT_DATA)")
    add("--jobs", type=int, default=1, help="trainings at a time, in processes of their own (default: 1)")
    add("--seconds", type=float, default=FOREVER, help="with --jobs, stop after so many seconds")
    add(
        "--patience",
        type=int,
        help="end trainings that are followed so many iterations after their best score, and leave out pools "
        "of members at the end of their training",
    )
    add("--train", action="store_true", help="fill the archive, write no reports")
    add(
        "--known",
        action="store_true",
        help="write from the archive alone, with the lines and curves that it has",
    )
    add("--weights", type=Path, help="folder of weights (default: weights beside the reports)")
    add("--seed", type=int, default=0, help="of the split of the tagging corpus")
    return parser


if __name__ == "__main__":
    main()

"""The first command that people run, with all defaults, by another build and by this one in turn.

    python -m benchmarks.command --old /path/to/other/python
    python -m benchmarks.command --old PYTHON --train conll2003/eng.testb     # less data: a quick look

It is ``fieldcraft train eng.train --dev eng.testa --columns word,pos,chunk,ner --templates entities``, from
the start of the process to its end. Where CPU seconds and wall time disagree, the machine was busy.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.columns import data_folder
from benchmarks.contention import Others
from benchmarks.report import table
from benchmarks.timing import clock

SIDES = ("old", "new")
MOST = 0.25  # of the old build's seconds
HEAD = ("", "s", "CPU s", "iterations", "objective", "optimiser", "stopped")
# By the interpreter that wrote the model.
FACTS = """
import json, sys
import fieldcraft as fc
crf = fc.load(sys.argv[1])
shown = {"iterations": crf.n_iter_, "objective": crf.objective_value_, "optimiser": crf.optimiser_.name}
print(json.dumps({**shown, "stopped": crf.stop_reason_}))
"""


def command(python: str, options: argparse.Namespace, model: str) -> list[str]:
    """What is run; data is looked for packed too."""
    files = [data_folder() / name for name in (options.train, options.dev)]
    train, dev = (str(f if f.exists() else f.with_name(f.name + ".gz")) for f in files)
    given = ["--columns", "word,pos,chunk,ner", "--templates", "entities", "-o", model, "--quiet"]
    return [python, "-m", "fieldcraft", "train", train, "--dev", dev, *given]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(python: str, options: argparse.Namespace) -> dict[str, Any]:
    """Wall time, CPU time and how the training ended."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "model.fc"))
        begun, cpu = clock(), _children()
        subprocess.run(command(python, options, model), check=True, cwd=folder)
        figures: dict[str, Any] = {"seconds": clock() - begun, "cpu": _children() - cpu}
        facts = [python, "-c", FACTS, model]
        done = subprocess.run(facts, check=True, capture_output=True, text=True, cwd=folder)
    return {**figures, **json.loads(done.stdout)}


def markdown(found: dict[str, list[dict[str, Any]]]) -> str:
    """A line per build, the best of its passes, and the ratio."""
    best = {side: {k: min(r[k] for r in runs) for k in ("seconds", "cpu")} for side, runs in found.items()}
    body = [
        [
            side,
            *(f"{best[side][k]:.2f}" for k in ("seconds", "cpu")),
            *(str(runs[-1]["iterations"]), f"{runs[-1]['objective']:.6f}"),
            *(runs[-1]["optimiser"], runs[-1]["stopped"]),
        ]
        for side, runs in found.items()
    ]
    seconds, cpu = (best["new"][k] / best["old"][k] for k in ("seconds", "cpu"))
    old, new = (found[side][-1]["objective"] for side in SIDES)
    return "\n".join(
        [
            *table(HEAD, body),
            f"new / old: {seconds:.3f} of the seconds, {cpu:.3f} of the CPU seconds (at most {MOST:g}); "
            f"objective {(new - old) / abs(old):+.2e} of the old one's",
        ]
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command")
    parser.add_argument("--old", required=True, metavar="PYTHON", help="interpreter of the build before")
    parser.add_argument("--new", default=sys.executable, metavar="PYTHON", help="default: this interpreter")
    parser.add_argument("--passes", type=int, default=1, help="how often each is run (1)")
    parser.add_argument("--train", default="conll2003/eng.train", help="in FIELDCRAFT_DATA")
    parser.add_argument("--dev", default="conll2003/eng.testa")
    options = parser.parse_args()
    if options.passes < 1:
        parser.error(f"--passes is {options.passes}; it must be at least 1")
    return options


def main() -> None:
    options = arguments()
    others = Others()
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for _ in range(options.passes):
        for side in SIDES:
            # Not resolved: an environment's interpreter is a link, and its name says which one is meant.
            found[side].append(measure(os.path.abspath(getattr(options, side)), options))
            print(side, found[side][-1], file=sys.stderr, flush=True)
    print(markdown(found))
    print(f"{others.cores():.2f} cores were busy elsewhere.")


if __name__ == "__main__":
    main()

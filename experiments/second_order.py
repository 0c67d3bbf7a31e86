"""Chunks of CoNLL-2000: second order against first order on the same templates.

    python -m experiments.second_order search  np|all            choose templates on development data
    python -m experiments.second_order test    np|all [SPACE …]  train on everything, label the test set
    python -m experiments.second_order timing  np|all            processor seconds of an evaluation
    python -m experiments.second_order report  FOLDER            Markdown of what test and timing wrote

`np` reduces the labels to noun phrases, `all` keeps all eleven types. SPACE is first, or of second
order: observed (the label triples that occur), valid (those that the scheme allows) or consistent (all).
`--out FOLDER` keeps predictions and figures as JSON, `--scheme` spells the labels in another way than the
chosen one, `--sentences N` takes few, to see that it runs. The data is found through
FIELDCRAFT_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import fieldcraft as fc
from experiments.chunk_models import Chunks, Setting, read, span_f, train

# What development data shows to be the best (`search`); first order, the other spaces use the same.
CHOSEN = {
    "np": Setting(("base", "edges", "lower"), "iobes"),
    "all": Setting(("base", "affixes", "edges", "lower", "shapes"), "iobes"),
}
SPACES = {
    "first": "labels",
    "observed": "ngrams:2+observed",
    "valid": "ngrams:2+{scheme}",
    "consistent": "ngrams:2",
}
PUBLISHED = {"np": 94.38}  # second-order chain of Sha and Pereira (2003)
AIMS = {"np": 94.3, "all": 94.0}
ROUNDS = 3
PIECES = ("affixes", "shapes", "crossed", "wide", "long", "words", "edges", "tag-edges", "lower")
TOGETHER = [
    ("affixes",),
    ("edges",),
    ("affixes", "edges"),
    ("edges", "lower"),
    ("edges", "lower", "shapes"),
    ("affixes", "edges", "lower"),
    ("affixes", "edges", "lower", "shapes"),
    ("affixes", "edges", "lower", "words"),
]
TRIED = [
    Setting(("base",)),
    Setting(("base",), variance=1.0),
    Setting(("base",), variance=20.0),
    *(Setting(("base", piece)) for piece in PIECES),
    Setting(("base", "affixes", "edges")),
    Setting(("base",), "iob1"),
    Setting(("base",), "iobes"),
    *(Setting(("base", *pieces), "iobes") for pieces in TOGETHER),
    *(Setting(("base", "affixes", "edges", "lower"), "iobes", variance=v) for v in (2.0, 20.0)),
]


def over(setting: Setting, name: str) -> Setting:
    """The setting over a space."""
    return setting._replace(states=SPACES[name].format(scheme=setting.scheme))


def search(task: str, data: Chunks, out: Path | None) -> None:
    """The score of every setting on development data."""
    for setting in TRIED:
        found = train(data, setting)
        row = {"task": task, "setting": str(setting), "f": span_f(data.y_test, found.predicted)}
        print(f"{task} {setting}: F {row['f']:.2f}, {found.weights:,} weights", flush=True)
        if out is not None:
            with (out / "search.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def test(
    task: str, data: Chunks, chosen: Setting, spaces: list[str], out: Path | None, optimiser: str
) -> None:
    """Train the chosen setting over each space and label the test set."""
    for name in spaces:
        setting = over(chosen, name)
        found = train(data, setting, optimiser=optimiser)
        f = span_f(data.y_test, found.predicted)
        print(
            f"{task} {setting}: F {f:.2f}; {found.space}; {found.weights:,} weights; "
            f"{found.iterations} iterations, {found.seconds:.0f} s",
            flush=True,
        )
        if out is not None:
            row = {"task": task, "name": name, "setting": str(setting), "f": f, **found._asdict()}
            (out / f"test-{task}-{setting.scheme}-{name}.json").write_text(json.dumps(row), encoding="utf-8")


def timing(task: str, data: Chunks, chosen: Setting, spaces: list[str], out: Path | None) -> None:
    """Processor seconds of one evaluation on one thread: longer trainings less shorter ones, in turn."""
    best = dict.fromkeys(spaces, float("inf"))
    for _ in range(ROUNDS):
        for name in spaces:
            limits = [{"n_jobs": 1, "optimiser": fc.LBFGS(max_iterations=n)} for n in (1, 11)]
            short, long = (train(data, over(chosen, name), **limit) for limit in limits)
            each = (long.seconds - short.seconds) / (long.evaluations - short.evaluations)
            best[name] = min(best[name], each)
            print(f"{task} {name}: {each:.3f} s, {each / best[spaces[0]]:.2f} x {spaces[0]}", flush=True)
        if out is not None:
            (out / f"timing-{task}-{chosen.scheme}.json").write_text(json.dumps(best), encoding="utf-8")


def report(folder: Path) -> str:
    """Markdown of a folder that ``test`` and ``timing`` wrote."""
    lines = ["# Second order against first order: chunks of CoNLL-2000", ""]
    for task, chosen in CHOSEN.items():
        found = folder.glob(f"test-{task}-{chosen.scheme}-*.json")
        rows = {row["name"]: row for row in (json.loads(path.read_text()) for path in found)}
        if rows:
            lines += [*_heading(task, chosen), *_results(task, rows)]
        for path in sorted(folder.glob(f"timing-{task}-*.json")):
            lines += _times(path.stem.split("-")[2], json.loads(path.read_text()))
    return "\n".join(lines)


def _heading(task: str, chosen: Setting) -> list[str]:
    title = {"np": "Noun phrases", "all": "All eleven types"}[task]
    published = f"; the published second-order chain has {PUBLISHED[task]}" if task in PUBLISHED else ""
    return [
        f"## {title}",
        "",
        f"Templates {' + '.join(chosen.pieces)} (`experiments/chunk_models.py`), labels as "
        f"{chosen.scheme.upper()}, Gaussian of variance {chosen.variance:g}; L-BFGS. Test F, aim "
        f"{AIMS[task]:.1f}{published}.",
        "",
    ]


def _results(task: str, rows: dict[str, Any]) -> list[str]:
    lines = ["| states | F | transitions | weights | iterations |", "|---|---|---|---|---|"]
    ordered = [rows[name] for name in SPACES if name in rows]
    for row in ordered:
        transitions = row["space"].split(", ")[1].split()[0]
        states = row["setting"].split()[2]
        lines.append(
            f"| {states} | {row['f']:.2f} | {transitions} | {row['weights']:,} | {row['iterations']} |"
        )
    gold = read(task, "test").y_test[: len(ordered[0]["predicted"])]
    for row in ordered[1:]:
        names = (ordered[0]["name"], row["name"])
        compared = fc.compare(gold, ordered[0]["predicted"], row["predicted"], names=names)
        lines += ["", "```", str(compared), "```"]
    return [*lines, ""]


def _times(scheme: str, seconds: dict[str, float]) -> list[str]:
    lines = [
        f"Processor seconds of one evaluation on one thread, labels as {scheme.upper()}:",
        "",
        "| states | seconds | of first order |",
        "|---|---|---|",
    ]
    for name, each in seconds.items():
        lines.append(f"| {name} | {each:.3f} | {each / seconds['first']:.2f} |")
    return [*lines, ""]


def main(arguments: list[str] | None = None) -> None:
    """Run one of the four."""
    parser = argparse.ArgumentParser(prog="python -m experiments.second_order", description=__doc__)
    parser.add_argument("command", choices=["search", "test", "timing", "report"])
    parser.add_argument("what", help="np, all, or the folder of a report")
    parser.add_argument("spaces", nargs="*", help="for test and timing")
    parser.add_argument("--out", type=Path, help="folder for what is found")
    parser.add_argument("--scheme", choices=["iob2", "iobes"], help="of the labels; default: as chosen")
    parser.add_argument("--optimiser", default="lbfgs", help="of test; auto is quicker for first order")
    parser.add_argument("--sentences", type=int, help="of each part, to see that it runs")
    options = parser.parse_args(arguments)
    if options.command == "report":
        print(report(Path(options.what)))
        return
    part = "development" if options.command == "search" else "test"
    data, chosen = read(options.what, part, options.sentences), CHOSEN[options.what]
    chosen = chosen._replace(scheme=options.scheme or chosen.scheme)
    if options.command == "search":
        search(options.what, data, options.out)
    else:
        given = (options.what, data, chosen, options.spaces or ["first", "observed", "valid"], options.out)
        if options.command == "test":
            test(*given, options.optimiser)
        else:
            timing(*given)


if __name__ == "__main__":
    main()

"""The table and the figure of the learning curve of `experiments.factorial`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAMES = {
    "words": "words alone",
    "cascaded": "cascaded",
    "jackknife": "jackknife",
    "joint": "joint",
    "two_stages": "joint, two stages",
}


def write(archive: Any, folder: Path) -> None:
    """factorial.md and factorial.png."""
    rows = archive.find(on="test")
    sizes = sorted({row["sentences"] for row in rows})
    lines = [
        "# Tags and noun phrases jointly and one after the other",
        "",
        "F of noun phrases on the test file of CoNLL-2000 (tags right, both in per cent), by the number of "
        "training sentences. Settings were chosen on the 1,000 sentences of the training file after those of "
        "the training, with 250 and 500 sentences; larger sizes have those of 500.",
        "",
        "| sentences | " + " | ".join(NAMES.values()) + " |",
        "|---" * (len(NAMES) + 1) + "|",
    ]
    for n in sizes:
        cells = [_cell(archive.find(on="test", sentences=n, model=name)) for name in NAMES]
        lines.append(f"| {n:,} | " + " | ".join(cells) + " |")
    lines += ["", "Development F of all settings, and CPU seconds:", ""]
    lines += ["| sentences | model | settings | F | CPU seconds |", "|---|---|---|---|---|"]
    for row in archive.find(on="development"):
        if row["model"] == "tagger":
            continue
        settings = ", ".join(f"{name} {value:g}" for name, value in row["settings"].items())
        named = NAMES[row["model"]]
        lines.append(f"| {row['sentences']} | {named} | {settings} | {row['f']:.2f} | {row['seconds']:.0f} |")
    lines += ["", "Written by `python -m experiments.factorial --report` from `factorial.jsonl`.", ""]
    (folder / "factorial.md").write_text("\n".join(lines))
    draw(rows, folder / "factorial.png")


def _cell(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    tags = "" if rows[0]["tags"] is None else f" ({rows[0]['tags']:.2f})"
    return f"{rows[0]['f']:.2f}{tags}"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """F by the number of sentences, a line for each model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, called in NAMES.items():
        mine = sorted((row["sentences"], row["f"]) for row in rows if row["model"] == name)
        if mine:
            axes.plot(*zip(*mine), marker="o", label=called)
    sizes = sorted({row["sentences"] for row in rows})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    axes.set(xlabel="training sentences", ylabel="F of noun phrases, per cent", title="CoNLL-2000")
    axes.legend()
    figure.savefig(path, dpi=150)

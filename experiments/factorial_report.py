"""The tables and the figure of the learning curve of `experiments.factorial`.

Differences between models are tested sentence by sentence: the matched-pairs test of wrong tokens, two-sided,
and a bootstrap interval of the difference in F.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.archive import Part
from fieldcraft.evaluation import bootstrap, matched_pairs

NAMES = {
    "words": "words alone",
    "cascaded": "cascaded",
    "jackknife": "jackknife",
    "joint": "joint",
    "two_stages": "joint, two stages",
}


TESTED = [("two_stages", "cascaded"), ("two_stages", "jackknife"), ("joint", "cascaded")]
RESAMPLES, LEVEL = 5000, 0.95
Row = dict[str, Any]


def write(archive: Any, folder: Path) -> str:
    """factorial.md, which is returned, and factorial.png."""
    chosen, earlier = scored(archive)
    sizes = sorted({n for n, _ in chosen})
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
        cells = [_cell(chosen.get((n, name))) for name in NAMES]
        lines.append(f"| {n:,} | " + " | ".join(cells) + " |")
    lines += ["", *_tests(chosen, sizes)]
    if earlier:
        lines += ["", "Scored on the test file before, with settings that are no longer the chosen ones:", ""]
        lines += ["| sentences | model | settings | F |", "|---|---|---|---|"]
    for row in earlier:
        lines.append(f"| {row['sentences']:,} | {NAMES[row['model']]} | {_settings(row)} | {row['f']:.2f} |")
    lines += ["", "Development F of all settings, and CPU seconds:", ""]
    lines += ["| sentences | model | settings | F | CPU seconds |", "|---|---|---|---|---|"]
    for row in archive.find(on="development"):
        if row["model"] == "tagger":
            continue
        cells = [row["sentences"], NAMES[row["model"]], _settings(row), f"{row['f']:.2f}"]
        lines.append("| " + " | ".join(map(str, cells)) + f" | {row['seconds']:.0f} |")
    lines += ["", "Written by `python -m experiments.factorial --report` from `factorial.jsonl`.", ""]
    text = "\n".join(lines)
    (folder / "factorial.md").write_text(text)
    draw(list(chosen.values()), folder / "factorial.png")
    return text


def scored(archive: Any) -> tuple[dict[tuple[int, str], Row], list[Row]]:
    """Lines of the test file: by size and model those with the chosen settings, and all others."""
    chosen: dict[tuple[int, str], Row] = {}
    earlier = []
    for row in archive.find(on="test"):
        n, name = row["sentences"], row["model"]
        if row["settings"] == archive.best(name, n):
            chosen[n, name] = row  # the last one counts
        else:
            earlier.append(row)
    return chosen, earlier


def _tests(chosen: dict[tuple[int, str], Row], sizes: list[int]) -> list[str]:
    """Differences in F with their intervals, and p."""
    out = [
        "Differences in F with 95 % intervals (bootstrap over sentences), and p of the matched-pairs test of "
        "wrong tokens by sentence (two-sided):",
        "",
        "| sentences | model | against | difference | 95 % interval | p |",
        "|---|---|---|---|---|---|",
    ]
    for n in sizes:
        for ours, theirs in TESTED:
            rows = [chosen.get((n, theirs)), chosen.get((n, ours))]
            if all(row and "part" in row for row in rows):
                parts = [Part(**row["part"]) for row in rows if row]
                cells = [f"{n:,}", NAMES[ours], NAMES[theirs], *_compared(*parts)]
                out.append("| " + " | ".join(cells) + " |")
    return out


def _compared(theirs: Part, ours: Part) -> list[str]:
    before, after = theirs.quotient(), ours.quotient()
    assert before is not None
    assert after is not None
    low, high = bootstrap.interval(before, after, resamples=RESAMPLES, level=LEVEL, seed=0)
    p = matched_pairs.by_sequence(theirs.errors(), ours.errors()).two_sided
    return [
        f"{100 * (after.score() - before.score()):+.2f}",
        f"{100 * low:+.2f} to {100 * high:+.2f}",
        f"{p:.2g}",
    ]


def _settings(row: Row) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in row["settings"].items())


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    tags = "" if row["tags"] is None else f" ({row['tags']:.2f})"
    return f"{row['f']:.2f}{tags}"


def draw(rows: list[Row], path: Path) -> None:
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

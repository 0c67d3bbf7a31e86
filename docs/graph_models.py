"""Draws the pictures of graph-models.md from experiments/results: ``python docs/graph_models.py``."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.cora import draw
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE.parent / "experiments" / "results"


def cora() -> None:
    """Accuracies with and without links, by the share of known labels."""
    rows = [json.loads(line) for line in (RESULTS / "cora.jsonl").read_text().splitlines()]
    draw(rows, HERE / "graph-models-cora.png")


def labels() -> None:
    """Rows with all labels right, with and without pairs of labels."""
    lines = [line.split(" | ") for line in (RESULTS / "multilabel.md").read_text().splitlines()]
    table = [[cell.strip("| ") for cell in line] for line in lines if len(line) == 8]
    found = {(row[0], row[2]): float(row[5]) for row in table if row[2] in ("independent", "all pairs")}
    names = list(dict.fromkeys(name for name, _ in found))
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    for k, model in enumerate(("independent", "all pairs")):
        at = [i + 0.38 * k for i in range(len(names))]
        bars = axes.bar(at, [found[name, model] for name in names], 0.36, label=model)
        axes.bar_label(bars, fmt="%.1f")
    axes.set_xticks([i + 0.19 for i in range(len(names))], names)
    axes.set(ylabel="rows with all labels right, per cent", ylim=(0, 75))
    axes.legend()
    figure.savefig(HERE / "graph-models-labels.png", dpi=150)


if __name__ == "__main__":
    cora()
    labels()

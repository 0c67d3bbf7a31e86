"""The pictures of docs/graphs.md, of synthetic grids: `python docs/graphs.py` writes them beside the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import fieldcraft as fc

SIDE, HERE = 10, Path(__file__).resolve().parent
SWEEPS = [1, 2, 3, 5, 8, 12, 20, 35, 60, 100, 150]


def grid(coupling: float) -> fc.FactorGraph:
    """Weak preferences of nodes; neighbours that want to be equal or different, at random."""
    rng, at = np.random.default_rng(3), np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    graph = fc.FactorGraph(np.full(SIDE * SIDE, 2))
    graph.add(at.reshape(-1, 1), rng.normal(0, 0.3, size=(SIDE * SIDE, 2)))
    pairs = np.concatenate(
        [
            np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1),
            np.stack([at[:-1].ravel(), at[1:].ravel()], 1),
        ]
    )
    graph.add(pairs, coupling * rng.normal(size=(len(pairs), 1, 1)) * np.array([[1, -1], [-1, 1]]))
    return graph


def residuals(graph: fc.FactorGraph, **options: Any) -> list[float]:
    """How far from a fixed point belief propagation is after so many sweeps."""
    return [graph.infer("propagation", max_iterations=n, tolerance=0, **options).residual for n in SWEEPS]


def curves() -> None:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, coupling in zip(figure.subplots(1, 2, sharey=True), (0.5, 2.0)):
        graph = grid(coupling)
        for schedule, damping in (
            ("flooding", 0.0),
            ("flooding", 0.5),
            ("sequential", 0.0),
            ("residual", 0.0),
        ):
            label = schedule + (f", damping {damping}" if damping else "")
            values = np.maximum(residuals(graph, schedule=schedule, damping=damping), 1e-16)
            axes.semilogy(SWEEPS, values, marker="o", markersize=3, label=label)
        axes.set_title(f"coupling {coupling:g}")
        axes.set_xlabel("sweeps")
    figure.axes[0].set_ylabel("largest change of a message")
    figure.axes[0].legend(fontsize=8)
    figure.savefig(HERE / "graphs-residuals.png", dpi=90)


def marginals() -> None:
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(2, 5)
    for row, coupling in zip(panels, (0.5, 2.0)):
        graph = grid(coupling)
        shown = [
            (f"{n} sweeps", graph.infer("propagation", schedule="flooding", max_iterations=n))
            for n in (1, 5, 20, 100)
        ]
        for axes, (name, answer) in zip(row, [*shown, ("exact", graph.infer())]):
            values = np.array(answer.variables)[:, 1].reshape(SIDE, SIDE)
            axes.imshow(values, vmin=0, vmax=1, cmap="viridis")
            axes.set_title(name, fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
        row[0].set_ylabel(f"coupling {coupling:g}")
    figure.savefig(HERE / "graphs-marginals.png", dpi=90)


if __name__ == "__main__":
    curves()
    marginals()

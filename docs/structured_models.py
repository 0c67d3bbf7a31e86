"""Draws the pictures of structured-models.md: ``python docs/structured_models.py``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import fieldcraft as fc

HERE = Path(__file__).parent
INK, LABEL, SEEN = "#333333", "#9ec5e8", "#e0e0e0"


def grid() -> None:
    """A noisy synthetic image, two labellings and the truth."""
    rng = np.random.default_rng(0)

    def image(size: int = 40) -> tuple[Any, Any]:
        rows, columns = np.indices((size, size))
        truth = np.zeros((size, size), int)
        for level in (1, 2, 1, 2):
            centre, radius = rng.uniform(0, size, size=2), rng.uniform(6, 11)
            truth[(rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2] = level
        return truth + rng.normal(scale=0.7, size=truth.shape), truth

    pictures = [image() for _ in range(3)]
    X, y = [x for x, _ in pictures], [truth for _, truth in pictures]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "cells alone": fc.GridCRF(()).fit(X[:2], y[:2]).predict(X[2:])[0],
            "grid": fc.GridCRF(tying="same", isotropic=True).fit(X[:2], y[:2]).predict(X[2:])[0],
        }
    shown = {"noisy": X[2], **found, "truth": y[2]}
    figure, axes = plt.subplots(1, 4, figsize=(9.6, 2.7))
    for axis, (name, picture) in zip(axes, shown.items()):
        axis.imshow(picture, vmin=-1, vmax=3)
        axis.set_title(name)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(HERE / "structured-models-grid.png", dpi=80)


def nodes(name: str, at: dict[str, tuple[float, float, str]], edges: list[tuple[str, str]]) -> None:
    """Circles with names, joined by lines that have a square in their middle."""
    figure, axis = plt.subplots(figsize=(7, 2.8))
    for a, b in edges:
        (x1, y1, _), (x2, y2, _) = at[a], at[b]
        axis.plot([x1, x2], [y1, y2], color=INK, zorder=1)
        axis.plot([(x1 + x2) / 2], [(y1 + y2) / 2], "s", color=INK, markersize=6, zorder=2)
    for text, (x, y, colour) in at.items():
        axis.add_patch(plt.Circle((x, y), 0.28, facecolor=colour, edgecolor=INK, zorder=3))
        axis.text(x, y, text.split("/")[0], ha="center", va="center", fontsize=9, zorder=4)
    axis.set_aspect("equal")
    axis.axis("off")
    figure.tight_layout()
    figure.savefig(HERE / name, dpi=80)


def factorial() -> None:
    words = ("the", "dog", "barks")
    at, edges = {}, []
    for t, (word, tag, chunk) in enumerate(zip(words, "DNV", "BIO")):
        at |= {f"{chunk}/c{t}": (1.4 * t, 2.0, LABEL), f"{tag}/t{t}": (1.4 * t, 1.0, LABEL)}
        at[f"{word}/w{t}"] = (1.4 * t, 0.0, SEEN)
        edges += [(f"{chunk}/c{t}", f"{tag}/t{t}"), (f"{tag}/t{t}", f"{word}/w{t}")]
    names = [f"{c}/c{t}" for t, c in enumerate("BIO")], [f"{c}/t{t}" for t, c in enumerate("DNV")]
    edges += [(row[t], row[t + 1]) for row in names for t in range(2)]
    nodes("structured-models-factorial.png", at, edges)


def hidden() -> None:
    at = {"label/y": (1.4, 2.0, LABEL)}
    edges = []
    for t, word in enumerate(("up", "down", "up")):
        at |= {f"h{t + 1}/h{t}": (1.4 * t, 1.0, "white"), f"{word}/w{t}": (1.4 * t, 0.0, SEEN)}
        edges += [("label/y", f"h{t + 1}/h{t}"), (f"h{t + 1}/h{t}", f"{word}/w{t}")]
    edges += [(f"h{t + 1}/h{t}", f"h{t + 2}/h{t + 1}") for t in range(2)]
    nodes("structured-models-hidden.png", at, edges)


if __name__ == "__main__":
    grid()
    factorial()
    hidden()

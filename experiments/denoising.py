"""Image denoising on synthetic images: a grid model against a model of single pixels.

    python -m experiments.denoising [--size 40] [--images 12]

Images are synthetic: random discs of four grey levels on a background, with Gaussian noise that makes
neighbouring levels overlap. All models see a pixel's noisy value and its square; the grid models also have a
weight for equal neighbours and learn how smooth images are: by the likelihood with damped propagation, by its
upper bound with tree-reweighted propagation, and by pseudo-likelihood. `--picture FILE` draws an example.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fieldcraft as fc

Floats = NDArray[np.float64]
LEVELS, NOISE, DISCS = 5, 0.9, 12


def image(rng: np.random.Generator, size: int) -> tuple[Floats, NDArray[np.int64]]:
    """Noisy features [size, size, 2] and true levels [size, size] of a synthetic image."""
    truth = np.zeros((size, size), np.int64)
    rows, columns = np.indices(truth.shape)
    for level in rng.integers(1, LEVELS, size=DISCS):
        centre, radius = rng.uniform(0, size, size=2), rng.uniform(size / 12, size / 5)
        truth[(rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2] = level
    noisy = truth + rng.normal(scale=NOISE, size=truth.shape)
    centred = noisy - LEVELS // 2
    return np.stack([centred, centred**2 / 4], axis=2), truth


def models() -> dict[str, fc.GridCRF]:
    smooth: dict[str, Any] = {"tying": "same", "isotropic": True}
    bound = {"method": "tree_reweighted", "max_iterations": 50, "tolerance": 1e-4}
    return {
        "pixels": fc.GridCRF(()),
        "grid": fc.GridCRF(**smooth),
        "grid, tree-reweighted": fc.GridCRF(**smooth, inference=bound),
        "grid, pseudo-likelihood": fc.GridCRF(**smooth, objective="pseudo_likelihood"),
    }


def draw(path: Path, noisy: Floats, truth: Any, found: dict[str, Any]) -> None:
    """The image, what the models made of it, and the truth, side by side."""
    import matplotlib.pyplot as plt

    shown = {"noisy": noisy, **found, "truth": truth}
    figure, axes = plt.subplots(1, len(shown), figsize=(2.4 * len(shown), 2.7))
    for axis, (name, picture) in zip(axes, shown.items()):
        axis.imshow(picture, vmin=-1, vmax=LEVELS, cmap="viridis")
        axis.set_title(name)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--images", type=int, default=12)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    data = [image(rng, given.size) for _ in range(given.images)]
    half = given.images // 2
    X, y = [x for x, _ in data], [truth for _, truth in data]
    found = {}
    print("| model | weights | pixels right | training, CPU seconds | a prediction, CPU seconds |")
    print("|---|---|---|---|---|")
    for name, model in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # loopy propagation is not exact
            begun = time.process_time()
            model.fit(X[:half], y[:half])
            trained = time.process_time()
            guesses = model.predict(X[half:])
        each = (time.process_time() - trained) / (given.images - half)
        right = np.mean([np.mean(a == b) for a, b in zip(guesses, y[half:])])
        cells = [name, len(model.weights_), f"{100 * right:.1f}", f"{trained - begun:.1f}", f"{each:.3f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        found[name] = guesses[0]
    if given.picture:
        draw(given.picture, X[half][:, :, 0] + LEVELS // 2, y[half], found)


if __name__ == "__main__":
    main()

"""Hidden states by L-BFGS, conjugate gradients and EM: held-out likelihood over several random starts.

    python -m experiments.latent [FOLDER] [--seeds 10] [--method lbfgs conjugate_gradient em] [--output FILE]

FOLDER holds ocr_letters/. A word of handwritten letters is a sequence of images of 128 pixels, and its label
is which of the ten most frequent words it is: fc.HiddenCRF with three hidden states for each label. Words of
folds 0 to 4 are held out; training words are 300 of the others, drawn with seed 0. All methods start from the
same weights for the same seed, with the same prior, and end by the same rule.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc

METHODS: dict[str, Any] = {
    "lbfgs": fc.LBFGS(max_iterations=300),
    "conjugate_gradient": fc.ConjugateGradient(max_iterations=300),
    "em": fc.EM(max_iterations=400),
}
STATES, WORDS, TRAINING, VARIANCE = 3, 10, 300, 1.0


def read(folder: Path) -> tuple[list[Any], list[str], list[Any], list[str]]:
    """Training and held-out sequences of pixels, with their labels."""
    data = np.load(folder / "ocr_letters" / "letters.npz")
    ends = list(zip(data["offsets"][:-1].tolist(), data["offsets"][1:].tolist()))
    texts = ["".join(chr(97 + letter) for letter in data["labels"][a:b]) for a, b in ends]
    kept = {word for word, _ in Counter(texts).most_common(WORDS)}
    pixels = data["pixels"].astype(np.float64)
    chosen = [i for i, word in enumerate(texts) if word in kept]
    held = [i for i in chosen if data["folds"][i] < 5]
    others = np.random.default_rng(0).permutation([i for i in chosen if data["folds"][i] >= 5])
    train = np.sort(others[:TRAINING]).tolist()
    X = {i: pixels[slice(*ends[i])] for i in chosen}
    return [X[i] for i in train], [texts[i] for i in train], [X[i] for i in held], [texts[i] for i in held]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--method", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--words", type=int, help="use the first training words alone")
    parser.add_argument("--output", type=Path, help="a file for the results, one JSON object a line")
    given = parser.parse_args()
    X, y, X_test, y_test = read(Path(given.folder))
    X, y = X[: given.words], y[: given.words]
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in given.method}
    for seed in range(given.seeds):
        for name in given.method:
            begun = time.process_time()
            model = fc.HiddenCRF(
                n_states=STATES,
                prior=fc.Gaussian(variance=VARIANCE),
                optimiser=METHODS[name],
                random_state=seed,
                n_jobs=given.jobs,
            ).fit(X, y)
            seconds = time.process_time() - begun
            held_out = float(model.log_probability(X_test, y_test).mean())
            right = model.score(X_test, y_test)
            rows[name].append((model.objective_value_, held_out, right, float(model.n_iter_), seconds))
            if given.output:
                facts = dict(zip(("objective", "held_out", "right", "iterations", "seconds"), rows[name][-1]))
                with given.output.open("a") as out:
                    out.write(json.dumps({"method": name, "seed": seed, **facts}) + "\n")
    print(f"{len(X):,} training words, {len(X_test):,} held out; mean ± deviation of {given.seeds} starts")
    print("| method | penalised loss | held-out log-likelihood a word | right | iterations | CPU seconds |")
    print("|---|---|---|---|---|---|")
    for name, found in rows.items():
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
        cells = [f"{mean[0]:.1f} ± {spread[0]:.1f}", f"{mean[1]:.4f} ± {spread[1]:.4f}"]
        cells += [f"{100 * mean[2]:.1f} ± {100 * spread[2]:.1f}", f"{mean[3]:.0f}", f"{mean[4]:.0f}"]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()

"""Which word is it? Handwritten letters, labelled as wholes (real data).

    python examples/handwritten_words.py [FOLDER]

FOLDER holds ocr_letters/. fc.HiddenCRF gives one label to a sequence of images and explains it by hidden
states.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import fieldcraft as fc


def main(folder: Path) -> None:
    """Train on 60 words of four kinds; the best of two random starts by its loss."""
    data = np.load(folder / "ocr_letters" / "letters.npz")
    ends = list(zip(data["offsets"][:-1], data["offsets"][1:]))
    texts = ["".join(chr(97 + letter) for letter in data["labels"][a:b]) for a, b in ends]
    kept = [word for word, _ in Counter(texts).most_common(4)]
    chosen = [i for i, word in enumerate(texts) if word in kept]
    pixels = data["pixels"].astype(float)
    X = [pixels[a:b] for a, b in (ends[i] for i in chosen)]
    y = [texts[i] for i in chosen]
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:60], order[60:260]
    models = [
        fc.HiddenCRF(n_states=3, prior=fc.Gaussian(variance=1.0), random_state=seed).fit(
            [X[i] for i in train], [y[i] for i in train]
        )
        for seed in range(2)
    ]
    print("losses of the starts:", ", ".join(f"{model.objective_value_:.1f}" for model in models))
    best = min(models, key=lambda model: model.objective_value_)
    right = best.score([X[i] for i in test], [y[i] for i in test])
    print(f"{100 * right:.0f} per cent of {len(test)} words are right: {', '.join(kept)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")))

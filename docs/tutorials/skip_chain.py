"""The picture of docs/tutorials/skip-chain.md, of synthetic data: `python docs/tutorials/skip_chain.py`.

Trains the two models of the page and draws the same word in the heading and in the text of one announcement.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import fieldcraft as fc

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
TEMPLATES = (
    "lower(word[-3..3])\nshape(word[-1..1])\nlower(word[-2]) & lower(word[-1])\nline & lower(word)\nedge"
)
DOCUMENT, MENTIONS = 53, (4, 34)
LABELS = ("B-speaker", "I-speaker")


def main() -> None:
    """Train, ask both models about both mentions, draw."""
    from skip_chains import draw

    train, rest = fc.datasets.split(fc.datasets.seminars(n=300), fraction=0.6, seed=0)
    _, test = fc.datasets.split(rest, fraction=0.5, seed=0)
    prior = fc.Gaussian(fc.groups.by_part({"skip": 1}, otherwise=10))
    models = {
        "linear chain": fc.ChainCRF(TEMPLATES).fit(train),
        "skip chain": fc.SkipChainCRF(TEMPLATES, prior=prior).fit(train),
    }
    document = test[DOCUMENT]
    windows = [slice(max(0, t - 4), t + 5) for t in MENTIONS]
    chances: list[dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]] = [{} for _ in windows]
    for name, model in models.items():
        columns = np.isin(model.classes_, LABELS)
        speaker = model.predict_proba([document])[0][:, columns].sum(axis=1)
        for chance, window in zip(chances, windows):
            chance[name] = speaker[window]
    words = [document.columns["word"][window] for window in windows]
    draw(words, chances, HERE / "skip-chain.png")


if __name__ == "__main__":
    main()

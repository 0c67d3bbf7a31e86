"""The picture of docs/skip-chains.md, of a real announcement: `python docs/skip_chains.py [FOLDER] [N]`.

FOLDER holds the data (cmu_seminars/ and gazetteers/); both models train on N documents (100), without tags.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc

import fieldcraft as fc

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
TEMPLATES = (
    "edge\nlower(word[-3..3])\nshape(word[-1..1])\nin(surnames, word)\nin(male, word)\nin(female, word)"
)
LABEL = "I-speaker"


def most_helped(chain: Any, skip: Any, corpus: Any) -> tuple[int, int, int]:
    """The pair of mentions whose second (or first) one gains most by the other: document and positions."""
    best = (0.0, 0, 0, 0)
    apart, together, joined = chain.predict_proba(corpus), skip.predict_proba(corpus), skip.pairs(corpus)
    at = chain.classes_.tolist().index(LABEL)
    for i, pairs in enumerate(joined):
        for u, v in pairs:
            if corpus[i].labels[u] == corpus[i].labels[v] == LABEL:
                gain = together[i][[u, v], at].min() - apart[i][[u, v], at].min()
                best = max(best, (float(gain), i, u, v))
    return best[1:]


def draw(words: list[list[str]], chances: list[dict[str, np.ndarray[Any, Any]]], path: Path) -> None:
    """Two mentions, a row each for either model; the deeper the colour, the surer of a speaker."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    middle = [len(row) // 2 for row in words]
    for block, (row, chance) in enumerate(zip(words, chances)):
        for line, (name, values) in enumerate(chance.items()):
            y = 3 * (1 - block) + (1 - line)
            axes.text(-0.6, y, name, ha="right", va="center", fontsize=8)
            for x, (word, value) in enumerate(zip(row, values)):
                face = (1.0, 1.0 - 0.6 * value, 1.0 - 0.9 * value)
                axes.text(
                    x, y, word, ha="center", va="center", fontsize=9, bbox={"facecolor": face, "pad": 3}
                )
                axes.text(x, y - 0.42, f"{value:.2f}", ha="center", va="center", fontsize=7, color="0.4")
    axes.add_patch(Arc((middle[0], 1.95), 0.5, 0.9, theta1=270, theta2=90, color="tab:blue", linestyle="--"))
    axes.text(middle[0] + 0.4, 2.0, "skip edge", va="center", color="tab:blue", fontsize=8)
    axes.set(xlim=(-2.2, max(map(len, words)) - 0.3), ylim=(-0.8, 4.6))
    axes.axis("off")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Train on the first documents, look for a mention that the other helps, draw it."""
    from experiments import seminars

    given = [
        *sys.argv[1:],
        *[os.environ.get("FIELDCRAFT_DATA", "../shared/data"), "100"][len(sys.argv) - 1 :],
    ]
    data, n = Path(given[0]), int(given[1])
    corpus = seminars.read(data, 2 * n)
    lists = seminars.name_lists(data)
    chain = fc.ChainCRF(TEMPLATES, gazetteers=lists).fit(corpus[:n])
    options: dict[str, Any] = {"prior": fc.Gaussian(10.0), "inference": "propagation"}  # quick
    skip = fc.SkipChainCRF(TEMPLATES, gazetteers=lists, **options).fit(corpus[:n])
    i, *pair = most_helped(chain, skip, corpus[n:])
    document = corpus[n + i]
    at = chain.classes_.tolist().index(LABEL)
    tables = {
        "linear chain": chain.predict_proba([document])[0],
        "skip chain": skip.predict_proba([document])[0],
    }
    windows = [slice(max(0, t - 4), t + 5) for t in pair]
    words = [document.columns["word"][window] for window in windows]
    draw(
        words, [{k: v[window, at] for k, v in tables.items()} for window in windows], HERE / "skip-chains.png"
    )
    for name, model in (("linear chain", chain), ("skip chain", skip)):
        predicted = model.predict(corpus[n:])
        missed = fc.metrics.inconsistent_repeats(corpus[n:].column("word"), corpus[n:].labels, predicted)
        print(f"{name}: {missed.get('speaker', 0)} tokens of speakers missed that are found elsewhere")


if __name__ == "__main__":
    main()

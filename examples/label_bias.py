"""Label bias and observation bias: local models pass over what HMM and CRF see.

    python examples/label_bias.py [PICTURE.png]

Label bias. Words "rib" (labels 1 2 3) and "rob" (labels 4 5 3): after `r` both are possible, the next letter
decides. Label 1 is always followed by 2 and 4 by 5, so that a local model passes all of its probability on,
whatever the letter is: it answers with the share of the words in training.

Observation bias. "all" is a determiner (DT) before a noun, but a predeterminer (PDT) before "the". Since
"the" is always DT, a CMM explains its label by the word alone: that two determiners never follow each other
does not count against the label before it.

Both sets of words are synthetic. Every model sees the same letters or words.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import fieldcraft as fc

SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
TOTAL = 20
MODELS: dict[str, Any] = {
    "HMM": lambda: fc.HMM(smoothing=0.01),
    "CRF": lambda: fc.ChainCRF("word\nedge"),
    "MEMM": lambda: fc.MEMM("word\nbias"),
    "CMM": lambda: fc.CMM("word\nbias"),
}
Case = tuple[list[str], list[str]]
RIB, ROB = (list("rib"), ["1", "2", "3"]), (list("rob"), ["4", "5", "3"])
ALL_DOGS = (["all", "dogs", "bark"], ["DT", "N", "V"])
ALL_THE_DOGS = (["all", "the", "dogs", "bark"], ["PDT", "DT", "N", "V"])
THE_DOGS = (["the", "dogs", "bark"], ["DT", "N", "V"])


def trained(kind: str, share: float, rare: Case, frequent: Case, others: list[Case]) -> Any:
    """A model of a corpus with this share of the rare case."""
    n = round(share * TOTAL)
    corpus = [rare] * n + [frequent] * (TOTAL - n) + others
    return MODELS[kind]().fit([{"word": words} for words, _ in corpus], [labels for _, labels in corpus])


def curves(*cases: Any) -> dict[str, list[float]]:
    """For every model p(labels of the rare case), by its share in training."""
    found: dict[str, list[float]] = {kind: [] for kind in MODELS}
    for share in SHARES:
        for kind, values in found.items():
            model, (words, labels) = trained(kind, share, *cases), cases[0]
            values.append(float(np.exp(model.log_probability([{"word": words}], [labels])[0])))
    return found


def answers(share: float, *cases: Any) -> None:
    """What each model answers to the rare case."""
    words = cases[0][0]
    for kind in MODELS:
        labels = trained(kind, share, *cases).predict([{"word": words}])[0]
        print(f"{kind:>5}: " + " ".join(f"{word}/{label}" for word, label in zip(words, labels)))
    print()


def show(title: str, found: dict[str, list[float]]) -> None:
    """A table of the curves."""
    print(f"{title}\n\nshare  " + "  ".join(f"{kind:>5}" for kind in found))
    for i, share in enumerate(SHARES):
        print(f"{share:5.1f}  " + "  ".join(f"{values[i]:5.2f}" for values in found.values()))
    print()


def draw(panels: dict[str, dict[str, list[float]]], path: str) -> None:
    """Both tables as a picture."""
    from matplotlib.figure import Figure

    styles = {"HMM": "o-", "CRF": "s-", "MEMM": "^--", "CMM": "v--"}
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True)
    for axis, (title, found) in zip(axes, panels.items()):
        for kind, values in found.items():
            axis.plot(SHARES, values, styles[kind], label=kind, markersize=4)
        axis.set(title=title, xlabel="share of this reading in training", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("probability of the right labels")
    axes[0].legend()
    figure.savefig(path, dpi=90)


def main(path: str | None = None) -> None:
    """Train, print, draw."""
    cases: dict[str, Any] = {
        "Label bias: 4 5 3 for “rob”": (ROB, RIB, []),
        "Observation bias: PDT for “all” before “the”": (ALL_THE_DOGS, ALL_DOGS, [THE_DOGS] * TOTAL),
    }
    panels = {title: curves(*case) for title, case in cases.items()}
    print("Synthetic words; probability of the right labels by their share in training.\n")
    for title, case in cases.items():
        show(title, panels[title])
        answers(0.3, *case)
    if path is not None:
        draw(panels, path)


if __name__ == "__main__":
    main(*sys.argv[1:])

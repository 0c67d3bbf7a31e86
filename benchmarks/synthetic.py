"""Synthetic sequences with many labels: what an evaluation costs when transitions dominate.

Named synthetic wherever they appear. Drawn from a seeded hidden Markov chain: each label has a few
frequent followers and its own words; a word is seen through itself, its neighbours and two affixes,
ten attributes a token. Only the time is of interest, not the accuracy.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from benchmarks.columns import Pattern, attributes, singles, windows
from benchmarks.workloads import Features, Labels

_PATTERNS: tuple[Pattern, ...] = (
    singles(0, -2, 2) + windows(0, (-1, 0), (0, 1)) + singles(1) + singles(2) + singles(3)
)
FOLLOWERS, WORDS_OF_A_LABEL = 12, 40


class Synthetic(NamedTuple):
    """``n_labels`` labels, ``n_sequences`` sequences of 10 to 30 tokens."""

    name: str
    title: str
    n_labels: int
    n_sequences: int
    seed: int = 1

    def features(self, split: str) -> tuple[Features, Labels]:
        """Attribute strings and labels."""
        draw = random.Random(f"{self.seed} {split} {self.n_labels}")
        follows = [draw.sample(range(self.n_labels), FOLLOWERS) for _ in range(self.n_labels)]
        paths = [self._path(draw, follows) for _ in range(self.n_sequences)]
        tokens = [[self._token(draw, label) for label in path] for path in paths]
        labels = [[f"L{label}" for label in path] for path in paths]
        return [attributes(sequence, _PATTERNS) for sequence in tokens], labels

    def _path(self, draw: random.Random, follows: list[list[int]]) -> list[int]:
        path = [draw.randrange(self.n_labels)]
        for _ in range(draw.randint(9, 29)):
            usual = draw.random() < 0.7
            path.append(draw.choice(follows[path[-1]]) if usual else draw.randrange(self.n_labels))
        return path

    def _token(self, draw: random.Random, label: int) -> tuple[str, ...]:
        number = draw.randrange(WORDS_OF_A_LABEL)
        clear = draw.random() < 0.6  # other words are shared by all labels
        word = f"w{label}_{number}" if clear else f"c{number}"
        return word, word[:3], word[-2:], str(len(word))


SYNTHETIC: dict[str, Synthetic] = {
    s.name: s
    for s in (
        Synthetic("S200", "synthetic, 200 labels", 200, 1000),
        Synthetic("S500", "synthetic, 500 labels", 500, 200),
    )
}

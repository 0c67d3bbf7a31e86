"""A corpus cut in two at random, the same way for the same seed."""

from __future__ import annotations

from random import Random

from fieldcraft.corpus import Corpus
from fieldcraft.errors import InputError


def split(corpus: Corpus, fraction: float = 0.8, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Two corpora, the first with round(fraction * len) of the sequences; both keep the order.

    >>> from fieldcraft.corpus.datasets import addresses
    >>> train, test = split(addresses(10), fraction=0.8)
    >>> len(train), len(test)
    (8, 2)
    """
    if not 0.0 <= fraction <= 1.0:
        raise InputError(f"split: fraction must lie between 0 and 1; got {fraction}")
    positions = list(range(len(corpus)))
    Random(seed).shuffle(positions)
    cut = round(fraction * len(corpus))
    return corpus[sorted(positions[:cut])], corpus[sorted(positions[cut:])]

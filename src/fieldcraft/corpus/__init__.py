"""Sentences in and out: sequences, corpora, one reader per format, label schemes, datasets."""

from __future__ import annotations

from fieldcraft.corpus.collection import Corpus, Stream
from fieldcraft.corpus.reading import read
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.corpus.spans import Span
from fieldcraft.corpus.writing import write

__all__ = ["Corpus", "Sequence", "Span", "Stream", "read", "write"]

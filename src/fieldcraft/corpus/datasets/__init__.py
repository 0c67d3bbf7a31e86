"""Datasets that are made here, from a seed: synthetic addresses and seminar announcements."""

from fieldcraft.corpus.datasets.addresses import addresses
from fieldcraft.corpus.datasets.seminars import seminars
from fieldcraft.corpus.datasets.splitting import split

__all__ = ["addresses", "seminars", "split"]

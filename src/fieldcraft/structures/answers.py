"""What decoding answers, the same for every structure."""

from __future__ import annotations

from typing import NamedTuple


class Decoding(NamedTuple):
    """A labelling, its value, and whether it is known to be the best."""

    labels: list[str]
    value: float
    optimal: bool = True
    gap: float = 0.0
    method: str = ""
    why: str = ""

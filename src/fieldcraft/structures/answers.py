"""What inference and decoding answer, the same for every structure."""

from __future__ import annotations

from typing import Any, NamedTuple


class Inference(NamedTuple):
    """log Z and marginals, and how far to trust them.

    bound : exact, upper, lower or estimate
    why : a sentence on how the method was chosen or why it stopped
    """

    log_partition: Any
    marginals: Any
    bound: str = "exact"
    converged: bool = True
    iterations: int = 1
    residual: float = 0.0
    method: str = ""
    why: str = ""


class Decoding(NamedTuple):
    """A labelling, its value, and whether it is known to be the best."""

    labels: list[str]
    value: float
    optimal: bool = True
    gap: float = 0.0
    method: str = ""
    why: str = ""

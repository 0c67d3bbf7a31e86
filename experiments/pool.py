"""A pool of masked models of one template set, as a line of a table.

Members share a feature index, so that a logarithmic pool is one vector: the sum of the members' weights, each
times its share. A share is 1 / members, or for two members the one that scores best on development data (the
first member's, in steps of a hundredth; the first of equals). Members without a prior are those with the best
development score while training; the pool of the same members at the end of training stands beside it. A
linear pool is fc.LinearOpinionPool.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.configuration import Configuration

Floats = NDArray[np.float64]
STEPS = 100


@dataclass(frozen=True)
class Pool:
    """Members, how they are weighed ("uniform" or "tuned"), and whether the pool is linear."""

    members: tuple[Configuration, ...]
    weights: str = "uniform"
    linear: bool = False

    def __post_init__(self) -> None:
        if len({(m.task, m.templates, m.min_count) for m in self.members}) != 1:
            raise ValueError("the members of a pool share a task and its features")
        if self.linear and self.weights != "uniform":
            raise ValueError("the shares of a linear pool are uniform here")
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights={self.weights!r}; choose one of {', '.join(WEIGHTS)}")

    @property
    def task(self) -> str:
        """That of the members."""
        return self.members[0].task

    @property
    def follow(self) -> bool:
        """Whether training was followed, which is a matter of the members."""
        return False

    @property
    def reads_test(self) -> bool:
        """Whether the test set is looked at."""
        return True

    @property
    def key(self) -> str:
        """Tells it from any other."""
        told = json.dumps([[member.key for member in self.members], self.weights, self.linear])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def thinned(self, points: int) -> Pool:
        """With members of so many settings at most."""
        return replace(self, members=tuple(member.thinned(points) for member in self.members))

    def plain(self) -> dict[str, Any]:
        """For the archive."""
        members = [member.plain() for member in self.members]
        return {"pool": members, "weights": self.weights, "linear": self.linear}


def uniform(vectors: Floats, score: Callable[[Floats], float]) -> Floats:
    """Equal shares."""
    del score
    return np.full(len(vectors), 1 / len(vectors))


def tuned(vectors: Floats, score: Callable[[Floats], float]) -> Floats:
    """The shares of two members that score best."""
    if len(vectors) != 2:
        raise ValueError(f"{len(vectors)} members; only the shares of two are tuned")
    shares = [np.array([k, STEPS - k]) / STEPS for k in range(1, STEPS)]
    return shares[int(np.argmax([score(share @ vectors) for share in shares]))]


WEIGHTS = {"uniform": uniform, "tuned": tuned}

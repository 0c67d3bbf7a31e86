"""The digest of a training: different for trainings that differ in anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.features.numbered import digests
from fieldcraft.priors import Prior


def digest_of_data(
    design: Design, contents: Iterable[NDArray[Any] | None], classes: Iterable[str], before: str
) -> str:
    """Of attributes and labels alone; ``contents`` are the encoder's, ``before`` is that of earlier data."""
    hasher = hashlib.sha256("\0".join(classes).encode("utf-8", "surrogatepass"))
    hasher.update(before.encode())
    for part in [*design.encoded.arrays(), design.gold, *(design.partial or ()), *contents]:
        hasher.update(b"absent" if part is None else digests(part).data)
    return hasher.hexdigest()


def digest_of(
    rules: tuple[Prior, Any, Any], design: Design, resolved: Prior, *vectors: NDArray[Any] | None
) -> str:
    """Of data, features, loss, penalty and optimiser.

    Parameters
    ----------
    rules : prior, optimiser and objective as they were given; a limit of iterations makes no difference
    design, resolved : the data, and the prior with a number for every weight
    vectors : whatever else the training depends on
    """
    prior, optimiser, objective = rules
    fields = {k: v for k, v in vars(optimiser).items() if k != "max_iterations"}
    settings = {k: v if np.ndim(v) == 0 else np.asarray(v).tobytes() for k, v in fields.items()}
    facts = f"{prior.settings()}{type(optimiser).__name__}{settings}{objective.name}"
    hasher = hashlib.sha256(facts.encode())
    hasher.update(design.index.digest.encode())
    values = (v if isinstance(v, tuple) else (v,) for v in vars(resolved).values())
    priors = [np.asarray(value, np.float64) for parts in values for value in parts]
    for part in [*design.encoded.arrays(), design.gold, *(design.partial or ()), *vectors, *priors]:
        hasher.update(b"absent" if part is None else np.ascontiguousarray(part).tobytes())
    return hasher.hexdigest()

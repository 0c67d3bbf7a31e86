"""Questions to potentials that live in the core: what estimators call on models.

``potentials`` is the core's handle (ChainWeights.apply); the functions of chain.py ask the same of
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError

Floats = NDArray[np.float64]


def log_partition(potentials: Any, n_jobs: int) -> Floats:
    """log Z [N]."""
    return np.asarray(_core.log_partition(potentials, "auto", n_jobs))


def node_marginals(potentials: Any, n_jobs: int) -> Floats:
    """Probabilities [tokens, S]."""
    return np.asarray(_core.marginals(potentials, "auto", "none", n_jobs)[0])


def viterbi(potentials: Any, n_jobs: int) -> NDArray[np.int32]:
    """States of the best labelling [tokens]."""
    return np.asarray(_core.argmax(potentials, n_jobs)[0])


def posterior(potentials: Any, n_jobs: int) -> NDArray[np.int32]:
    """The most probable state at each position [tokens]."""
    return np.asarray(node_marginals(potentials, n_jobs).argmax(axis=1), np.int32)


DECODINGS: dict[str, Callable[[Any, int], NDArray[np.int32]]] = {
    "viterbi": viterbi,
    "posterior": posterior,
}


def resolve_decoding(name: Any) -> Callable[[Any, int], NDArray[np.int32]]:
    """The decoding of that name."""
    if not isinstance(name, str) or name not in DECODINGS:
        raise InputError(f"decoding={name!r}; choose one of {', '.join(DECODINGS)}")
    return DECODINGS[name]


def score(potentials: Any, states: NDArray[np.int32], n_jobs: int) -> Floats:
    """Score of given states [N]."""
    return np.asarray(_core.score(potentials, states, n_jobs))


def log_share(score: Any, log_z: Any) -> Any:
    """Log-probability of a score: never above 0, which rounding could make of scores beyond 1e16."""
    return np.minimum(score - log_z, 0.0)


def entropy(potentials: Any, n_jobs: int) -> Floats:
    """Entropy [N] in nats."""
    return np.asarray(_core.entropy(potentials, n_jobs))


def k_best(potentials: Any, k: int, n_jobs: int) -> list[tuple[NDArray[np.int32], Floats]]:
    """Per sequence paths [k', T] and scores [k']."""
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k is {k!r}; it must be a whole number, at least 1")
    return list(_core.k_best(potentials, int(k), n_jobs))


def sample(potentials: Any, n: int, seed: int, n_jobs: int) -> list[NDArray[np.int32]]:
    """Per sequence states [n, T]."""
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise InputError(f"n is {n!r}; the number of samples must be a whole number, at least 0")
    if not isinstance(seed, (int, np.integer)):
        raise InputError(f"random_state is {seed!r}; sampling needs a whole number")
    return list(_core.sample(potentials, int(n), int(seed) % 2**64, n_jobs))


def spans(
    potentials: Any, sequence: Sequence[int], cases: Sequence[Sequence[Any]], n_jobs: int
) -> list[float]:
    """Per span the summed probability of its disjoint windows (first, allowed [n, S])."""
    windows = [(k, i, w) for k, (i, case) in enumerate(zip(sequence, cases)) for w in case]
    total = np.zeros(len(cases))
    if windows:
        lengths = [len(w.allowed) for _, _, w in windows]
        probability = _core.window_probability(
            potentials,
            np.array([i for _, i, _ in windows], np.int64),
            np.array([w.first for _, _, w in windows], np.int64),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([w.allowed for _, _, w in windows]).astype(np.uint8),
            n_jobs,
        )
        np.add.at(total, [k for k, _, _ in windows], probability)
    return [float(p) for p in np.minimum(total, 1.0)]

"""How good and how diverse the members of a logarithmic pool are: the ambiguity decomposition.

    K(q, pool) = E - A        E = sum over i of v_i K(q, p_i)        A = sum over i of v_i K(pool, p_i)

K is the Kullback-Leibler divergence, the v_i sum to one (Heskes 1998). With gold labels, q is 1 for the
gold labelling, so that K(q, p) = -log p(gold | x). A needs no labels. Everything is exact by
forward-backward: with the members' scores s_i and the marginals of the pool,

    K(pool, p_i) = E_pool[s] - log Z - E_pool[s_i] + log Z_i

Numbers are means over sequences, in nats; the identity holds for every sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Corpus
from fieldcraft.errors import InputError
from fieldcraft.evaluation.reports import aligned
from fieldcraft.features.encoded import Encoded
from fieldcraft.labels import encode_labels
from fieldcraft.models.blocks import cuts, part_of
from fieldcraft.models.inputs import encode, labels_of
from fieldcraft.pools.combining import Combined
from fieldcraft.pools.logarithmic import LogOpinionPool
from fieldcraft.potentials import ChainWeights, Parts, StateWeights
from fieldcraft.structures.linear_chain import LinearChain

Floats = NDArray[np.float64]
CELLS = 2_000_000  # numbers of a block's edge potentials


@dataclass(frozen=True, eq=False)
class Diversity:
    """The decomposition of a pool's error on some sequences; ``print`` shows it.

    Parameters
    ----------
    names, weights : of the members
    errors : [n, N] K(q, p_i) of each member and sequence; None without labels
    ambiguities : [n, N] K(pool, p_i)
    error : [N] K(q, pool) = -log p(gold | x) of the pool; None without labels
    """

    names: tuple[str, ...]
    weights: Floats
    errors: Floats | None
    ambiguities: Floats
    error: Floats | None

    @property
    def K(self) -> float | None:  # noqa: N802
        """Mean error of the pool; None without labels."""
        return None if self.error is None else _mean(self.error)

    @property
    def E(self) -> float | None:  # noqa: N802
        """Weighted mean error of the members; None without labels."""
        return None if self.errors is None else _mean(self.weights @ self.errors)

    @property
    def A(self) -> float:  # noqa: N802
        """Ambiguity: weighted mean divergence of the members from the pool."""
        return _mean(self.weights @ self.ambiguities)

    @property
    def n_sequences(self) -> int:
        """How many sequences were looked at."""
        return int(self.ambiguities.shape[1])

    def shares(self) -> list[dict[str, Any]]:
        """For each member its weight, its error and its ambiguity."""
        errors = [None] * len(self.names) if self.errors is None else [_mean(e) for e in self.errors]
        rows = zip(self.names, self.weights.tolist(), errors, (_mean(a) for a in self.ambiguities))
        return [{"member": n, "weight": w, "error": e, "ambiguity": a} for n, w, e, a in rows]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        facts = {"sequences": self.n_sequences, "K": self.K, "E": self.E, "A": self.A}
        return {**facts, "members": self.shares()}

    def __str__(self) -> str:
        head = ["member", "weight", "error", "ambiguity"]
        rows = [[_cell(row[name]) for name in head] for row in self.shares()]
        totals = f"A = {self.A:.4f} nats per sequence, {self.n_sequences:,} sequences"
        if self.K is not None:
            totals = f"K = {self.K:.4f} = E - A, E = {self.E:.4f}, {totals}"
        return aligned([head, *rows], cut=False) + "\n\n" + totals


def diversity(pool: LogOpinionPool, X: Any, y: Any = None) -> Diversity:
    """The ambiguity decomposition of a logarithmic pool.

    Parameters
    ----------
    pool : a LogOpinionPool per sequence, whose weights sum to one
    X, y : sequences and label lists, or a corpus; without labels there is only the ambiguity

    >>> from fieldcraft import ChainCRF, Gaussian, LogOpinionPool
    >>> X, y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> members = [ChainCRF(prior=Gaussian(variance=v)).fit(X, y) for v in (1.0, 100.0)]
    >>> result = diversity(LogOpinionPool(members), X, y)
    >>> bool(abs(result.E - result.A - result.K) < 1e-9), diversity(LogOpinionPool(members), X).K
    (True, None)
    """
    labelled = y is not None or (isinstance(X, Corpus) and bool(X.label_names))
    return decomposed(pool, X, labels_of(X, y) if labelled else None)


def ambiguity(pool: LogOpinionPool, X: Any) -> float:
    """A of a pool on sequences whose labels, if any, are not looked at."""
    return decomposed(pool, X, None).A


def decomposed(pool: LogOpinionPool, X: Any, labels: list[Any] | None) -> Diversity:
    """The decomposition with these labels, or without."""
    combined, weights = _of(pool)
    n_jobs = pool._threads()
    encoded = encode(X, combined.encoder, grow=False, n_threads=n_jobs)
    gold = None if labels is None else encode_labels(labels, combined.classes, encoded.offsets)
    pieces = [
        _block(
            combined, weights, part_of(encoded, a, b), None if gold is None else gold[slice(*tokens)], n_jobs
        )
        for a, b, tokens in _blocks(encoded, combined)
    ]
    ambiguities, errors, error = (_beside(column) for column in zip(*pieces))
    assert ambiguities is not None
    return Diversity(combined.names, weights, errors, ambiguities, error)


def _of(pool: Any) -> tuple[Combined, Floats]:
    if not isinstance(pool, LogOpinionPool) or pool.per != "sequence":
        raise InputError("the decomposition is one of logarithmic pools per sequence; pass a LogOpinionPool")
    pool._require_fitted()
    if abs(pool.pool_weights_.sum() - 1.0) > 1e-6:
        raise InputError(
            f"the weights sum to {pool.pool_weights_.sum():.6g}, and the decomposition needs weights that "
            "sum to one; use the same members in a pool with such weights"
        )
    return pool._side_by_side(), pool.pool_weights_


def _blocks(encoded: Encoded, combined: Combined) -> list[tuple[int, int, tuple[int, int]]]:
    """Sequences a .. b-1 whose edge potentials fit into memory, and their tokens."""
    bounds = cuts(encoded.offsets, max(1, CELLS // max(combined.structure.n_states, 1) ** 2))
    offsets = encoded.offsets.tolist()
    return [(a, b, (offsets[a], offsets[b])) for a, b in zip(bounds, bounds[1:])]


def _block(
    combined: Combined, weights: Floats, encoded: Encoded, gold: NDArray[np.int32] | None, n_jobs: int
) -> tuple[Floats, Floats | None, Floats | None]:
    """Ambiguities [n, N], errors [n, N] and the pool's error [N] of a block."""
    structure: Any = combined.structure.using(n_jobs)
    parts = [potentials_of(scorer, encoded) for scorer in combined.scorers]
    whole = _sum(parts, weights, structure)
    pooled = structure.infer(whole)
    log_z = np.stack([structure.log_partition(part) for part in parts])  # [n, N]
    expected = np.stack([structure.dot(part, pooled.marginals) for part in parts])  # [n, N]
    own = structure.dot(whole, pooled.marginals) - pooled.log_partition
    ambiguities = own - expected + log_z
    if gold is None:
        return ambiguities, None, None
    states = structure.gold(gold)
    scores = np.stack([structure.score(part, states) for part in parts])
    return ambiguities, log_z - scores, pooled.log_partition - structure.score(whole, states)


def potentials_of(scorer: Any, encoded: Encoded) -> Parts:
    """The potentials of a model as arrays."""
    if isinstance(scorer, (ChainWeights, StateWeights)):
        return LinearChain.potentials(*scorer.arrays(encoded), encoded.offsets)
    parts: Parts = scorer.potentials(encoded)
    node = parts["node"]
    return LinearChain.potentials(
        np.broadcast_to(node, (parts.n_positions, node.shape[-1])), parts["edge"], parts.offsets
    )


def _sum(parts: Sequence[Parts], weights: Floats, structure: Any) -> Parts:
    """The weighted sum of potentials; a member without weight forbids nothing."""
    arrays = {}
    for name in structure.parts:
        pairs = zip(weights.tolist(), parts)
        arrays[name] = sum((v * part[name] for v, part in pairs if v != 0.0), np.zeros(1))
    return Parts(arrays, parts[0].offsets)


def _beside(column: Sequence[Floats | None]) -> Floats | None:
    known = [piece for piece in column if piece is not None]
    return np.concatenate(known, axis=-1) if known else None


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else f"{value:.4f}"

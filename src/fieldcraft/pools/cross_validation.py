"""The cross-validation ensemble: a pool that estimates its own error while it learns from all data.

Each of n members learns from all parts of the data but one. Its error on that part is unbiased; the
ambiguity of the pool comes from unlabelled data. The decomposition (diversity.py) makes an estimate of the
pool's error of both: K = E - A (Hansen & Krogh 2000; Smith 2007, 6.1.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft.corpus import Corpus
from fieldcraft.counts import whole_number
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.inputs import labels_of
from fieldcraft.pools.diversity import ambiguity
from fieldcraft.pools.expert import Expert
from fieldcraft.pools.logarithmic import LogOpinionPool
from fieldcraft.pools.samples import Part


@dataclass(frozen=True, eq=False)
class CrossValidationEnsemble:
    """A pool with an estimate of its error, -log p(gold | x) per sequence.

    Parameters
    ----------
    pool : the members, with uniform weights
    errors : [n] the mean error of each member on the part that it did not learn from
    A : the ambiguity of the pool on unlabelled data
    """

    pool: LogOpinionPool
    errors: list[float]
    A: float

    @property
    def E(self) -> float:  # noqa: N802
        """Mean error of the members."""
        return float(np.mean(self.errors))

    @property
    def K(self) -> float:  # noqa: N802
        """Estimated error of the pool: E - A."""
        return self.E - self.A

    def __str__(self) -> str:
        return f"K = {self.K:.4f} = E - A, E = {self.E:.4f}, A = {self.A:.4f} nats per sequence (estimate)"


def cross_validation_ensemble(
    crf: ChainCRF, X: Any, y: Any = None, unlabelled: Any = None, n: int = 5, **options: Any
) -> CrossValidationEnsemble:
    """Train n members, each on all parts of the data but one, and estimate the error of their pool.

    Parameters
    ----------
    crf : the parameters of the members; its ``random_state`` draws the parts
    X, y : sequences and label lists; or a labelled Corpus and no y
    unlabelled : sequences for the ambiguity; None for X, whose ambiguity is lower, since members learnt
        from it
    n : members
    options : of ``LogOpinionPool.fit``

    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]], [["w=the"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"]] * 3
    >>> result = cross_validation_ensemble(ChainCRF(), X, y, unlabelled=X, n=3)
    >>> len(result.errors), bool(abs(result.E - result.A - result.K) < 1e-12)
    (3, True)
    """
    n = whole_number(n, "n", 2, "the number of parts")
    parts = [Part(i, n, crf.random_state, others=True) for i in range(n)]
    experts = [Expert(f"without{i + 1}", crf, None, part) for i, part in enumerate(parts)]
    pool = LogOpinionPool(experts, n_jobs=crf.n_jobs).fit(X, y, **options)
    labels = labels_of(X, y)
    errors = []
    for part, model in zip(parts, pool.members_):
        left_out = np.flatnonzero(part.counts(len(labels)) == 0).tolist()
        held_out = X[left_out] if isinstance(X, Corpus) else [X[i] for i in left_out]
        log_p = model.log_probability(held_out, [labels[i] for i in left_out])
        errors.append(-float(np.mean(log_p)))
    return CrossValidationEnsemble(pool, errors, ambiguity(pool, X if unlabelled is None else unlabelled))

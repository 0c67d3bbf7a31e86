"""LogOpinionPool: the weighted product of its members, which is one chain.

    p(y | x) = product over i of p_i(y | x)^v_i / Z(x)

Scores of chains are linear in the weights of their features, so that the pool is the chain with the weights
v W (combining.py): it needs no inference of its own and tags at the speed of one model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.models.blocks import Predictor
from fieldcraft.models.held_out import HeldOut
from fieldcraft.pools.combining import Combined
from fieldcraft.pools.likelihoods import known_gold, position_likelihood, sequence_likelihood
from fieldcraft.pools.pool import Pool
from fieldcraft.pools.positions import PositionScorer, log_marginals, plain_chain, pooled
from fieldcraft.pools.weights import most_likely, resolve_dirichlet

Floats = NDArray[np.float64]


class LogOpinionPool(Pool):
    """Logarithmic opinion pool: one chain that is the weighted product of several.

    It answers everything that a ChainCRF answers. Trained members answer at once; ``fit`` trains the
    others, on data that is encoded once. After that ``members_`` are the trained members, ``member_names_``
    their names, ``pool_weights_`` their weights, and ``weights_`` those of the features of the pool as one
    model.

    Parameters
    ----------
    members : trained chain models with the same labels; or models and experts (``fc.experts``) that fit
        trains
    weights : of the members: "uniform", numbers that sum to one, "likelihood" or "held_out", which fit finds
    product : product of experts: all weights are 1, and fit trains the members together, by the likelihood of
        their product
    unconstrained : allow weights that are negative or do not sum to one
    dirichlet : for weights="likelihood": parameter of a Dirichlet prior, 1 or more (1 is none)
    per : "sequence", or "position" to pool the members' marginals at each position
    decoding, metric, tokenizer, n_jobs, random_state : see ChainCRF

    Examples
    --------
    >>> from fieldcraft import ChainCRF, Gaussian
    >>> X, y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> a, b = (ChainCRF(prior=Gaussian(variance=v)).fit(X, y) for v in (1.0, 100.0))
    >>> pool = LogOpinionPool([a, b], weights=[0.6, 0.4])
    >>> pool.predict(X).tolist()
    [['DET', 'NOUN'], ['DET', 'NOUN']]
    >>> bool(abs(pool.weights_ - (0.6 * a.weights_ + 0.4 * b.weights_)).max() < 1e-12)
    True
    """

    def __init__(
        self,
        members: Any = (),
        *,
        weights: Any = "uniform",
        product: bool = False,
        unconstrained: bool = False,
        dirichlet: Any = None,
        per: str = "sequence",
        decoding: str = "viterbi",
        metric: Any = "auto",
        tokenizer: Any = "words",
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.members, self.weights, self.product = members, weights, product
        self.unconstrained, self.dirichlet, self.per = unconstrained, dirichlet, per
        self.decoding, self.metric, self.tokenizer = decoding, metric, tokenizer
        self.n_jobs, self.random_state = n_jobs, random_state

    def _is_one_model(self) -> bool:
        return self.per == "sequence"

    def _predictor(self) -> Predictor:
        predictor = super()._predictor()
        if self.per == "sequence":
            return predictor
        return by_position(self, predictor, linear=False)

    def _most_likely(self, combined: Combined, data: HeldOut) -> Floats:
        alpha = resolve_dirichlet(self.dirichlet, len(combined))
        if self.per == "sequence":
            likelihood = sequence_likelihood(combined, data, self._threads())
        else:
            logs = member_logs(combined, data, self._threads())
            likelihood = position_likelihood(logs, known_gold(data, combined.classes))
        return most_likely(likelihood, len(combined), alpha, unconstrained=self.unconstrained)

    def _labels_by_weights(self, combined: Combined, data: HeldOut) -> Callable[[Floats], Any]:
        if self.per == "sequence":
            return lambda weights: data.labels(weights @ combined.weights)
        logs = member_logs(combined, data, self._threads())
        return lambda weights: pooled(logs, weights, linear=False).argmax(axis=1).astype(np.int32)


def by_position(pool: Pool, predictor: Predictor, *, linear: bool) -> Predictor:
    """The predictor of a pool per position."""
    combined = pool._side_by_side()
    chain: Any = predictor.structure
    scorer = PositionScorer(combined.scorers, chain, pool.pool_weights_, linear=linear)
    return predictor._replace(structure=plain_chain(chain), scorer=scorer, parameters=None)


def member_logs(combined: Combined, data: HeldOut, n_jobs: int) -> list[Floats]:
    """[n] the log marginals [tokens, Y] of each member."""
    chain: Any = combined.structure.using(n_jobs)
    return [log_marginals(scorer, chain, data.encoded) for scorer in combined.scorers]

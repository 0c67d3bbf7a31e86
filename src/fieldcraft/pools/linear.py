"""LinearOpinionPool: the weighted mean of its members' distributions.

    p(y | x) = sum over i of v_i p_i(y | x)

It is no chain: every member runs its own forward-backward, and labels are decided position by position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.models.blocks import Predictor
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.inputs import EncodedSequences, encode
from fieldcraft.models.scored import Scored
from fieldcraft.pools.combining import Combined
from fieldcraft.pools.likelihoods import known_gold, mixture_likelihood
from fieldcraft.pools.logarithmic import by_position, member_logs
from fieldcraft.pools.mixture import ScoredMixture
from fieldcraft.pools.pool import Pool
from fieldcraft.pools.positions import pooled
from fieldcraft.pools.weights import most_likely, resolve_dirichlet

Floats = NDArray[np.float64]


class LinearOpinionPool(Pool):
    """Linear opinion pool: the weighted mean of several models' distributions.

    Answers ``predict`` (the most probable label of each position), ``predict_proba``, ``predict_marginals``,
    ``span_probability``, ``log_probability`` and ``sample``, all of them exact; ``k_best``, ``entropy``,
    ``log_partition`` and ``explain`` are refused. With per="position" the positions are independent, and all
    but ``explain`` and ``inspect`` are answered.

    Parameters
    ----------
    members : trained chain models with the same labels; or models and experts (``fc.experts``) that fit
        trains
    weights : of the members: "uniform", numbers that sum to one, "likelihood" or "held_out", which fit finds
    dirichlet : for weights="likelihood": parameter of a Dirichlet prior, 1 or more (1 is none)
    per : "sequence", or "position" for the product of the positions' distributions
    metric, tokenizer, n_jobs, random_state : see ChainCRF

    Examples
    --------
    >>> from fieldcraft import ChainCRF, Gaussian
    >>> X, y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> a, b = (ChainCRF(prior=Gaussian(variance=v)).fit(X, y) for v in (1.0, 100.0))
    >>> pool = LinearOpinionPool([a, b])
    >>> means = (a.predict_proba(X)[0] + b.predict_proba(X)[0]) / 2
    >>> bool(abs(pool.predict_proba(X)[0] - means).max() < 1e-12), pool.decode(X)[0].optimal
    (True, False)
    """

    def __init__(
        self,
        members: Any = (),
        *,
        weights: Any = "uniform",
        dirichlet: Any = None,
        per: str = "sequence",
        metric: Any = "auto",
        tokenizer: Any = "words",
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.members, self.weights, self.dirichlet, self.per = members, weights, dirichlet, per
        self.metric, self.tokenizer = metric, tokenizer
        self.n_jobs, self.random_state = n_jobs, random_state

    def _predictor(self) -> Predictor:
        predictor = super()._predictor()
        return predictor if self.per == "sequence" else by_position(self, predictor, linear=True)

    def _scored(self, X: Any, predictor: Predictor | None = None, *, keep: bool = False) -> Scored:
        if self.per == "position":
            return super()._scored(X, predictor, keep=keep)
        predictor = self._predictor() if predictor is None else predictor
        combined = self._side_by_side()
        encoded = encode(X, combined.encoder, grow=False, n_threads=predictor.structure.n_jobs)
        each = [
            Scored(predictor._replace(scorer=scorer), X, encoded, keep=keep) for scorer in combined.scorers
        ]
        return ScoredMixture(each, self.pool_weights_)

    def _most_likely(self, combined: Combined, data: HeldOut) -> Floats:
        alpha = resolve_dirichlet(self.dirichlet, len(combined))
        gold = known_gold(data, combined.classes)
        if self.per == "position":
            rows = [own[np.arange(len(gold)), gold] for own in member_logs(combined, data, self._threads())]
        else:
            rows = [_log_probability(model, data, gold) for model in combined.models]
        return most_likely(mixture_likelihood(np.stack(rows)), len(combined), alpha)

    def _labels_by_weights(self, combined: Combined, data: HeldOut) -> Callable[[Floats], Any]:
        logs = member_logs(combined, data, self._threads())
        return lambda weights: pooled(logs, weights, linear=True).argmax(axis=1).astype(np.int32)


def _log_probability(model: Any, data: HeldOut, gold: NDArray[np.int32]) -> Floats:
    """[N] log p_i(gold | x)."""
    names, offsets = model.classes_, data.encoded.offsets
    labels = [names[gold[a:b]].tolist() for a, b in zip(offsets, offsets[1:])]
    log_p: Floats = model.log_probability(EncodedSequences(model.encoder_, data.encoded), labels)
    return log_p

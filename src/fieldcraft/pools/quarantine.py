"""Quarantine: features that decide too much learn apart, and a pool joins what they learnt with the rest.

A feature that alone predicts its label in the training data (a gazetteer's, say) takes weight from the
features beside it, which are then too weak where it is silent (Smith 2007, chapter 8). Two experts learn
from the same data: one has these features and the plain structure (label pairs, first and last, words), the
other everything but these features. Their pool has one free weight, which held-out data chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.pools.discriminative import DETECTORS, detect
from fieldcraft.pools.expert import Either, Expert, Given, Mask, OfNames, Rule, View, Without, Words
from fieldcraft.pools.logarithmic import LogOpinionPool
from fieldcraft.pools.weights import HELD_OUT

SETTINGS = ("metric", "decoding", "tokenizer", "n_jobs", "random_state")


def quarantine(
    crf: ChainCRF, features: Any, X: Any, y: Any = None, *, X_dev: Any, y_dev: Any = None, **options: Any
) -> LogOpinionPool:
    """A pool of two experts: some features with the plain structure, and all other features.

    Parameters
    ----------
    crf : the parameters of both
    features : which features are quarantined: booleans [F] over the feature index, a function of the index
        that returns them, a detector by name ("gazetteers", "family_singletons", "family_ntons", "loners",
        "loners:1000"; see ``fc.discriminative``), or names or patterns (``*``) of templates or attributes
    X, y : sequences and label lists; or a labelled Corpus and no y
    X_dev, y_dev : held-out data, on which the pool's weight is chosen by the model's ``metric``
    options : of ``LogOpinionPool.fit``

    Returns
    -------
    The pool; its members are "quarantined" and "rest".

    >>> from fieldcraft import datasets
    >>> corpus = datasets.addresses(60)
    >>> crf = ChainCRF(templates="word" + chr(10) + "shape(word)" + chr(10) + "edge")
    >>> pool = quarantine(crf, ["shape(*)"], corpus[:40], X_dev=corpus[40:])
    >>> pool.member_names_, round(float(pool.pool_weights_.sum()), 6)
    (('quarantined', 'rest'), 1.0)
    """
    if X_dev is None:
        raise InputError(
            "X_dev is missing; the weight of the quarantined features is chosen on held-out data"
        )
    rule = _rule(features)
    members = [Expert("quarantined", crf, Either((rule, Words()))), Expert("rest", crf, Without(rule))]
    settings = {name: getattr(crf, name) for name in SETTINGS}
    pool = LogOpinionPool(members, weights=HELD_OUT, **settings)
    return pool.fit(X, y, X_dev=X_dev, y_dev=y_dev, **options)


@dataclass(frozen=True)
class Detected:
    """Features that a detector finds."""

    name: str

    def __call__(self, view: View) -> Mask:
        return detect(self.name, view.encoder, view.design, len(view.labels))


def _rule(features: Any) -> Rule:
    if isinstance(features, str):
        known = features.partition(":")[0] in DETECTORS
        return Detected(features) if known else OfNames((features,))
    listed = list(features) if isinstance(features, (list, tuple, set, frozenset)) else []
    if listed and all(isinstance(name, str) for name in listed):
        return OfNames(tuple(listed))
    return Given(features)

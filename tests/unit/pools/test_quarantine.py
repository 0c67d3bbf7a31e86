"""Quarantined features learn apart from the rest, and one weight joins both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

CORPUS = fc.datasets.addresses(80)
TRAIN, DEV = CORPUS[:50], CORPUS[50:]
TEMPLATES = "word\nword[-1]\nshape(word)\nsuffix(word, 2)\nedge\nfirst\nlast"


def crf() -> fc.ChainCRF:
    return fc.ChainCRF(templates=TEMPLATES, optimiser=fc.LBFGS(max_iterations=10), n_jobs=1)


def templates(pool: Any, member: int) -> set[str]:
    """The templates with a weight in a member."""
    listed = pool.members_[member].inspect().templates
    return {row.template for row in listed if row.active}


def test_two_members_and_one_weight() -> None:
    pool = fc.quarantine(crf(), ["shape(*)"], TRAIN, X_dev=DEV)
    assert pool.member_names_ == ("quarantined", "rest")
    assert templates(pool, 0) == {"shape(word)", "word", "first", "last", "label pairs"}
    assert templates(pool, 1) == {"word", "word[-1]", "suffix(word, 2)", "first", "last", "label pairs"}
    assert pool.pool_weights_.sum() == pytest.approx(1.0)
    scores = {}
    for share in range(0, 101, 5):
        other = fc.LogOpinionPool(pool.members_, weights=[share / 100, 1 - share / 100])
        scores[share] = fc.metrics.resolve_metric("auto", DEV.labels)(DEV.labels, list(other.predict(DEV)))
    best = fc.metrics.resolve_metric("auto", DEV.labels)(DEV.labels, list(pool.predict(DEV)))
    assert best >= max(scores.values())


def test_masks_functions_and_names_agree() -> None:
    number = [t.name for t in fc.Templates.resolve(TEMPLATES)].index("shape(word)")
    design = crf().fit(TRAIN).features_
    mask = design.template == number
    by = [["shape(word)"], mask, lambda index: index.template == number, "shape(word)=*"]
    pools = [fc.quarantine(crf(), features, TRAIN, X_dev=DEV) for features in by]
    for pool in pools[1:]:
        assert np.array_equal(pool.weights_, pools[0].weights_)


@pytest.mark.parametrize("name", ["family_singletons", "family_ntons", "loners:40"])
def test_detectors_by_name(name: str) -> None:
    fitted = crf().fit(TRAIN)
    detectors = fc.discriminative
    masks = {
        "family_singletons": lambda: detectors.family_singletons(fitted.features_),
        "family_ntons": lambda: detectors.family_ntons(fitted.features_),
        "loners:40": lambda: detectors.loners(fitted, TRAIN, size=40),
    }
    by_name, by_mask = (fc.quarantine(crf(), f, TRAIN, X_dev=DEV) for f in (name, masks[name]()))
    assert np.array_equal(by_name.weights_, by_mask.weights_)


def test_bad_features() -> None:
    with pytest.raises(InputError, match="loners:x.*after the colon stands a whole number"):
        fc.quarantine(crf(), "loners:x", TRAIN, X_dev=DEV)
    with pytest.raises(InputError, match="no such feature"):
        fc.quarantine(crf(), "gazetteers", TRAIN, X_dev=DEV)
    with pytest.raises(InputError, match="no template and no attribute matches 'tag"):
        fc.quarantine(crf(), ["tag*"], TRAIN, X_dev=DEV)
    with pytest.raises(InputError, match="X_dev is missing"):
        fc.quarantine(crf(), ["shape(*)"], TRAIN, X_dev=None)
    with pytest.raises(InputError, match="a mask of shape"):
        fc.quarantine(crf(), [True, False], TRAIN, X_dev=DEV)

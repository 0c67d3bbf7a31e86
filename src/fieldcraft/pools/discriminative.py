"""Finds highly discriminative features: rare ones, whose observation all but decides the label.

A model leans on them, so that its other features learn less than they could; a pool trains them apart. Each
detector returns a mask [F] over the feature index:

    gazetteers          the template looks a word up in a gazetteer
    family_singletons   count = family = 1: the observation was seen once, so with one label
    family_ntons        count = family = n > 1: seen n times, always with the same label
    loners              the features with the lowest mean number of other features that are active where
                        they are, under the gold labelling

A family is an observation (template and values) with all its labels; observations that are combined with
label pairs are families of their own. Label pairs without an observation are in no family.
``pools.discriminative.detect`` takes a detector by name, for pools that train on a shared design.
Described in A. Smith's thesis (2007), section 8.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.counts import whole_number
from fieldcraft.design import Design, Encoder
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.terms import Template
from fieldcraft.labels import encode_labels
from fieldcraft.models.blocks import cuts, part_of
from fieldcraft.models.inputs import encode, labels_of
from fieldcraft.models.parameters import is_native
from fieldcraft.pools.activity import Activity, Ints, Mask
from fieldcraft.problems import check_mask

__all__ = ["family_ntons", "family_singletons", "gazetteers", "loners", "mean_company"]

Floats = NDArray[np.float64]
BLOCK = 20_000  # tokens whose active features are in memory at once


def family_singletons(index: FeatureIndex) -> Mask:
    """[F] features whose observation occurs once in the training data.

    >>> from fieldcraft import ChainCRF
    >>> crf = ChainCRF().fit([[["w=a"]], [["w=b"]], [["w=a"]]], [["X"], ["Y"], ["X"]])
    >>> family_singletons(crf.features_).tolist()
    [False, True]
    """
    return family_ntons(index, least=1, most=1)


def family_ntons(index: FeatureIndex, *, least: int = 2, most: int | None = None) -> Mask:
    """[F] features whose observation occurs ``least`` to ``most`` times, always with the same labels.

    >>> from fieldcraft import ChainCRF
    >>> crf = ChainCRF().fit([[["w=a"]], [["w=b"]], [["w=a"]]], [["X"], ["Y"], ["X"]])
    >>> family_ntons(crf.features_).tolist()
    [True, False]
    """
    least = whole_number(least, "least", 1)
    if not np.any(index.count > 0):
        raise InputError(
            "the features have no counts, as in a model that was saved with compact=True or imported; detect "
            "families in a model as it was trained"
        )
    alone = (index.attribute >= 0) & (index.count == index.family) & (index.count >= least)
    if most is not None:
        alone &= index.count <= whole_number(most, "most", least)
    return np.asarray(alone)


def gazetteers(model: Any) -> Mask:
    """[F] features of a trained model whose template looks a word up in a gazetteer, plain or lexicalised.

    >>> from fieldcraft import ChainCRF, Gazetteer
    >>> cities = Gazetteer("cities", ["Rome"])
    >>> crf = ChainCRF("word\\nin(cities, word) & word", gazetteers=[cities])
    >>> crf = crf.fit([["in", "Rome"]], [["O", "LOC"]])
    >>> crf.features_.count[gazetteers(crf)].tolist()
    [1]
    """
    return of_gazetteers(model.features_, model.encoder_.templates)


def loners(model: Any, X: Any, y: Any = None, *, size: int = 500) -> Mask:
    """[F] the ``size`` features of a trained model with the lowest mean company in the training data X, y.

    Of features with the same mean, those that come first in the index are taken. Features that do not occur
    in X are never taken.

    >>> from fieldcraft import ChainCRF
    >>> X, y = [[["w=a", "title"]], [["w=b"]], [["w=a", "title"]]], [["X"], ["Y"], ["X"]]
    >>> crf = ChainCRF().fit(X, y)
    >>> loners(crf, X, y, size=1).tolist()
    [False, False, True]
    """
    return loneliest(mean_company(model, X, y), size)


def mean_company(model: Any, X: Any, y: Any = None) -> Floats:
    """[F] mean number of other features that are active where a feature is, under the labelling y.

    Infinite for features that are active nowhere. One pass over X.

    >>> from fieldcraft import ChainCRF
    >>> X, y = [[["w=a", "title"]], [["w=b"]], [["w=a", "title"]]], [["X"], ["Y"], ["X"]]
    >>> mean_company(ChainCRF().fit(X, y), X, y).tolist()
    [1.0, 1.0, 0.0]
    """
    index, parameters = model.features_, model._parameters
    if not is_native(parameters.structure):
        raise InputError(
            f"company is counted under a labelling, and the structure {parameters.structure.name} has states "
            "that are not labels; use a chain with states='labels'"
        )
    encoded = encode(X, parameters.encoder, grow=False)
    labels = encode_labels(labels_of(X, y), model.classes_.tolist(), encoded.offsets)
    return company(index, encoded, labels, len(model.classes_))


def of_gazetteers(index: FeatureIndex, templates: Iterable[Template]) -> Mask:
    """[F] features whose template looks a word up in a gazetteer."""
    looks = [any(term.source == "gazetteer" for term in template.terms) for template in templates]
    mask: Mask = np.array([*looks, False])[index.template]  # -1, no template, is the last one
    return mask


def company(index: FeatureIndex, encoded: Encoded, labels: Ints, n_labels: int) -> Floats:
    """[F] as ``mean_company``, from arrays: attributes and the gold labels [tokens]."""
    activity = Activity(index, n_labels)
    times, total = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    bounds = cuts(encoded.offsets, BLOCK)
    for a, b in zip(bounds, bounds[1:]):
        tokens = slice(int(encoded.offsets[a]), int(encoded.offsets[b]))
        active = activity.under(part_of(encoded, a, b), labels[tokens])
        others = np.diff(active.indptr) - 1  # [tokens] beside each active feature
        times += active.sum(axis=0)
        total += active.T @ others
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(times > 0, total / times, np.inf))


def loneliest(means: Floats, size: int) -> Mask:
    """[F] the ``size`` features with the lowest means; the first of equals."""
    size = whole_number(size, "size", 1)
    occurring = int(np.isfinite(means).sum())
    if size > occurring:
        raise InputError(
            f"size={size}: only {occurring} features occur in the data; choose at most that many"
        )
    mask = np.zeros(len(means), bool)
    mask[np.argsort(means, kind="stable")[:size]] = True
    return mask


def _loners(encoder: Encoder, design: Design, n_labels: int, size: int) -> Mask:
    del encoder
    if design.partial is not None:
        raise InputError("loners are counted under the gold labelling; with partial labels there is none")
    return loneliest(company(design.index, design.encoded, design.gold, n_labels), size)


Detector = Callable[[Encoder, Design, int, Any], Mask]
DETECTORS: dict[str, Detector] = {
    "gazetteers": lambda encoder, design, *_: of_gazetteers(design.index, encoder.templates),
    "family_singletons": lambda _, design, *__: family_singletons(design.index),
    "family_ntons": lambda _, design, *__: family_ntons(design.index),
    "loners": _loners,
}
SIZES = {"loners": 500}  # detectors that take a number, as in loners:1000, and its default


def detect(features: Any, encoder: Encoder, design: Design, n_labels: int) -> Mask:
    """[F] the features that are meant: a detector's name, a mask, or a function of the feature index.

    ``loners:1000`` has another size than ``loners``. A mask without features is an error.
    """
    if isinstance(features, str):
        found = _named(features, encoder, design, n_labels)
    else:
        wanted = features(design.index) if callable(features) else features
        checked = check_mask(wanted, len(design.index))
        if checked is None:
            raise InputError(f"features=None; give a mask, a function or one of {', '.join(DETECTORS)}")
        found = np.asarray(checked, bool)
    if not found.any():
        raise InputError(f"features={features!r}: there is no such feature in the training data")
    return found


def _named(features: str, encoder: Encoder, design: Design, n_labels: int) -> Mask:
    name, colon, number = features.partition(":")
    if name not in DETECTORS or (colon and name not in SIZES):
        raise InputError(f"features={features!r}; choose one of {', '.join(DETECTORS)}, e.g. loners:1000")
    if colon and not number.isdecimal():
        raise InputError(f"features={features!r}: after the colon stands a whole number, e.g. {name}:1000")
    return DETECTORS[name](encoder, design, n_labels, int(number) if colon else SIZES.get(name))

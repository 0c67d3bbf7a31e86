"""What must hold whatever a file or an object contains: an answer, or a FieldcraftError that says where.

Each function does one such attempt and tells how it ended, "answered" or "refused". Any other exception goes
through: it is a find.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.user_features import FreeFeatures
from fuzz.seeds import WORDS, places


def _names(error: Exception, path: Path) -> str:
    assert path.name in str(error), f"the message does not name {path.name}: {error}"
    assert "more memory" not in str(error), f"allocated beyond the bound: {error}"
    str(error).encode()  # can be shown
    return "refused"


def model(path: Path, X: Any) -> str:
    """Load; a model that loads also answers."""
    try:
        crf = fc.load(path)
    except fc.FieldcraftError as error:
        return _names(error, path)
    crf.n_jobs = 1
    labels = set(crf.classes_.tolist())
    try:
        predicted = crf.predict(X)
    except fc.FieldcraftError:  # e.g. the templates look at a column that X lacks
        return "refused"
    assert all(label in labels for sequence in predicted for label in sequence)
    for sequence, p in zip(predicted, crf.predict_proba(X)):
        assert p.shape == (len(sequence), len(labels))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6)
    _rank(crf, X)
    _sample(crf, X)
    str(crf.explain(X[0]))
    str(crf.inspect(top=3))
    return "answered"


def _rank(crf: Any, X: Any) -> None:
    try:
        ranked = crf.k_best(X[:2], 3)
    except fc.FieldcraftError as error:  # scores that add up to more than the largest number have no log Z
        if not (str(error).startswith("sequence ") and "largest floating-point number" in str(error)):
            raise
        return
    for paths in ranked:
        assert all(score <= 1e-6 for _, score in paths)


def _sample(crf: Any, X: Any) -> None:
    try:
        crf.sample(X[:1], 2)
    except fc.FieldcraftError as error:
        if "random_state" not in str(error):  # which need not be a seed: None is allowed
            raise


def templates(path: Path, language: str) -> str:
    """Read, compile, encode; what was read is written and read again."""
    try:
        found = Templates.read(path, format=language)
    except fc.FieldcraftError as error:
        return _names(error, path)
    assert Templates.parse(str(found), format=language) == found
    try:
        return _encode(found)
    except fc.FieldcraftError as error:
        str(error).encode()
        return "refused"


def _encode(found: Templates) -> str:
    for hash_size in (None, 32):
        features = TemplateFeatures(found, gazetteers=[places()], hash_size=hash_size)
        columns = [[tuple([w] * len(found.columns)) for w in s] for s in WORDS]
        grown = features.encode(columns, grow=True)
        again = features.encode(columns, grow=False)
        np.testing.assert_array_equal(grown.attributes, again.attributes)
        features.attribute_text(grown.attributes[:5])
    return "answered"


def corpus(path: Path, format: str, **options: Any) -> str:
    """Read whole and as a stream: the same sequences, or the same refusal."""
    try:
        whole = list(fc.read(path, format=format, **options))
    except fc.FieldcraftError as error:
        _names(error, path)
        whole = None
    try:
        stream: list[Any] | None = list(fc.read(path, format=format, lazy=True, **options))
    except fc.FieldcraftError as error:
        _names(error, path)
        stream = None
    assert (whole is None) == (stream is None)
    for a, b in itertools.zip_longest(whole or (), stream or ()):
        assert (a.columns, a.labels) == (b.columns, b.labels)
        assert len({*map(len, a.columns.values()), *([len(a.labels)] if a.labels else [])}) <= 1
    return "refused" if whole is None else "answered"


def features(X: Any) -> str:
    """Objects of any kind as features: twice the same ids, or a refusal."""
    encoder = FreeFeatures()
    try:
        grown = encoder.encode(X, grow=True)
    except fc.FieldcraftError as error:
        str(error).encode()
        return "refused"
    except ZeroDivisionError:  # the user's own, raised by objects.Broken
        return "refused"
    again = encoder.encode(X, grow=False)
    if np.array_equal(again.token_ptr, grown.token_ptr):  # not where something could be read only once
        np.testing.assert_array_equal(grown.attributes, again.attributes)
    assert grown.token_ptr[-1] == len(grown.attributes)
    assert grown.offsets[-1] == len(grown.token_ptr) - 1
    encoder.attribute_text(grown.attributes[:5])
    return "answered"

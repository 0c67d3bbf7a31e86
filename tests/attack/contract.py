"""What must hold whatever a file or an object contains: an answer, or a FieldcraftError that says where.

Each function does one such attempt and tells how it ended, "answered" or "refused". Any other exception goes
through: it is a find.
"""

from __future__ import annotations

import itertools
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from attack.seeds import WORDS, places
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.user_features import FreeFeatures


def _names(error: Exception, path: Path) -> str:
    assert path.name in str(error), f"the message does not name {path.name}: {error}"
    assert "more memory" not in str(error), f"allocated beyond the bound: {error}"
    str(error).encode()  # can be shown
    return "refused"


def model(path: Path, X: Any) -> str:
    """Load; a model that loads also answers every question of the battery."""
    try:
        crf = fc.load(path)
    except fc.FieldcraftError as error:
        return _names(error, path)
    crf.n_jobs = 1
    try:
        predicted = crf.predict(X)
    except fc.FieldcraftError:  # e.g. the templates look at a column that X lacks
        return "refused"
    labels = set(crf.classes_.tolist())
    assert all(label in labels for sequence in predicted for label in sequence)
    for ask in BATTERY:
        try:
            ask(crf, X, predicted)
        except fc.FieldcraftError as error:
            str(error).encode()
            if ask not in MAY_REFUSE and not any(words in str(error) for words in REASONS):
                raise AssertionError(f"{ask.__name__}: {error}") from error
    return "answered"


# Sums that have no log Z; a damaged table of states, in which they are no longer labels.
REASONS = ("largest floating-point number", "a model whose states are its labels")
_EXPECTED: dict[str, Any] = {}  # what the undamaged models of ``checked`` answer; they are tried first


def checked(name: str, path: Path, X: Any) -> str:
    """A file whose checksums do not fit is an error; one that loads answers as the undamaged one does."""
    try:
        crf = fc.load(path)
    except fc.FieldcraftError as error:
        return _names(error, path)
    answers = [row.tolist() for row in crf.predict_proba(X)]
    assert answers == _EXPECTED.setdefault(name, answers), "a damaged file answers differently"
    return "answered"


def _marginals(crf: Any, X: Any, predicted: Any) -> None:
    for sequence, p in zip(predicted, crf.predict_proba(X)):
        assert p.shape == (len(sequence), len(crf.classes_))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6)


def _dicts(crf: Any, X: Any, predicted: Any) -> None:
    for sequence, rows in zip(predicted, crf.predict_marginals(X)):
        assert len(rows) == len(sequence)


def _k_best(crf: Any, X: Any, predicted: Any) -> None:
    for sequence, paths in zip(predicted[:2], crf.k_best(X[:2], 3)):
        assert all(score <= 1e-6 and len(labels) == len(sequence) for labels, score in paths)


def _sample(crf: Any, X: Any, predicted: Any) -> None:
    for sequence, drawn in zip(predicted[:1], crf.sample(X[:1], 2)):
        assert all(len(labels) == len(sequence) for labels in drawn)


def _log_probability(crf: Any, X: Any, predicted: Any) -> None:
    assert not np.any(np.asarray(crf.log_probability(X, predicted)) > 1e-6)


def _spans(crf: Any, X: Any, predicted: Any) -> None:
    crf.scored(X[:1]).predict_spans()
    assert 0.0 <= crf.span_probability(X[:1], [[(0, 1, predicted[0][0])]])[0][0] <= 1.0 + 1e-9


def _posterior(crf: Any, X: Any, predicted: Any) -> None:
    before = crf.decoding
    crf.decoding = "posterior"
    try:
        assert len(crf.predict(X)) == len(predicted)
    finally:
        crf.decoding = before


def _saved(crf: Any, X: Any, predicted: Any) -> None:
    """Not the same answers: names of a damaged table are found in other places once it is written anew."""
    with tempfile.TemporaryDirectory() as folder:
        crf.save(Path(folder) / "again.fc")
        assert len(fc.load(Path(folder) / "again.fc").predict(X)) == len(predicted)


def _pickled(crf: Any, X: Any, predicted: Any) -> None:
    assert len(pickle.loads(pickle.dumps(crf)).predict(X)) == len(predicted)


def _exported(crf: Any, X: Any, predicted: Any) -> None:
    del X, predicted
    with tempfile.TemporaryDirectory() as folder:
        crf.export(Path(folder) / "model")


BATTERY = [
    _marginals,
    _dicts,
    _k_best,
    _sample,
    _log_probability,
    lambda crf, X, predicted: crf.entropy(X),
    lambda crf, X, predicted: crf.log_partition(X),
    _spans,
    _posterior,
    lambda crf, X, predicted: crf.scored(X[:2]).decode(),
    lambda crf, X, predicted: crf.score(X, predicted),
    lambda crf, X, predicted: str(crf.explain(X[0])),
    lambda crf, X, predicted: str(crf.inspect(top=3)),
    lambda crf, X, predicted: crf.inspect(top=3).to_dict(),
    lambda crf, X, predicted: (len(crf.weights_), len(crf.features_)),
    lambda crf, X, predicted: repr(crf),
    lambda crf, X, predicted: crf.get_params(),
    _saved,
    _pickled,
    _exported,
]
# a random_state that is no seed, a label that forms no span, features that CRFsuite does not have …
MAY_REFUSE = {_sample, _spans, _posterior, _saved, _exported, BATTERY[9], BATTERY[10], BATTERY[5]}


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

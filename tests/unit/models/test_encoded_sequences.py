"""X that is encoded already: the same model, bit for bit, and a refusal where encoders differ."""

from __future__ import annotations

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF
from fieldcraft.errors import InputError
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.models.inputs import EncodedSequences
from unit.models.small import LABELS, corpus

X, Y = corpus(LABELS["plain"], n=23)


def test_same_model() -> None:
    encoder = FreeFeatures()
    ready = EncodedSequences(encoder, encoder.encode(X[:18], grow=True))
    dev = EncodedSequences(encoder, encoder.encode(X[18:], grow=False))
    settings = {"optimiser": LBFGS(max_iterations=15)}
    mine = ChainCRF(**settings).fit(ready, Y[:18], X_dev=dev, y_dev=Y[18:])
    expected = ChainCRF(**settings).fit(X[:18], Y[:18], X_dev=X[18:], y_dev=Y[18:])
    np.testing.assert_array_equal(mine.weights_, expected.weights_)
    assert mine.provenance_ == expected.provenance_
    assert [r.held_out for r in mine.training_log_] == [r.held_out for r in expected.training_log_]
    assert mine.predict(X).tolist() == expected.predict(X).tolist()
    assert mine.predict(dev).tolist() == expected.predict(X[18:]).tolist()


def test_another_encoder_is_refused() -> None:
    crf = ChainCRF(optimiser=LBFGS(max_iterations=2)).fit(X, Y)
    encoder = FreeFeatures()
    ready = EncodedSequences(encoder, encoder.encode(X, grow=True))
    for ask in (crf.predict, lambda data: crf.partial_fit(data, Y)):
        with pytest.raises(InputError, match="encoded by another encoder"):
            ask(ready)
    with pytest.raises(InputError, match=f"X has {len(X)} sequences and y has {len(Y) - 1}"):
        ChainCRF().fit(ready, Y[:-1])

"""Vectors as long as the weights are most of a training's memory: none stays that is not needed."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF
from fieldcraft.models.training import Training

X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]


def test_the_weights_to_begin_with_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[weakref.ref[np.ndarray]] = []
    start = Training._start

    def followed(*given: object) -> np.ndarray:
        weights = start(*given)  # type: ignore[arg-type]
        begun.append(weakref.ref(weights))
        return weights

    monkeypatch.setattr(Training, "_start", followed)
    alive: list[bool] = []
    crf = ChainCRF(optimiser=LBFGS(max_iterations=2, tolerance=0))
    crf.fit(X, y, callbacks=[lambda record: alive.append(begun[0]() is not None)])
    assert alive == [False, False]

"""Callbacks hear of the beginning and the end if they care to."""

from __future__ import annotations

import pytest

from fieldcraft import LBFGS, ChainCRF

X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]


class Listener:
    def __init__(self, *, fail: bool = False) -> None:
        self.heard: list[object] = []
        self.fail = fail

    def begin(self, encoder: object, features: object, max_iterations: int) -> None:
        assert encoder.n_attributes == 2  # type: ignore[attr-defined]
        self.heard.append(("begin", len(features), max_iterations))  # type: ignore[arg-type]

    def __call__(self, record: object) -> None:
        if self.fail:
            raise RuntimeError("enough")
        self.heard.append(record.iteration)  # type: ignore[attr-defined]

    def end(self, reason: str) -> None:
        self.heard.append(reason)


def test_a_listener_hears_all_in_order() -> None:
    listener = Listener()
    crf = ChainCRF(optimiser=LBFGS(max_iterations=2, tolerance=0)).fit(X, y, callbacks=[listener])
    assert listener.heard == [("begin", len(crf.features_), 2), 1, 2, "maximum number of iterations"]


def test_the_end_is_told_after_an_error_too() -> None:
    listener = Listener(fail=True)
    with pytest.raises(RuntimeError, match="enough"):
        ChainCRF().fit(X, y, callbacks=[listener])
    assert listener.heard[-1] == "by an error"


def test_plain_functions_need_neither() -> None:
    seen: list[object] = []
    ChainCRF(optimiser=LBFGS(max_iterations=1)).fit(X, y, callbacks=[seen.append])
    assert len(seen) == 1

"""Members that cannot be pooled are refused, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

X, Y = [[["w=a"], ["w=b"]], [["w=b"]]], [["A", "B"], ["B"]]
COLUMNS = [{"word": ["a", "b"]}, {"word": ["b"]}]


def fitted(X: Any = X, Y: Any = Y, **settings: Any) -> fc.ChainCRF:
    return fc.ChainCRF(n_jobs=1, **settings).fit(X, Y)


@pytest.mark.parametrize("kind", [fc.LogOpinionPool, fc.LinearOpinionPool])
def test_members_that_do_not_fit(kind: Any) -> None:
    latent = fc.StateSpace(
        4, [0, 0, 1, 2, 3], [0, 1, 2, 3, 3], [True] * 4, [True] * 4, [0, 1, 0, 1], ("A", "B")
    )  # type: ignore[arg-type]
    cases: list[tuple[Any, str]] = [
        (fitted(Y=[["A", "C"], ["C"]]), r"different labels \(only 1 has C; only 0 has B\)"),
        (fitted(optimiser="voted_perceptron"), "member 1 is a voted perceptron"),
        (fitted(COLUMNS, templates="word\nedge"), "no sequence is both"),
        (fitted(states=latent, objective="marginal_likelihood"), "several states for a label"),
        (fc.LinearOpinionPool([fitted()]), "is not one chain with weights; pool its members"),
        (fc.LogOpinionPool([fitted()], per="position"), "is not one chain with weights"),
        (object(), "not trained"),
    ]
    for member, message in cases:
        with pytest.raises(Exception, match=message) as caught:
            kind([fitted(), member]).predict(X)
        assert isinstance(caught.value, fc.FieldcraftError)


def test_hash_sizes_must_agree() -> None:
    members = [fitted(hash_size=size) for size in (64, 128)]
    with pytest.raises(InputError, match="64 and 128 ids, which cannot be matched"):
        fc.LogOpinionPool(members).predict(X)


def test_labels_in_another_order_are_aligned() -> None:
    a, b = fitted(), fitted(labels=["B", "A"])
    pool = fc.LogOpinionPool([a, b])
    assert pool.classes_.tolist() == ["A", "B"]
    assert pool.predict_proba(X)[0] == pytest.approx(a.predict_proba(X)[0], abs=1e-3)

"""HiddenCRF: probabilities by enumeration, logistic regression with one state, EM, trees, files, refusals."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

EXACT = fc.LBFGS(tolerance=1e-12, objective_tolerance=0.0, max_iterations=2000)


def data(n: int = 30) -> tuple[list[Any], list[str], list[list[int]]]:
    """Synthetic sequences of two numbers a token, labels, and random trees."""
    rng = np.random.default_rng(0)
    X, y, parents = [], [], []
    for _ in range(n):
        T = int(rng.integers(1, 5))
        X.append([{"a": float(a), "b": float(b)} for a, b in rng.normal(size=(T, 2))])
        y.append(str(rng.choice(["p", "q", "r"])))
        order = rng.permutation(T)
        tree = np.full(T, -1)
        for k in range(1, T):
            tree[order[k]] = order[rng.integers(k)]
        parents.append(tree.tolist())
    return X, y, parents


def by_enumeration(model: Any, x: Any, parents: list[int]) -> list[float]:
    """p(label | x): sums over all hidden states, from the weights by name."""
    index, S = model.features_, model.n_states
    names = model.encoder_.attribute_text(range(model.encoder_.n_attributes))
    node, edge = {}, {}
    for f, w in enumerate(model.weights_.tolist()):
        if index.attribute[f] >= 0:
            node[names[index.attribute[f]], int(index.label[f])] = w
        else:
            edge[int(index.previous[f]), int(index.label[f])] = w
    totals = []
    for label in range(len(model.classes_)):
        scores = []
        for h in itertools.product(range(label * S, (label + 1) * S), repeat=len(x)):
            terms = [value * node[name, s] for token, s in zip(x, h) for name, value in token.items()]
            terms += [edge[h[parent], s] for s, parent in zip(h, parents) if parent >= 0]
            scores.append(math.exp(math.fsum(terms)))
        totals.append(math.fsum(scores))
    return [total / math.fsum(totals) for total in totals]


@pytest.mark.parametrize("structure", ["chain", "tree"])
def test_probabilities_are_those_of_enumeration(structure: str) -> None:
    X, y, parents = data()
    trees = {"parents": parents} if structure == "tree" else {}
    model = fc.HiddenCRF(n_states=2, structure=structure, optimiser=fc.LBFGS(max_iterations=5)).fit(
        X, y, **trees
    )
    p = model.predict_proba(X, **trees)
    for i, x in enumerate(X[:10]):
        lines = parents[i] if structure == "tree" else list(range(-1, len(x) - 1))
        np.testing.assert_allclose(p[i], by_enumeration(model, x, lines), rtol=1e-9)
    names = model.classes_.tolist()
    wanted = [math.log(row[names.index(label)]) for row, label in zip(p.tolist(), y)]
    np.testing.assert_allclose(model.log_probability(X, y, **trees), wanted, rtol=1e-12)
    assert model.predict(X, **trees).tolist() == [names[k] for k in p.argmax(axis=1)]
    loss = -math.fsum(wanted) + float((model.weights_**2).sum()) / (2 * model.prior_.variance)
    assert model.objective_value_ == pytest.approx(loss, rel=1e-9)


def test_one_state_is_logistic_regression_over_sums_and_lengths() -> None:
    X, y, _ = data()
    model = fc.HiddenCRF(n_states=1, prior=fc.Gaussian(variance=2.0), optimiser=EXACT).fit(X, y)
    rows = [[sum(t["a"] for t in x), sum(t["b"] for t in x), len(x) - 1.0] for x in X]
    from sklearn.linear_model import LogisticRegression

    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(rows, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(rows), atol=1e-6)
    assert len(model.weights_) == 9


def test_chains_are_trees_and_seeds_decide() -> None:
    X, y, _ = data()
    lines = [list(range(-1, len(x) - 1)) for x in X]
    chain = fc.HiddenCRF(n_states=2).fit(X, y, X_dev=X, y_dev=y)
    tree = fc.HiddenCRF(n_states=2, structure="tree").fit(
        X, y, parents=lines, X_dev=X, y_dev=y, parents_dev=lines
    )
    np.testing.assert_allclose(tree.weights_, chain.weights_, atol=1e-4)
    for model, trees in ((chain, {}), (tree, {"parents": lines})):
        assert model.training_log_[-1].held_out == pytest.approx(model.score(X, y, **trees))
    again, other = (fc.HiddenCRF(n_states=2, random_state=seed).fit(X, y) for seed in (0, 1))
    assert np.array_equal(again.weights_, chain.weights_)
    assert not np.allclose(other.weights_, chain.weights_)


@pytest.mark.parametrize("structure", ["chain", "tree"])
def test_em_never_lowers_the_likelihood(structure: str) -> None:
    X, y, parents = data()
    trees = {"parents": parents} if structure == "tree" else {}
    settings: dict[str, Any] = {"n_states": 2, "structure": structure}
    model = fc.HiddenCRF(**settings, optimiser=fc.EM(max_iterations=25, steps=3)).fit(X, y, **trees)
    losses = [record.objective for record in model.training_log_]
    assert all(b <= a + 1e-9 for a, b in zip(losses, losses[1:]))
    assert losses[-1] < losses[0] - 1


def test_files(tmp_path: Path) -> None:
    X, y, parents = data()
    for structure, trees in (("chain", {}), ("tree", {"parents": parents})):
        model = fc.HiddenCRF(n_states=2, structure=structure, optimiser=fc.LBFGS(max_iterations=5)).fit(
            X, y, **trees
        )
        model.save(tmp_path / "hidden.fc")
        for other in (fc.load(tmp_path / "hidden.fc"), pickle.loads(pickle.dumps(model))):
            assert isinstance(other, fc.HiddenCRF)
            np.testing.assert_allclose(
                other.predict_proba(X, **trees), model.predict_proba(X, **trees), rtol=1e-12
            )


def test_refusals() -> None:
    X, y, parents = data(6)
    model = fc.HiddenCRF().fit(X, y)
    tree = fc.HiddenCRF(structure="tree")
    long = next(i for i, x in enumerate(X) if len(x) > 1)
    cycle = [list(p) for p in parents]
    cycle[long] = [1, 0, *([-1] + [0] * (len(X[long]) - 3) if len(X[long]) > 2 else [])]
    for refused, why in (
        (lambda: fc.HiddenCRF().fit(X, y[:2]), "6 sequences, 2 labels"),
        (lambda: fc.HiddenCRF().fit(X, [[label] for label in y]), "is no text"),
        (lambda: fc.HiddenCRF().fit([[], *X], ["p", *y]), "sequence 0 has no tokens"),
        (lambda: fc.HiddenCRF(structure="ring").fit(X, y), "structure='ring'; give one of chain, tree"),
        (lambda: fc.HiddenCRF(n_states=0).fit(X, y), "n_states"),
        (lambda: tree.fit(X, y), "6 sequences, parents of none"),
        (lambda: tree.fit(X, y, parents=cycle), f"sequence {long}: parents"),
        (lambda: tree.fit(X, y, parents=[[5] * len(x) for x in X]), "has the parent 5"),
        (lambda: fc.HiddenCRF().fit(X, y, parents=parents), "parents are for structure='tree'"),
        (lambda: fc.HiddenCRF(optimiser="sgd").fit(X, y), "not for hidden states"),
        (lambda: model.log_probability(X, ["z"] * 6), "label 'z' was not seen"),
        (lambda: model.entropy(X), "ask a HiddenCRF for predict"),
    ):
        with pytest.raises(InputError, match=why):
            refused()

"""FactorialCRF: gradients, one column is a chain, methods agree, files, corpora, missing labels, refusals."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.models.factorial_training import FactorialTraining, numbered, rows_of

EXACT = fc.LBFGS(tolerance=1e-12, objective_tolerance=0.0, max_iterations=1000)


def data(n: int = 12) -> tuple[Any, Any]:
    """Synthetic: a tag follows from the word, the chunk from the tag before."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(n):
        tags = rng.choice(["D", "N", "V"], size=rng.integers(1, 6)).tolist()
        X.append([[f"{tag}{rng.integers(3)}", f"odd{rng.integers(4)}"] for tag in tags])
        y.append({"pos": tags, "chunk": ["B" if a == "D" else "O" for a in ["V", *tags[:-1]]]})
    return X, y


@pytest.mark.parametrize("objective", ["likelihood", "softmax_margin", "marginal_likelihood"])
def test_gradients_are_differences_of_losses(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(5)
    if objective == "marginal_likelihood":
        y[0] = {"pos": [None, *y[0]["pos"][1:]], "chunk": y[0]["chunk"]}
    made: list[Any] = []
    build = FactorialTraining._problem
    monkeypatch.setattr(
        FactorialTraining, "_problem", lambda self, *a, **k: made.append(build(self, *a, **k)) or made[-1]
    )
    fc.FactorialCRF(cross=True, steps=True, objective=objective, optimiser=fc.LBFGS(max_iterations=1)).fit(
        X, y
    )
    problem, rng = made[0], np.random.default_rng(1)
    w, gradient, spare = rng.normal(size=problem.n_variables), np.empty(problem.n_variables), None
    problem.value_and_gradient(w, gradient)
    spare = np.empty_like(gradient)
    for f in rng.choice(len(w), 25, replace=False):
        step = np.zeros_like(w)
        step[f] = 1e-5
        difference = problem.value_and_gradient(w + step, spare) - problem.value_and_gradient(w - step, spare)
        assert gradient[f] == pytest.approx(difference / 2e-5, rel=1e-5, abs=1e-6)


def test_one_column_is_a_chain() -> None:
    X, y = data()
    settings: dict[str, Any] = {"prior": fc.Gaussian(variance=1.0), "optimiser": EXACT}
    several = fc.FactorialCRF(**settings).fit(X, [{"pos": row["pos"]} for row in y])
    chain = fc.ChainCRF(features="all_transitions", **settings).fit(X, [row["pos"] for row in y])
    assert several.objective_value_ == pytest.approx(chain.objective_value_, rel=1e-9)
    for a, b in zip(several.predict_proba(X), chain.predict_proba(X)):
        np.testing.assert_allclose(a["pos"], b, atol=1e-5)


def test_methods_agree_and_tables_between_columns_help() -> None:
    X, y = data()
    exact = fc.FactorialCRF(cross=True, optimiser=EXACT).fit(X, y)
    tree = fc.FactorialCRF(
        cross=True, inference="junction_tree", decoding="junction_tree", optimiser=EXACT
    ).fit(X, y)
    np.testing.assert_allclose(tree.weights_, exact.weights_, atol=1e-6)
    assert tree.predict(X) == exact.predict(X)
    loopy = fc.FactorialCRF(
        cross=True,
        inference={"method": "propagation", "max_iterations": 1},
        optimiser=fc.LBFGS(max_iterations=2),
    ).fit(X, y)
    assert loopy.training_log_[-1].unconverged
    apart = fc.FactorialCRF(optimiser=EXACT).fit(X, y)
    assert exact.log_probability(X, y).sum() > apart.log_probability(X, y).sum() + 1
    assert exact.score(X, y) == 1.0


def test_corpora_files_and_held_out_labels(tmp_path: Path) -> None:
    X, y = data()
    rows = [
        fc.Corpus.from_columns(
            {"word": [[token[0] for token in x] for x in X], "pos": [r["pos"] for r in y]},
            [r["chunk"] for r in y],
            label="chunk",
        )
    ]
    corpus = rows[0].with_label(["pos", "chunk"])
    model = fc.FactorialCRF("word\nedge\n").fit(corpus, X_dev=corpus)
    assert model.training_log_[-1].held_out == pytest.approx(model.score(corpus))
    assert {name: labels.tolist() for name, labels in model.classes_.items()} == {
        "pos": ["D", "N", "V"],
        "chunk": ["B", "O"],
    }
    model.save(tmp_path / "both.fc")
    for other in (fc.load(tmp_path / "both.fc"), pickle.loads(pickle.dumps(model))):
        assert isinstance(other, fc.FactorialCRF)
        assert other.predict(corpus) == model.predict(corpus)
        np.testing.assert_allclose(other.log_probability(corpus), model.log_probability(corpus), rtol=1e-12)
    assert fc.FactorialCRF().fit(corpus).templates_ is not None
    assert model.predict([]) == []


def test_missing_labels_are_summed_over() -> None:
    X, y = data()
    y[0] = {"pos": [None] * len(X[0]), "chunk": y[0]["chunk"]}
    model = fc.FactorialCRF().fit(X, y)
    assert model.objective_.name == "marginal_likelihood"
    structure, potentials = model._scores(X[:1])
    states = [
        [None if s is None else int(s) for s in row]
        for row in numbered(rows_of(X[:1], y[:1]), model.classes_)
    ]
    allowed = np.array([[s is None or s == k for k in range(structure.n_states)] for s in states[0]])
    inside = structure.log_partition(structure.restrict(potentials, allowed)) - structure.log_partition(
        potentials
    )
    np.testing.assert_allclose(model.log_probability(X[:1], y[:1]), inside, rtol=1e-12)


def test_refusals() -> None:
    X, y = data(4)
    model = fc.FactorialCRF().fit(X, y)
    other = [{**y[0], "chunk": ["Z", *y[0]["chunk"][1:]]}, *y[1:]]
    for refused, why in (
        (lambda: fc.FactorialCRF().fit(X, y[:2]), "4 sequences, labels of 2"),
        (
            lambda: fc.FactorialCRF().fit(X, [row["pos"] for row in y]),
            "give a dict column -> labels, or read the corpus with several",
        ),
        (
            lambda: fc.FactorialCRF().fit(X, [{"pos": row["pos"], "chunk": []} for row in y]),
            "different lengths",
        ),
        (lambda: fc.FactorialCRF(labels={"pos": ["D"]}).fit(X, y), "is none of the column 'pos': D"),
        (
            lambda: model.log_probability(X, other),
            "sequence 0, token 0: label 'Z' is none of the column 'chunk'",
        ),
        (lambda: fc.FactorialCRF(inference="guess").fit(X, y), "inference='guess'"),
        (lambda: fc.FactorialCRF(optimiser="dual_ascent").fit(X, y), "dual_ascent"),
        (lambda: fc.FactorialCRF().fit(X, [{"a+b": row["pos"]} for row in y]), "without ~, . and >"),
        (lambda: model.scored(X), "ask a FactorialCRF for predict"),
    ):
        with pytest.raises(InputError, match=why):
            refused()

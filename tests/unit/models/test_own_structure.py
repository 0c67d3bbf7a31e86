"""A structure that the package does not know trains, answers, saves and loads; the package is not patched.

The oracle enumerates the labellings of every sequence; it takes features and weights from the model and
nothing else.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fieldcraft as fc
from cli.shell import run
from fieldcraft.errors import InputError
from fieldcraft.optimisers.table import TABLE
from unit.models import own_structure
from unit.models.own_structure import IndependentCRF

Floats = NDArray[np.float64]
LABELS = ["A", "B", "C"]
SMOOTH = ("likelihood", "marginal_likelihood", "softmax_margin")
OBJECTIVES = (*SMOOTH, "margin", "perceptron")
EXACT: dict[str, Any] = {"tolerance": 1e-9, "objective_tolerance": -math.inf, "max_iterations": 3000}
BATCH = {
    "lbfgs": fc.LBFGS(**EXACT),
    "owlqn": fc.OWLQN(**EXACT),
    "bounded_lbfgs": fc.BoundedLBFGS(lower=-0.2, upper=0.5, **EXACT),
    "conjugate_gradient": fc.ConjugateGradient(**EXACT),
}
STOCHASTIC = ("sgd", "subgradient", "averaged_perceptron")


def corpus(*, noise: float) -> tuple[list[Any], list[list[str]]]:
    """Synthetic: an attribute for each label, which is wrong as often as ``noise`` says."""
    rng = np.random.default_rng(6)
    X: list[Any] = []
    y: list[list[str]] = []
    for length in (2, 3, 1, 3, 2, 1, 3):
        labels = [LABELS[k] for k in rng.integers(0, 3, size=length)]
        told = [LABELS[rng.integers(3)] if rng.random() < noise else label for label in labels]
        X.append([[f"tells={t}", f"noise={rng.integers(2)}"] for t in told])
        y.append(labels)
    return X, y


def partial(y: list[list[str]]) -> list[list[Any]]:
    """Some labels unknown, some sets."""
    kinds = (lambda label: None, lambda label: {label, "B"}, lambda label: label, lambda label: label)
    return [[kinds[(i + t) % 4](label) for t, label in enumerate(labels)] for i, labels in enumerate(y)]


class Enumeration:
    """Losses of all sequences with their gradients in the weights, by going through all labellings."""

    def __init__(self, model: IndependentCRF, X: Any) -> None:
        self.index, self.names = model.features_, model.classes_.tolist()
        encoded = model.encoder_.encode(X, grow=False)
        self.tokens = [
            encoded.attributes[a:b].tolist() for a, b in itertools.pairwise(encoded.token_ptr.tolist())
        ]
        self.bounds = list(itertools.pairwise(encoded.offsets.tolist()))
        rows = zip(self.index.attribute.tolist(), self.index.label.tolist())
        self.feature = {pair: f for f, pair in enumerate(rows)}

    def counts(self, sequence: int, labels: tuple[int, ...]) -> Floats:
        counts = np.zeros(len(self.index))
        first, last = self.bounds[sequence]
        for token, label in zip(self.tokens[first:last], labels):
            for attribute in token:
                if (attribute, label) in self.feature:
                    counts[self.feature[attribute, label]] += 1
        return counts

    def slope(self, weights: Floats, y: list[Any], *, cost: bool) -> tuple[float, Floats]:
        """log sum exp(score + cost) - log sum over allowed labellings of exp(score), and its gradient."""
        value, gradient = 0.0, np.zeros(len(weights))
        for i, gold in enumerate(y):
            sets = [set(self.names) if g is None else {g} if isinstance(g, str) else g for g in gold]
            every, allowed = [], []
            for labels in itertools.product(range(len(self.names)), repeat=len(gold)):
                counts = self.counts(i, labels)
                wrong = [self.names[k] not in s for k, s in zip(labels, sets)]
                every.append((counts @ weights + (sum(wrong) if cost else 0.0), counts))
                if not any(wrong):
                    allowed.append((counts @ weights, counts))
            for sign, rows in ((1.0, every), (-1.0, allowed)):
                total = math.fsum(math.exp(s) for s, _ in rows)
                value += sign * math.log(total)
                for score, counts in rows:
                    gradient += sign * math.exp(score) / total * counts
        return value, gradient


def fitted(objective: str, optimiser: Any, *, noise: float, prior: Any) -> tuple[IndependentCRF, Any, Any]:
    X, y = corpus(noise=noise)
    gold = partial(y) if objective == "marginal_likelihood" else y
    model = IndependentCRF(objective=objective, optimiser=optimiser, prior=prior, labels=LABELS)
    return model.fit(X, gold), X, gold


@pytest.mark.parametrize("objective", SMOOTH)
@pytest.mark.parametrize("name", BATCH)
def test_batch_optimisers_end_where_the_gradient_vanishes(name: str, objective: str) -> None:
    prior = fc.Laplacian(scale=4.0) if name == "owlqn" else fc.Gaussian(variance=2.0)
    model, X, gold = fitted(objective, BATCH[name], noise=0.3, prior=prior)
    w = np.array(model.weights_)
    oracle = Enumeration(model, X)
    value, gradient = oracle.slope(w, gold, cost=objective == "softmax_margin")
    if name == "owlqn":
        value += np.abs(w).sum() / 4.0
        assert np.any(w == 0)
        gradient = np.where(w == 0, np.maximum(np.abs(gradient) - 0.25, 0.0), gradient + np.sign(w) / 4.0)
    else:
        value += w @ w / 4.0
        gradient += w / 2.0
    if name == "bounded_lbfgs":
        held = ((w == -0.2) & (gradient > 0)) | ((w == 0.5) & (gradient < 0))
        assert held.any()
        gradient[held] = 0.0
    assert model.objective_value_ == pytest.approx(value, rel=1e-9)
    assert np.abs(gradient).max() < 1e-7


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", [*BATCH, *STOCHASTIC])
def test_every_pair_that_the_table_allows_fits_what_can_be_fitted(name: str, objective: str) -> None:
    if objective not in TABLE[name].objectives:
        with pytest.raises(InputError, match=f"{name} does not minimise {objective}"):
            fitted(objective, name, noise=0.0, prior="auto")
        return
    optimiser = name if name in STOCHASTIC else type(BATCH[name])()
    model, X, _ = fitted(objective, optimiser, noise=0.0, prior="auto")
    assert model.objective_.name == objective
    assert model.predict(X).tolist() == corpus(noise=0.0)[1]


def test_answers_are_those_of_the_enumeration() -> None:
    model, X, y = fitted("likelihood", "auto", noise=0.3, prior=fc.Gaussian(variance=2.0))
    oracle, w = Enumeration(model, X), np.array(model.weights_)
    numbers = {label: k for k, label in enumerate(LABELS)}
    for i, gold in enumerate(y):
        scores = {
            labels: float(oracle.counts(i, labels) @ w)
            for labels in itertools.product(range(3), repeat=len(gold))
        }
        log_z = math.log(math.fsum(map(math.exp, scores.values())))
        p = {labels: math.exp(score - log_z) for labels, score in scores.items()}
        places = range(len(gold))
        node = np.array([[sum(q for y, q in p.items() if y[t] == k) for k in range(3)] for t in places])
        one = [X[i]]
        np.testing.assert_allclose(model.predict_proba(one)[0], node, rtol=1e-9)
        assert model.log_partition(one)[0] == pytest.approx(log_z, rel=1e-9)
        expected = scores[tuple(numbers[label] for label in gold)] - log_z
        assert model.log_probability(one, [gold])[0] == pytest.approx(expected, rel=1e-9)
        entropy = -math.fsum(q * math.log(q) for q in p.values())
        assert model.entropy(one)[0] == pytest.approx(entropy, rel=1e-9)
        best = max(scores, key=lambda labels: scores[labels])
        assert model.predict(one)[0] == [LABELS[k] for k in best]


def test_what_the_structure_lacks_is_refused_by_name() -> None:
    model, X, y = fitted("likelihood", "auto", noise=0.3, prior="auto")
    for question, operation in (
        (lambda: model.k_best(X, 2), "k_best"),
        (lambda: model.sample(X, 2), "sample"),
        (lambda: model.span_probability(X, [[(0, 1, "A")], *[[] for _ in X[1:]]]), "window_probability"),
        (lambda: IndependentCRF(objective="pointwise").fit(X, y), "log_marginals"),
        (lambda: IndependentCRF(objective="pseudo_likelihood").fit(X, y), "neighbour_scores"),
    ):
        with pytest.raises(InputError, match=f"independent has no operation {operation}"):
            question()
    with pytest.raises(InputError, match="independent offers no dual problem"):
        IndependentCRF(optimiser="frank_wolfe").fit(X, y)


def test_files(tmp_path: Path) -> None:
    """Saved, loaded, and used by commands in this process."""
    text = "the D\ndog N\n\na D\ncat N\n\n"
    data = tmp_path / "train.conll"
    data.write_text(text, encoding="utf-8")
    train = fc.read(data, columns=["word", "pos"], label="pos")
    model = IndependentCRF(templates="node: word[0]").fit(train)
    path = tmp_path / "own.fc"
    model.save(path)
    again = fc.load(path)
    assert type(again) is IndependentCRF
    assert np.array_equal(again.log_probability(train), model.log_probability(train))
    columns = ["--columns", "word,pos", "--label", "pos"]
    assert run("tag", path, data, *columns).stdout.splitlines()[:2] == ["the D D", "dog N N"]
    assert "100.00" in run("evaluate", path, data, *columns).stdout


def test_it_takes_few_lines() -> None:
    """At most 80 lines of code, less blank lines, comments and docstrings."""
    import ast

    tree = ast.parse(Path(own_structure.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            node.body[:] = node.body[1:] or [ast.Pass()]
    assert len(ast.unparse(tree).splitlines()) <= 80


def test_selected_features_need_a_chain() -> None:
    X, y = corpus(noise=0.0)
    with pytest.raises(InputError, match="features='selected' is for chains of plain labels"):
        IndependentCRF(features="selected").fit(X, y)

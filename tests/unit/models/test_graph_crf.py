"""GraphCRF: its losses by enumeration, its gradients by differences, chains as graphs, files, refusals.

The oracle takes instances and weights by name, scores every labelling with its own reading of the templates,
and calls nothing of the package.
"""

from __future__ import annotations

import itertools
import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.models.graph_training import GraphTraining
from fieldcraft.problems import ComposedProblem

LABELS = "abc"
MAP = np.array([[0, 1, -1], [1, 0, 2], [-1, 2, 0]])
CLIQUES = [fc.Clique("x"), fc.Clique("same", "same"), fc.Clique("tri", "agreement"), fc.Clique("map", MAP)]
EXACT = fc.LBFGS(tolerance=1e-12, objective_tolerance=0.0, max_iterations=1000)
SMOOTH = (
    "likelihood",
    "marginal_likelihood",
    "pseudo_likelihood",
    "softmax_margin",
    "exponential",
    "piecewise",
    "piecewise_pseudo_likelihood",
)


def instance(rng: np.random.Generator, *, missing: float = 0.0, n: int = 4) -> fc.GraphInstance:
    """A synthetic graph with cycles: features of single variables and of pairs, triples without."""
    pairs = np.array([pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.7] or [[0, 1]])
    labels = [None if rng.random() < missing else LABELS[k] for k in rng.integers(0, 3, n)]
    cliques = {
        "x": (np.arange(n), rng.normal(size=(n, 3))),
        "same": (pairs, rng.normal(size=(len(pairs), 2)) * (rng.random((len(pairs), 2)) < 0.6)),
        "tri": ([[0, 1, 2]], None),
        "map": (pairs[:1], rng.normal(size=(1, 1))),
    }
    return fc.GraphInstance(n, cliques, labels)


def graphs(seed: int = 0, *, missing: float = 0.0, n: int = 4) -> list[fc.GraphInstance]:
    rng = np.random.default_rng(seed)
    return [instance(rng, missing=missing) for _ in range(n)]


def class_of(name: str, states: tuple[int, ...]) -> int:
    """The class of a cell, as the documentation has it."""
    if name == "x":
        return states[0]
    if name == "same":
        return 0 if len(set(states)) == 1 else 1
    if name == "tri":
        return states[0] if len(set(states)) == 1 else -1
    return int(MAP[states])


def score(x: fc.GraphInstance, states: tuple[int, ...], weights: dict[Any, float]) -> float:
    terms = []
    for name, (scope, matrix) in x.cliques.items():
        rows = [[1.0]] * len(scope) if matrix is None else matrix.toarray().tolist()
        for variables, row in zip(scope.tolist(), rows):
            c = class_of(name, tuple(states[v] for v in variables))
            terms += [value * weights[name, f, c] for f, value in enumerate(row) if c >= 0]
    return math.fsum(terms)


def factors(x: fc.GraphInstance, weights: dict[Any, float]) -> list[tuple[Any, dict[Any, float]]]:
    """Variables of each factor, and its table by the states of these."""
    out = []
    for name, (scope, matrix) in x.cliques.items():
        rows = [[1.0]] * len(scope) if matrix is None else matrix.toarray().tolist()
        for variables, row in zip(scope.tolist(), rows):
            table = {}
            for states in itertools.product(range(3), repeat=len(variables)):
                c = class_of(name, states)
                table[states] = math.fsum(v * weights[name, f, c] for f, v in enumerate(row) if c >= 0)
            out.append((variables, table))
    return out


def piecewise(x: fc.GraphInstance, gold: list[Any], weights: dict[Any, float], *, pseudo: bool) -> float:
    total = []
    for variables, table in factors(x, weights):
        right = tuple(gold[v] for v in variables)
        rivals = [list(table.values())]
        if pseudo:
            rivals = [[table[(*right[:k], s, *right[k + 1 :])] for s in range(3)] for k in range(len(right))]
        total += [log_sum(each) - table[right] for each in rivals]
    return math.fsum(total)


def log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


def loss(objective: str, x: fc.GraphInstance, weights: dict[Any, float]) -> float:
    gold = [None if label is None else LABELS.index(label) for label in x.labels or ()]
    every = list(itertools.product(range(3), repeat=x.n_variables))
    scores = {y: score(x, y, weights) for y in every}
    allowed = [y for y in every if all(g in (None, s) for g, s in zip(gold, y))]
    cost = {y: sum(g != s for g, s in zip(gold, y)) for y in every}
    right = log_sum([scores[y] for y in allowed])
    if objective == "pseudo_likelihood":
        y = allowed[0]
        turns = [[scores[(*y[:v], s, *y[v + 1 :])] for s in range(3)] for v in range(len(y))]
        return math.fsum(log_sum(turn) - scores[y] for turn in turns)
    if objective.startswith("piecewise"):
        return piecewise(x, gold, weights, pseudo=objective != "piecewise")
    if objective == "perceptron":
        return max(scores.values()) - right
    if objective == "margin":
        return max(scores[y] + cost[y] for y in every) - right
    if objective == "softmax_margin":
        return log_sum([scores[y] + cost[y] for y in every]) - right
    minus = log_sum(list(scores.values())) - right
    return math.exp(minus) - 1 if objective == "exponential" else minus


def problem_of(
    X: list[fc.GraphInstance], monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[Any, list[Any]]:
    """The training problem without penalty, and the name of each weight."""
    made: list[Any] = []
    original = GraphTraining._problem

    def kept(self: Any, *arguments: Any, **options: Any) -> Any:
        made[:] = [original(self, *arguments, **options), self._learnt, arguments[1].index]
        return made[0]

    monkeypatch.setattr(GraphTraining, "_problem", kept)
    smooth = settings["objective"] in SMOOTH  # others have kinks
    optimiser: Any = fc.LBFGS(max_iterations=0) if smooth else fc.Subgradient(max_iterations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fc.GraphCRF(CLIQUES, prior=None, optimiser=optimiser, labels=list(LABELS), **settings).fit(X)
    problem, encoder, index = made
    names = [
        (index.parts[part], 0 if a < 0 else int(encoder.column[a]), int(label))
        for part, a, label in zip(index.part, index.attribute, index.label)
    ]
    return problem, names


@pytest.mark.parametrize("objective", [*SMOOTH, "margin", "perceptron"])
def test_losses_are_those_of_enumeration_and_gradients_their_differences(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = graphs(3, missing=0.3 if objective == "marginal_likelihood" else 0.0)
    problem, names = problem_of(X, monkeypatch, objective=objective, inference="junction_tree")
    rng = np.random.default_rng(5)
    weights = 0.4 * rng.normal(size=len(names))
    gradient = np.empty_like(weights)
    value = problem.value_and_gradient(weights, gradient)

    def total(w: Any) -> float:
        return math.fsum(loss(objective, x, dict(zip(names, w))) for x in X)

    assert len(set(names)) == len(names) == 9 + 4 + 3 + 3
    assert value == pytest.approx(total(weights), rel=1e-10)
    for f in range(len(names)):
        step = np.zeros(len(names))
        step[f] = 1e-5
        slope = (total(weights + step) - total(weights - step)) / 2e-5
        assert gradient[f] == pytest.approx(slope, rel=1e-6, abs=1e-7 * max(1.0, value))  # of differences


def test_a_chain_as_a_graph_has_the_weights_of_a_chain() -> None:
    rng = np.random.default_rng(0)
    X, sequences, y = [], [], []
    for n in rng.integers(1, 6, 15).tolist():
        rows = rng.normal(size=(n, 4))
        y.append([LABELS[k] for k in rng.integers(0, 3, n)])
        edges = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
        X.append(fc.GraphInstance(n, {"word": (np.arange(n), rows), "edge": (edges, None)}, y[-1]))
        sequences.append([{f"f{j}": float(v) for j, v in enumerate(row)} for row in rows])
    settings: dict[str, Any] = {"prior": fc.Gaussian(variance=2.0), "optimiser": EXACT}
    graph = fc.GraphCRF(["word", "edge"], **settings).fit(X)
    chain = fc.ChainCRF(features="all", **settings).fit(sequences, y)
    index, names = chain.features_, chain.encoder_.attribute_text(range(chain.encoder_.n_attributes))
    wanted = {
        (names[a] if a >= 0 else "", int(p), int(s)): w
        for a, p, s, w in zip(index.attribute, index.previous, index.label, chain.weights_)
    }
    mine = graph.features_
    for a, label, w in zip(mine.attribute, mine.label, graph.weights_):
        column = graph.encoder_.column  # type: ignore[union-attr]
        key = (f"f{column[a]}", -1, int(label)) if a >= 0 else ("", *divmod(int(label), 3))
        assert w == pytest.approx(wanted[key], rel=0, abs=1e-7)
    assert len(mine) == len(index)
    assert graph.predict(X).tolist() == chain.predict(sequences).tolist()
    np.testing.assert_allclose(graph.log_probability(X), chain.log_probability(sequences, y), atol=1e-7)
    for one, other in zip(graph.predict_proba(X), chain.predict_proba(sequences)):
        np.testing.assert_allclose(np.array(one), other, atol=1e-7)


def test_missing_labels_are_summed_over_and_kept_ones_can_be_clamped() -> None:
    X = graphs(1, missing=0.4)
    crf = fc.GraphCRF(CLIQUES, labels=list(LABELS)).fit(X)
    assert crf.objective_.name == "marginal_likelihood"
    for x, labels, p in zip(X, crf.predict(X, clamp=True), crf.predict_proba(X, clamp=True)):
        for known, label, vector in zip(x.labels or (), labels, p):
            assert known in (None, label)
            assert vector.sum() == pytest.approx(1.0)
            assert known is None or vector[LABELS.index(known)] == 1.0
    best = crf.decode(X)[0]
    assert best.optimal
    assert math.exp(best.value) <= 1.0
    assert best.labels == crf.predict(X)[0]


@pytest.mark.parametrize(
    ("objective", "optimiser"),
    [
        ("likelihood", "owlqn"),
        ("likelihood", "sgd"),
        ("margin", "auto"),
        ("perceptron", "auto"),
        ("pseudo_likelihood", "conjugate_gradient"),
        ("piecewise", "auto"),
        ("piecewise_pseudo_likelihood", "adagrad"),
        ("contrastive_divergence", "auto"),
        ("margin", "frank_wolfe"),
        ("margin", "cutting_plane"),
    ],
)
def test_optimisers_of_chains_train_graphs(objective: str, optimiser: str) -> None:
    rng = np.random.default_rng(2)
    X = []
    for _ in range(20):  # the first feature says the label
        states = rng.integers(0, 2, 4)
        rows = np.stack([2.0 * states - 1, rng.normal(size=4)], 1)
        cliques = {"x": (np.arange(4), rows), "pair": ([[0, 1], [1, 2], [2, 3], [3, 0]], None)}
        X.append(fc.GraphInstance(4, cliques, [LABELS[s] for s in states]))
    crf = fc.GraphCRF(["x", fc.Clique("pair", "same")], objective=objective, optimiser=optimiser).fit(
        X, X_dev=X
    )
    assert crf.score(X) == 1.0
    assert crf.training_log_[-1].held_out == 1.0


def test_the_number_of_threads_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ComposedProblem, "block", 20)  # positions: five graphs a block
    X, few = graphs(4, n=40), fc.LBFGS(max_iterations=3)
    found = [fc.GraphCRF(CLIQUES, n_jobs=n, optimiser=few).fit(X).weights_ for n in (1, 3)]
    assert found[0].tobytes() == found[1].tobytes()


def test_inference_that_does_not_converge_is_counted_and_answers_warn_once() -> None:
    X = graphs(7)
    rough = {"method": "propagation", "max_iterations": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crf = fc.GraphCRF(CLIQUES, inference=rough, optimiser=fc.LBFGS(max_iterations=2)).fit(X)
    assert (crf.training_log_[0].unconverged or 0) >= len(X)
    with pytest.warns(UserWarning, match="4 of 4 answers are not exact") as seen:
        crf.infer(X)
    assert len(seen) == 1
    exact = fc.GraphCRF(CLIQUES, optimiser=fc.LBFGS(max_iterations=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        assert exact.fit(X).training_log_[0].unconverged == 0


def test_bounds_on_log_z_train_too() -> None:
    X = graphs(8)
    values = {
        method: fc.GraphCRF(CLIQUES, inference=method, prior=fc.Gaussian(variance=1.0))
        .fit(X)
        .objective_value_
        for method in ("junction_tree", "tree_reweighted", "mean_field")
    }
    assert values["mean_field"] <= values["junction_tree"] + 1e-6 <= values["tree_reweighted"] + 2e-6


def test_files_and_pickles(tmp_path: Path) -> None:
    X = graphs(9, missing=0.2)
    crf = fc.GraphCRF(CLIQUES, prior=fc.Laplacian(scale=0.5)).fit(X)
    assert not crf.weights_.all()
    crf.save(tmp_path / "graph.fc")
    loaded = fc.load(tmp_path / "graph.fc")
    assert isinstance(loaded, fc.GraphCRF)
    for other in (loaded, pickle.loads(pickle.dumps(crf))):
        assert [repr(clique) for clique in other.cliques_] == [repr(clique) for clique in CLIQUES]
        assert other.predict(X).tolist() == crf.predict(X).tolist()
        np.testing.assert_allclose(other.log_partition(X), crf.log_partition(X), rtol=1e-12)
    loaded.fit(X)
    np.testing.assert_allclose(loaded.objective_value_, crf.objective_value_, rtol=1e-6)
    whole = (tmp_path / "graph.fc").read_bytes()
    damaged = whole.replace(b'shape\\": [3', b'shape\\": [9')
    assert damaged != whole
    with pytest.raises(FieldcraftError):
        fc.load(damaged)


def test_cardinalities_of_their_own() -> None:
    pair = np.array([[0, 1, -1], [1, 0, 2]])
    X = [fc.GraphInstance([2, 3], {"p": ([[0, 1]], None)}, [s, 2]) for s in (0, 1, 1)]
    crf = fc.GraphCRF([fc.Clique("p", pair)]).fit(X)
    assert crf.classes_.tolist() == ["0", "1", "2"]
    assert [len(vector) for vector in crf.predict_proba(X)[0]] == [2, 3]
    assert crf.predict(X).tolist() == [["1", "2"]] * 3


ONE = fc.GraphInstance(2, {"x": ([0, 1], None)}, ["a", "b"])
REFUSED: list[tuple[Any, str]] = [
    (lambda: fc.GraphInstance(3, {"e": ([[0, 7]], None)}), "variable 7 does not exist; the instance has 3"),
    (lambda: fc.GraphInstance(3, {"e": ([[0, 1]], np.zeros((2, 1)))}), "one row per factor"),
    (lambda: fc.GraphInstance(1, {"e": ([0], [[np.nan]])}), "nan or infinite"),
    (lambda: fc.GraphInstance(3, {}, ["a"]), "1 labels for 3 variables"),
    (lambda: fc.GraphInstance(1, {}, [2.5]), "neither a name"),
    (lambda: fc.Clique("x", "foo"), "tying='foo'"),
    (lambda: fc.Clique("node"), "not 'node'"),
    (lambda: fc.GraphCRF().fit([ONE]), "list of fc.Clique"),
    (lambda: fc.GraphCRF(["x", "x"]).fit([ONE]), "occurs twice"),
    (lambda: fc.GraphCRF(["y"]).fit([ONE]), "factors of the clique 'x'; the model has y"),
    (lambda: fc.GraphCRF(["x", "y"]).fit([ONE]), "no instance has a factor of this template"),
    (lambda: fc.GraphCRF([fc.Clique("x", np.zeros((2, 2), int))]).fit([ONE]), "its map has shape"),
    (lambda: fc.GraphCRF(["x"], labels=["a"]).fit([ONE]), "instance 0, variable 1: label 'b' is none of a"),
    (
        lambda: fc.GraphCRF(["x"]).fit([fc.GraphInstance(1, {"x": ([0], None)})]),
        "no instance has a known label",
    ),
    (lambda: fc.GraphCRF(["x"]).fit([ONE], [["a", "b"]]), "y is not used"),
    (lambda: fc.GraphCRF(["x"]).fit(ONE), "give a list of them"),
    (lambda: fc.GraphCRF(["x"]).fit([[["w"]]]), "give fc.GraphInstance objects"),
    (lambda: fc.GraphCRF(["x"], inference="foo").fit([ONE]), "inference='foo'"),
    (lambda: fc.GraphCRF(["x"], inference="gibbs").fit([ONE]), "no log Z"),
    (lambda: fc.GraphCRF(["x"], objective="pointwise").fit([ONE]), "no operation log_marginals"),
    (lambda: fc.GraphCRF(["x"], objective="margin", optimiser="smo").fit([ONE]), "do not have"),
    (lambda: fc.GraphCRF(["x"], optimiser="voted_perceptron").fit([ONE]), "votes are for chains"),
    (lambda: fc.GraphCRF(["x"]).fit([ONE]).k_best([ONE], 2), "for sequences"),
    (lambda: fc.GraphCRF(["x"]).fit([ONE]).inspect(), "for sequences"),
    (
        lambda: fc.GraphCRF(["x"]).fit([ONE]).predict([fc.GraphInstance(1, {"x": ([0], [[1.0]])})]),
        "observations have 1 columns, in training none",
    ),
    (
        lambda: fc.GraphCRF(["x"]).fit([ONE]).predict([fc.GraphInstance(2, {"x": ([[0, 1]], None)})]),
        "those of the template have",
    ),
    (
        lambda: fc.GraphCRF(["x"], objective="likelihood").fit(
            [fc.GraphInstance(2, {"x": ([0], None)}, ["a", None])]
        ),
        "some labels are unknown",
    ),
    (lambda: fc.GraphCRF(["x"]).fit([fc.GraphInstance([1], {"x": ([0], None)}, [1])]), "it has 1 states"),
]


@pytest.mark.parametrize(("refused", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_refusals(refused: Any, why: str) -> None:
    with pytest.raises(InputError, match=why.replace("(", r"\(")):
        refused()

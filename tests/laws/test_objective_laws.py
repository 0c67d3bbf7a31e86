"""Objectives in potential space against every labelling written down: each value, each slope."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.objectives import OBJECTIVES, Margin, SoftmaxMargin, resolve_objective
from laws.cases import OF_CHAINS, Batch, Floats, draw, same
from oracles import chain as enumeration
from oracles import objectives as oracle

NAMES = sorted(OF_CHAINS)
WEIGHED = [name for name in NAMES if OBJECTIVES[name].weighs_labels]
LENGTHS = (3, 0, 1, 2, 5)
SHAPES = [
    pytest.param(options, id="-".join(k for k, v in options.items() if v) or "plain")
    for options in (
        {"shared": True},
        {"shared": False},
        {"shared": True, "sparse": True},
        {"shared": False, "forbidden": True},
        {"shared": True, "sparse": True, "forbidden": True},
    )
]


class Labelled:
    """A drawn batch with a possible gold labelling, sets that hold it, costs and weights."""

    def __init__(self, seed: int, n_states: int, *, scale: float = 2.0, **options: bool) -> None:
        rng = np.random.default_rng(seed)
        self.batch: Batch = draw(rng, n_states, LENGTHS, scale=scale, **options)
        self.chains = [self.batch.oracle(i) for i in range(len(LENGTHS))]
        paths = [self._pick(rng, chain) for chain in self.chains]
        self.gold = np.array([y for path in paths for y in path], np.int32)
        self.allowed: NDArray[np.bool_] = rng.random((len(self.gold), n_states)) < 0.4
        self.allowed[np.arange(len(self.gold)), self.gold] = True
        self.cost = rng.gamma(2.0, size=(n_states, n_states)) * (1 - np.eye(n_states))
        self.sequence_weights = rng.gamma(2.0, size=len(LENGTHS))
        self.label_weights = rng.gamma(2.0, size=n_states)

    @staticmethod
    def _pick(rng: np.random.Generator, chain: enumeration.Chain) -> enumeration.Path:
        possible = enumeration.labelings(chain)
        return possible[int(rng.integers(len(possible)))][0]

    def objective(self, name: str) -> Any:
        with_cost = {"margin": Margin, "softmax_margin": SoftmaxMargin}
        return with_cost[name](cost=self.cost) if name in with_cost else resolve_objective(name)

    def gold_for(self, name: str) -> NDArray[Any]:
        return self.allowed if OBJECTIVES[name].partial else self.gold

    def ask(self, name: str, **options: Any) -> Any:
        b = self.batch
        gold = self.gold_for(name)
        return self.objective(name).value_and_gradient(b.states, b.node, b.edge, b.offsets, gold, **options)

    def setting(self, i: int, *, weighted: bool) -> oracle.Setting:
        at = self.batch.rows(i)
        weights = self.label_weights if weighted else np.ones(len(self.cost))
        gold = tuple(self.gold[at].tolist())
        return oracle.Setting(gold, self.cost.tolist(), weights.tolist(), self.allowed[at].tolist())

    def expected(self, name: str, *, weighted: bool = False) -> tuple[Floats, Floats, Floats]:
        each = [oracle.loss(name, c, self.setting(i, weighted=weighted)) for i, c in enumerate(self.chains)]
        S, E = self.batch.node.shape[1], len(self.batch.sources)
        node = np.array([row for one in each for row in one.node]).reshape(-1, S)
        edge = np.array([row for one in each for row in one.edge]).reshape(-1, E)
        return np.array([one.value for one in each]), node, edge


def agree(
    found: Any, expected: tuple[Floats, Floats, Floats], *, rel: float = 1e-9, abs: float = 1e-12
) -> None:
    """``abs`` is for numbers of size one: slopes are differences of terms that may be as large as any."""
    for mine, its in zip(found, expected):
        same(mine, its, rel=rel, abs=abs * max(1.0, np.abs(its).max(initial=0.0)))


@pytest.mark.parametrize("options", SHAPES)
@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_enumeration(name: str, n_states: int, options: dict[str, bool]) -> None:
    case = Labelled(n_states, n_states, **options)
    agree(case.ask(name), case.expected(name))


@pytest.mark.parametrize("options", SHAPES)
@pytest.mark.parametrize("name", WEIGHED)
def test_label_weights(name: str, options: dict[str, bool]) -> None:
    case = Labelled(7, 3, **options)
    agree(case.ask(name, label_weights=case.label_weights), case.expected(name, weighted=True))


@pytest.mark.parametrize("name", NAMES)
def test_sequence_weights(name: str) -> None:
    case = Labelled(5, 3, shared=False)
    case.sequence_weights[2] = 0.0
    value, node, edge = case.expected(name)
    w = case.sequence_weights
    rows = np.repeat(w, LENGTHS)[:, None]
    agree(case.ask(name, sequence_weights=w), (w * value, rows * node, rows * edge))


@pytest.mark.parametrize("scale", [1e-3, 50.0, 500.0])
@pytest.mark.parametrize("options", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_scales(name: str, options: dict[str, bool], scale: float) -> None:
    """Marginals of 1e-500 and scores of 1e3, whose last digit is 1e-13: hence the tolerance."""
    case = Labelled(3, 3, scale=scale, **options)
    try:
        expected = case.expected(name)
    except OverflowError:
        expected = None
    if expected is None or not np.all(np.isfinite(expected[0])):
        with pytest.raises(
            FieldcraftError, match=r"sequence \d: 1 / p.* exceeds the largest number; use obj"
        ):
            case.ask(name)
        return
    agree(case.ask(name), expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_has_the_slopes_of_its_values(name: str) -> None:
    """Central differences with one step of extrapolation, of the enumerated value in each potential."""
    case = Labelled(11, 3, shared=False)
    i = LENGTHS.index(3)  # tokens: a first, a middle and a last one
    chain, setting = case.chains[i], case.setting(i, weighted=True)
    answer = oracle.loss(name, chain, setting)

    def at(part: str, t: int, k: int, h: float) -> float:
        rows = [list(row) for row in getattr(chain, part)]
        rows[t][k] += h
        return oracle.loss(name, chain._replace(**{part: tuple(map(tuple, rows))}), setting).value

    for part, gradient in (("node", answer.node), ("edge", answer.edge)):
        for t, row in enumerate(gradient):
            for k, slope in enumerate(row):
                near, far = ((at(part, t, k, h) - at(part, t, k, -h)) / (2 * h) for h in (1e-3, 2e-3))
                assert (4 * near - far) / 3 == pytest.approx(slope, rel=1e-7, abs=1e-7)


def test_with_no_label_missing_it_is_the_likelihood() -> None:
    case = Labelled(2, 3, shared=False)
    case.allowed = np.eye(3, dtype=bool)[case.gold]
    agree(case.ask("marginal_likelihood"), tuple(case.ask("likelihood")), rel=1e-13, abs=1e-13)
    agree(case.ask("viterbi"), tuple(case.ask("perceptron")), rel=1e-13, abs=1e-13)


def test_labels_stand_for_sets_of_one() -> None:
    case = Labelled(2, 3)
    b = case.batch
    for name in ("marginal_likelihood", "viterbi"):
        found = case.objective(name).value_and_gradient(b.states, b.node, b.edge, b.offsets, case.gold)
        case.allowed = np.eye(3, dtype=bool)[case.gold]
        agree(found, tuple(case.ask(name)))


def test_a_token_with_all_labels_is_absent_from_the_gold_term() -> None:
    """The last token of a sequence, free and without transitions that matter: the loss of the others."""
    case = Labelled(4, 3)
    b = case.batch
    b.edge[:] = 0.0  # tokens are independent
    case.allowed[:] = np.eye(3, dtype=bool)[case.gold]
    lasts = b.offsets[1:][np.diff(b.offsets) > 0] - 1
    case.allowed[lasts] = True
    found = case.ask("marginal_likelihood")
    assert np.abs(found.node[lasts]).max() < 1e-15
    others = np.setdiff1d(np.arange(len(case.gold)), lasts)
    log_p = b.node - np.log(np.exp(b.node).sum(axis=1, keepdims=True))
    expected = -math.fsum(log_p[t, case.gold[t]] for t in others)
    assert found.value.sum() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["marginal_likelihood", "viterbi"])
def test_nothing_known_is_nothing_learnt(name: str) -> None:
    case = Labelled(6, 3, shared=False)
    case.allowed[:] = True
    found = case.ask(name)
    for part in found:
        assert not part.any()


@pytest.mark.parametrize("name", ["margin", "softmax_margin"])
def test_without_costs_margins_are_plain(name: str) -> None:
    case = Labelled(8, 3)
    case.cost[:] = 0.0
    plain = {"margin": "perceptron", "softmax_margin": "likelihood"}[name]
    agree(case.ask(name), tuple(case.ask(plain)), rel=1e-13, abs=1e-13)


def test_the_margin_bounds_the_cost_of_the_best_labelling() -> None:
    case = Labelled(9, 3)
    b = case.batch
    best = np.array([y for c in case.chains for y in enumeration.argmax(c)[0]], np.int64)
    wrong = np.add.reduceat(np.append(case.cost[case.gold, best], 0.0), b.offsets[:-1])
    wrong[np.diff(b.offsets) == 0] = 0.0
    margin, smooth = case.ask("margin").value, case.ask("softmax_margin").value
    assert np.all(margin >= wrong - 1e-12)
    assert np.all(smooth >= margin - 1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in WEIGHED])
def test_label_weights_are_refused_where_they_mean_nothing(name: str) -> None:
    case = Labelled(1, 2)
    with pytest.raises(InputError, match=f"no meaning for the objective {name}"):
        case.ask(name, label_weights=np.ones(2))


def test_gold_that_is_forbidden_is_reported() -> None:
    case = Labelled(1, 2)
    case.batch.node[case.batch.offsets[3], case.gold[case.batch.offsets[3]]] = -np.inf
    with pytest.raises(FieldcraftError, match=r"sequence 3: its loss \(likelihood\) is not finite"):
        case.ask("likelihood")

"""Stochastic rules over a callback take the steps that they take over the native chain.

The callback computes losses and gradients by enumerating all labellings of a sequence; its potential space
is that of the chain (nodes, label pairs summed over positions), and the edges of each position where edge
features look at the input.
"""

from __future__ import annotations

import gc
import itertools
import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.design import native_columns, native_tokens
from unit.training.corpora import Floats
from unit.training.online_cases import Case, S, case, index_columns

NONE, UNIFORM, LINEAR = 0, 1, 2
TOLERANCE = 1e-10


class Enumerated:
    """One sequence: potential-space indicators of all labellings, and the map to feature counts."""

    def __init__(self, case_: Case, i: int, edges: bool) -> None:
        encoded, index = case_.design.encoded, case_.design.index
        first, last = int(encoded.offsets[i]), int(encoded.offsets[i + 1])
        T = last - first
        number = {key: f for f, key in enumerate(zip(*map(np.ndarray.tolist, index_columns(index))))}
        n_edge = T * S * S if edges else 0
        self.counts = np.zeros((T * S + S * S + n_edge, len(index)))  # [size, F]
        for x, y in itertools.product(range(S), repeat=2):
            if T > 1 and (-1, x, y) in number:
                self.counts[T * S + x * S + y, number[-1, x, y]] = 1
        for t in range(T):
            for k in range(encoded.token_ptr[first + t], encoded.token_ptr[first + t + 1]):
                a = int(encoded.attributes[k])
                value = 1.0 if encoded.values is None else encoded.values[k]
                for y in range(S):
                    if (a, -1, y) in number:
                        self.counts[t * S + y, number[a, -1, y]] += value
                for x, y in itertools.product(range(S), repeat=2):
                    if t > 0 and (a, x, y) in number:
                        self.counts[T * S + S * S + (t * S + x) * S + y, number[a, x, y]] += value
        labellings = list(itertools.product(range(S), repeat=T))
        self.parts = np.zeros((len(labellings), len(self.counts)))  # [L, size]
        for row, labels in zip(self.parts, labellings):
            for t, y in enumerate(labels):
                row[t * S + y] += 1
                if t > 0:
                    row[T * S + labels[t - 1] * S + y] += 1
                    if edges:
                        row[T * S + S * S + (t * S + labels[t - 1]) * S + y] += 1
        gold = tuple(case_.design.gold[first:last].tolist())
        self.gold = labellings.index(gold)
        self.wrong = np.array([sum(a != b for a, b in zip(labels, gold)) for labels in labellings])
        self.T = T
        self.ids = np.flatnonzero(self.counts.any(axis=0))

    def loss(self, objective: str, weights: Floats) -> tuple[float, Floats]:
        """The loss and its gradient [size] in potential space."""
        scores = self.parts @ (self.counts @ weights)
        if objective == "likelihood":
            top = scores.max()
            p = np.exp(scores - top)
            value = top + math.log(p.sum()) - scores[self.gold]
            return value, p / p.sum() @ self.parts - self.parts[self.gold]
        best = int(np.argmax(scores + (objective == "margin") * self.wrong))
        value = scores[best] - scores[self.gold] + (objective == "margin") * self.wrong[best]
        return value, self.parts[best] - self.parts[self.gold]

    def wrong_positions(self, gradient: Floats) -> int:
        nodes = gradient[: self.T * S].reshape(self.T, S)
        return int(np.count_nonzero(nodes.any(axis=1)))


class Callback:
    """A structure in Python, for `_core.callback_passes`."""

    def __init__(self, case_: Case, objective: str, weights: Floats | None, *, edges: bool) -> None:
        self.objective, self.weights = objective, weights
        self.sequences = [Enumerated(case_, i, edges) for i in range(len(case_.examples))]
        self.n_features = len(case_.design.index)

    def loss(self, i: int, field: Floats, scale: float) -> tuple[float, int, Floats]:
        weight = 1.0 if self.weights is None else self.weights[i]
        value, gradient = self.sequences[i].loss(self.objective, scale * field)
        gradient = gradient * weight
        return weight * value, self.sequences[i].wrong_positions(gradient), gradient

    def adjoint(self, i: int, gradient: Floats) -> tuple[Any, Floats]:
        one = self.sequences[i]
        ids = one.ids if i % 2 else one.ids.astype(np.int32)
        return ids, np.ascontiguousarray((gradient @ one.counts)[one.ids])

    def passes(self, **changed: Any) -> Any:
        sizes = np.array([len(one.counts) for one in self.sequences])
        options = {"loss": self.loss, "adjoint": self.adjoint, "sizes": sizes, **changed}
        return _core.callback_passes(self.n_features, self.weights, **options)


class Setup(NamedTuple):
    """One corpus, seen natively and through callbacks."""

    native: Any
    callback: Any
    start: Floats
    mask: Any


def setup(
    objective: str,
    seed: int,
    *,
    values: bool = False,
    edges: bool = False,
    weighted: bool = False,
    masked: bool = False,
) -> Setup:
    case_ = case(seed, values=values, edges=edges)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.5, 2.0], size=len(case_.examples)) if weighted else None
    design = case_.design
    problem = _core.chain_problem(
        native_columns(design.index), S, native_tokens(design.encoded), design.gold, weights, 1
    )
    cost = 1.0 - np.eye(S) if objective == "margin" else None
    problem.use(objective, design.gold, cost, None, None)
    mask = (rng.random(len(design.index)) < 0.7).astype(np.uint8) if masked else None
    callback = Callback(case_, objective, weights, edges=edges)
    return Setup(_core.chain_passes(problem, design.gold), callback.passes(), case_.start, mask)


def descent(passes: Any, mask: Any, average: int = NONE, rate: float = 0.3, **changed: Any) -> Any:
    options: dict[str, Any] = {"decay": 0.01, "adaptive": False, "floor": 0.0, "hold": False}
    options |= {"mean": None, "precision": None, "above": None, "below": None, **changed}
    return _core.descent(passes, mask, average, rate, **options)


def every(passes: Any, low: float) -> Floats:
    """Settings that differ from weight to weight."""
    return low + np.arange(passes.n_features) % 5 / 4


ONE = np.ones(1)
RULES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "plain": ("likelihood", lambda p, m: descent(p, m)),
    "by scale": ("likelihood", lambda p, m: descent(p, m, UNIFORM, precision=2 * ONE)),
    "linear average": ("likelihood", lambda p, m: descent(p, m, LINEAR, precision=2 * ONE)),
    "spread": (
        "likelihood",
        lambda p, m: descent(p, m, UNIFORM, mean=every(p, -0.4), precision=every(p, 0.1)),
    ),
    "one mean": ("likelihood", lambda p, m: descent(p, m, mean=0.2 * ONE, precision=ONE)),
    "absolute": ("likelihood", lambda p, m: descent(p, m, UNIFORM, above=0.2 * ONE, below=0.1 * ONE)),
    "absolute and scale": (
        "likelihood",
        lambda p, m: descent(p, m, precision=ONE, above=every(p, 0), below=ONE),
    ),
    "absolute margin": ("margin", lambda p, m: descent(p, m, UNIFORM, above=0.4 * ONE, below=0.4 * ONE)),
    "adagrad": ("likelihood", lambda p, m: descent(p, m, adaptive=True, floor=1e-6, precision=ONE)),
    "adagrad, absolute": (
        "likelihood",
        lambda p, m: descent(p, m, adaptive=True, floor=1e-6, precision=ONE, above=ONE, below=0.5 * ONE),
    ),
    "subgradient": ("margin", lambda p, m: descent(p, m, LINEAR, precision=ONE)),
    "perceptron": ("perceptron", lambda p, m: descent(p, m, UNIFORM, 1.0, decay=0.0)),
    "held perceptron": ("perceptron", lambda p, m: descent(p, m, NONE, 1.0, decay=0.0, hold=True)),
    "voted perceptron": ("perceptron", lambda p, m: _core.voted_perceptron(p, m, 5)),
    **{
        f"passive-aggressive {variant}": (
            "perceptron",
            lambda p, m, variant=variant: _core.passive_aggressive(p, m, UNIFORM, variant, 0.4, variant),
        )
        for variant in range(3)
    },
    "arow": ("perceptron", lambda p, m: _core.arow(p, m, UNIFORM, 1.0, 0.5, 1)),
    "sag": ("likelihood", lambda p, m: _core.sag(p, m, 1.5, None)),
    "sag with means": ("likelihood", lambda p, m: _core.sag(p, m, 1.5, every(p, -0.3))),
}
CORPORA: dict[str, dict[str, bool]] = {
    "plain": {},
    "values": {"values": True},
    "weights": {"weighted": True},
    "mask": {"masked": True, "values": True},
    "edges": {"edges": True, "weighted": True},
}


def run(rule: Any, start: Floats) -> list[Any]:
    """Everything that three passes show."""
    shown: list[Any] = []
    rule.start(start)
    for k in range(3):
        order = np.random.default_rng(k).permutation(12)
        if hasattr(rule, "use"):
            rule.use(np.random.default_rng([k, 1]).random(24))
        shown.append(rule.run(order))
        for read in (rule.weights, rule.last_weights):
            weights = np.full(len(start), np.nan)
            read(weights)
            shown.append(weights)
    shown.append(rule.loss(np.arange(12)))
    shown += [part for _, part in sorted(rule.state().items())]
    if hasattr(rule, "voters"):
        shown += rule.voters()
    if hasattr(rule, "memory"):
        shown += [part for _, part in sorted(rule.memory().items())]
    return shown


# Where edges look at the input the two potential spaces differ, and what SAG keeps of them is rounded.
CASES = [(name, corpus) for name in RULES for corpus in CORPORA if (name[:3], corpus) != ("sag", "edges")]


@pytest.mark.parametrize(("name", "corpus"), CASES)
def test_callbacks_take_the_native_steps(name: str, corpus: str) -> None:
    objective, make = RULES[name]
    for seed in range(2):
        c = setup(objective, seed, **CORPORA[corpus])
        native, callback = (run(make(p, c.mask), c.start) for p in (c.native, c.callback))
        assert any(np.any(w != c.start) for w in native[1:3])
        for a, b in zip(native, callback, strict=True):
            np.testing.assert_allclose(b, a, rtol=TOLERANCE, atol=TOLERANCE)


def test_sag_learns_where_edges_look_at_the_input() -> None:
    for seed in range(3):
        c = setup("likelihood", seed, edges=True)
        native, callback = (run(_core.sag(p, None, 1.0, None), c.start)[:7] for p in (c.native, c.callback))
        for a, b in zip(native, callback, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6)  # float32 gradients


@pytest.mark.parametrize("name", RULES)
def test_a_restored_state_goes_on_alike(name: str) -> None:
    objective, make = RULES[name]
    c = setup(objective, 1)
    first, second = make(c.callback, None), make(c.callback, None)
    run(first, c.start)
    second.restore(first.state())
    if hasattr(first, "memory"):
        second.restore_memory(**first.memory())
    if hasattr(first, "kept"):
        second.keep(*first.kept())
    order = np.arange(12)
    for rule in (first, second):
        if hasattr(rule, "use"):
            rule.use(np.linspace(0, 0.99, 24))
    assert first.run(order) == second.run(order)
    for a, b in zip(first.state().values(), second.state().values(), strict=True):
        np.testing.assert_array_equal(a, b)


class Broken(NamedTuple):
    """Callables that do not keep to the agreement, and what the refusal says."""

    changed: dict[str, Any]
    message: str


def broken() -> dict[str, Broken]:
    good = Callback(case(0), "likelihood", None, edges=False)
    loss, adjoint, n = good.loss, good.adjoint, good.n_features
    size = len(good.sequences[2].counts)

    def losses(change: Callable[..., Any]) -> dict[str, Any]:
        return {"loss": lambda *args: change(*loss(*args))}

    def adjoints(change: Callable[..., Any]) -> dict[str, Any]:
        return {"adjoint": lambda *args: change(*adjoint(*args))}

    return {
        "long gradient": Broken(
            losses(lambda v, w, g: (v, w, np.append(g, 0.0))), rf"\({size + 1},\), expected \({size},\)"
        ),
        "matrix": Broken(losses(lambda v, w, g: (v, w, g[None])), "float64 vector"),
        "float32": Broken(losses(lambda v, w, g: (v, w, g.astype(np.float32))), "float64 vector"),
        "list": Broken(losses(lambda v, w, g: (v, w, g.tolist())), "float64 vector"),
        "no count": Broken(losses(lambda v, w, g: (v, None, g)), "number of wrong positions"),
        "two results": Broken(losses(lambda v, w, g: (v, g)), "tuple of 3"),
        "no result": Broken({"loss": lambda *args: None}, "tuple of 3"),
        "high id": Broken(adjoints(lambda ids, v: (ids * 0 + n, v)), rf"{n}, must be in 0 .. {n - 1}"),
        "negative id": Broken(adjoints(lambda ids, v: (ids - n, v)), "must be in 0"),
        "ids of another length": Broken(adjoints(lambda ids, v: (ids[:-1], v)), r"shape \(\d+,\) and values"),
        "float ids": Broken(adjoints(lambda ids, v: (ids * 1.0, v)), "int32 or int64"),
        "one result": Broken(adjoints(lambda ids, v: ids), "tuple of 2"),
    }


@pytest.mark.parametrize("name", broken())
def test_callables_that_break_the_agreement_are_refused(name: str) -> None:
    good = Callback(case(0), "likelihood", None, edges=False)
    rule = descent(good.passes(**broken()[name].changed), None)
    rule.start(case(0).start)
    with pytest.raises(ValueError, match=broken()[name].message):
        rule.run(np.array([2]))


def test_arguments_that_do_not_fit_are_refused() -> None:
    c = setup("likelihood", 0)
    good = Callback(case(0), "likelihood", None, edges=False)
    with pytest.raises(ValueError, match=r"\(3,\), sizes \(2,\)"):
        _core.callback_passes(4, np.ones(3), np.array([1, 2]), good.loss, good.adjoint)
    with pytest.raises(ValueError, match="negative"):
        _core.callback_passes(4, None, np.array([1, -2]), good.loss, good.adjoint)
    with pytest.raises(TypeError):
        _core.callback_passes(4, None, np.array([1, 2]), None, good.adjoint)
    with pytest.raises(ValueError, match="one mask entry per feature"):
        descent(c.callback, np.ones(2, np.uint8))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("place", ["loss", "adjoint"])
def test_exceptions_of_callables_reach_the_caller(name: str, place: str) -> None:
    class TroubleError(Exception):
        pass

    def fail(*_: Any) -> Any:
        if armed:
            raise TroubleError(name)
        return getattr(good, place)(*_)

    objective, make = RULES[name]
    good, armed = Callback(case(0), objective, None, edges=False), False
    rule = make(good.passes(**{place: fail}), None)  # may ask which weights a sequence touches
    rule.start(case(0).start)
    if hasattr(rule, "use"):
        rule.use(np.zeros(24))
    armed = True
    with pytest.raises(TroubleError, match=name):
        rule.run(np.arange(12))
    armed = False
    assert np.isfinite(rule.run(np.arange(12)))


def test_the_field_is_read_only_and_the_passes_are_for_one_run_at_a_time() -> None:
    good = Callback(case(0), "likelihood", None, edges=False)
    seen = []

    def loss(i: int, field: Floats, scale: float) -> Any:
        seen.append(field.flags.writeable)
        with pytest.raises(RuntimeError, match="in use"):
            rule.run(np.array([0]))
        return good.loss(i, field, scale)

    rule = descent(good.passes(loss=loss), None)
    rule.start(case(0).start)
    rule.run(np.array([1, 2]))
    assert seen == [False, False]


def test_handles_keep_what_they_need_and_no_more() -> None:
    rule = descent(setup("likelihood", 0).native, None)  # the problem has no other owner
    rule.start(case(0).start)
    gc.collect()
    assert np.isfinite(rule.run(np.arange(12)))

    good = Callback(case(0), "likelihood", None, edges=False)
    good.handle = good.passes()  # type: ignore[attr-defined]
    gone = weakref.ref(good)
    del good
    gc.collect()
    assert gone() is None

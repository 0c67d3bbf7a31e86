"""Predictions under constraints, against an enumeration of all labellings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.models import constrained
from fieldcraft.structures import constrained as chains
from fieldcraft.structures.constraints import Constraint, parse_constraints

NAMES = ["B-c", "B-r", "I-c", "O"]


def model(states: Any = "labels", seed: int = 0, **settings: Any) -> tuple[fc.ChainCRF, list[Any]]:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(2, 7, 30):
        X.append([[f"w={rng.integers(5)}", f"v={rng.integers(3)}"] for _ in range(length)])
        y.append([str(rng.choice(NAMES)) for _ in range(length)])
    return fc.ChainCRF(states=states, n_jobs=1, labels=NAMES, **settings).fit(X, y), X


def count_spans(labels: Sequence[str], kind: str) -> int:
    """Spans of a type in the reading of conlleval; runs of a label that is one."""
    if kind in NAMES:
        return sum(y == kind and (t == 0 or labels[t - 1] != kind) for t, y in enumerate(labels))
    begun = 0
    for t, y in enumerate(labels):
        before = labels[t - 1] if t else "O"
        begun += y[2:] == kind and (y[0] == "B" or before[2:] != kind)
    return begun


def holds(text: str, labels: Sequence[str]) -> bool:
    """Whether labels obey a constraint, told from its text alone."""
    word, *rest = text.split()
    n = len(labels)
    if word == "forced":
        return int(rest[0]) < n and labels[int(rest[0])] in rest[1:]
    if word in ("forbidden", "allowed", "followed_by"):
        after = [labels[t + 1] if t + 1 < n else None for t in range(n) if labels[t] == rest[0]]
        if word == "forbidden":
            return not set(after) & set(rest[1:])
        return all(y in rest[1:] or (y is None and word == "allowed") for y in after)
    if word in ("at_least", "at_most", "exactly"):
        k, name = int(rest[0]), rest[1]
        found = count_spans(labels, name)
        if rest[2:] == ["tokens"]:
            found = sum(y == name or y[2:] == name for y in labels)
        return {"at_least": found >= k, "at_most": found <= k, "exactly": found == k}[word]
    if word in ("implies", "excludes"):
        first, second = (any(y == name or y[2:] == name for y in labels) for name in rest)
        return (not first or second) if word == "implies" else not (first and second)
    total = sum(float(v) * labels.count(name) for name, v in (term.split(":") for term in rest[2:]))
    bound = float(rest[1])
    return {"<=": total <= bound, ">=": total >= bound, "==": total == bound}[rest[0]]


CASES = [
    ["forced 1 B-c I-c"],
    ["forbidden O I-c", "forbidden B-r I-c"],
    ["allowed B-c I-c O"],
    ["followed_by B-c I-c"],
    ["at_most 1 c"],
    ["at_least 2 c", "at_most 0 B-r tokens"],
    ["exactly 2 O tokens"],
    ["exactly 1 O"],
    ["implies r c"],
    ["implies B-r O", "excludes c O"],
    ["at_most 1 c", "at_most 1 r", "implies r c", "forbidden O I-c", "forced 0 B-r"],
    ["linear <= 0 B-c:1 B-r:-1"],
    ["linear >= 1.5 O:0.5 B-r:1", "at_most 1 c", "forbidden O I-c"],
    ["linear == 2 B-c:1 O:2"],
]


def distribution(crf: fc.ChainCRF, sequence: Any) -> dict[tuple[str, ...], float]:
    every = [list(labels) for labels in product(NAMES, repeat=len(sequence))]
    values = crf.log_probability([sequence] * len(every), every)
    return {tuple(labels): float(v) for labels, v in zip(every, values) if v > -np.inf}


def obeying_of(crf: fc.ChainCRF, sequence: Any, texts: list[str]) -> dict[tuple[str, ...], float]:
    """The labellings that obey, with their log-probabilities."""
    return {y: v for y, v in distribution(crf, sequence).items() if all(holds(t, y) for t in texts)}


@pytest.mark.parametrize("way", ["automaton", "k-best", "programme"])
@pytest.mark.parametrize("states", ["labels", "ngrams:2"])
def test_the_best_labelling_by_each_way(states: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Automaton, k-best and integer programme find what enumeration finds."""
    crf, X = model(states)
    if way != "automaton":
        monkeypatch.setattr(chains, "MOST_TRANSITIONS", -1)
        monkeypatch.setattr(constrained, "K_BEST", 5000 if way == "k-best" else 1)
    some = [x for x in X if len(x) <= 5][:3]
    for texts in CASES:
        for sequence, decoding in zip(some, crf.decode(some, constraints=texts)):
            obeying = {
                y: v for y, v in distribution(crf, sequence).items() if all(holds(t, y) for t in texts)
            }
            if not obeying:
                assert decoding.labels is None, texts
                continue
            assert decoding.labels is not None, (texts, decoding)
            best = max(obeying.values())
            assert tuple(decoding.labels) in obeying, (texts, decoding)
            assert decoding.value == pytest.approx(best, rel=1e-9), (texts, decoding)
            assert (decoding.optimal, decoding.gap) == (True, 0.0)


def test_a_fractional_programme_is_rounded_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rounded labelling obeys, and the best one is not further above it than its gap says."""
    crf, X = model()
    monkeypatch.setattr(chains, "MOST_TRANSITIONS", -1)
    monkeypatch.setattr(constrained, "K_BEST", 1)
    some = [x for x in X if len(x) <= 5][:6]
    methods, short = set(), 0
    for texts in [*CASES, ["linear == 3 B-c:2 B-r:3 O:1"], ["linear == 4 I-c:3 B-r:1 O:2", "at_most 1 c"]]:
        exact = crf.decode(some, constraints=texts)
        for sequence, best, decoding in zip(some, exact, crf.decode(some, constraints=texts, rounded=True)):
            methods.add(decoding.method)
            assert (decoding.labels is None) == (best.labels is None)
            if decoding.labels is None or decoding.method != "rounded linear programme":
                assert decoding.value == pytest.approx(best.value, rel=1e-9)
                continue
            assert tuple(decoding.labels) in obeying_of(crf, sequence, texts)
            assert decoding.value <= best.value + 1e-9 <= decoding.value + decoding.gap + 2e-6
            assert decoding.optimal == (decoding.gap == 0.0)
            short += not decoding.optimal
    assert "rounded linear programme" in methods
    assert short > 0


@pytest.mark.parametrize("states", ["labels", "ngrams:2+observed"])
def test_distributions_given_the_constraints(states: str) -> None:
    crf, X = model(states)
    sequence = next(x for x in X if len(x) == 4)
    for texts in CASES[:11]:
        obeying = obeying_of(crf, sequence, texts)
        if not obeying:
            with pytest.raises(InputError, match="sequence 0: no labelling obeys"):
                crf.predict_proba([sequence], constraints=texts)
            continue
        total = math.fsum(math.exp(v) for v in obeying.values())
        shares = {y: math.exp(v) / total for y, v in obeying.items()}
        table = [[math.fsum(p for y, p in shares.items() if y[t] == n) for n in NAMES] for t in range(4)]
        found = crf.predict_proba([sequence], constraints=texts)[0]
        np.testing.assert_allclose(found, table, rtol=1e-9, atol=1e-12)
        marginals = crf.predict_marginals([sequence], constraints=texts)[0]
        np.testing.assert_allclose([[row[name] for name in NAMES] for row in marginals], found)
        ranked = sorted(obeying.items(), key=lambda item: -item[1])[:5]
        best = crf.k_best([sequence], 5, constraints=texts)[0]
        np.testing.assert_allclose([v for _, v in best], [v for _, v in ranked], rtol=1e-9)
        assert all(tuple(y) in obeying for y in crf.sample([sequence], 40, constraints=texts)[0])


def test_constraints_of_their_own_for_each_sequence() -> None:
    crf, X = model()
    lists: list[list[Constraint]] = [[fc.forced(0, NAMES[i % 4])] for i in range(len(X))]
    assert [row[0] for row in crf.predict(X, constraints=lists)] == [NAMES[i % 4] for i in range(len(X))]
    with pytest.raises(InputError, match="2 lists of constraints for 30 sequences"):
        crf.predict(X, constraints=lists[:2])


def test_contradictions_are_named_in_full_and_no_more() -> None:
    crf, X = model()
    texts = ["at_most 1 c", "forced 0 B-c", "implies r c", "at_most 0 c", "forbidden O I-c"]
    (decoding,) = crf.decode(X[:1], constraints=texts)
    assert decoding.labels is None
    assert decoding.why == "no labelling obeys the constraints 'forced 0 B-c'; 'at_most 0 c'"
    with pytest.raises(InputError, match=r"sequence 0: no labelling .*'forced 0 B-c'; 'at_most 0 c'"):
        crf.predict(X[:1], constraints=texts)
    both = ["forced 0 O", "forced 0 B-c", "linear >= 0 O:1"]
    assert "'forced 0 O'; 'forced 0 B-c'" in crf.decode(X[:1], constraints=both)[0].why
    forbidden = ["forced 1 I-c", "forced 0 O", "forbidden O I-c"]
    assert crf.decode(X[:1], constraints=forbidden)[0].why.count("'") == 6


def test_linear_constraints_have_no_marginals() -> None:
    crf, X = model()
    with pytest.raises(InputError, match=r"for decoding only: 'linear <= 1 O:1' has no automaton"):
        crf.predict_proba(X, constraints=["linear <= 1 O:1"])


def test_a_model_keeps_its_constraints(tmp_path: Any) -> None:
    X = [[["a"], ["b"], ["c"]]] * 3
    y = [["O", "B-c", "I-c"]] * 3
    rules = [fc.at_most(1, "c"), fc.forbidden("O", "I-c")]
    crf = fc.ChainCRF(constraints=rules, labels=["B-c", "I-c", "O"], n_jobs=1).fit(X, y)
    assert crf.log_probability(X[:1], [["O", "I-c", "I-c"]])[0] == -np.inf  # part of the states
    crf.save(tmp_path / "model.fc")
    loaded: Any = fc.load(tmp_path / "model.fc")
    assert loaded.constraints == ["at_most 1 c", "forbidden O I-c"]
    np.testing.assert_array_equal(loaded.log_probability(X, y), crf.log_probability(X, y))
    assert loaded.predict(X).tolist() == crf.predict(X).tolist()
    with pytest.raises(InputError, match="sequence 0, token 2: label 'I-c' is impossible"):
        fc.ChainCRF(constraints=rules).fit(X, [["B-c", "O", "I-c"]] * 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("at_most city", "not complete; e.g. at_most 1 city"),
        ("never O", "'never' is none of forced"),
        ("at_most 1 c words", "choose one of spans, tokens"),
        ("linear < 1 O:1", "choose one of <=, >=, =="),
        ("linear <= 1", "needs a dict"),
        ("forced -1 O", "token"),
    ],
)
def test_texts_that_are_no_constraints(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_constraints(["# nothing", text], "rules.txt")
    assert str(caught.value).startswith("rules.txt:2: ")


@pytest.mark.parametrize("constraint", [fc.at_most(1, "city"), fc.forced(0, "B-x"), fc.forbidden("O", "I-x")])
def test_names_that_are_no_labels(constraint: Constraint) -> None:
    crf, X = model()
    with pytest.raises(InputError, match=f"constraint '{constraint}': .* the labels B-c, B-r, I-c, O"):
        crf.predict(X, constraints=[constraint])


@pytest.mark.parametrize(
    "text", ["at_most 1 q", "implies q c", "excludes c q", "forced 0 q", "forbidden q O"]
)
def test_a_model_with_constraints_on_unknown_names_is_not_trained(text: str) -> None:
    _, X = model()
    y = [[NAMES[i % 4] for i in range(len(x))] for x in X]
    with pytest.raises(InputError, match=f"constraint '{text}': 'q' is n"):
        fc.ChainCRF(constraints=[text]).fit(X, y)

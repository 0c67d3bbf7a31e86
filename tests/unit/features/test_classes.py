"""Label configurations become features of classes: against literal loops over states and transitions."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np
import pytest

from fieldcraft.design import Encoder, build_design, make_encoder
from fieldcraft.errors import InputError
from fieldcraft.features.classes import names_labels, with_classes, with_labels
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import encode_labels
from fieldcraft.models.parameters import Parameters
from fieldcraft.potentials import StateWeights, TableWeights
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure

LABELS = ("A", "B", "C")
X = [[["a", "e|x"], ["b"], ["a", "c", "e|x"]], [["c"], ["b", "e|x"]], [["b"]]]
Y = [["A", "B", "C"], ["C", "C"], ["B"]]


def space(seed: int, *, tie: bool) -> StateSpace:
    """Two states per label, some transitions missing, classes drawn at random or all different."""
    rng = np.random.default_rng(seed)
    allowed = np.argwhere(rng.random((6, 6)) < 0.8).astype(np.int32)
    sources, targets = allowed.T

    def classes(n: int, most: int) -> Any:
        return np.unique(rng.integers(0, most, n), return_inverse=True)[1] if tie else None

    label_of = np.array([0, 1, 2, 2, 1, 0])
    ones = np.ones(6, bool)
    ties = classes(6, 3), classes(len(sources), 5)
    return StateSpace(6, sources, targets, ones, ones, label_of, LABELS, *ties)


def design_index(structure: Any = None, **options: Any) -> tuple[Encoder, FeatureIndex]:
    encoder = make_encoder(None, **options.pop("encoder", {"edge_prefix": "e|"}))
    encoded = encoder.encode(X, grow=True)
    gold = encode_labels(Y, LABELS, encoded.offsets)
    return encoder, build_design(encoder, encoded, gold, 3, structure=structure, **options).index


def literal(index: FeatureIndex, states: StateSpace) -> tuple[Counter[Any], dict[Any, int]]:
    """Counts and families of the features of classes, feature by feature and state by state."""
    counts: Counter[Any] = Counter()
    families: dict[Any, int] = {}
    nodes = [{int(states.node_class[s]) for s in range(6) if states.label_of[s] == y} for y in range(3)]
    named = {c: tuple(states.edge_labels[c].tolist()) for c in range(len(states.edge_labels))}
    pairs: dict[tuple[int, int], set[int]] = {}
    for s, t, c in zip(states.sources, states.targets, states.edge_class.tolist()):
        pairs.setdefault((int(states.label_of[s]), int(states.label_of[t])), set()).add(c)
    for a, x, y, n, family in zip(
        index.attribute.tolist(), index.previous.tolist(), index.label.tolist(), index.count, index.family
    ):
        configurations: Any = (
            [(-1, c) for c in nodes[y]] if x < 0 else [named[c] for c in pairs.get((x, y), ())]
        )
        for configuration in configurations:
            key = (a, *configuration)
            counts[key] += int(n)
            families[key] = int(family)
    return counts, families


@pytest.mark.parametrize("features", ["supported", "all"])
@pytest.mark.parametrize("tie", [False, True], ids=["own", "tied"])
@pytest.mark.parametrize("seed", range(5))
def test_features_of_classes(seed: int, features: str, *, tie: bool) -> None:
    states = space(seed, tie=tie)
    _, labels = design_index(features=features)
    _, index = design_index(LinearChain(states), features=features)
    counts, families = literal(labels, states)
    keys = list(zip(index.attribute.tolist(), index.previous.tolist(), index.label.tolist()))
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, index.count.tolist())) == dict(counts)
    assert dict(zip(keys, index.family.tolist())) == families
    assert index.attribute.tolist() == sorted(index.attribute.tolist())  # the order of the labels' features
    assert not names_labels(LinearChain(states))


@pytest.mark.parametrize("tie", [False, True], ids=["own", "tied"])
def test_classes_as_labels(*, tie: bool) -> None:
    """The labels of a class are those of its first state or transition, in the order of labels."""
    states = space(1, tie=tie)
    _, index = design_index(LinearChain(states), features="all")
    named = with_labels(index, LinearChain(states))
    nodes: dict[int, int] = {}
    for c, y in zip(states.node_class.tolist(), states.label_of.tolist()):
        nodes[c] = min(nodes.get(c, y), y)
    pairs: dict[tuple[int, ...], tuple[int, int]] = {}
    for s, t, c in zip(states.sources, states.targets, states.edge_class):
        labels = (int(states.label_of[s]), int(states.label_of[t]))
        key = tuple(states.edge_labels[c].tolist())
        pairs[key] = min(pairs.get(key, labels), labels)
    for x, y, before, label in zip(index.previous, index.label, named.previous, named.label):
        expected = (-1, nodes[int(y)]) if x < 0 else pairs[int(x), int(y)]
        assert (before, label) == expected
    assert named.attribute is index.attribute


def test_plain_labels_stay_as_they_are() -> None:
    _, index = design_index()
    chain = LinearChain(StateSpace.labels(LABELS))
    assert with_classes(index, chain) is index
    assert with_labels(index, chain) is index
    assert names_labels(chain)


def test_forbidden_transitions_have_no_features() -> None:
    """States are labels, but A never follows C: the numbers stay, some features go."""
    plain = StateSpace.labels(LABELS)
    kept = plain.cells != 6
    ones = np.ones(3, bool)
    states = StateSpace(3, plain.sources[kept], plain.targets[kept], ones, ones, plain.label_of, LABELS)
    _, index = design_index(features="all")
    _, left = design_index(LinearChain(states), features="all")
    gone = (index.previous == 2) & (index.label == 0)
    assert gone.sum() > 1
    assert left.digest == index.select(~gone).digest
    assert names_labels(LinearChain(states))


class Apart(Structure):
    """Positions without neighbours."""

    name: ClassVar[str] = "apart"


def test_a_structure_without_edges() -> None:
    for features in ("supported", "all"):
        _, index = design_index(Apart(LABELS), encoder={}, features=features)
        assert not index.is_edge.any()
        _, pairs = design_index(encoder={}, features=features)
        assert index.digest == pairs.select(~pairs.is_edge).digest
    with pytest.raises(InputError, match="structure apart has no edges, which the template 'edges' looks at"):
        design_index(Apart(LABELS))


@pytest.mark.parametrize("tie", [False, True], ids=["own", "tied"])
def test_potentials_are_those_of_the_classes(*, tie: bool) -> None:
    """Each state's score is the sum of its class's weights; each transition's likewise."""
    states = space(3, tie=tie)
    encoder, index = design_index(LinearChain(states))
    weights = np.random.default_rng(0).normal(size=len(index))
    encoded = encoder.encode(X, grow=False)
    potentials = TableWeights.of(index, weights, LinearChain(states)).potentials(encoded)
    scorer = Parameters.of(encoder, index, weights, LinearChain(states)).scorer
    if isinstance(scorer, StateWeights):
        node, edge = scorer.arrays(encoded)
        later = LinearChain(states).used_rows("edge", encoded.offsets)
        np.testing.assert_allclose(node, potentials["node"], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(edge[later], potentials["edge"][later], rtol=1e-12, atol=1e-12)
    rows = zip(index.attribute.tolist(), index.previous.tolist(), index.label.tolist())
    weight = dict(zip(rows, weights.tolist()))
    tokens = [set(map(str, token)) for sequence in X for token in sequence]
    ids = {name: i for i, name in enumerate(encoder.attribute_text(range(encoder.n_attributes)))}
    for t, names in enumerate(tokens):
        for s in range(6):
            own = [weight.get((ids[name], -1, int(states.node_class[s])), 0.0) for name in names]
            assert potentials["node"][t, s] == pytest.approx(sum(own), rel=1e-12, abs=1e-12)
        for e, c in enumerate(states.edge_class):
            pair = tuple(states.edge_labels[c].tolist())
            own = [weight.get((a, *pair), 0.0) for a in [-1, *(ids[name] for name in names)]]
            assert potentials["edge"][t, e] == pytest.approx(sum(own), rel=1e-12, abs=1e-12)

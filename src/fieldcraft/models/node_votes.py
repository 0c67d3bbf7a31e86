"""The votes behind the label of a node, from a model's weights (inspection/nodes.py shows them)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.inspection.nodes import Neighbour, NodeExplanation
from fieldcraft.models.node_tables import Linked, NodeTables

Floats = NDArray[np.float64]


def explained(
    model: Any, tables: NodeTables, linked: Linked, node: str, against: str | None, top: int
) -> NodeExplanation:
    """Why a node has the label that the model predicts for it, the node's own label being unknown."""
    v = tables.number(linked, node)
    known = [label if u != v else None for u, label in enumerate(linked.labels)]
    names = model.classes_.tolist()
    marginals = model.infer(linked.features, linked.relations, known).variables
    labels = model.predict(linked.features, linked.relations, known).tolist()
    best = names.index(labels[v])
    other = _other(names, best, marginals[v], against)
    features = _features(model, linked, tables, v, best, other)
    neighbours = _neighbours(model, linked, labels, known, v, best, other)
    shown, near = features[:top], neighbours[:top]
    rest = sum(vote for _, _, vote in features[top:]) + sum(one.vote for one in neighbours[top:])
    p = marginals[v]
    return NodeExplanation(
        node, names[best], float(p[best]), names[other], float(p[other]), shown, near, float(rest)
    )


def _other(names: list[str], best: int, p: Floats, against: str | None) -> int:
    """The label to compare with: the most probable one besides the best, unless it is named."""
    if against is not None:
        if against not in names or names.index(against) == best:
            raise InputError(f"against={against!r}; give another label: {', '.join(names)}")
        return names.index(against)
    order = [int(y) for y in np.argsort(-p, kind="stable") if y != best]
    return order[0] if order else best


def _weights(model: Any, name: str) -> dict[tuple[int, int], float]:
    """(column, class) -> weight of a template."""
    index, column = model.features_, np.append(model.encoder_.column, np.int32(-1))
    mine = np.flatnonzero(np.array([index.parts[part] == name for part in index.part]))
    keys = zip(column[index.attribute[mine]].tolist(), index.label[mine].tolist())
    return dict(zip(keys, model.weights_[mine].tolist()))


def _features(
    model: Any, linked: Linked, tables: NodeTables, v: int, best: int, other: int
) -> list[tuple[str, float, float]]:
    weights, row = _weights(model, "features"), linked.features[[v]].tocoo()
    names = [*tables.features.names(), "constant"]
    pairs = [*zip(row.col.tolist(), row.data.tolist()), (len(names) - 1, 1.0)]
    votes = [
        (names[f], float(x), x * (weights.get((f, best), 0.0) - weights.get((f, other), 0.0)))
        for f, x in pairs
    ]
    return sorted(votes, key=lambda one: -abs(one[2]))


def _neighbours(
    model: Any, linked: Linked, labels: list[str], known: list[Any], v: int, best: int, other: int
) -> list[Neighbour]:
    structure, numbers = model._graphs(), {name: y for y, name in enumerate(model.classes_.tolist())}
    found = []
    for relation, pairs in linked.relations.items():
        weights = _weights(model, relation)
        table = structure.classes[relation].reshape(structure.shapes[relation])
        for a, b in pairs[(pairs == v).any(axis=1)].tolist():
            u = b if a == v else a
            y = numbers[labels[u]]
            cells = [(s, y) if a == v else (y, s) for s in (best, other)]
            scores = [weights.get((-1, int(table[cell])), 0.0) for cell in cells]
            vote = scores[0] - scores[1]
            found.append(Neighbour(linked.ids[u], relation, labels[u], known[u] is not None, vote))
    return sorted(found, key=lambda one: -abs(one.vote))

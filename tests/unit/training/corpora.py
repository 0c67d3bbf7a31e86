"""Random labelled corpora (synthetic) and the model over them spelled out in NumPy.

    node[t, y]     = sum over the token's attributes a of value * weight(a, y)
    edge[t, x, y]  = weight(x, y) + sum of value * weight(a, x, y)
    loss           = sum over sequences of c_i (log Z - score(gold)),   gradient = c_i (expected - seen)

``plain`` shares no code with the package: it reads only the arrays of a design and leaves log Z and
marginals to tests/oracles/chain_reference.py, which works in log space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.design import Design, build_design, native_columns, native_tokens
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.labels import encode_labels
from fieldcraft.priors import Prior
from fieldcraft.problems import build
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from oracles import chain_reference as reference

Floats = NDArray[np.float64]
EDGE = "e/"


class Loss(NamedTuple):
    """A value and its gradient over the weights."""

    value: float
    gradient: Floats


def same(actual: ArrayLike, expected: ArrayLike, *, rel: float = 1e-10, abs: float = 1e-10) -> None:
    """Every element agrees; shapes too."""
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=rel, atol=abs)


def draw(
    rng: np.random.Generator,
    n_labels: int,
    lengths: ArrayLike,
    *,
    n_names: int = 12,
    per_token: int = 4,
    values: bool = False,
    edges: bool = False,
) -> tuple[list[Any], list[list[str]]]:
    """X and y. Tokens have 0 .. per_token attributes, drawn with repeats; labels lean on the first."""
    prefixes = ["n/", EDGE] if edges else ["n/"]
    popularity = 1.0 / np.arange(1, n_names + 1)
    popularity /= popularity.sum()
    X, y = [], []
    for length in np.asarray(lengths).tolist():
        items: list[Any] = []
        labels = []
        for _ in range(length):
            ids = rng.choice(n_names, size=rng.integers(per_token + 1), p=popularity)
            names = [f"{prefixes[rng.integers(len(prefixes))]}{i}" for i in ids]
            items.append({n: float(rng.normal()) for n in names} if values else names)
            lean = ids[0] % n_labels if len(ids) and rng.random() < 0.6 else rng.integers(n_labels)
            labels.append(f"L{lean:03d}")
        X.append(items)
        y.append(labels)
    y_flat = [label for labels in y for label in labels]
    assert y_flat
    return X, y


def draw_large(
    rng: np.random.Generator,
    n_labels: int,
    lengths: ArrayLike,
    *,
    n_names: int = 12,
    per_token: int = 4,
    values: bool = False,
    edges: bool = False,
) -> tuple[list[Any], list[list[str]]]:
    """As ``draw``, other numbers, in a tenth of its time: for thousands of tokens."""
    prefixes = ["n/", EDGE] if edges else ["n/"]
    names = np.array([[f"{prefix}{i}" for i in range(n_names)] for prefix in prefixes], object)
    popularity = 1.0 / np.arange(1, n_names + 1)
    sizes = [int(length) for length in np.asarray(lengths).tolist()]
    ends = np.cumsum(rng.integers(per_token + 1, size=sum(sizes)))  # of the attributes of each token
    assert len(ends)
    ids = rng.choice(n_names, size=ends[-1], p=popularity / popularity.sum())
    chosen = names[rng.integers(len(prefixes), size=len(ids)), ids].tolist()
    numbers = rng.normal(size=len(ids)).tolist() if values else None
    X: list[Any] = []
    y: list[list[str]] = []
    labels = _leaning(rng, n_labels, ids, ends)
    bounds, t = [0, *ends.tolist()], 0
    for size in sizes:
        spans = [slice(a, b) for a, b in zip(bounds[t : t + size], bounds[t + 1 : t + size + 1])]
        X.append([dict(zip(chosen[at], numbers[at])) if numbers else chosen[at] for at in spans])
        y.append(labels[t : t + size])
        t += size
    return X, y


def _leaning(rng: np.random.Generator, n_labels: int, ids: NDArray[Any], ends: NDArray[Any]) -> list[str]:
    """A label for each token: in six of ten cases that of its first attribute, else any."""
    firsts = np.append(ids, 0)[np.concatenate([[0], ends[:-1]])]
    leans = (np.diff(ends, prepend=0) > 0) & (rng.random(len(ends)) < 0.6)
    numbers = np.where(leans, firsts % n_labels, rng.integers(n_labels, size=len(ends)))
    return [f"L{k:03d}" for k in numbers.tolist()]


def design_of(
    X: list[Any],
    y: list[list[str]],
    n_labels: int,
    *,
    features: str = "supported",
    min_count: int = 1,
    edges: bool = False,
) -> Design:
    """The design of a drawn corpus over all of its labels, seen or not."""
    encoder = FreeFeatures(edge_prefix=EDGE if edges else None)
    encoded = encoder.encode(X, grow=True)
    gold = encode_labels(y, [f"L{k:03d}" for k in range(n_labels)], encoded.offsets)
    return build_design(encoder, encoded, gold, n_labels, features=features, min_count=min_count)


def fused(
    design: Design,
    n_labels: int,
    weights: Floats,
    *,
    sequence_weights: Floats | None = None,
    n_jobs: int = 1,
) -> Loss:
    """What training evaluates."""
    columns, tokens = native_columns(design.index), native_tokens(design.encoded)
    problem = _core.chain_problem(columns, n_labels, tokens, design.gold, sequence_weights, n_jobs)
    gradient = np.full(len(weights), np.nan)
    return Loss(problem.evaluate(weights, gradient, None), gradient)


def potentials(design: Design, n_labels: int, weights: Floats) -> tuple[Floats, Floats]:
    """node [tokens, S] and edge [tokens, S, S]."""
    index, encoded = design.index, design.encoded
    node_table, edge_table, pairs = _tables(design, n_labels)
    for f, (a, x, y) in enumerate(zip(index.attribute, index.previous, index.label)):
        if a < 0:
            pairs[x, y] = weights[f]
        elif x < 0:
            node_table[a, y] = weights[f]
        else:
            edge_table[a, x, y] = weights[f]
    token_of, values = _incidences(design)
    node = np.zeros((len(design.gold), n_labels))
    edge = np.tile(pairs, (len(design.gold), 1, 1))
    np.add.at(node, token_of, values[:, None] * node_table[encoded.attributes])
    if index.attribute[index.previous >= 0].max(initial=-1) >= 0:
        np.add.at(edge, token_of, values[:, None, None] * edge_table[encoded.attributes])
    return node, edge


def plain(design: Design, n_labels: int, weights: Floats, *, sequence_weights: Floats | None = None) -> Loss:
    """The same loss and gradient by hand."""
    node, edge = potentials(design, n_labels, weights)
    offsets, gold = design.encoded.offsets, design.gold
    costs = np.ones(len(offsets) - 1) if sequence_weights is None else sequence_weights
    node_gradient, edge_gradient = np.zeros_like(node), np.zeros_like(edge)
    terms = []
    every = np.ones(n_labels, bool)
    sources, targets = np.divmod(np.arange(n_labels**2), n_labels)
    for i, cost in enumerate(costs):
        at = slice(int(offsets[i]), int(offsets[i + 1]))
        if at.start == at.stop:
            continue
        flat = edge[at].reshape(-1, n_labels**2)
        chain = reference.dense(node[at], flat, sources, targets, every, every)
        terms.append(cost * (reference.log_partition(chain) - reference.score(chain, gold[at])))
        of_nodes, of_steps = reference.marginals(chain)
        of_nodes[np.arange(len(of_nodes)), gold[at]] -= 1.0
        steps = gold[at][:-1] * n_labels + gold[at][1:]
        of_steps[np.arange(1, len(of_steps)), steps] -= 1.0
        node_gradient[at] = cost * of_nodes
        edge_gradient[at] = cost * of_steps.reshape(-1, n_labels, n_labels)
    return Loss(float(np.sum(terms)), _adjoint(design, n_labels, node_gradient, edge_gradient))


def _adjoint(design: Design, n_labels: int, node: Floats, edge: Floats) -> Floats:
    index = design.index
    node_table, edge_table, _ = _tables(design, n_labels)
    token_of, values = _incidences(design)
    np.add.at(node_table, design.encoded.attributes, values[:, None] * node[token_of])
    np.add.at(edge_table, design.encoded.attributes, values[:, None, None] * edge[token_of])
    pairs = edge.sum(axis=0)
    out = np.empty(len(index))
    for f, (a, x, y) in enumerate(zip(index.attribute, index.previous, index.label)):
        out[f] = pairs[x, y] if a < 0 else node_table[a, y] if x < 0 else edge_table[a, x, y]
    return out


def _tables(design: Design, n_labels: int) -> tuple[Floats, Floats, Floats]:
    n = design.index.n_attributes
    shapes = (n, n_labels), (n, n_labels, n_labels), (n_labels, n_labels)
    first, second, third = (np.zeros(shape) for shape in shapes)
    return first, second, third


def _incidences(design: Design) -> tuple[NDArray[np.int64], Floats]:
    """Of each attribute occurrence the token it belongs to and its value."""
    encoded = design.encoded
    token_of = np.repeat(np.arange(len(encoded.token_ptr) - 1), np.diff(encoded.token_ptr))
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    return token_of, values


def adjoint(index: FeatureIndex, encoded: Encoded, node: Floats, edge: Floats, n_states: int) -> Floats:
    """Gradient [F] in the weights from gradients in the potentials, feature by feature.

    ``node`` [tokens, S] and ``edge`` [tokens, S * S] (first positions 0).
    """
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    token_of = np.repeat(np.arange(len(encoded.token_ptr) - 1), np.diff(encoded.token_ptr))
    gradient = np.zeros(len(index))
    totals = edge.sum(axis=0)
    for f in range(len(index)):
        a, x, y = index.attribute[f], index.previous[f], index.label[f]
        if a < 0:
            gradient[f] = totals[x * n_states + y]
            continue
        held = encoded.attributes == a
        part = node[:, y] if x < 0 else edge[:, x * n_states + y]
        gradient[f] = np.dot(values[held], part[token_of[held]])
    return gradient


def chain_of(n_labels: int) -> LinearChain:
    """A chain of plain labels L000, L001 …"""
    return LinearChain(StateSpace.labels([f"L{y:03d}" for y in range(n_labels)]))


def problem_for(
    settings: Any, design: Design, n_labels: int, prior: Prior, *, fused: bool = True, **options: Any
) -> Any:
    """What an optimiser minimises."""
    options = {**settings.requests(), **options}
    return build(chain_of(n_labels), settings.needs, design, prior, fused=fused, **options)

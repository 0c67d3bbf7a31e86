"""State spaces made from labels: n-grams, latent states, label schemes, counters, automata.

    n-grams     a state is the last n labels; (a, b) -> (b, c); shorter ones begin a sequence
    latent      m states per label, each with weights of its own
    automaton   a state is a label with the state of a finite automaton that has read it

Every builder returns the columns of a ``StateSpace`` (states.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import schemes
from fieldcraft.errors import InputError

Ints = NDArray[np.int32]
Columns = dict[str, Any]
MOST_STATES = 65535


class Automaton(NamedTuple):
    """A finite automaton that reads labels; it starts in state 0.

    table : int32 [Q, Y] the state after each label, -1 where the label is not allowed
    accepting : bool [Q] in which states a sequence may end
    """

    table: Ints
    accepting: NDArray[np.bool_]


def ngram_columns(
    names: Sequence[str], order: int, seen: set[tuple[int, ...]] | None, allowed: NDArray[np.bool_]
) -> Columns:
    """Columns of n-gram states; ``seen`` has the tuples of labels that may occur, None for all.

    ``allowed`` [Y + 1, Y + 1] says which label may follow which; the last row and column are the border.
    """
    Y = len(names)
    check_size(sum(Y**n for n in range(1, order + 1)) if seen is None else len(seen))
    grams: list[tuple[int, ...]] = [(y,) for y in range(Y)]
    levels = [grams]
    for _ in range(2, order + 1):
        wider = [(*g, y) for g in levels[-1] for y in range(Y) if allowed[g[-1], y]]
        levels.append([g for g in wider if seen is None or g in seen])
    states = [g for level in levels for g in level]
    number = {g: i for i, g in enumerate(states)}
    rows: list[tuple[int, int, tuple[int, ...]]] = []
    for g in states:
        for y in range(Y):
            longer = (*g, y)
            target = number.get(longer[-order:])
            if target is not None and allowed[g[-1], y] and (seen is None or longer in seen):
                rows.append((number[g], target, longer))
    label_of = np.array([g[-1] for g in states], np.int32)
    first = np.array([len(g) == 1 for g in states])
    return {
        "n_states": len(states),
        "sources": [a for a, _, _ in rows],
        "targets": [b for _, b, _ in rows],
        "starts": first & allowed[Y, label_of],
        "stops": allowed[label_of, Y],
        "label_of": label_of,
        "node_class": label_of,
        "edge_class": _numbered([row[2][-2:] for row in rows]),
        "tuple_class": _tuples([row[2] for row in rows], order),
        "names": tuple(names),
    }


def _tuples(grams: list[tuple[int, ...]], order: int) -> Ints:
    """[order - 1, E] the tuple of 3, 4 … labels that each transition completes, -1 for none."""
    out = np.full((max(order - 1, 0), len(grams)), -1, np.int32)
    numbers: dict[tuple[int, ...], int] = {}
    for level in range(order - 1):
        length = level + 3
        for e, gram in enumerate(grams):
            if len(gram) >= length:
                out[level, e] = numbers.setdefault(gram[-length:], len(numbers))
    return out


def observed_tuples(labels: Iterable[Sequence[int]], order: int) -> set[tuple[int, ...]]:
    """All tuples of up to order + 1 neighbouring labels, those at the beginning of sequences included."""
    seen: set[tuple[int, ...]] = set()
    for row in labels:
        row = tuple(row)
        for t in range(1, len(row)):
            seen.update(row[t - n : t + 1] for n in range(1, min(order, t) + 1))
    return seen


def latent_columns(base: Any, m: int) -> Columns:
    """m states per label of a space with one: those of label y are y m … y m + m - 1.

    Each has weights of its own, and each follows all those of the labels that its label may follow.
    """
    S, E = base.n_states * m, len(base.sources)
    check_size(S)
    before, after = np.divmod(np.tile(np.arange(m * m), E), m)
    sources = np.repeat(base.sources, m * m).astype(np.int64) * m + before
    targets = np.repeat(base.targets, m * m).astype(np.int64) * m + after
    order = np.lexsort((targets, sources))
    return {
        "n_states": S,
        "sources": sources[order],
        "targets": targets[order],
        "starts": np.repeat(base.starts, m),
        "stops": np.repeat(base.stops, m),
        "label_of": np.arange(S) // m,
        "names": base.names,
    }


def allowed_pairs(names: Sequence[str], scheme: str | None) -> NDArray[np.bool_]:
    """[Y + 1, Y + 1] which label may follow which in a scheme; the last row and column are the border."""
    Y = len(names)
    out = np.ones((Y + 1, Y + 1), bool)
    if scheme is None:
        return out
    known = [*names, None]
    for (i, before), (j, after) in product(enumerate(known), enumerate(known)):
        out[i, j] = schemes.may_follow(before, after, scheme)
    return out


def pair_columns(names: Sequence[str], allowed: NDArray[np.bool_]) -> Columns:
    """One state per label and the transitions that ``allowed`` [Y + 1, Y + 1] has."""
    Y = len(names)
    sources, targets = np.nonzero(allowed[:Y, :Y])
    return {
        "n_states": Y,
        "sources": sources,
        "targets": targets,
        "starts": allowed[Y, :Y],
        "stops": allowed[:Y, Y],
        "label_of": np.arange(Y),
        "names": tuple(names),
    }


def automaton_of(names: Sequence[str], table: Any, accepting: Any) -> Automaton:
    """A checked automaton from a table: rows of next states by label, or dicts label -> next state."""
    number = {name: y for y, name in enumerate(names)}
    rows = list(table)
    out = np.full((len(rows), len(names)), -1, np.int32)
    for q, row in enumerate(rows):
        items = row.items() if isinstance(row, Mapping) else zip(names, row)
        if not isinstance(row, Mapping) and len(row) != len(names):
            raise InputError(f"row {q} of the automaton has {len(row)} entries for {len(names)} labels")
        for name, to in items:
            if name not in number:
                raise InputError(f"row {q} of the automaton: {name!r} is none of the labels")
            if to is not None and not -1 <= int(to) < len(rows):
                raise InputError(f"row {q} of the automaton: state {to} is none of 0 … {len(rows) - 1}")
            out[q, number[name]] = -1 if to is None else int(to)
    ends = np.ones(len(rows), bool)
    if accepting is not None:
        ends[:] = False
        ends[list(accepting)] = True
    if not rows:
        raise InputError("an automaton needs at least one state: one row of its table")
    return Automaton(out, ends)


def counter_automaton(names: Sequence[str], label: str, most: int) -> Automaton:
    """Counts how many tokens in a row have a label; ``most`` stands for that many and more."""
    if label not in names:
        raise InputError(f"counter: {label!r} is none of the labels {', '.join(names)}")
    table = np.zeros((most + 1, len(names)), np.int32)
    table[:, list(names).index(label)] = np.minimum(np.arange(most + 1) + 1, most)
    return Automaton(table, np.ones(most + 1, bool))


def product_columns(space: Any, automaton: Automaton, *, own_weights: bool = False) -> Columns:
    """The states of a space, each with the state of an automaton that has read its label.

    Only states that a start reaches and from which a stop is reached are kept. ``base_state`` and
    ``base_edge`` tell from which state and transition of the space each comes.
    """
    table, accepting = automaton
    Q = len(table)
    labels, sources, targets = space.label_of, space.sources, space.targets
    E = len(sources)
    q = np.tile(np.arange(Q), E)
    edge = np.repeat(np.arange(E), Q)
    after = table[q, labels[targets[edge]]]
    fine = after >= 0
    q, edge, after = q[fine], edge[fine], after[fine]
    before_id = sources[edge].astype(np.int64) * Q + q
    after_id = targets[edge].astype(np.int64) * Q + after
    S = space.n_states * Q
    first = table[0, labels]
    starts, stops = np.zeros(S, bool), np.zeros(S, bool)
    begin = np.flatnonzero(space.starts & (first >= 0))
    starts[begin * Q + first[begin]] = True
    stops.reshape(space.n_states, Q)[:] = space.stops[:, None] & accepting
    live = _reach(starts, before_id, after_id) & _reach(stops, after_id, before_id)
    kept = np.flatnonzero(live)
    if not len(kept):
        raise InputError(
            "the automaton accepts no sequence of labels; look at its table and accepting states"
        )
    check_size(len(kept))
    number = np.full(S, -1, np.int64)
    number[kept] = np.arange(len(kept))
    inside = live[before_id] & live[after_id]
    order = np.lexsort((number[after_id[inside]], number[before_id[inside]]))
    chosen = np.flatnonzero(inside)[order]
    base = kept // Q
    columns: Columns = {
        "n_states": len(kept),
        "sources": number[before_id[chosen]],
        "targets": number[after_id[chosen]],
        "starts": starts[kept],
        "stops": stops[kept],
        "label_of": labels[base],
        "names": space.names,
        "base_state": base,
        "base_edge": edge[chosen],
    }
    if not own_weights:
        columns |= {
            "node_class": space.node_class[base],
            "edge_class": space.edge_class[edge[chosen]],
            "tuple_class": space.tuple_class[:, edge[chosen]],
        }
    return columns


def _reach(marked: NDArray[np.bool_], source: Any, target: Any) -> NDArray[np.bool_]:
    """The states that steps source -> target reach from the marked ones, these included."""
    reached: NDArray[np.bool_] = marked.copy()
    while True:
        more = reached[source] & ~reached[target]
        if not more.any():
            return reached
        reached[target[more]] = True


def _numbered(keys: Iterable[Any]) -> Ints:
    """Each key's number, in order of first appearance."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)


def renumbered(classes: NDArray[Any]) -> Ints:
    """Class numbers without gaps; -1 stays."""
    values, back = np.unique(classes, return_inverse=True)
    shift = int(len(values) > 0 and values[0] < 0)
    return (back.reshape(classes.shape) - shift).astype(np.int32)


def check_size(n_states: int) -> None:
    """InputError if there are no states, or more than the core can number."""
    if not 1 <= n_states <= MOST_STATES:
        raise InputError(f"a chain needs between 1 and {MOST_STATES} states, got {n_states}")

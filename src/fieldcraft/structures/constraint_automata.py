"""Constraints over the labels of a model: masks, label pairs and finite automata.

    forced                           labels that a token may have: a mask [T, Y]
    forbidden, allowed, followed_by  labels that may be neighbours: a table [Y + 1, Y + 1], border last
    at_least, at_most, exactly       an automaton that counts; k needs k + 2 counts
    implies, excludes                an automaton of what has occurred
    linear                           none: these are decided by enumeration or integer programming

Automata are multiplied: the states of the product are those of all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import schemes
from fieldcraft.errors import InputError
from fieldcraft.structures.constraints import Constraint, Count, Forced, Linear, Neighbours, Together
from fieldcraft.structures.state_builders import Automaton

Flags = NDArray[np.bool_]
MOST_CELLS = 4_000_000  # of the table of a product of automata


class LabelRules:
    """What constraints mean for the labels ``names`` of a model."""

    def __init__(self, names: Sequence[str], constraints: Sequence[Constraint]) -> None:
        self.names, self.constraints = list(names), tuple(constraints)
        self.is_scheme = schemes.is_tag_set(names)
        self.pairs = self._pairs()
        self.forced = [c for c in self.constraints if isinstance(c, Forced)]
        self.linear = [c for c in self.constraints if isinstance(c, Linear)]
        self.counting = [c for c in self.constraints if isinstance(c, (Count, Together))]
        for forced in self.forced:
            for label in forced.labels:
                self.label(label, forced)
        for linear in self.linear:
            for label, _ in linear.coefficients:
                self.label(label, linear)
        for counting in self.counting:
            named = (counting.name,) if isinstance(counting, Count) else (counting.first, counting.second)
            for name in named:
                self.members(name, counting)

    def label(self, name: str, constraint: Constraint) -> int:
        """The number of a label."""
        if name not in self.names:
            raise InputError(
                f"constraint '{constraint}': {name!r} is none of the labels {', '.join(self.names)}"
            )
        return self.names.index(name)

    def members(self, name: str, constraint: Constraint) -> Flags:
        """[Y] the labels that a name stands for: the label itself, or all those of a type."""
        if name in self.names:
            return np.array([label == name for label in self.names])
        found = np.array([self.is_scheme and schemes.type_of(label) == name for label in self.names])
        if not found.any():
            raise InputError(
                f"constraint '{constraint}': {name!r} is neither a label nor a type of the labels "
                f"{', '.join(self.names)}"
            )
        return found

    def begins(self, count: Count) -> Flags:
        """[Y + 1, Y] whether what is counted begins at a label (column) after another (row; last: border)."""
        Y, inside = len(self.names), self.members(count.name, count)
        tokens = count.of == "tokens"
        out = np.tile(inside, (Y + 1, 1))
        if tokens:
            return out
        typed = self.is_scheme and count.name not in self.names
        for before in range(Y):
            for label in np.flatnonzero(inside):
                if typed:
                    opened = schemes.spans([self.names[before], self.names[label]])
                    out[before, label] = any(span.start == 1 for span in opened)
                else:
                    out[before, label] = not inside[before]
        return out

    def mask(self, length: int) -> Flags | None:
        """[T, Y] the labels that forced labels leave to each token; None if they leave all."""
        if not self.forced:
            return None
        out = np.ones((length, len(self.names)), bool)
        for forced in self.forced:
            if forced.token < length:
                chosen = np.isin(self.names, forced.labels)
                out[forced.token] &= chosen
            else:
                out[:] = False  # there is no such token, so that nothing obeys
        return out

    def _pairs(self) -> Flags:
        """[Y + 1, Y + 1] which label may follow which; the last row and column are the border."""
        Y = len(self.names)
        out = np.ones((Y + 1, Y + 1), bool)
        for rule in self.constraints:
            if not isinstance(rule, Neighbours):
                continue
            others = np.zeros(Y + 1, bool)
            others[[self.label(name, rule) for name in rule.others]] = True
            if rule.kind == "allowed":
                others[Y] = True
            out[self.label(rule.label, rule)] &= ~others if rule.kind == "forbidden" else others
        return out

    def automaton(self) -> Automaton | None:
        """One automaton for all that is counted; None where it would be too large."""
        Y = len(self.names)
        machines = [self._count(c) if isinstance(c, Count) else self._together(c) for c in self.counting]
        whole: Automaton | None = Automaton(np.zeros((1, Y), np.int32), np.ones(1, bool))
        return reduce(_times, machines, whole)

    def _count(self, count: Count) -> Automaton:
        begins = self.begins(count)
        _, kind = np.unique(begins, axis=0, return_inverse=True)  # labels after which the same begins
        kind = kind.ravel()
        most = count.n + 1  # stands for more than n
        kinds = int(kind.max()) + 1
        # state: number counted * kinds + kind of the last label; the border's kind is made the first state
        table = np.empty((most + 1, kinds, len(self.names)), np.int32)
        for n in range(most + 1):
            for k in range(kinds):
                row = begins[int(np.flatnonzero(kind == k)[0])]
                table[n, k] = np.minimum(n + row, most) * kinds + kind[:-1]
        wanted = {
            "at_most": np.arange(most + 1) <= count.n,
            "at_least": np.arange(most + 1) >= count.n,
            "exactly": np.arange(most + 1) == count.n,
        }[count.kind]
        made = Automaton(table.reshape(-1, len(self.names)), np.repeat(wanted, kinds))
        if count.kind != "at_least":  # more than n cannot be mended
            made.table[made.table >= most * kinds] = -1
        return _started(made, int(kind[-1]))

    def _together(self, rule: Together) -> Automaton:
        first, second = (self.members(name, rule) for name in (rule.first, rule.second))
        seen = np.arange(4)  # 1: the first occurred, 2: the second
        table = (seen[:, None] | first | (second * 2)).astype(np.int32)
        if rule.kind == "excludes":
            table[table == 3] = -1
            return Automaton(table, np.ones(4, bool))
        return Automaton(table, seen != 1)


def run(automaton: Automaton, labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> Flags:
    """[N] whether the automaton accepts each sequence."""
    states = np.zeros(len(offsets) - 1, np.int64)
    lengths = np.diff(offsets)
    for t in range(int(lengths.max(initial=0))):
        here = np.flatnonzero((lengths > t) & (states >= 0))
        states[here] = automaton.table[states[here], labels[offsets[here] + t]]
    return (states >= 0) & automaton.accepting[states]


def _started(automaton: Automaton, start: int) -> Automaton:
    """The same automaton with state ``start`` as its first."""
    order = np.arange(len(automaton.table))
    order[[0, start]] = order[[start, 0]]
    table = automaton.table[order]
    return Automaton(np.where(table < 0, -1, order[table]).astype(np.int32), automaton.accepting[order])


def _times(a: Automaton | None, b: Automaton) -> Automaton | None:
    if a is None or a.table.size * len(b.table) > MOST_CELLS:
        return None
    n = len(b.table)
    both = np.where(
        (a.table[:, None] < 0) | (b.table[None] < 0),
        -1,
        a.table[:, None].astype(np.int64) * n + b.table[None],
    )
    table = both.reshape(-1, a.table.shape[1])
    return _reachable(Automaton(table.astype(np.int32), (a.accepting[:, None] & b.accepting[None]).ravel()))


def _reachable(automaton: Automaton) -> Automaton:
    known, fresh = np.zeros(len(automaton.table), bool), np.array([0])
    while len(fresh):
        known[fresh] = True
        ahead = np.unique(automaton.table[fresh])
        fresh = ahead[(ahead >= 0) & ~known[np.maximum(ahead, 0)]]
    number = np.cumsum(known) - 1
    table = automaton.table[known]
    return Automaton(np.where(table < 0, -1, number[table]).astype(np.int32), automaton.accepting[known])

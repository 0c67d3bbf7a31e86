"""The best labelling under any constraints as an integer programme over the chain (HiGHS, through SciPy).

    maximise    sum of node[t, s] x[t, s] + edge[t, e] z[t, e]
    subject to  x[0] sums to one;  what flows into a state flows out of it;  the constraints, linear in x, z

Without "whole numbers" it is a linear programme; where its solution is integral, it is the best labelling.
Else its value is an upper bound: a labelling that is near the fractions and obeys (rounding, where asked for)
is within bound - score of the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.structures.constraint_automata import LabelRules
from fieldcraft.structures.constraints import Count, Linear
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
INFINITY = np.inf
WHOLE = 1e-6  # how far from a whole number a variable may be


class Solved(NamedTuple):
    """States [T], or None if nothing obeys; the method; whether it is proved; a bound on the best score."""

    states: NDArray[np.int32] | None
    method: str
    optimal: bool
    bound: float


class Programme:
    """The programme of one sequence.

    Parameters
    ----------
    states : the state space
    node, edge : scores [T, S] and [E] or [T, E]
    rules : the constraints
    """

    def __init__(self, states: StateSpace, node: Floats, edge: Floats, rules: LabelRules) -> None:
        self.states, self.rules = states, rules
        self.T, self.S = node.shape
        self.E = states.n_transitions
        steps = max(self.T - 1, 0)
        self.n = self.T * self.S + steps * self.E
        edges = np.broadcast_to(edge, (self.T, self.E))[1:].ravel()
        self.scores = np.concatenate([node.ravel(), edges])
        self.upper = np.isfinite(self.scores).astype(np.float64)
        self._rows: list[Any] = []
        self._low: list[float] = []
        self._high: list[float] = []
        self._extra = 0  # further variables, for constraints
        self._limits()
        self._flow()
        self._constrain()

    def _x(self, t: int) -> Any:
        return np.arange(self.S) + t * self.S

    def _z(self, t: int) -> Any:
        return np.arange(self.E) + self.T * self.S + (t - 1) * self.E

    def _add(self, columns: Any, values: Any, low: float, high: float) -> None:
        self._rows.append((np.asarray(columns), np.broadcast_to(values, np.shape(columns))))
        self._low.append(low)
        self._high.append(high)

    def _limits(self) -> None:
        s, Y, pairs = self.states, len(self.rules.names), self.rules.pairs
        node = self.upper[: self.T * self.S].reshape(self.T, self.S)
        node[0] *= s.starts & pairs[Y, s.label_of]
        node[-1] *= s.stops & pairs[s.label_of, Y]
        mask = self.rules.mask(self.T)
        if mask is not None:
            node *= mask[:, s.label_of]
        kept = pairs[s.label_of[s.sources], s.label_of[s.targets]]
        self.upper[self.T * self.S :] *= np.tile(kept, max(self.T - 1, 0))

    def _flow(self) -> None:
        s = self.states
        self._add(self._x(0), 1.0, 1.0, 1.0)
        for t in range(1, self.T):
            z = self._z(t)
            for state in range(self.S):
                into, out = z[s.targets == state], z[s.sources == state]
                for here, flow in ((self._x(t)[state], into), (self._x(t - 1)[state], out)):
                    self._add([here, *flow], [-1.0, *np.ones(len(flow))], 0.0, 0.0)

    def _label_columns(self, members: Any) -> NDArray[np.int64]:
        chosen = np.flatnonzero(members[self.states.label_of])
        return np.concatenate([self._x(t)[chosen] for t in range(self.T)])

    def _constrain(self) -> None:
        for rule in (*self.rules.counting, *self.rules.linear):
            if isinstance(rule, Count):
                columns = self._begin_columns(rule)
                low = 0.0 if rule.kind == "at_most" else float(rule.n)
                self._add(columns, 1.0, low, INFINITY if rule.kind == "at_least" else float(rule.n))
            elif isinstance(rule, Linear):
                parts = [
                    (self._label_columns(self.rules.members(name, rule)), v) for name, v in rule.coefficients
                ]
                columns = np.concatenate([c for c, _ in parts])
                values = np.concatenate([np.full(len(c), v) for c, v in parts])
                low = -INFINITY if rule.relation == "<=" else rule.bound
                self._add(columns, values, low, INFINITY if rule.relation == ">=" else rule.bound)
            else:
                first, second = (
                    self._label_columns(self.rules.members(n, rule)) for n in (rule.first, rule.second)
                )
                if rule.kind == "implies":
                    for column in first:  # each token of the first needs one of the second
                        self._add([column, *second], [1.0, *-np.ones(len(second))], -INFINITY, 0.0)
                else:
                    switch = self.n + self._extra
                    self._extra += 1
                    self._add([*first, switch], [*np.ones(len(first)), -self.T], -INFINITY, 0.0)
                    self._add([*second, switch], [*np.ones(len(second)), self.T], -INFINITY, float(self.T))

    def _begin_columns(self, rule: Count) -> NDArray[np.int64]:
        s, begins = self.states, self.rules.begins(rule)
        first = self._x(0)[begins[-1][s.label_of]]
        starts = begins[s.label_of[s.sources], s.label_of[s.targets]]
        return np.concatenate([first, *(self._z(t)[starts] for t in range(1, self.T))])

    def solve(self, rounding: Callable[[Floats], NDArray[np.int32] | None] | None = None) -> Solved:
        """LP first; ILP where its solution is not integral.

        ``rounding`` makes states of the fractions [T, S] of a solution, or None; without it, or where it
        finds nothing, the integer programme is solved.
        """
        relaxed = self._run(whole=False)
        if relaxed.x is None:
            return Solved(None, "linear programme", True, -INFINITY)
        if np.all(np.abs(relaxed.x - relaxed.x.round()) < WHOLE):
            return Solved(self._path(relaxed.x), "linear programme", True, -relaxed.fun)
        if rounding is not None:
            rounded = rounding(relaxed.x[: self.T * self.S].reshape(self.T, self.S))
            if rounded is not None:
                return Solved(rounded, "rounded linear programme", True, -relaxed.fun)
        found = self._run(whole=True)
        if found.x is None:
            proved = found.status == 2  # infeasible
            return Solved(None, "integer programme", proved, -relaxed.fun)
        bound = -getattr(found, "mip_dual_bound", found.fun)
        return Solved(self._path(found.x), "integer programme", found.status == 0, bound)

    def _run(self, *, whole: bool) -> Any:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        n = self.n + self._extra
        lengths = [len(columns) for columns, _ in self._rows]
        matrix = csr_array(
            (
                np.concatenate([values for _, values in self._rows]),
                np.concatenate([columns for columns, _ in self._rows]),
                np.concatenate([[0], np.cumsum(lengths)]),
            ),
            shape=(len(self._rows), n),
        )
        costs = np.zeros(n)
        costs[: self.n] = -np.where(self.upper > 0, self.scores, 0.0)
        upper = np.ones(n)
        upper[: self.n] = self.upper
        return milp(
            costs,
            integrality=np.full(n, int(whole)),
            bounds=Bounds(np.zeros(n), upper),
            constraints=LinearConstraint(matrix, np.array(self._low), np.array(self._high)),
            options={"mip_rel_gap": 0.0},
        )

    def _path(self, x: Floats) -> NDArray[np.int32]:
        chosen = x[: self.T * self.S].reshape(self.T, self.S).argmax(axis=1)
        return np.asarray(chosen, np.int32)

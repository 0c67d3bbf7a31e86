"""A chain under constraints: the states that obey them, and the best labelling by three ways.

local constraints      transitions are left out, tokens are masked: exact
counting constraints   states times an automaton (constraint_automata.py), if that is not too large: exact
the rest               the k best labellings in turn, then a linear programme over the chain, which is exact
                       where its solution is integral, then an integer programme (HiGHS)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.potentials import NativePotentials
from fieldcraft.structures.constraint_automata import LabelRules, run
from fieldcraft.structures.constraints import Constraint, Linear
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.state_builders import Automaton, product_columns, renumbered
from fieldcraft.structures.states import StateSpace

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
MOST_TRANSITIONS = 2_000_000  # of the product of states and automaton


class ConstrainedChain:
    """The states of a chain that obey a list of constraints.

    ``chain`` is None where the automaton of the constraints is too large; where no labelling of any length
    obeys them it has no states and ``possible`` is False.

    Parameters
    ----------
    base : the chain of the model
    constraints : those of a sequence
    """

    def __init__(self, base: LinearChain, constraints: Sequence[Constraint]) -> None:
        self.base, self.rules = base, LabelRules(base.labels, constraints)
        self.possible, self.n_transitions = True, 0
        self.chain: LinearChain | None = None
        self._base_state, self._base_edge = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.automaton = self.rules.automaton()
        if self.automaton is None:
            return
        kept = kept_edges(base.states, self.rules.pairs)
        self.n_transitions = int(kept.sum()) * len(self.automaton.table)
        if self.n_transitions > MOST_TRANSITIONS:
            return
        try:
            columns = product_columns(filtered(base.states, self.rules.pairs), self.automaton)
        except InputError:
            self.possible = False
            return
        self._base_state = columns.pop("base_state")
        self._base_edge = np.flatnonzero(kept)[columns.pop("base_edge")]
        space = StateSpace.__new__(StateSpace)  # classes keep the numbers of the base: some may be missing
        for name in ("sources", "targets", "label_of", "node_class", "edge_class", "tuple_class"):
            columns[name] = np.ascontiguousarray(columns[name], np.int32)
        vars(space).update(columns)
        self.chain = LinearChain(space, n_jobs=base.n_jobs)

    @cached_property
    def is_exact(self) -> bool:
        """Whether the states express all of the constraints."""
        return not self.rules.linear and (self.chain is not None or not self.possible)

    def refuse(self) -> InputError:
        """The error for questions that need the distribution, not only the best labelling."""
        if self.rules.linear:
            why = f"'{self.rules.linear[0]}' has no automaton"
        else:
            why = f"their automaton has {self.n_transitions or 'too many'} transitions"
        return InputError(
            f"the constraints are for decoding only: {why}; ask for predict or decode, or leave some out"
        )

    def potentials(self, potentials: Any, masks: NDArray[Any] | None) -> Any:
        """Potentials of the base -> those of the states that obey; ``masks`` [tokens, Y], see ``masks``."""
        assert self.chain is not None
        if isinstance(potentials, NativePotentials):
            extra = np.zeros(0) if potentials.space is None else potentials.space[1]
            extra = extra[self._base_edge] if len(extra) else extra
            return potentials.over(self.chain.graph(), extra, masks)
        rows, edge, offsets = self.base._arrays(potentials)
        node = rows[:, self._base_state]
        if masks is not None:
            node = np.where(np.asarray(masks)[:, self.chain.label_of], node, -np.inf)
        return LinearChain.potentials(node, edge[..., self._base_edge], offsets)

    def masks(self, lengths: Sequence[int]) -> NDArray[Any] | None:
        """[tokens, Y] the labels that forced labels leave; None without any."""
        if not self.rules.forced:
            return None
        return np.concatenate([self.rules.mask(n) for n in lengths]) if len(lengths) else None

    def obeyed(self, labels: Ints, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[N] whether labels obey the constraints."""
        Y, lengths = len(self.base.labels), np.diff(offsets)
        fine = np.ones(len(lengths), bool)
        full = lengths > 0
        first, last = labels[offsets[:-1][full]], labels[offsets[1:][full] - 1]
        fine[full] = self.rules.pairs[Y, first] & self.rules.pairs[last, Y]
        wrong = np.ones(len(labels), bool)
        wrong[1:] = ~self.rules.pairs[labels[:-1], labels[1:]]
        wrong[offsets[:-1][full]] = False
        fine[np.searchsorted(offsets, np.flatnonzero(wrong), side="right") - 1] = False
        if self.automaton is not None:
            fine &= run(self.automaton, labels, offsets)
        for i in (
            np.flatnonzero(fine) if self.rules.forced or self.rules.linear or self.automaton is None else ()
        ):
            fine[i] = self.obeys(labels[offsets[i] : offsets[i + 1]])
        return fine

    def obeys(self, labels: Ints) -> bool:
        """Whether the labels of one sequence obey forced labels, linear and counting constraints."""
        mask = self.rules.mask(len(labels))
        if mask is not None and not mask[np.arange(len(labels)), labels].all():
            return False
        if self.automaton is None and not self._counted(labels):
            return False
        return all(satisfied(rule, labels, self.base.labels) for rule in self.rules.linear)

    def _counted(self, labels: Ints) -> bool:
        ends = np.array([0, len(labels)])
        singles = [LabelRules(self.rules.names, [rule]).automaton() for rule in self.rules.counting]
        return all(single is None or bool(run(single, labels, ends)[0]) for single in singles)


def satisfied(rule: Linear, labels: Ints, names: Sequence[str]) -> bool:
    """Whether a sequence obeys a linear constraint."""
    counts = np.bincount(labels, minlength=len(names))
    total = sum(value * counts[names.index(name)] for name, value in rule.coefficients)
    slack = 1e-9 * max(1.0, abs(rule.bound))
    compared = {
        "<=": total <= rule.bound + slack,
        ">=": total >= rule.bound - slack,
        "==": abs(total - rule.bound) <= slack,
    }
    return bool(compared[rule.relation])


def kept_edges(states: StateSpace, pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[E] the transitions whose labels may be neighbours."""
    kept: NDArray[np.bool_] = pairs[states.label_of[states.sources], states.label_of[states.targets]]
    return kept


def filtered(states: StateSpace, pairs: NDArray[np.bool_]) -> Any:
    """The columns of a space with only the transitions, starts and stops that label pairs allow."""
    kept, Y = kept_edges(states, pairs), len(pairs) - 1
    out = StateSpace.__new__(StateSpace)
    vars(out).update(
        n_states=states.n_states,
        names=states.names,
        label_of=states.label_of,
        node_class=states.node_class,
        starts=states.starts & pairs[Y, states.label_of],
        stops=states.stops & pairs[states.label_of, Y],
        sources=states.sources[kept],
        targets=states.targets[kept],
        edge_class=states.edge_class[kept],
        tuple_class=states.tuple_class[:, kept],
    )
    return out


def local_space(states: StateSpace, constraints: Sequence[Constraint]) -> StateSpace:
    """The state space with the label pairs that local constraints allow; it may be trained."""
    pairs = LabelRules(states.names, constraints).pairs
    if pairs.all():
        return states
    one = Automaton(np.zeros((1, len(states.names)), np.int32), np.ones(1, bool))
    columns = product_columns(filtered(states, pairs), one)
    for name in ("base_state", "base_edge"):
        del columns[name]
    for name in ("node_class", "edge_class", "tuple_class"):
        columns[name] = renumbered(columns[name])
    return StateSpace(**columns)


def best_states(chain: LinearChain, potentials: Any) -> tuple[Ints, Floats]:
    """States and scores of the best labellings; -inf where there is none."""
    if isinstance(potentials, NativePotentials):
        states, scores = _core.argmax(potentials.handle, chain.n_jobs, True)
        return states, scores
    possible = chain.log_partition(potentials) > -np.inf
    if possible.all():
        return chain.argmax(potentials)
    return np.zeros(potentials.n_positions, np.int32), np.where(possible, 0.0, -np.inf)

"""The linear chain as a structure: the functions of chain.py over a state space.

Potentials are arrays (``Parts`` with "node" [tokens, S] and "edge" [E] or [tokens, E]) or the core's own
(``NativePotentials``), which it computes sequence by sequence from a model's weights.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.potentials import TUPLE, NativePotentials, Parts, check_matrices
from fieldcraft.structures import chain
from fieldcraft.structures.answers import Inference
from fieldcraft.structures.beams import ALL, resolve_beam
from fieldcraft.structures.extents import check_rows, check_samples
from fieldcraft.structures.held import Held, is_sparse, whole_numbers
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Potentials = Parts | NativePotentials


class LinearChain(Structure):
    """A chain over a state space.

    Parameters
    ----------
    states : states, transitions, and the classes that own weights
    n_jobs : threads
    beam : what ``argmax`` and training look at (beams.py); None for all states

    >>> line = LinearChain(StateSpace.labels(["a", "b"]))
    >>> potentials = line.potentials(np.zeros((3, 2)), np.zeros(4), [0, 3])
    >>> line.log_partition(potentials).round(6)
    array([2.079442])
    """

    name: ClassVar[str] = "chain"
    parts: ClassVar[tuple[str, ...]] = ("node", "edge")

    def __init__(self, states: StateSpace, *, n_jobs: int = 1, beam: Any = None) -> None:
        names = states.names or tuple(map(str, range(int(states.label_of.max()) + 1)))
        super().__init__(names, n_jobs=n_jobs)
        self.states, self.beam = states, resolve_beam(beam)
        self._graphs: dict[bool, Any] = {}

    @staticmethod
    def potentials(node: ArrayLike, edge: ArrayLike, offsets: ArrayLike) -> Parts:
        """Arrays as potentials."""
        arrays = {"node": np.asarray(node, np.float64), "edge": np.asarray(edge, np.float64)}
        return Parts(arrays, np.asarray(offsets, np.int64))

    # -- operations ---------------------------------------------------------------------------------

    def log_partition(self, potentials: Potentials) -> Floats:
        return np.asarray(_core.log_partition(self._handle(potentials), "auto", self.n_jobs))

    def infer(self, potentials: Potentials) -> Inference:
        check_rows(self.states, potentials.offsets)
        node, edge, log_z = _core.marginals(self._handle(potentials), "auto", "rows", self.n_jobs)
        return Inference(log_z, self._parts(node, edge, potentials.offsets), method="forward-backward")

    def marginals(self, potentials: Potentials) -> Parts:
        marginals: Parts = self.infer(potentials).marginals
        return marginals

    def argmax(self, potentials: Potentials) -> tuple[Ints, Floats]:
        if self.beam == ALL:
            best, score = _core.argmax(self._handle(potentials), self.n_jobs)
            return best, score
        handle = self._listed(potentials)
        few = isinstance(handle, _core.StatePotentials)
        best, score = _core.argmax(handle, self.n_jobs, False, *self.beam if few else ())
        return best, score

    def beam_partition(self, potentials: Potentials) -> tuple[Floats, Floats]:
        """[N] log Z of the paths within the beam, and [N] upper bounds on the share of the others.

        With log Z of all paths, exp(log Z of the beam - log Z) >= 1 - share.
        """
        handle = self._listed(potentials)
        if not isinstance(handle, _core.StatePotentials):  # scores whose sums may overflow: no beam
            return self.log_partition(potentials), np.zeros(len(potentials.offsets) - 1)
        log_z, lost = _core.beam_partition(handle, *self.beam, self.n_jobs)
        return log_z, lost

    def searching(self, beam: Any) -> LinearChain:
        other = copy.copy(self)
        other.beam = resolve_beam(beam)
        return other

    @property
    def finds_best(self) -> bool:
        return self.beam == ALL or self.beam.states >= self.n_states

    def score(self, potentials: Potentials, states: Ints) -> Floats:
        given = whole_numbers(states, np.int32, "states")
        return np.asarray(_core.score(self._handle(potentials), given, self.n_jobs))

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        return self.potentials(*chain.indicator(states, offsets, self.states), offsets)

    def entropy(self, potentials: Potentials) -> Floats:
        return np.asarray(_core.entropy(self._handle(potentials), self.n_jobs))

    def label_marginals(self, potentials: Potentials) -> Floats:
        node = np.asarray(_core.marginals(self._handle(potentials), "auto", "none", self.n_jobs)[0])
        return self.by_label(node)

    def log_marginals(self, potentials: Potentials) -> Floats:
        """[tokens, S] logarithms of the node marginals."""
        return np.asarray(_core.log_marginals(self._handle(potentials, dense=True), self.n_jobs))

    def covariance(self, potentials: Potentials, moved: Floats) -> Parts:
        """Gradient of the sum of ``moved`` [tokens, S] times log marginals."""
        given = np.ascontiguousarray(moved, np.float64)
        check_rows(self.states, potentials.offsets)
        node, edge = _core.covariance(self._handle(potentials, dense=True), given, self.n_jobs)
        return self._parts(node, edge, potentials.offsets)

    def neighbour_scores(self, potentials: Parts, states: Ints) -> Floats:
        """[tokens, S] score of each state while its neighbours have the states given."""
        return chain.neighbour_scores(*self._arrays(potentials), self.states, states)

    def neighbour_adjoint(self, rows: Floats, offsets: NDArray[np.int64], states: Ints) -> Parts:
        """From a gradient in ``neighbour_scores`` to one in the potentials."""
        return self.potentials(*chain.neighbour_adjoint(rows, offsets, self.states, states), offsets)

    def k_best(self, potentials: Potentials, k: int) -> list[tuple[Ints, Floats]]:
        """Per sequence the states [k', T] and scores [k'] of its k best labellings."""
        k = whole_number(k, "k", 1)
        return list(_core.k_best(self._handle(potentials), k, self.n_jobs))

    def sample(self, potentials: Potentials, n: int, seed: int, *, first: int = 0) -> list[Ints]:
        """Per sequence the states [n, T] of n labellings drawn at random.

        A sequence draws by its number, counted from ``first``, so that a batch may be cut into several.
        """
        n = whole_number(n, "n", 0, "the number of samples")
        if not isinstance(seed, (int, np.integer)):
            raise InputError(f"random_state is {seed!r}; sampling needs a whole number")
        check_samples(n, potentials.offsets)
        handle = self._handle(potentials)
        return list(_core.sample(handle, n, int(seed) % 2**64, first, self.n_jobs))

    def window_probability(
        self,
        potentials: Potentials,
        sequence: ArrayLike,
        first: ArrayLike,
        ptr: ArrayLike,
        allowed: ArrayLike,
    ) -> Floats:
        """[R] probability that every position of a window has a label from its set.

        Window r covers positions first[r] .. of sequence[r]; rows ptr[r] .. ptr[r + 1] of ``allowed``
        [positions, Y] are the sets.
        """
        labels = np.ascontiguousarray(allowed, np.uint8)
        over_states = isinstance(potentials, NativePotentials) and potentials.space is not None
        if not over_states:
            labels = np.ascontiguousarray(labels[:, self.label_of])
        at, begin, ends = (whole_numbers(part, np.int64, "windows") for part in (sequence, first, ptr))
        handle = self._handle(potentials, dense=True)
        return np.asarray(_core.window_probability(handle, at, begin, ends, labels, self.n_jobs))

    def check_memory(self) -> None:
        if self.is_plain or not self.states.pairs_of_classes:
            check_matrices("training" if self.is_plain else "arrays", self.states.n_states)

    # -- labels and classes -------------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        return self.states.n_states

    @property
    def n_parts(self) -> int:
        return self.states.n_transitions

    @property
    def label_of(self) -> Ints:
        return self.states.label_of

    @property
    def one_to_one(self) -> bool:
        return self.states.determined

    @property
    def is_native(self) -> bool:
        """Whether the core computes the potentials: edge classes are pairs of node classes."""
        return self.is_plain or self.states.pairs_of_classes

    def graph(self, *, own_classes: bool = False) -> Any:
        """The core's form of the state space."""
        if own_classes not in self._graphs:
            self._graphs[own_classes] = self.states.graph(own_classes=own_classes)
        return self._graphs[own_classes]

    def gold(self, labels: NDArray[Any], offsets: NDArray[np.int64] | None = None) -> NDArray[Any]:
        given = np.asarray(labels)
        known = given.ndim == 1 and offsets is not None and self.states.determined
        if not known or self.n_states == len(self.labels) or offsets is None:
            return super().gold(labels)
        states = self.states.paths(given, offsets)
        if np.any(states < 0):
            sequence, token = where(int(np.argmax(states < 0)), offsets)
            raise self.impossible(sequence, token, self.labels[given[np.argmax(states < 0)]])
        return states

    def trace(
        self, allowed: NDArray[Any], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[E] how many steps of labellings could use each transition, and [N] where a sequence is stuck.

        ``allowed`` [tokens, Y] are the labels that each token may have. A sequence is stuck at the first
        token for which the space has no state, at its length if it may not stop there; -1 if it is not.
        """
        mask = np.ascontiguousarray(allowed, np.uint8)
        counts, stuck = _core.trace_states(self.graph(), np.asarray(offsets, np.int64), mask)
        return counts, stuck

    def tuple_counts(self, allowed: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        counts, _ = self.trace(allowed, offsets)
        out = np.zeros(self.states.n_tuples + 1, np.int64)
        for level in self.states.tuple_class:
            np.add.at(out, level, counts)
        return out[:-1]

    def impossible(self, sequence: int, token: int, label: str | None) -> InputError:
        """The error for labels that the state space forbids."""
        what = f"token {token}: label {label!r} is impossible here" if label is not None else "it may not end"
        return InputError(
            f"sequence {sequence}, {what} in the state space of the model; mend the labels "
            "(fc.schemes.convert(labels, 'conlleval', scheme) spells spans as a scheme requires), "
            "or choose other states= or constraints="
        )

    def restrict(self, potentials: Any, gold: NDArray[Any]) -> Any:
        if not isinstance(potentials, NativePotentials):
            return super().restrict(potentials, gold)
        allowed = np.zeros((len(gold), len(self.labels)), bool)
        if gold.ndim == 1:
            allowed[np.arange(len(gold)), self.label_of[gold]] = True
        else:  # of states
            np.logical_or.at(allowed.T, self.label_of, gold.T.astype(bool))
        extra = np.zeros(0) if potentials.space is None else potentials.space[1]
        return potentials.over(self.graph(), extra, allowed)

    def configurations(self) -> Mapping[str, Ints]:
        tables = {"node": self.states.node_labels, "edge": self.states.edge_labels}
        if self.states.n_tuples:
            tables[TUPLE] = np.arange(self.states.n_tuples, dtype=np.int32)[:, None]
        return tables

    def used_rows(self, name: str, offsets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        if name == "node":
            return None
        later = np.ones(int(offsets[-1]), bool)  # no step leads to a first position
        later[offsets[:-1][np.diff(offsets) > 0]] = False
        return later

    @property
    def is_plain(self) -> bool:
        return self.states.is_plain

    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]:
        s = self.states
        if s.is_plain:
            return super().label_classes()
        pairs = np.stack([s.label_of[s.sources], s.label_of[s.targets]], axis=1)
        tables = {
            "node": _distinct(s.label_of[:, None], s.node_labels[s.node_class]),
            "edge": _distinct(pairs, s.edge_labels[s.edge_class]),
        }
        if s.n_tuples:
            used = s.tuple_class >= 0
            labels = np.concatenate([pairs[row] for row in used])
            tables[TUPLE] = _distinct(labels, s.tuple_class[used][:, None])
        return tables

    def expand(self, classes: Parts) -> Parts:
        if self.states.is_plain:
            return classes
        node, edge = classes["node"], classes["edge"][..., self.states.edge_class]
        if self.states.n_tuples:
            per_class = np.append(np.atleast_2d(classes[TUPLE])[0], 0.0)  # without attributes: equal rows
            edge = edge + per_class[self.states.tuple_class].sum(axis=0)
        rows = np.broadcast_to(node, (classes.n_positions, node.shape[-1]))
        return self.potentials(rows[:, self.states.node_class], edge, classes.offsets)

    def collapse(self, gradient: Parts) -> Parts:
        if self.states.is_plain:
            return gradient
        tables = {"node": self.states.node_class, "edge": self.states.edge_class}
        arrays = {name: _summed(gradient[name], table) for name, table in tables.items()}
        if self.states.n_tuples:
            levels = [
                _summed(gradient["edge"], level, self.states.n_tuples) for level in self.states.tuple_class
            ]
            arrays[TUPLE] = np.sum(levels, axis=0)
        return Parts(arrays, gradient.offsets)

    # -- inside -------------------------------------------------------------------------------------

    def _arrays(self, potentials: Parts) -> tuple[Floats, Floats, NDArray[np.int64]]:
        node = potentials["node"]
        rows = np.broadcast_to(node, (potentials.n_positions, node.shape[-1]))
        return rows, potentials["edge"], potentials.offsets

    def _handle(self, potentials: Potentials, *, dense: bool = False) -> Any:
        if isinstance(potentials, NativePotentials):
            return potentials.handle
        graph = self.graph(own_classes=True) if is_sparse(self.states) else None
        return Held(*self._arrays(potentials), self.states, dense=dense, graph=graph).potentials

    def _listed(self, potentials: Potentials) -> Any:
        """Potentials over a list of transitions, as beams need them."""
        if isinstance(potentials, NativePotentials):
            if potentials.space is None:
                potentials = potentials.over(self.graph(), np.zeros(0))
            return potentials.handle
        graph = self.graph(own_classes=True)
        return Held(*self._arrays(potentials), self.states, sparse=True, graph=graph).potentials

    def _parts(self, node: Floats, edge: Floats, offsets: NDArray[np.int64]) -> Parts:
        listed = edge.shape[1] == self.states.n_transitions
        return self.potentials(node, edge if listed else edge[:, self.states.cells], offsets)


def _distinct(labels: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """The rows of two tables side by side, each pair of rows once."""
    k = labels.shape[1]
    both = np.unique(np.concatenate([labels, numbers], axis=1), axis=0)
    return both[:, :k], both[:, k:]


def _summed(rows: Floats, classes: Any, n: int | None = None) -> Floats:
    """Columns of one class added up; those of class -1 are left out."""
    n = int(classes.max(initial=-1)) + 1 if n is None else n
    order = np.argsort(classes, kind="stable")
    order = order[classes[order] >= 0]
    kept = classes[order]
    out = np.zeros((len(rows), n))
    if len(order):
        first = np.flatnonzero(np.diff(kept, prepend=-1))
        out[:, kept[first]] = np.add.reduceat(rows[:, order], first, axis=1)
    return out


def where(token: int, offsets: NDArray[np.int64]) -> tuple[int, int]:
    """The sequence of a token and its position in it."""
    sequence = int(np.searchsorted(offsets, token, side="right")) - 1
    return sequence, token - int(offsets[sequence])

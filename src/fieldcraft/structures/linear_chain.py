"""The linear chain as a structure: the functions of chain.py over a state space.

Potentials are arrays (``Parts`` with "node" [tokens, S] and "edge" [E] or [tokens, E]) or the core's own
(``NativePotentials``), which it computes sequence by sequence from a model's weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.potentials import NativePotentials, Parts, check_matrices
from fieldcraft.structures import chain
from fieldcraft.structures.answers import Inference
from fieldcraft.structures.extents import check_rows, check_samples
from fieldcraft.structures.held import Held, whole_numbers
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

    >>> line = LinearChain(StateSpace.labels(["a", "b"]))
    >>> potentials = line.potentials(np.zeros((3, 2)), np.zeros(4), [0, 3])
    >>> line.log_partition(potentials).round(6)
    array([2.079442])
    """

    name: ClassVar[str] = "chain"
    parts: ClassVar[tuple[str, ...]] = ("node", "edge")

    def __init__(self, states: StateSpace, *, n_jobs: int = 1) -> None:
        names = states.names or tuple(map(str, range(int(states.label_of.max()) + 1)))
        super().__init__(names, n_jobs=n_jobs)
        self.states = states

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
        best, score = _core.argmax(self._handle(potentials), self.n_jobs)
        return best, score

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
        return np.asarray(_core.log_marginals(self._handle(potentials), self.n_jobs))

    def covariance(self, potentials: Potentials, moved: Floats) -> Parts:
        """Gradient of the sum of ``moved`` [tokens, S] times log marginals."""
        given = np.ascontiguousarray(moved, np.float64)
        check_rows(self.states, potentials.offsets)
        node, edge = _core.covariance(self._handle(potentials), given, self.n_jobs)
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
        labels = np.ascontiguousarray(np.asarray(allowed, np.uint8)[:, self.label_of])
        at, begin, ends = (whole_numbers(part, np.int64, "windows") for part in (sequence, first, ptr))
        handle = self._handle(potentials)
        return np.asarray(_core.window_probability(handle, at, begin, ends, labels, self.n_jobs))

    def check_memory(self) -> None:
        check_matrices("training" if self.is_plain else "arrays", self.states.n_states)

    # -- labels and classes -------------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        return self.states.n_states

    @property
    def label_of(self) -> Ints:
        return self.states.label_of

    def configurations(self) -> Mapping[str, Ints]:
        return {"node": self.states.node_labels, "edge": self.states.edge_labels}

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
        return {
            "node": _distinct(s.label_of[:, None], s.node_labels[s.node_class]),
            "edge": _distinct(pairs, s.edge_labels[s.edge_class]),
        }

    def expand(self, classes: Parts) -> Parts:
        if self.states.is_plain:
            return classes
        node, edge = classes["node"], classes["edge"]
        rows = np.broadcast_to(node, (classes.n_positions, node.shape[-1]))
        return self.potentials(
            rows[:, self.states.node_class], edge[..., self.states.edge_class], classes.offsets
        )

    def collapse(self, gradient: Parts) -> Parts:
        if self.states.is_plain:
            return gradient
        tables = {"node": self.states.node_class, "edge": self.states.edge_class}
        return Parts(
            {name: _summed(gradient[name], table) for name, table in tables.items()}, gradient.offsets
        )

    # -- inside -------------------------------------------------------------------------------------

    def _arrays(self, potentials: Parts) -> tuple[Floats, Floats, NDArray[np.int64]]:
        node = potentials["node"]
        rows = np.broadcast_to(node, (potentials.n_positions, node.shape[-1]))
        return rows, potentials["edge"], potentials.offsets

    def _handle(self, potentials: Potentials) -> Any:
        if isinstance(potentials, NativePotentials):
            return potentials.handle
        return Held(*self._arrays(potentials), self.states).potentials

    def _parts(self, node: Floats, edge: Floats, offsets: NDArray[np.int64]) -> Parts:
        return self.potentials(node, edge if self.states.is_complete else edge[:, self.states.cells], offsets)


def _distinct(labels: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """The rows of two tables side by side, each pair of rows once."""
    k = labels.shape[1]
    both = np.unique(np.concatenate([labels, numbers], axis=1), axis=0)
    return both[:, :k], both[:, k:]


def _summed(rows: Floats, classes: Any) -> Floats:
    """Columns of one class added up."""
    out = np.zeros((len(rows), int(classes.max(initial=-1)) + 1))
    np.add.at(out.T, classes, rows.T)
    return out

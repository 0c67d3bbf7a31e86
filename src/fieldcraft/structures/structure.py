"""What a structure is: operations on potentials, and arithmetic on numbers per part.

    score(y) = <potentials, indicator(y)>
    log_partition = log of the sum over y of exp(score(y)),    marginals = its gradient in the potentials

An author of a structure subclasses ``Structure`` and writes five operations: ``log_partition``,
``marginals``, ``argmax``, ``score`` and ``indicator``. Objectives, training, answers and model files are
written with these and with the arithmetic below, whose defaults fit every structure with one row of numbers
per position. What else a structure can do (``k_best``, ``sample``, ``log_marginals`` …) is an optional
operation; whoever needs one that is missing gets an error that names it. Operations are pure functions, and
several threads may call them.

Layout: ``Parts`` (potentials.py) has one array [positions, width] for each name in ``parts``; -inf forbids.
States are what inference runs over, labels what users see: ``label_of`` maps the first to the second.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.beams import ALL, resolve_beam
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Self = TypeVar("Self", bound="Structure")


class Structure:
    """Base class of structures.

    Parameters
    ----------
    labels : names of the labels
    n_jobs : threads that an operation may use
    """

    name: ClassVar[str]  # in messages
    parts: ClassVar[tuple[str, ...]] = ("node",)

    def __init__(self, labels: Sequence[str], *, n_jobs: int = 1) -> None:
        self.labels = tuple(labels)
        self.n_jobs = resolve_jobs(n_jobs)

    # -- operations: the first five are an author's work ---------------------------------------------

    def log_partition(self, potentials: Any) -> Floats:
        """[N] log Z of each sequence."""
        raise NotImplementedError

    def marginals(self, potentials: Any) -> Parts:
        """The gradient of log Z: the probability of every part."""
        raise NotImplementedError

    def argmax(self, potentials: Any) -> tuple[Ints, Floats]:
        """States [positions] of the best labelling of each sequence, and its score [N]."""
        raise NotImplementedError

    def score(self, potentials: Any, states: Ints) -> Floats:
        """[N] the score of each sequence's states."""
        raise NotImplementedError

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        """1 for the parts that a labelling has, else 0."""
        raise NotImplementedError

    def infer(self, potentials: Any) -> Inference:
        """log Z and marginals together."""
        return Inference(self.log_partition(potentials), self.marginals(potentials), method=self.name)

    def decode(self, potentials: Any) -> Decoding:
        """The best labelling: states [positions] and scores [N]."""
        return Decoding(*self.argmax(potentials), method="argmax")

    def entropy(self, potentials: Any) -> Floats:
        """[N] entropy of the distribution over labellings, in nats: log Z - <potentials, marginals>."""
        result = self.infer(potentials)
        return np.maximum(result.log_partition - self.dot(potentials, result.marginals), 0.0)

    def label_marginals(self, potentials: Any) -> Floats:
        """[positions, Y] the probability of each label at each position."""
        return self.by_label(self.marginals(potentials)["node"])

    def by_label(self, node: Floats) -> Floats:
        """[positions, Y] numbers per state added up for each label."""
        if self.states_are_labels:
            return node
        totals = np.zeros((len(node), len(self.labels)))
        np.add.at(totals.T, self.label_of, node.T)
        return totals

    def operation(self, name: str) -> Callable[..., Any]:
        """An operation that not every structure has; InputError where it is missing."""
        if not hasattr(self, name):
            raise InputError(
                f"the structure {self.name} has no operation {name}; choose an objective, optimiser or "
                f"question that does not need it, or define {name} in {type(self).__name__}"
            )
        return getattr(self, name)  # type: ignore[no-any-return]

    def check_memory(self) -> None:
        """Raise InputError if training would take more memory than there is, whatever the corpus."""

    # -- labels and states -------------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        """How many states a position can have."""
        return len(self.labels)

    @property
    def n_parts(self) -> int:
        """About how many numbers a position has; blocks of positions are the smaller the more there are."""
        return self.n_states

    @property
    def label_of(self) -> Ints:
        """[S] the label of each state."""
        return np.arange(len(self.labels), dtype=np.int32)

    @cached_property
    def states_are_labels(self) -> bool:
        """Whether every state has the label of the same number."""
        return np.array_equal(self.label_of, np.arange(len(self.labels)))

    def labels_of(self, states: Ints) -> Ints:
        """The label of each state."""
        return states if self.states_are_labels else self.label_of[states]

    @property
    def one_to_one(self) -> bool:
        """Whether a labelling has exactly one sequence of states; k best and entropy need it."""
        return self.n_states == len(self.labels)

    def gold(self, labels: NDArray[Any], offsets: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Labels as objectives read them: states [positions], or a table [positions, S] of allowed states.

        ``labels`` has one label per position, or a row of booleans per position, one for each label. A table
        is returned where a label does not determine the state. ``offsets`` [N + 1] of the sequences are for
        structures in which the labels before it do.
        """
        del offsets
        given = np.asarray(labels)
        if given.ndim == 1:
            if self.n_states == len(self.labels):
                states = np.empty(len(self.labels), np.int32)
                states[self.label_of] = np.arange(self.n_states, dtype=np.int32)
                return np.asarray(states[given], np.int32)
            given = np.arange(len(self.labels)) == given[:, None]
        allowed: NDArray[np.bool_] = np.ascontiguousarray(given.astype(bool)[:, self.label_of])
        return allowed

    # -- between weights and potentials ------------------------------------------------------------

    def configurations(self) -> Mapping[str, Ints]:
        """For each part a table [C, k]: the label configurations that own weights.

        A row has the labels that the feature index (``labels``) stores for the configuration.
        """
        return {"node": np.arange(self.n_states, dtype=np.int32)[:, None]}

    @property
    def is_plain(self) -> bool:
        """Has every configuration of labels weights of its own, which the feature index names by labels."""
        n = len(self.labels)
        tables = self.label_classes().values()
        return all(len(a) == n ** a.shape[1] and np.array_equal(a, b) for a, b in tables)

    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]:
        """For each part two tables [n, k]: labels, and the configuration that has weights for them.

        Labels with several rows have several configurations (their states have weights of their own);
        labels without a row cannot occur.
        """
        return {name: (self.label_of[table], table) for name, table in self.configurations().items()}

    def bound_to(self: Self, encoded: Any) -> Self:
        """The structure of these sequences: the same for all, unless each has a shape of its own."""
        del encoded
        return self

    def expand(self, classes: Parts) -> Parts:
        """Numbers per configuration -> potentials, with a row for every position."""
        rows = classes.n_positions
        arrays = {name: np.broadcast_to(a, (rows, a.shape[-1])) for name, a in classes.arrays.items()}
        return Parts(arrays, classes.offsets)

    def collapse(self, gradient: Parts) -> Parts:
        """The adjoint of ``expand``: a gradient in the potentials -> one per configuration."""
        return gradient

    def tuple_counts(self, allowed: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """[tuples] how often each configuration of the part "tuple" occurs; ``allowed`` [positions, Y]."""
        raise NotImplementedError

    # -- arithmetic on parts -----------------------------------------------------------------------

    def row_offsets(self, parts: Parts, name: str) -> NDArray[np.int64]:
        """[N + 1] where the rows of each sequence begin in a part's array; one per position by default."""
        del name
        return parts.offsets

    def used_rows(self, name: str, offsets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Which positions have a row of this part that counts; None for all of them."""
        del name, offsets
        return None

    def add(self, a: Parts, b: Parts, factor: float = 1.0) -> Parts:
        """a + factor * b."""
        return Parts({name: a[name] + factor * b[name] for name in self.parts}, a.offsets)

    def scale(self, parts: Parts, factors: Floats) -> Parts:
        """Each sequence's numbers times its factor [N]; a factor of 0 makes 0 of anything."""
        arrays = {}
        for name in self.parts:
            rows = np.repeat(factors, np.diff(self.row_offsets(parts, name)))[:, None]
            arrays[name] = np.where(rows == 0, 0.0, rows * parts[name])
        return Parts(arrays, parts.offsets)

    def dot(self, potentials: Parts, weights: Parts) -> Floats:
        """[N] inner products per sequence; what has weight 0 counts 0, also where it is forbidden."""
        total = np.zeros(weights.n_sequences)
        for name in self.parts:
            with np.errstate(invalid="ignore"):
                rows = np.where(weights[name] == 0, 0.0, potentials[name] * weights[name]).sum(axis=1)
            total += by_sequence(rows, self.row_offsets(weights, name))
        return total

    def restrict(self, potentials: Parts, gold: NDArray[Any]) -> Parts:
        """The potentials with everything forbidden that ``gold`` (see ``gold``) excludes."""
        allowed = np.asarray(gold)
        if allowed.ndim == 1:
            allowed = np.arange(self.n_states) == allowed[:, None]
        return self._plus_node(potentials, np.where(allowed, 0.0, -np.inf))

    def augment(self, potentials: Parts, costs: Floats) -> Parts:
        """The potentials with a cost [positions, Y] added for every label."""
        return self._plus_node(potentials, costs[:, self.label_of])

    def _plus_node(self, potentials: Parts, node: Floats) -> Parts:
        return Parts({**potentials.arrays, "node": potentials["node"] + node}, potentials.offsets)

    def searching(self: Self, beam: Any) -> Self:
        """The same structure with another beam (beams.py), which chains alone have."""
        if resolve_beam(beam) != ALL:
            raise InputError(f"beam={beam!r} is for chains, not for {self.name}; leave it out")
        return self

    @property
    def finds_best(self) -> bool:
        """Whether ``argmax`` is proved to return the best states: no beam may have dropped them."""
        return True

    def using(self: Self, n_jobs: int) -> Self:
        """The same structure with another number of threads."""
        other = copy.copy(self)
        other.n_jobs = n_jobs
        return other


def by_sequence(per_row: Floats, offsets: NDArray[np.int64]) -> Floats:
    """[N] sums of a number per row over each sequence.

    >>> by_sequence(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 4.])
    """
    return np.array([per_row[a:b].sum() for a, b in zip(offsets[:-1], offsets[1:])])

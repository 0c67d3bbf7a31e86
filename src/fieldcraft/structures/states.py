"""State spaces of a chain: what the chain runs over, and what each state means as a label.

S states, E transitions (source -> target, sorted), states in which a sequence may start and stop, the
label of each state. Plain labels: every state its own label, every transition allowed.

Weights belong to classes: states of one node class share the weights of node features, transitions of one
edge class those of edge features. Tuple classes give transitions further weights, without attributes: label
triples and longer. The feature index names a class by its label configuration: the number of a node class;
the pair of node classes of an edge class or, where edge classes are not pairs of node classes, the states
(source, target) of its first transition; the number of a tuple class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.structures import state_builders as builders

MADE = ("sources", "targets", "edge_class", "tuple_class")  # of plain labels, when someone asks for them


def _absent() -> Any:
    return None


def _n_distinct(numbers: NDArray[Any]) -> int:
    """How many different numbers there are; np.unique would import NumPy's masked arrays for it, 10 ms."""
    return min(len(numbers), 1) + int(np.count_nonzero(np.diff(np.sort(numbers))))


def _numbers(names: Sequence[str], labels: Iterable[Sequence[str]]) -> list[list[int]]:
    """Label sequences as numbers; labels that are none of the names, such as None or sets, break them."""
    number = {name: y for y, name in enumerate(names)}
    out: list[list[int]] = []
    for row in labels:
        out.append([])
        for label in row:
            if isinstance(label, str) and label in number:
                out[-1].append(number[label])
            elif out[-1]:
                out.append([])
    return out


@dataclass(frozen=True, eq=False)
class StateSpace:
    """States, transitions, starts, stops and labels of a chain.

    Parameters
    ----------
    n_states : S
    sources, targets : int32 [E], sorted by source, then target
    starts, stops : bool [S]
    label_of : int32 [S] number of each state's label
    names : names of the labels, where known
    node_class : int32 [S] which states share weights; None for none
    edge_class : int32 [E] which transitions share weights; None for none
    tuple_class : int32 [L, E] further weights of transitions, L each, -1 for none; None for L = 0
    """

    n_states: int
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    starts: NDArray[np.bool_]
    stops: NDArray[np.bool_]
    label_of: NDArray[np.int32]
    names: tuple[str, ...] = field(default=())
    node_class: NDArray[np.int32] = None  # type: ignore[assignment]
    edge_class: NDArray[np.int32] = field(default_factory=_absent)  # no class attribute: see __getattr__
    tuple_class: NDArray[np.int32] = field(default_factory=_absent)

    def __getattr__(self, name: str) -> NDArray[np.int32]:
        """The S * S transitions of plain labels, which are made when someone asks for them."""
        if name not in MADE or "n_states" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        S, states = self.n_states, self.label_of
        make: dict[str, Callable[[], NDArray[np.int32]]] = {
            "sources": lambda: np.repeat(states, S),
            "targets": lambda: np.tile(states, S),
            "edge_class": lambda: np.arange(S * S, dtype=np.int32),
            "tuple_class": lambda: np.zeros((0, S * S), np.int32),
        }
        made = make[name]()  # [E]
        object.__setattr__(self, name, made)
        return made

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, n in (("node_class", self.n_states), ("edge_class", len(self.sources))):
            if getattr(self, name) is None:
                put(self, name, np.arange(n))
        if self.tuple_class is None:
            put(self, "tuple_class", np.zeros((0, len(self.sources))))
        for name in ("sources", "targets", "label_of", "node_class", "edge_class", "tuple_class"):
            put(self, name, np.ascontiguousarray(getattr(self, name), np.int32))
        for name in ("starts", "stops"):
            put(self, name, np.ascontiguousarray(getattr(self, name), bool))
        self._check()

    def _check(self) -> None:
        S = self.n_states
        _check_size(S)
        for name in ("starts", "stops", "label_of", "node_class"):
            length = len(getattr(self, name))
            if length != S:
                raise InputError(f"{name} has {length} entries for {S} states")
        for name in ("targets", "edge_class"):
            if len(getattr(self, name)) != len(self.sources):
                raise InputError(
                    f"{name} has {len(getattr(self, name))} entries, sources {len(self.sources)}"
                )
        if self.tuple_class.ndim != 2 or self.tuple_class.shape[1] != len(self.sources):
            raise InputError(
                f"tuple_class has shape {self.tuple_class.shape}; expected [levels, {len(self.sources)}]"
            )
        used = np.unique(self.tuple_class[self.tuple_class >= 0])
        if self.tuple_class.min(initial=0) < -1 or not np.array_equal(used, np.arange(len(used))):
            raise InputError("tuple_class must use every number from 0 up to its largest, and -1 for none")
        for name in ("node_class", "edge_class"):
            classes = getattr(self, name)
            inside = not len(classes) or (classes.min() >= 0 and classes.max() < len(classes))
            if not inside or not np.all(np.bincount(classes)):
                raise InputError(f"{name} must use every number from 0 up to its largest")
        codes = self.cells
        inside = codes.size == 0 or (
            np.min(self.sources) >= 0
            and np.min(self.targets) >= 0
            and np.max(self.sources) < S
            and np.max(self.targets) < S
        )
        if not inside or np.any(np.diff(codes) <= 0):
            raise InputError("transitions must lie within the states, sorted by source, then target")

    @classmethod
    def labels(cls, names: Sequence[str] | int) -> StateSpace:
        """One state per label, all transitions allowed."""
        S = names if isinstance(names, int) else len(names)
        _check_size(S)
        states, ones = np.arange(S, dtype=np.int32), np.ones(S, bool)
        columns = {"label_of": states, "node_class": states, "starts": ones, "stops": ones}
        space = cls.__new__(cls)  # without transitions: __getattr__ makes them
        vars(space).update(columns, n_states=S, names=() if isinstance(names, int) else tuple(names))
        return space

    @classmethod
    def observed(cls, names: Sequence[str], labels: Iterable[Sequence[str]]) -> StateSpace:
        """One state per label, and the transitions that occur in label sequences.

        Other labellings have probability 0; any label may begin and end a sequence.
        """
        allowed = np.zeros((len(names) + 1, len(names) + 1), bool)
        allowed[-1, :] = allowed[:, -1] = True
        for a, b in builders.observed_tuples(_numbers(names, labels), 1):
            allowed[a, b] = True
        return cls(**builders.pair_columns(names, allowed))

    @classmethod
    def ngrams(
        cls,
        names: Sequence[str],
        order: int = 2,
        *,
        observed: Iterable[Sequence[str]] | None = None,
        scheme: str | None = None,
    ) -> StateSpace:
        """States of the last ``order`` labels: a chain of that order.

        Node weights belong to the current label, edge weights to the last two labels, tuple weights to three
        labels and, with order 3, also to four.

        Parameters
        ----------
        names : names of the labels
        order : 1, 2, 3 …
        observed : label sequences; only tuples of labels that occur in them are possible
        scheme : "iob1", "iob2", "iobes" …: only what the scheme allows is possible

        >>> StateSpace.ngrams(["a", "b", "c"], 2)
        <StateSpace: 12 states of 3 labels, 36 transitions>
        """
        order = whole_number(order, "order", 1)
        seen = None if observed is None else builders.observed_tuples(_numbers(names, observed), order)
        allowed = builders.allowed_pairs(names, scheme)
        return cls(**builders.ngram_columns(names, order, seen, allowed))

    @classmethod
    def latent(
        cls,
        names: Sequence[str],
        m: int,
        *,
        observed: Iterable[Sequence[Any]] | None = None,
        scheme: str | None = None,
    ) -> StateSpace:
        """m states for each label, with weights of their own; ``observed`` and ``scheme`` as for ``ngrams``.

        >>> StateSpace.latent(["a", "b"], 3).label_of.tolist()
        [0, 0, 0, 1, 1, 1]
        """
        base = cls.ngrams(names, 1, observed=observed, scheme=scheme)
        return cls(**builders.latent_columns(base, whole_number(m, "m", 1)))

    @classmethod
    def scheme(cls, names: Sequence[str], scheme: str) -> StateSpace:
        """One state per label, and the transitions, starts and stops that a label scheme allows.

        >>> StateSpace.scheme(["B-X", "I-X", "O"], "iob2").starts.tolist()
        [True, False, True]
        """
        return cls(**builders.pair_columns(names, builders.allowed_pairs(names, scheme)))

    @classmethod
    def counter(cls, names: Sequence[str], label: str, most: int) -> StateSpace:
        """States that count how many tokens in a row have ``label``, up to ``most``.

        Every count has weights of its own, so that a model learns how long such runs are.

        >>> StateSpace.counter(["I", "O"], "O", 3).label_of.tolist()
        [0, 1, 1, 1]
        """
        automaton = builders.counter_automaton(names, label, whole_number(most, "most", 1))
        return cls.labels(names)._times(automaton, own_weights=True)

    @classmethod
    def automaton(
        cls,
        names: Sequence[str],
        table: Any,
        accepting: Iterable[int] | None = None,
        *,
        own_weights: bool = False,
    ) -> StateSpace:
        """States of a finite automaton that reads the labels; only what it accepts is possible.

        Parameters
        ----------
        names : names of the labels
        table : one row per state of the automaton, which starts in state 0: a dict label -> next state, or a
            list of next states in the order of ``names``; a label that is missing, None or -1 is not allowed
        accepting : states in which a sequence may end; None for all
        own_weights : give every state weights of its own; otherwise they belong to labels and label pairs

        >>> StateSpace.automaton(["a", "b"], [{"a": 0, "b": 1}, {"a": 1}])  # at most one b
        <StateSpace: 3 states of 2 labels, 4 transitions>
        """
        made = builders.automaton_of(names, table, accepting)
        return cls.labels(names)._times(made, own_weights=own_weights)

    def _times(self, automaton: builders.Automaton, *, own_weights: bool = False) -> StateSpace:
        columns = builders.product_columns(self, automaton, own_weights=own_weights)
        for name in ("base_state", "base_edge"):
            del columns[name]
        for name in ("node_class", "edge_class", "tuple_class"):
            if name in columns:
                columns[name] = builders.renumbered(columns[name])
        return StateSpace(**columns)

    def __repr__(self) -> str:
        n = len(self.names) or len(set(self.label_of.tolist()))
        return f"<StateSpace: {self.n_states} states of {n} labels, {self.n_transitions} transitions>"

    @property
    def n_transitions(self) -> int:
        return len(self.sources) if "sources" in vars(self) else self.n_states**2

    @cached_property
    def is_plain(self) -> bool:
        """Is every state a label of its own, with weights of its own, and everything allowed."""
        return "edge_class" not in vars(self) or (
            self.is_complete
            and not len(self.tuple_class)
            and bool(np.all(self.starts) and np.all(self.stops))
            and all(
                np.array_equal(column, np.arange(len(column)))
                for column in (self.label_of, self.node_class, self.edge_class)
            )
        )

    @cached_property
    def node_labels(self) -> NDArray[np.int32]:
        """[node classes, 1] the label configuration of each node class."""
        return np.arange(self.node_class.max(initial=-1) + 1, dtype=np.int32)[:, None]

    @cached_property
    def edge_labels(self) -> NDArray[np.int32]:
        """[edge classes, 2] the label configuration of each edge class."""
        first = np.empty(self.edge_class.max(initial=-1) + 1, np.int64)  # transition of each class
        first[self.edge_class[::-1]] = np.arange(len(self.edge_class))[::-1]
        pairs = np.stack([self.sources[first], self.targets[first]], axis=1)
        return self.node_class[pairs] if self.pairs_of_classes else pairs

    @cached_property
    def pairs_of_classes(self) -> bool:
        """Whether an edge class is the same as a pair of node classes."""
        pairs = self.node_class[self.sources].astype(np.int64) * self.n_states + self.node_class[self.targets]
        both = pairs * (self.edge_class.max(initial=0) + 1) + self.edge_class
        return _n_distinct(pairs) == _n_distinct(self.edge_class) == _n_distinct(both)

    @property
    def n_tuples(self) -> int:
        """The number of tuple classes."""
        return int(self.tuple_class.max(initial=-1)) + 1

    @cached_property
    def determined(self) -> bool:
        """Whether the labels of a sequence determine its states."""
        if "sources" not in vars(self):
            return True
        begin = self.label_of[self.starts]
        steps = self.sources.astype(np.int64) * (int(self.label_of.max()) + 1) + self.label_of[self.targets]
        return all(_n_distinct(keys) == len(keys) for keys in (begin, steps))

    def paths(self, labels: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """[tokens] the states of labels, which determine them; -1 from the first label that is impossible."""
        Y = max(int(self.label_of.max()), int(np.max(labels, initial=0))) + 1
        following = np.full((self.n_states + 1, Y), -1, np.int32)  # the last row is the state -1
        following[self.sources, self.label_of[self.targets]] = self.targets
        begin = np.full(Y, -1, np.int32)
        begin[self.label_of[self.starts]] = np.flatnonzero(self.starts)
        lengths, out = np.diff(offsets), np.full(len(labels), -1, np.int32)
        for t in range(int(lengths.max(initial=0))):
            at = offsets[:-1][lengths > t] + t
            out[at] = begin[labels[at]] if t == 0 else following[out[at - 1], labels[at]]
        return out

    def graph(self, *, own_classes: bool = False) -> Any:
        """The core's form of the space; with ``own_classes`` node scores are per state, not per class."""
        node_class = np.arange(self.n_states, dtype=np.int32) if own_classes else self.node_class
        return _core.state_graph(
            self.sources,
            self.targets,
            np.ascontiguousarray(self.starts, np.uint8),
            np.ascontiguousarray(self.stops, np.uint8),
            self.label_of,
            node_class,
            max(len(self.names), int(self.label_of.max()) + 1),
        )

    @property
    def is_complete(self) -> bool:
        """Are all S * S transitions allowed."""
        return self.n_transitions == self.n_states**2

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """[E] where each transition stands in the flattened [S, S] matrix."""
        return self.sources.astype(np.int64) * self.n_states + self.targets


_check_size = builders.check_size

"""Chains with skip edges: a linear chain over labels, and factors on further pairs of positions.

    score(y) = sum of node[t, y_t] + edge[t, y_{t-1}, y_t] + sum over pairs p = (u, v) of skip[p, y_u, y_v]

``SkipChain`` knows labels and tying; ``of(pairs)`` binds it to the pairs of some sequences. Inference is
belief propagation that passes along the whole chain at once (native/skip_chain.hpp), or any method of
graphs/ on the factor graph of each sequence. Decoding is that of graphs/.

Layout of ``Parts``: "node" [positions, Y], "edge" [positions, Y * Y] or [Y * Y] (row t is the step from t - 1
to t), "skip" [pairs, Y * Y] with the label of the earlier position first. Weights of skip edges belong to
classes of label pairs: all of them ("full"), equal or not ("same"), or one for each label that both have
("agreement").
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.cliques import Clique
from fieldcraft.structures.graphs.sizes import budget
from fieldcraft.structures.skip_graphs import Pairs, SkipGraphs, SkipParts, later_positions, steps_to
from fieldcraft.structures.skip_inference import SkipInference
from fieldcraft.structures.structure import Floats, Ints, Structure, by_sequence

Method = tuple[str, Mapping[str, Any]]
NARROW = "64MiB"  # the same for labels that are proved to be the best
UNSUMMED = ("gibbs", "importance_sampling")  # inferences without a log Z that training could use


class SkipChain(Structure):
    """Labels in a chain with skip edges.

    Parameters
    ----------
    labels : their names
    tying : "full", "same" or "agreement"
    inference : a method's name with its options
    decoding : the same
    """

    name: ClassVar[str] = "skip chain"
    parts: ClassVar[tuple[str, ...]] = ("node", "edge", "skip")

    def __init__(
        self,
        labels: Sequence[str],
        tying: str = "full",
        inference: Method = ("auto", {}),
        decoding: Method = ("auto", {}),
        *,
        n_jobs: int = 1,
    ) -> None:
        super().__init__(labels, n_jobs=n_jobs)
        self.tying, self.inference, self.decoding = tying, inference, decoding
        self.pairs: Pairs | None = None
        self.remembers = False  # whether inference begins with the messages of the last call
        self._inference: SkipInference | None = None  # that of the bound pairs
        self.unconverged = 0  # answers that did not converge, since this was last set to 0

    def of(self, pairs: Pairs) -> SkipChain:
        """The same structure for sequences with these skip edges."""
        bound = copy.copy(self)
        bound.pairs, bound.unconverged, bound._inference = pairs, 0, None
        return bound

    def bound_to(self, encoded: Any) -> SkipChain:
        return self.of(Pairs(encoded.scope, encoded.pairs.offsets))

    # -- operations ---------------------------------------------------------------------------------

    def infer(self, potentials: Any) -> Inference:
        pairs, method = self._pairs_of(potentials), self.inference[0]
        found = self._engine(potentials.offsets, pairs).infer(potentials, self.n_jobs)
        self.unconverged += int((~found["converged"]).sum())
        parts = SkipParts({name: found[name] for name in self.parts}, potentials.offsets, pairs)
        bound = "exact" if not len(pairs.scope) or method in ("junction_tree", "brute_force") else "estimate"
        return Inference(
            found["log_partition"],
            parts,
            bound=bound,
            converged=bool(found["converged"].all()),
            iterations=int(found["iterations"].max(initial=0)),
            residual=float(found["residual"].max(initial=0.0)),
            method=method,
        )

    def log_partition(self, potentials: Any) -> Floats:
        return self.infer(potentials).log_partition

    def marginals(self, potentials: Any) -> Parts:
        return self.infer(potentials).marginals  # type: ignore[no-any-return]

    def decode(self, potentials: Any) -> Decoding:
        pairs, (method, options) = self._pairs_of(potentials), self.decoding
        answers = self._decoded(potentials, pairs, method, options)
        states = np.concatenate([np.zeros(0, np.int32), *(one.assignment for one in answers)])
        value = np.array([one.value for one in answers])
        return Decoding(states, value, all(one.optimal for one in answers), method=method)

    def argmax(self, potentials: Any) -> tuple[Ints, Floats]:
        best = self.decode(potentials)
        return best.labels, best.value

    @property
    def finds_best(self) -> bool:
        return False

    def score(self, potentials: Any, states: Ints) -> Floats:
        pairs, offsets, at = self._pairs_of(potentials), potentials.offsets, np.arange(len(states))
        node, edge, skip = (self._rows(potentials, name, pairs) for name in self.parts)
        rows = np.array(node[at, states])
        steps = steps_to(offsets)
        rows[steps] += edge[steps, states[steps - 1] * self.n_states + states[steps]]
        cells = self._cells(pairs, states)
        return by_sequence(rows, offsets) + by_sequence(skip[np.arange(len(cells)), cells], pairs.rows)

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        pairs, n = self._bound(), self.n_states
        edge = np.zeros((len(states), n * n))
        steps = steps_to(offsets)
        edge[steps, states[steps - 1] * n + states[steps]] = 1.0
        cells = self._cells(pairs, states)
        skip = np.zeros((len(cells), n * n))
        skip[np.arange(len(cells)), cells] = 1.0
        return SkipParts({"node": np.eye(n)[states], "edge": edge, "skip": skip}, offsets, pairs)

    def neighbour_scores(self, potentials: Any, states: Ints) -> Floats:
        """[positions, Y] the score of each label while all others have theirs."""
        pairs = self._pairs_of(potentials)
        node, edge, skip = (self._rows(potentials, name, pairs) for name in self.parts)
        scores = np.array(node)
        for variables, rows, cells, name in self._turns(states, potentials.offsets, pairs):
            table = edge if name == "edge" else skip
            np.add.at(scores, variables, table[rows[:, None], cells])
        return scores

    def neighbour_adjoint(self, rows: Floats, offsets: NDArray[np.int64], states: Ints) -> Parts:
        """The adjoint: a gradient in neighbour scores -> one in the potentials."""
        pairs, n = self._bound(), self.n_states
        arrays = {
            "node": rows,
            "edge": np.zeros((len(states), n * n)),
            "skip": np.zeros((len(pairs.scope), n * n)),
        }
        for variables, at, cells, name in self._turns(states, offsets, pairs):
            np.add.at(arrays[name], (at[:, None], cells), rows[variables])
        return SkipParts(arrays, offsets, pairs)

    def _turns(self, states: Ints, offsets: NDArray[np.int64], pairs: Pairs) -> Any:
        """By part and end: positions, rows, cells [rows, Y] as that end varies, the name of the part."""
        n, every = self.n_states, np.arange(self.n_states)
        steps = steps_to(offsets)
        scopes = {"edge": (steps, np.stack([steps - 1, steps], 1))}
        scopes["skip"] = (np.arange(len(pairs.scope)), pairs.scope.astype(np.int64))
        for name, (rows, scope) in scopes.items():
            first, second = states[scope[:, 0]], states[scope[:, 1]]
            yield scope[:, 0], rows, every * n + second[:, None], name
            yield scope[:, 1], rows, first[:, None] * n + every, name

    # -- labels and classes -------------------------------------------------------------------------

    @cached_property
    def skip_classes(self) -> Ints:
        """[Y * Y] the class of each label pair of a skip edge, -1 for none."""
        return Clique("skip", self.tying).classes((self.n_states, self.n_states))

    @property
    def n_parts(self) -> int:
        return self.n_states**2

    def configurations(self) -> Mapping[str, Ints]:
        n = self.n_states
        cells = np.arange(n * n, dtype=np.int32)
        both = np.stack([cells // n, cells % n], axis=1)
        classes = np.arange(int(self.skip_classes.max(initial=-1)) + 1, dtype=np.int32)[:, None]
        return {
            "node": np.arange(n, dtype=np.int32)[:, None],
            "edge": both,
            "skip": both if self.tying == "full" else classes,
        }

    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]:
        return {name: (table, table) for name, table in self.configurations().items()}

    @property
    def is_plain(self) -> bool:
        return self.tying == "full"

    def expand(self, classes: Parts) -> Parts:
        pairs = self._bound()
        arrays = {
            "node": np.broadcast_to(classes["node"], (classes.n_positions, self.n_states)),
            "edge": classes["edge"],
        }
        rows = np.broadcast_to(classes["skip"], (len(pairs.scope), classes["skip"].shape[-1]))
        if self.tying != "full":
            padded = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
            rows = padded[:, self.skip_classes]  # class -1 is the last column
        return SkipParts({**arrays, "skip": rows}, classes.offsets, pairs)

    def collapse(self, gradient: Parts) -> Parts:
        if self.tying == "full":
            return gradient
        n = int(self.skip_classes.max(initial=-1)) + 1
        summed = gradient["skip"] @ np.eye(n + 1)[self.skip_classes][:, :n]
        return Parts({**gradient.arrays, "skip": summed}, gradient.offsets)

    def gold_classes(self, pairs: Pairs, states: Ints) -> NDArray[np.int64]:
        """[P] the class of each pair under these states."""
        found: NDArray[np.int64] = self.skip_classes[self._cells(pairs, states)].astype(np.int64)
        return found

    # -- arithmetic on parts ------------------------------------------------------------------------

    def row_offsets(self, parts: Parts, name: str) -> NDArray[np.int64]:
        return parts.offsets if name != "skip" else self._pairs_of(parts).rows

    def used_rows(self, name: str, offsets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        return later_positions(offsets) if name == "edge" else None

    def _plus_node(self, potentials: Parts, node: Floats) -> Parts:
        arrays = {**potentials.arrays, "node": potentials["node"] + node}
        return SkipParts(arrays, potentials.offsets, self._pairs_of(potentials))

    # -- inside -------------------------------------------------------------------------------------

    def _bound(self) -> Pairs:
        if self.pairs is None:
            raise InputError("the structure has no pairs yet; bind it with of(pairs)")
        return self.pairs

    def _pairs_of(self, parts: Parts) -> Pairs:
        return parts.pairs if isinstance(parts, SkipParts) else self._bound()

    def _cells(self, pairs: Pairs, states: Ints) -> NDArray[np.int64]:
        first, second = states[pairs.scope[:, 0]].astype(np.int64), states[pairs.scope[:, 1]]
        cells: NDArray[np.int64] = first * self.n_states + second
        return cells

    def _rows(self, potentials: Parts, name: str, pairs: Pairs) -> Floats:
        n = len(pairs.scope) if name == "skip" else potentials.n_positions
        return np.broadcast_to(potentials[name], (n, potentials[name].shape[-1]))

    def _engine(self, offsets: NDArray[np.int64], pairs: Pairs) -> SkipInference:
        """Inference with these pairs; what it compiles is kept where they are the bound ones."""
        method, options = self.inference
        if pairs is not self.pairs:
            return SkipInference(offsets, pairs, self.n_states, method, options)
        if self._inference is None:
            self._inference = SkipInference(
                offsets, pairs, self.n_states, method, options, remembers=self.remembers
            )
        return self._inference

    def _decoded(
        self, potentials: Parts, pairs: Pairs, method: str, options: Mapping[str, Any]
    ) -> list[Decoding]:
        """The best labels; "auto" is exact where the junction tree is narrow, else max-product."""
        arrays = {name: self._rows(potentials, name, pairs) for name in self.parts}
        everything = self._graphs(potentials, pairs, range(potentials.n_sequences))
        if method != "auto":
            return everything.decode(arrays, method, self.n_jobs, options)
        memory = budget(options.get("memory", NARROW))
        narrow = everything.narrow(memory, self.n_jobs)
        wide = np.setdiff1d(everything.chosen, narrow)
        answers: dict[int, Decoding] = {}
        ways: dict[str, dict[str, Any]] = {"junction_tree": {"memory": memory}, "propagation": {}}
        for (name, more), mine in zip(ways.items(), (narrow, wide)):
            if len(mine):
                found = self._graphs(potentials, pairs, mine).decode(arrays, name, self.n_jobs, more)
                answers.update(zip(mine.tolist(), found))
        return [answers[i] for i in range(potentials.n_sequences)]

    def _graphs(self, potentials: Parts, pairs: Pairs, chosen: Any) -> SkipGraphs:
        return SkipGraphs(potentials.offsets, pairs.scope, pairs.rows, self.n_states, chosen)

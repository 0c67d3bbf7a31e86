"""Predictions under constraints (structures/constraints.py).

Labellings come in three steps: the unconstrained best one where it obeys, else the best of the states that
obey (an automaton), else the k best in turn, then linear and integer programming. Each says whether it is
proved to be the best. Distributions (``predict_proba``, ``k_best``, ``sample``) are those of the states
that obey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.models.blocks import Block, Predictor, block_tokens_of, cuts, log_share, part_of
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.constrained import ConstrainedChain, best_states
from fieldcraft.structures.constraints import Constraint, constraint_list
from fieldcraft.structures.integer_programme import Programme
from fieldcraft.structures.linear_chain import LinearChain

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
T = TypeVar("T")
K_BEST = 64  # labellings that are tried in turn before a linear programme
NEAREST = 64  # labellings near a fractional solution, of which the best that obeys is taken


class Constrained:
    """Sequences under constraints: one list for all of them, or one for each.

    Parameters
    ----------
    predictor : the trained model
    encoded : the sequences
    constraints : a list of constraints (or texts), or a list of such lists
    rounded : round a linear programme whose solution is fractional, where that obeys, instead of solving an
        integer programme
    """

    def __init__(
        self, predictor: Predictor, encoded: Encoded, constraints: Any, *, rounded: bool = False
    ) -> None:
        if not isinstance(predictor.structure, LinearChain) or predictor.voters is not None:
            raise InputError("constraints are for chains; this model is of another kind")
        if predictor.decoding != "viterbi":
            raise InputError(f"constraints need decoding='viterbi', not {predictor.decoding!r}")
        self.predictor, self.encoded, self.rounded = predictor, encoded, rounded
        self.base: LinearChain = predictor.structure
        self._made: dict[tuple[Constraint, ...], ConstrainedChain] = {}
        self.lists = lists_of(constraints, len(encoded.offsets) - 1)

    def __len__(self) -> int:
        return len(self.encoded.offsets) - 1

    def _chain(self, constraints: tuple[Constraint, ...]) -> ConstrainedChain:
        if constraints not in self._made:
            self._made[constraints] = ConstrainedChain(self.base, constraints)
        return self._made[constraints]

    def _groups(self) -> Iterator[tuple[NDArray[np.int64], ConstrainedChain]]:
        """Sequences of the same constraints, at most a block of them at a time."""
        groups: dict[tuple[Constraint, ...], list[int]] = {}
        for i, constraints in enumerate(self.lists):
            groups.setdefault(constraints, []).append(i)
        for constraints, rows in groups.items():
            lengths, tokens = np.diff(self.encoded.offsets)[rows], block_tokens_of(self.predictor.scorer)
            ends = cuts(np.concatenate([[0], np.cumsum(lengths)]), tokens)
            for a, b in zip(ends, ends[1:]):
                yield np.array(rows[a:b], np.int64), self._chain(constraints)

    def _block(self, rows: NDArray[np.int64]) -> Block:
        whole = len(rows) == len(self)
        encoded = self.encoded if whole else self.encoded.take(rows)
        return Block.of(self.predictor, encoded, 0, keep=True)

    # -- labels -------------------------------------------------------------------------------------

    def decode(self) -> list[Decoding]:
        """One Decoding per sequence; ``labels`` is None where no labelling obeys."""
        out: list[Any] = [None] * len(self)
        for rows, chain in self._groups():
            for i, decoding in zip(rows.tolist(), self._decode_group(rows, chain)):
                out[i] = decoding
        return out

    def predict(self) -> NDArray[np.object_]:
        """Labels; InputError, naming the sequence and constraints in conflict, where no labelling obeys."""
        out = np.empty(len(self), object)
        for i, decoding in enumerate(self.decode()):
            if decoding.labels is None:
                raise InputError(f"sequence {i}: {decoding.why}; decode() goes on without it")
            out[i] = decoding.labels
        return out

    def _decode_group(self, rows: NDArray[np.int64], chain: ConstrainedChain) -> list[Decoding]:
        block = self._block(rows)
        labels, offsets = block.labels(), block.encoded.offsets
        values, names = block.predicted_value(), self.predictor.classes_
        fine = chain.obeyed(labels, offsets)
        exact = self.base.one_to_one and self.base.finds_best
        gap = 0.0 if exact else float("nan")
        out: list[Decoding] = []
        for i in range(len(rows)):
            own = names[labels[offsets[i] : offsets[i + 1]]].tolist()
            out.append(Decoding(own, float(values[i]), exact, gap, "viterbi"))
        left = np.flatnonzero(~fine)
        for i, decoding in zip(left.tolist(), self._repair(block, left, chain)):
            out[i] = decoding
        return out

    def _repair(self, block: Block, left: NDArray[np.int64], chain: ConstrainedChain) -> list[Decoding]:
        """Decodings of sequences whose best labelling does not obey."""
        if not len(left):
            return []
        sub = Block.of(self.predictor, block.encoded.take(left), 0, keep=True)
        found: list[tuple[Ints | None, str, bool, float]] = [(None, "automaton", True, 0.0)] * len(left)
        if chain.chain is not None and not chain.rules.linear:
            found = self._by_automaton(sub, chain)
        elif chain.possible:
            found = [self._one_by_one(sub, i, chain) for i in range(len(left))]
        labels = [np.zeros(0, np.int32) if one is None else one for one, *_ in found]
        values = self._values(sub, labels)
        out = []
        for i, (own, method, optimal, gap) in enumerate(found):
            if own is None:
                why = "no labelling obeys the constraints " + self._conflict(sub, i, chain)
                out.append(Decoding(None, -np.inf, optimal, float("nan"), method, why))
                continue
            optimal = optimal and self.base.one_to_one
            gap = gap if self.base.one_to_one else float("nan")
            spelled = self.predictor.classes_[own].tolist()
            out.append(Decoding(spelled, float(values[i]), optimal, gap, method))
        return out

    def _by_automaton(
        self, sub: Block, chain: ConstrainedChain
    ) -> list[tuple[Ints | None, str, bool, float]]:
        assert chain.chain is not None
        offsets = sub.encoded.offsets
        masks = chain.masks(np.diff(offsets).tolist())
        states, scores = best_states(chain.chain, chain.potentials(sub.potentials, masks))
        labels = chain.chain.labels_of(states)
        return [
            (None if score == -np.inf else labels[a:b], "automaton", True, 0.0)
            for a, b, score in zip(offsets, offsets[1:], scores)
        ]

    def _one_by_one(
        self, sub: Block, i: int, chain: ConstrainedChain
    ) -> tuple[Ints | None, str, bool, float]:
        """The k best labellings in turn, then linear and integer programming."""
        one = Block.of(self.predictor, part_of(sub.encoded, i, i + 1), 0, keep=True)
        over, potentials = self.base, one.potentials
        if chain.chain is not None:  # the other constraints are obeyed by all of the k best
            over = chain.chain
            potentials = chain.potentials(one.potentials, chain.masks([len(one.labels())]))
            if best_states(over, potentials)[1][0] == -np.inf:
                return None, "automaton", True, 0.0
        paths, _ = over.operation("k_best")(potentials, K_BEST)[0]
        for path in paths:
            labels = over.labels_of(path)
            if chain.obeyed(labels, np.array([0, len(labels)]))[0]:
                return labels, "k-best", True, 0.0
        if len(paths) < K_BEST:
            return None, "k-best", True, 0.0
        node, edge = arrays_of(self.predictor.scorer, one)
        rounding = (lambda shares: self._round(one, chain, shares)) if self.rounded else None
        solved = Programme(self.base.states, node, edge, chain.rules).solve(rounding)
        if solved.states is None:
            return None, solved.method, solved.optimal, 0.0
        score = float(self.base.score(one.potentials, solved.states)[0])
        gap = max(solved.bound - score, 0.0)
        optimal = solved.optimal and gap <= 1e-6 * max(1.0, abs(score))
        return self.base.labels_of(solved.states), solved.method, optimal, 0.0 if optimal else gap

    def _round(self, one: Block, chain: ConstrainedChain, shares: Floats) -> Ints | None:
        """The best states near the fractions [T, S] of a linear programme that obey; None without any."""
        ends = np.array([0, len(shares)])
        near = LinearChain.potentials(shares, np.zeros(self.base.states.n_transitions), ends)
        found: list[tuple[float, Ints]] = []
        for path in self.base.k_best(near, NEAREST)[0][0]:
            if chain.obeyed(self.base.labels_of(path), ends)[0]:
                found.append((float(self.base.score(one.potentials, path)[0]), path))
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def _values(self, sub: Block, labels: list[Ints]) -> Floats:
        """[N] log p(y | x) of the unconstrained model; what has no labels counts nothing."""
        own = sub.labels()
        ends = sub.encoded.offsets
        joined = [y if len(y) else own[a:b] for y, a, b in zip(labels, ends, ends[1:])]
        return sub.log_share(sub.score(np.concatenate(joined))) if len(own) else np.zeros(len(labels))

    # -- conflicts ----------------------------------------------------------------------------------

    def _conflict(self, sub: Block, i: int, chain: ConstrainedChain) -> str:
        """The constraints that contradict each other: leaving out any one of them resolves the conflict."""
        one = Block.of(self.predictor, part_of(sub.encoded, i, i + 1), 0, keep=True)
        kept = list(chain.rules.constraints)
        for constraint in chain.rules.constraints:
            rest = [c for c in kept if c is not constraint]
            if not self._feasible(one, tuple(rest)):
                kept = rest
        return "; ".join(f"'{constraint}'" for constraint in kept) or "(nor any without them)"

    def _feasible(self, one: Block, constraints: tuple[Constraint, ...]) -> bool:
        chain = ConstrainedChain(self.base, constraints)
        if not chain.possible:
            return False
        if chain.is_exact and chain.chain is not None:
            potentials = chain.potentials(one.potentials, chain.masks([int(one.encoded.offsets[-1])]))
            return bool(best_states(chain.chain, potentials)[1][0] > -np.inf)
        node, edge = arrays_of(self.predictor.scorer, one)
        return Programme(self.base.states, node, edge, chain.rules).solve().states is not None

    # -- distributions ------------------------------------------------------------------------------

    def _ask(self, question: Callable[[ConstrainedChain, Any, Block], Sequence[T]]) -> list[T]:
        out: list[Any] = [None] * len(self)
        for rows, chain in self._groups():
            if not chain.is_exact:
                raise chain.refuse()
            block = self._block(rows)
            masks = chain.masks(np.diff(block.encoded.offsets).tolist())
            if chain.chain is None:
                raise InputError(self._impossible(rows, 0, block, chain))
            potentials = chain.potentials(block.potentials, masks)
            lost = np.flatnonzero(chain.chain.log_partition(potentials) == -np.inf)
            if len(lost):
                raise InputError(self._impossible(rows, int(lost[0]), block, chain))
            for i, answer in zip(rows.tolist(), question(chain, potentials, block)):
                out[i] = answer
        return out

    def _impossible(self, rows: NDArray[np.int64], i: int, block: Block, chain: ConstrainedChain) -> str:
        conflict = self._conflict(block, i, chain)
        return f"sequence {rows[i]}: no labelling obeys the constraints {conflict}; leave one of them out"

    def predict_proba(self) -> NDArray[np.object_]:
        """Marginal probabilities given that the constraints are obeyed."""

        def rows(chain: ConstrainedChain, potentials: Any, block: Block) -> list[Floats]:
            assert chain.chain is not None
            node, ends = chain.chain.label_marginals(potentials), block.encoded.offsets
            return [node[a:b] for a, b in zip(ends, ends[1:])]

        out = np.empty(len(self), object)
        for i, row in enumerate(self._ask(rows)):
            out[i] = row
        return out

    def predict_marginals(self) -> list[list[dict[str, float]]]:
        """The same as lists of dicts."""
        names = self.predictor.classes_.tolist()
        return [[dict(zip(names, row)) for row in p.tolist()] for p in self.predict_proba()]

    def k_best(self, k: int) -> list[list[tuple[list[str], float]]]:
        """The k best labellings that obey, with their log-probabilities in the unconstrained model."""
        k = whole_number(k, "k", 1)
        if not self.base.one_to_one:
            raise InputError("k_best under constraints needs a model whose labels determine the states")

        def ranked(
            chain: ConstrainedChain, potentials: Any, block: Block
        ) -> list[list[tuple[list[str], float]]]:
            assert chain.chain is not None
            names, log_z = self.predictor.classes_[chain.chain.label_of], block.log_partition()
            return [
                [(names[path].tolist(), float(log_share(s, z))) for path, s in zip(paths, scores)]
                for (paths, scores), z in zip(chain.chain.k_best(potentials, k), log_z)
            ]

        return self._ask(ranked)

    def sample(self, n: int) -> list[list[list[str]]]:
        """n labellings drawn from p(y | x) given that the constraints are obeyed."""
        n = whole_number(n, "n", 0, "the number of samples")

        def drawn(chain: ConstrainedChain, potentials: Any, block: Block) -> list[list[list[str]]]:
            del block
            assert chain.chain is not None
            names = self.predictor.classes_[chain.chain.label_of]
            paths = chain.chain.sample(potentials, n, self.predictor.random_state)
            return [names[path].tolist() for path in paths]

        return self._ask(drawn)


def arrays_of(scorer: Any, one: Block) -> tuple[Floats, Floats]:
    """The potentials of one sequence as arrays [T, S] and [E] or [T, E]."""
    if hasattr(scorer, "arrays"):
        node, edge = scorer.arrays(one.encoded)
        return node, edge
    potentials = one.potentials
    structure = one.predictor.structure
    assert isinstance(structure, LinearChain)
    node, edge, _ = structure._arrays(potentials)
    return node, edge


def lists_of(constraints: Any, n: int) -> list[tuple[Constraint, ...]]:
    """The constraints of each of n sequences."""
    if isinstance(constraints, (str, Constraint)):
        return [constraint_list(constraints)] * n
    try:
        listed = list(constraints)
    except TypeError:
        raise InputError(
            f"constraints is a {type(constraints).__name__}; give a list of constraints"
        ) from None
    if any(isinstance(item, (str, Constraint)) for item in listed) or not listed:
        return [constraint_list(listed)] * n
    if len(listed) != n:
        raise InputError(
            f"{len(listed)} lists of constraints for {n} sequences; give one list, or one for each"
        )
    known: dict[tuple[Any, ...], tuple[Constraint, ...]] = {}
    out = []
    for item in listed:
        made = constraint_list(item)
        out.append(known.setdefault(made, made))
    return out

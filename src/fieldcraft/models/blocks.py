"""A block of a batch: some sequences with their potentials, and the predictions for them.

    attributes -> potentials (scorer) -> labels, log Z, scores (structure)

States are mapped to labels here. Where a label has several states, the score of labels is the logarithm of
the sum of exp(score) over their states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded, EncodedSegments
from fieldcraft.features.paired import EncodedPairs
from fieldcraft.potentials import NativePotentials
from fieldcraft.structures.structure import Structure

if TYPE_CHECKING:
    from fieldcraft.inspection.weights import WeightTable
    from fieldcraft.models.parameters import Parameters
    from fieldcraft.models.voting import Voters

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Decoder = Callable[[Structure, Any], "tuple[Ints, Floats | None]"]


class Scorer(Protocol):
    """Computes potentials, the arguments of a structure's operations, from attributes.

    A scorer whose ``lazy`` is True computes potentials when they are used, sequence by sequence.
    """

    def potentials(self, encoded: Encoded) -> Any:
        """The potentials of a batch."""


BLOCK_TOKENS = 20_000


def block_tokens_of(scorer: Scorer) -> int:
    """About how many tokens are scored at a time; fewer if the scorer says so."""
    return int(getattr(scorer, "block_tokens", BLOCK_TOKENS))


class Predictor(NamedTuple):
    """A trained model as predictions use it; training the model again does not change it."""

    classes_: NDArray[np.object_]
    structure: Structure
    scorer: Scorer
    decoding: Any = "viterbi"
    voters: Voters | None = None
    random_state: Any = 0
    parameters: Parameters | None = None  # for explanations
    ranker: Scorer | None = None  # finds the best labels of a calibrated model, as before the calibration

    def weight_table(self) -> WeightTable:
        """The features with their weights and names, without those of skip edges, which are no steps."""
        from fieldcraft.inspection.weights import WeightTable

        assert self.parameters is not None
        learnt = self.parameters
        index, weights = learnt.index, learnt.weights
        if "skip" in index.parts:
            chain = ~index.belongs_to("skip")
            index, weights = index.select(chain), weights[chain]
        return WeightTable(self.structure, learnt.encoder, index, weights)


def viterbi(structure: Structure, potentials: Any) -> tuple[Ints, Floats | None]:
    """Labels [positions] of the best sequence of states, and its score [N] if it is that of the labels."""
    states, scores = structure.argmax(potentials)
    return structure.labels_of(states), scores if structure.one_to_one else None


def posterior(structure: Structure, potentials: Any) -> tuple[Ints, Floats | None]:
    """The most probable label of each position."""
    return structure.label_marginals(potentials).argmax(axis=1).astype(np.int32), None


DECODINGS: dict[str, Decoder] = {"viterbi": viterbi, "posterior": posterior}


def resolve_decoding(name: Any) -> Decoder:
    """The decoding of that name."""
    if not isinstance(name, str) or name not in DECODINGS:
        raise InputError(f"decoding={name!r}; choose one of {', '.join(DECODINGS)}")
    return DECODINGS[name]


class Block:
    """Sequences ``first`` .. of a batch with their potentials.

    Labels and log Z are computed on first use. If two threads compute them at once, both get the same
    numbers, and either result is kept.
    """

    def __init__(self, predictor: Predictor, encoded: Encoded, potentials: Any, first: int) -> None:
        self.predictor = predictor
        self.encoded = encoded
        self.potentials = potentials
        self.first = first
        self._labels: tuple[Ints, Floats | None] | None = None
        self._log_z: Floats | None = None

    @classmethod
    def of(cls, predictor: Predictor, encoded: Encoded, first: int, *, keep: bool) -> Block:
        """From attributes; ``keep``: compute native potentials now, because they are used more than once."""
        potentials = predictor.scorer.potentials(encoded)
        if keep and isinstance(potentials, NativePotentials):
            potentials = potentials.scored(predictor.structure.n_jobs)
        return cls(predictor, encoded, potentials, first)

    @property
    def sequences(self) -> slice:
        return slice(self.first, self.first + len(self.encoded.offsets) - 1)

    def labels(self) -> Ints:
        """[tokens] the predicted labels."""
        return self._decoded()[0]

    def _decoded(self) -> tuple[Ints, Floats | None]:
        decoded = self._labels
        if decoded is None:
            of = self.predictor
            if of.voters is not None and of.decoding == "viterbi":
                decoded = of.voters.labels(self.encoded, of.structure), None
            elif of.ranker is not None and of.decoding == "viterbi":  # rounding must not decide ties anew
                decoded = viterbi(of.structure, of.ranker.potentials(self.encoded))[0], None
            else:
                decoded = resolve_decoding(of.decoding)(of.structure, self.potentials)
            self._labels = decoded
        return decoded

    def log_partition(self) -> Floats:
        """[N] log Z."""
        log_z = self._log_z
        if log_z is None:
            log_z = self._log_z = self.predictor.structure.log_partition(self.potentials)
        return log_z

    def predicted_value(self) -> Floats:
        """[N] log-probability of the predicted labels."""
        labels, scores = self._decoded()
        return self.log_share(self.score(labels) if scores is None else scores)

    def score(self, labels: Ints) -> Floats:
        """[N] logarithm of the sum of exp(score) over the states that have these labels."""
        structure = self.predictor.structure
        gold = structure.gold(labels)
        if gold.ndim == 1:
            return structure.score(self.potentials, gold)
        return structure.log_partition(structure.restrict(self.potentials, gold))

    def log_share(self, score: Floats) -> Floats:
        """[N] log-probability of a score: at most 0, which rounding of scores beyond 1e16 could exceed."""
        shares: Floats = log_share(score, self.log_partition())
        return shares


MOST_PATHS = 4096  # sequences of states among which k different labellings are looked for


def distinct_labellings(block: Block, k: int) -> list[list[tuple[list[str], float]]]:
    """Per sequence up to k labellings of the best sequences of states, with their log-probabilities.

    So many sequences of states are listed that they have k different labellings, or MOST_PATHS.
    """
    of, n = block.predictor, len(block.encoded.offsets) - 1
    found: list[Ints] = [np.zeros((0, 0), np.int32)] * n
    missing, paths = list(range(n)), k
    while missing:
        ranked = of.structure.operation("k_best")(block.potentials, paths)
        for i in missing:
            rows, first = np.unique(of.structure.labels_of(ranked[i][0]), axis=0, return_index=True)
            found[i] = rows[np.argsort(first)][:k]
        missing = [i for i in missing if len(found[i]) < k and len(ranked[i][0]) == paths < MOST_PATHS]
        paths *= 4
    out: list[list[tuple[list[str], float]]] = [[] for _ in range(n)]
    for rank in range(max((len(rows) for rows in found), default=0)):
        chosen = [rows[min(rank, len(rows) - 1)] for rows in found]
        values = block.log_share(block.score(np.concatenate(chosen)))
        for i, labels in enumerate(chosen):
            if rank < len(found[i]):
                out[i].append((of.classes_[labels].tolist(), float(values[i])))
    return [sorted(row, key=lambda pair: -pair[1]) for row in out]


def cuts(offsets: NDArray[np.int64], tokens: int) -> list[int]:
    """Bounds of blocks of sequences; all but the last have at least ``tokens`` tokens.

    >>> cuts(np.array([0, 2, 5, 6, 9]), 4)
    [0, 2, 4]
    """
    n, bounds = len(offsets) - 1, [0]
    while bounds[-1] < n or len(bounds) == 1:
        end = int(np.searchsorted(offsets, offsets[bounds[-1]] + max(tokens, 1)))
        bounds.append(min(end, n))
    return bounds


def part_of(encoded: Encoded, a: int, b: int) -> Encoded:
    """The sequences a .. b-1; attributes and values are views."""
    if a == 0 and b == len(encoded.offsets) - 1:
        return encoded
    if isinstance(encoded, EncodedPairs):
        return encoded.take(np.arange(a, b))
    offsets = encoded.offsets[a : b + 1]
    token_ptr = encoded.token_ptr[offsets[0] : offsets[-1] + 1]
    kept = slice(int(token_ptr[0]), int(token_ptr[-1]))
    values = None if encoded.values is None else encoded.values[kept]
    made = Encoded(offsets - offsets[0], token_ptr - token_ptr[0], encoded.attributes[kept], values)
    return made if encoded.cells is None else EncodedSegments.of(made, part_of(encoded.cells, a, b))


def log_share(score: Any, log_z: Any) -> Any:
    """Log-probability of a score: at most 0, which rounding could exceed.

    Where both are infinite it is 0 if scores overflow, and -inf if no labelling is possible.

    >>> log_share(np.array([-1.0, np.inf, -np.inf]), np.array([0.0, np.inf, -np.inf])).tolist()
    [-1.0, 0.0, -inf]
    """
    with np.errstate(invalid="ignore"):
        share = np.minimum(score - log_z, 0.0)
    return np.where(np.isnan(share), np.where(np.asarray(log_z) > 0, 0.0, -np.inf), share)

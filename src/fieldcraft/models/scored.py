"""A scored batch: sequences that are encoded and scored once, and all predictions for them.

    X -> attributes -> potentials, block by block -> labels, marginals, spans, k best, samples …

All predictions are computed here with the operations of a structure, so that a new kind of model need not
define any. If the structure lacks an operation, the error names it. States are mapped to labels: if a label
has several states, the probability of a labelling is the sum over its states; the entropy of the labellings
is an InputError then.

Memory: a block has about 20,000 tokens. ``Scored`` with ``keep=True`` keeps the potentials of all blocks,
otherwise one block at a time is in memory; native potentials that are used only once are not stored at all,
but computed sequence by sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError, input_error
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.numbered import spelled
from fieldcraft.labels import encode_labels
from fieldcraft.models.blocks import (
    Block,
    Predictor,
    block_tokens_of,
    cuts,
    distinct_labellings,
    log_share,
    part_of,
)
from fieldcraft.models.inputs import labels_of, sequences_of
from fieldcraft.models.spans import SpanWindows, as_span, predicted_spans, window_probabilities
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.structure import Structure

if TYPE_CHECKING:
    from fieldcraft.inspection import Explanation

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
T = TypeVar("T")


class Scored:
    """Sequences, encoded and scored once: what ``scored(X)`` of a trained model returns.

    It has the methods of the model under the same names, without the argument X. Scoring, which is most of
    the work, is done once. Threads may share the object; training the model again does not change it.

    It keeps the scores of all sequences, 8 bytes for each token and label (``nbytes``), and their attributes.
    Scores of label pairs that depend on the input are added up when they are used. For more sequences than
    fit into memory, call the methods of the model itself, which work block by block.

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> X, y = [[["w=the"], ["w=dog"]]], [["DET", "NOUN"]]
    >>> scored = ChainCRF().fit(X, y).scored(X)
    >>> scored.predict().tolist(), len(scored), scored.nbytes
    ([['DET', 'NOUN']], 1, 32)
    >>> bool(abs(scored.log_probability(y)[0] - scored.decode()[0].value) < 1e-12)
    True
    """

    def __init__(
        self,
        predictor: Predictor,
        X: Any,
        encoded: Encoded,
        *,
        keep: bool = True,
        block_tokens: int | None = None,
    ) -> None:
        self._predictor = predictor
        self._X = X
        self._encoded = encoded
        self._block_tokens = block_tokens_of(predictor.scorer) if block_tokens is None else block_tokens
        self._blocks = list(self._cut(keep=True)) if keep else None

    def __len__(self) -> int:
        return len(self._encoded.offsets) - 1

    def __repr__(self) -> str:
        return f"<Scored: {len(self)} sequences, {self._encoded.offsets[-1]} tokens>"

    @property
    def encoded(self) -> Encoded:
        """The attributes of the sequences."""
        return self._encoded

    def lengths(self) -> list[int]:
        """The number of tokens of each sequence."""
        return [int(length) for length in np.diff(self._encoded.offsets)]

    @property
    def nbytes(self) -> int:
        """Bytes of the stored potentials."""
        return sum(block.potentials.nbytes for block in self._blocks or ())

    # -- labels -----------------------------------------------------------------------------------

    def predict(self) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists."""
        return self._lists(self.label_numbers(), self._encoded.offsets)

    def label_numbers(self) -> Ints:
        """[tokens] the predicted labels as positions in ``classes_``."""
        parts = self._ask(Block.labels)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def decode(self) -> list[Decoding]:
        """Labels with their log-probability, one Decoding per sequence; not ``optimal`` with a beam."""
        of = self._predictor
        structure = of.structure
        exact = (
            of.decoding == "viterbi" and of.voters is None and structure.one_to_one and structure.finds_best
        )
        gap = 0.0 if exact else float("nan")

        def decodings(block: Block) -> list[Decoding]:
            lists = self._lists(block.labels(), block.encoded.offsets)
            values = block.predicted_value().tolist()
            return [Decoding(row, v, exact, gap, of.decoding) for row, v in zip(lists, values)]

        return _joined(self._ask(decodings, several=True))

    def predict_spans(self) -> list[list[tuple[Span, float]]]:
        """The spans of the predicted labels with their probabilities: a list of pairs per sequence.

        If the labels form no scheme (IOB, IOBES …), a span is a maximal run of one label other than O.
        """
        names = self._predictor.classes_.tolist()
        windows = SpanWindows(names)

        def spans(block: Block) -> list[list[tuple[Span, float]]]:
            rows = self._lists(block.labels(), block.encoded.offsets)
            listed = [predicted_spans(row, names) for row in rows]
            return [list(zip(*pair)) for pair in zip(listed, self._probabilities(block, windows, listed))]

        return _joined(self._ask(spans, several=True))

    def score(self, y: Any = None, *, metric: Any = "auto") -> float:
        """The score by a metric; ``y`` defaults to the labels of the corpus."""
        gold = labels_of(self._X, y)
        return float(resolve_metric(metric, gold)(gold, list(self.predict())))

    # -- probabilities ----------------------------------------------------------------------------

    def predict_proba(self) -> NDArray[np.object_]:
        """Marginal probabilities: an object array of [T, Y] arrays in the order of ``classes_``."""
        structure = self._predictor.structure

        def rows(block: Block) -> list[Floats]:
            node, bounds = structure.label_marginals(block.potentials), block.encoded.offsets.tolist()
            node = self._corrected(node)
            return [node[a:b] for a, b in zip(bounds, bounds[1:])]

        out = np.empty(len(self), object)
        for i, row in enumerate(_joined(self._ask(rows))):
            out[i] = row
        return out

    def predict_marginals(self) -> list[list[dict[str, float]]]:
        """Marginal probabilities as lists of dicts: label -> probability."""
        names = self._predictor.classes_.tolist()
        return [[dict(zip(names, row)) for row in p.tolist()] for p in self.predict_proba()]

    def log_partition(self) -> Floats:
        """log Z of each sequence [N]."""
        return np.concatenate(self._ask(Block.log_partition))

    def log_probability(self, y: Any = None) -> Floats:
        """log p(y | x) of each sequence [N]; ``y`` defaults to the labels of the corpus."""
        offsets, names = self._encoded.offsets, self._predictor.classes_.tolist()
        gold = encode_labels(labels_of(self._X, y), names, offsets)

        def share(block: Block) -> Floats:
            a, b = offsets[[block.sequences.start, block.sequences.stop]]
            return block.log_share(block.score(gold[a:b]))

        return np.concatenate(self._ask(share, several=True))

    def entropy(self) -> Floats:
        """Entropy of p(y | x) of each sequence [N], in nats."""
        structure = self._one_to_one("entropy")
        return np.concatenate(self._ask(lambda block: structure.entropy(block.potentials)))

    def span_probability(self, spans: Sequence[Iterable[Any]]) -> list[list[float]]:
        """Probability of each span; ``spans`` has a list of (start, end, label) per sequence.

        If the labels form a scheme (IOB, IOBES …) that is the probability that the span is an entity of the
        labelling, not longer and not shorter; else that all its positions have the label.
        """
        if len(spans) != len(self):
            raise InputError(f"{len(spans)} lists of spans for {len(self)} sequences; give one list for each")
        listed = [[as_span(span, i) for span in row] for i, row in enumerate(spans)]
        windows = SpanWindows(self._predictor.classes_.tolist())
        return _joined(self._ask(lambda block: self._probabilities(block, windows, listed[block.sequences])))

    # -- labellings -------------------------------------------------------------------------------

    def k_best(self, k: int) -> list[list[tuple[list[str], float]]]:
        """Per sequence the k most probable labellings with their log-probabilities.

        If a label has several states, the labellings are those of the best sequences of states, each once.
        """
        k = whole_number(k, "k", 1)
        structure = self._predictor.structure
        best = structure.operation("k_best")
        names = self._predictor.classes_[structure.label_of]

        def ranked(block: Block) -> list[list[tuple[list[str], float]]]:
            if not structure.one_to_one:
                return distinct_labellings(block, k)
            pairs = zip(best(block.potentials, k), block.log_partition())
            return [
                [(names[path].tolist(), float(log_share(s, z))) for path, s in zip(paths, scores)]
                for (paths, scores), z in pairs
            ]

        return _joined(self._ask(ranked, several=True))

    def sample(self, n: int) -> list[list[list[str]]]:
        """Per sequence n labellings drawn from p(y | x); fixed by the model's ``random_state``."""
        n = whole_number(n, "n", 0, "the number of samples")
        structure, seed = self._predictor.structure, self._predictor.random_state
        draw, names = structure.operation("sample"), self._predictor.classes_[structure.label_of]
        drawn = self._ask(lambda block: draw(block.potentials, n, seed, first=block.first))
        return [names[paths].tolist() for paths in chain.from_iterable(drawn)]

    # -- reasons ----------------------------------------------------------------------------------

    def explain(
        self, sequence: int = 0, *, token: int | None = None, label: str | None = None, top: int = 10
    ) -> Explanation:
        """Explain the labels of a sequence: each feature's vote between a token's label and the runner-up.

        Parameters
        ----------
        sequence : index of the sequence, from 0
        token : position of the token to explain; None for all
        label : contrast with this label instead of the runner-up
        top : how many votes to list
        """
        from fieldcraft.inspection.explanation import Prediction, explain_sequence
        from fieldcraft.inspection.observations import only

        of = self._predictor
        if of.structure.n_states != len(of.classes_) or of.parameters is None:
            raise InputError(
                f"the structure {of.structure.name} has states that are not labels; explain is for others"
            )
        X = sequences_of(only(self._X[sequence]), of.parameters.encoder)
        block = self._single(sequence)
        marginals = of.structure.label_marginals(block.potentials)
        prediction = Prediction(block.encoded, block.labels(), marginals)
        return explain_sequence(of.weight_table(), X, prediction, token=token, label=label, top=top)

    # -- inside -----------------------------------------------------------------------------------

    def _cut(self, *, keep: bool) -> Iterator[Block]:
        """The batch in blocks; with ``keep`` their potentials are computed now, once."""
        n = len(self)
        whole = not keep and getattr(self._predictor.scorer, "lazy", False)
        bounds = [0, n] if whole else cuts(self._encoded.offsets, self._block_tokens)
        for a, b in zip(bounds, bounds[1:]):
            yield Block.of(self._predictor, part_of(self._encoded, a, b), a, keep=keep)

    def _single(self, sequence: int) -> Block:
        """A block with one sequence."""
        if len(self) == 1 and self._blocks is not None:
            return self._blocks[0]
        return Block.of(self._predictor, part_of(self._encoded, sequence, sequence + 1), sequence, keep=True)

    def _ask(self, question: Callable[[Block], T], *, several: bool = False) -> list[T]:
        """The result of each block; ``several``: the question uses the potentials more than once."""
        blocks = self._cut(keep=several) if self._blocks is None else self._blocks
        answers = []
        for block in blocks:
            try:
                answers.append(question(block))
            except ValueError as error:  # its sequences are counted from the first of the block
                raise input_error(error, block.first) from None
        return answers

    def _corrected(self, node: Floats) -> Floats:
        """Node marginals [tokens, Y] as the model's calibration corrects them."""
        learnt = self._predictor.parameters
        return node if learnt is None else learnt.calibration.node(node)

    def _one_to_one(self, question: str) -> Structure:
        structure = self._predictor.structure
        if not structure.one_to_one:
            raise InputError(
                f"{question}: the structure {structure.name} has several states for a label, so that a "
                "labelling is a sum over states; ask for predict, predict_proba, log_probability or sample"
            )
        return structure

    def _probabilities(
        self, block: Block, windows: SpanWindows, spans: Sequence[Sequence[Span]]
    ) -> list[list[float]]:
        ask = self._predictor.structure.operation("window_probability")
        lengths = np.diff(block.encoded.offsets).tolist()
        cases = [[windows.of(*span, length) for span in row] for row, length in zip(spans, lengths)]
        return window_probabilities(lambda *arrays: ask(block.potentials, *arrays), cases)

    def _lists(self, labels: Ints, offsets: NDArray[np.int64]) -> NDArray[np.object_]:
        return spelled(self._predictor.classes_.tolist(), labels, offsets)


def _joined(lists: Iterable[list[T]]) -> list[T]:
    return list(chain.from_iterable(lists))

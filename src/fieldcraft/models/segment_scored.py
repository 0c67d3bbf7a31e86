"""A scored batch of segments: the answers of other models, spelled as labels, and those of segments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import OUTSIDE
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.labels import encode_labels
from fieldcraft.models.blocks import Block, log_share
from fieldcraft.models.inputs import labels_of
from fieldcraft.models.scored import Scored
from fieldcraft.models.segment_coding import SegmentCoding
from fieldcraft.models.spans import as_span
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.segments import Segments

Floats = NDArray[np.float64]


class SegmentScored(Scored):
    """Sequences, encoded and scored once, and predictions of segments for them."""

    @property
    def _structure(self) -> Segments:
        return self._predictor.structure  # type: ignore[return-value]

    @property
    def _coding(self) -> SegmentCoding:
        return self._structure.coding  # type: ignore[attr-defined,no-any-return]

    def predict(self) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists."""
        out = np.empty(len(self), object)
        out[:] = [self._coding.spell(states) for states in self._states()] or None
        return out

    def label_numbers(self) -> NDArray[np.int32]:
        """[tokens] the predicted labels as positions in ``classes_``."""
        return encode_labels(list(self.predict()), self._coding.classes, self._encoded.offsets)

    def decode(self) -> list[Decoding]:
        """Labels with the log-probability of their segments, one Decoding per sequence."""
        of, coding = self._predictor, self._coding
        exact = of.decoding == "viterbi"
        gap = 0.0 if exact else float("nan")

        def decodings(block: Block) -> list[Decoding]:
            values = block.predicted_value().tolist()
            rows = _cut(block.labels(), block)
            return [Decoding(coding.spell(row), v, exact, gap, of.decoding) for row, v in zip(rows, values)]

        return _joined(self._ask(decodings, several=True))

    def predict_spans(self) -> list[list[tuple[Span, float]]]:
        """The predicted segments other than O with their probabilities: a list of pairs per sequence."""

        def spans(block: Block) -> list[list[tuple[Span, float]]]:
            listed = [
                [span for span in self._coding.spans(states) if span.label != OUTSIDE]
                for states in _cut(block.labels(), block)
            ]
            return [list(zip(*pair)) for pair in zip(listed, self._segment_probabilities(block, listed))]

        return _joined(self._ask(spans, several=True))

    def predict_proba(self) -> NDArray[np.object_]:
        """Marginal probabilities: an object array of [T, Y] arrays in the order of ``classes_``."""

        def rows(block: Block) -> list[Floats]:
            marginals = self._structure.marginals(block.potentials)
            return _cut(self._corrected(self._coding.label_marginals(marginals)), block)

        out = np.empty(len(self), object)
        for i, row in enumerate(_joined(self._ask(rows))):
            out[i] = row
        return out

    def boundary_probability(self) -> list[Floats]:
        """Per sequence [T + 1] the probability that a segment begins before each token; last, 1."""
        structure = self._structure
        return _joined(self._ask(lambda b: structure.boundaries(structure.marginals(b.potentials))))

    def log_probability(self, y: Any = None) -> Floats:
        """log p(y | x) of each sequence [N]; -inf where no segmentation of the model spells the labels."""
        labels = labels_of(self._X, y)
        encode_labels(labels, sorted({*self._coding.classes, *chain(*labels)}), self._encoded.offsets)

        def share(block: Block) -> Floats:
            return block.log_share(self._label_scores(block, labels[block.sequences]))

        return np.concatenate(self._ask(share, several=True))

    def _label_scores(self, block: Block, labels: Sequence[Sequence[str]]) -> Floats:
        structure, coding = self._structure, self._coding
        if not coding.one_to_one:
            allowed = [coding.allowed(row) for row in labels]
            table = np.concatenate([np.zeros((0, structure.n_states), bool), *allowed])
            return structure.log_partition(structure.restrict(block.potentials, table))
        found = [self._gold(row) for row in labels]
        filler = [[0] * len(row) for row in labels]  # any states, where there are none
        states = [given if one is None else one for one, given in zip(found, filler)]
        scores = structure.score(block.potentials, np.array([*chain(*states)], np.int32))
        return np.where([one is None for one in found], -np.inf, scores)

    def _gold(self, labels: Sequence[str]) -> list[int] | None:
        states = self._coding.states(labels)
        spelled = None if states is None else self._coding.spell(np.array(states, np.int32))
        return states if spelled == list(labels) else None

    def entropy(self) -> Floats:
        """Entropy of the distribution over segmentations of each sequence [N], in nats."""
        structure = self._structure
        return np.concatenate(self._ask(lambda block: structure.entropy(block.potentials)))

    def span_probability(self, spans: Sequence[Iterable[Any]]) -> list[list[float]]:
        """Probability that each span is a segment; a list of (start, end, label) per sequence."""
        if len(spans) != len(self):
            raise InputError(f"{len(spans)} lists of spans for {len(self)} sequences; give one list for each")
        listed = [[as_span(span, i) for span in row] for i, row in enumerate(spans)]
        return _joined(self._ask(lambda block: self._segment_probabilities(block, listed[block.sequences])))

    def _segment_probabilities(self, block: Block, spans: Sequence[Sequence[Span]]) -> list[list[float]]:
        space, offsets = self._structure.space, block.encoded.offsets
        number = {name: x for x, name in enumerate(self._coding.types)}
        segment = self._structure.marginals(block.potentials)["segment"]
        out = []
        for i, row in enumerate(spans):
            length, found = int(offsets[i + 1] - offsets[i]), []
            for start, end, label in row:
                _check_span(start, end, label, length, number)
                x, d = number[label], end - start
                fits = d <= space.longest[x]
                p = segment[offsets[i] + end - 1, space.column[x] + d - 1] if fits else 0.0
                found.append(min(float(p), 1.0))
            out.append(found)
        return out

    def k_best(self, k: int) -> list[list[tuple[list[str], float]]]:
        """Per sequence the k most probable labellings with their log-probabilities.

        Where several segmentations spell the same labels, their probabilities are added up: of the k best
        segmentations without a scheme, so that there may be fewer than k labellings.
        """
        k = whole_number(k, "k", 1)

        def ranked(block: Block) -> list[list[tuple[list[str], float]]]:
            pairs = zip(self._structure.k_best(block.potentials, k), block.log_partition())
            return [self._merged(paths, log_share(scores, z)) for (paths, scores), z in pairs]

        return _joined(self._ask(ranked, several=True))

    def _merged(self, paths: NDArray[np.int32], shares: Floats) -> list[tuple[list[str], float]]:
        rows: dict[tuple[str, ...], float] = {}
        for path, share in zip(paths, shares.tolist()):
            key = tuple(self._coding.spell(path))
            rows[key] = float(np.logaddexp(rows[key], share)) if key in rows else share
        merged = sorted(rows.items(), key=lambda row: -row[1])
        return [(list(key), min(share, 0.0)) for key, share in merged]

    def sample(self, n: int) -> list[list[list[str]]]:
        """Per sequence n labellings drawn from p(y | x); fixed by the model's ``random_state``."""
        n = whole_number(n, "n", 0, "the number of samples")
        seed, draw = self._predictor.random_state, self._structure.sample
        drawn = self._ask(lambda block: draw(block.potentials, n, seed, first=block.first))
        return [[self._coding.spell(path) for path in paths] for paths in chain.from_iterable(drawn)]

    def explain(self, *args: Any, **options: Any) -> Any:
        """Explanations are for models whose features look at one token or two; this raises an InputError."""
        del args, options
        raise InputError(
            "explain is for chains; for segments see inspect(), predict_spans and span_probability"
        )

    def _states(self) -> list[NDArray[np.int32]]:
        return _joined(self._ask(lambda block: _cut(block.labels(), block)))


def _cut(rows: NDArray[Any], block: Block) -> list[NDArray[Any]]:
    """Rows per token -> one array per sequence."""
    bounds = block.encoded.offsets.tolist()
    return [rows[a:b] for a, b in zip(bounds, bounds[1:])]


def _check_span(start: int, end: int, label: str, length: int, known: dict[str, int]) -> None:
    if not 0 <= start < end <= length:
        raise InputError(
            f"span ({start}, {end}, {label!r}): positions must satisfy 0 <= start < end <= {length}"
        )
    if label not in known:
        raise InputError(
            f"span ({start}, {end}, {label!r}): the model has no such type; it has {', '.join(known)}"
        )


def _joined(lists: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(lists))

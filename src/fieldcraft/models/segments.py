"""SegmentCRF: the semi-Markov conditional random field.

p(segments | x) = exp(sum over segments of the weights of their features) / Z(x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import SCHEMES
from fieldcraft.errors import InputError
from fieldcraft.models.blocks import Predictor
from fieldcraft.models.inputs import encode
from fieldcraft.models.parameters import UNCALIBRATED, Parameters
from fieldcraft.models.segment_coding import SegmentCoding
from fieldcraft.models.segment_scored import SegmentScored
from fieldcraft.models.segment_training import SegmentTraining
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.models.training_settings import Known, Settings
from fieldcraft.models.voting import Voters
from fieldcraft.structures.structure import Structure


@dataclass(repr=False, eq=False)
class SegmentCRF(SequenceModel):
    """Conditional random field over segments.

    It looks at candidates as a whole: their length, text and shape, their first and last tokens, how close
    they are to an entry of a list of names. Features of tokens are added up over a segment, with weights of
    their own for its first token and for later ones, so that the model contains the chain of the labels B-
    and I-.

    Parameters
    ----------
    max_length : most tokens of a segment: a number, a dict by type, or "auto", twice the longest of the
        training data and at least 4. Tokens outside (O) are segments of one token unless the dict says more
    segment_templates : templates of segments, one a line: segment.length, segment.length_range, segment.text,
        segment.lower, segment.shape, first(word), last(word), before(word), after(word),
        near(gazetteer, word); they may also stand among ``templates``
    segment_features : function (sequence, start, end) that returns further attributes of a candidate, a list
        of texts; it is not stored with the model: ``fc.load(path, segment_features=function)``
    others : see ChainCRF

    Examples
    --------
    >>> X = [["Ann", "lives", "in", "New", "York"], ["in", "York"]]
    >>> y = [["B-PER", "O", "O", "B-LOC", "I-LOC"], ["O", "B-LOC"]]
    >>> crf = SegmentCRF("word", segment_templates="segment.length").fit(X, y)
    >>> crf.predict([["in", "New", "York"]]).tolist()
    [['O', 'B-LOC', 'I-LOC']]
    >>> [(span, round(p, 1)) for span, p in crf.predict_spans([["in", "New", "York"]])[0]]
    [(Span(start=1, end=3, label='LOC'), 0.7)]
    """

    max_length: Any = "auto"
    segment_templates: Any = "segment.length"
    segment_features: Any = None

    @property
    def coding_(self) -> SegmentCoding:
        """How labels spell segments."""
        self._require_fitted()
        return self._parameters.structure.coding  # type: ignore[attr-defined,no-any-return]

    @property
    def types_(self) -> NDArray[np.object_]:
        """The types of segments, O among them."""
        return np.array([*self.coding_.types, None], object)[:-1]

    @property
    def max_length_(self) -> dict[str, int]:
        """Most tokens of a segment of each type."""
        return dict(zip(self.coding_.types, self.coding_.longest))

    def predict_spans(self, X: Any) -> list[list[tuple[Span, float]]]:
        """The predicted segments other than O with their probabilities: a list of pairs per sequence."""
        return self._ask(X, lambda scored: scored.predict_spans())

    def boundary_probability(self, X: Any) -> list[NDArray[np.float64]]:
        """Per sequence [T + 1] the probability that a segment begins before each token; last, 1."""
        return self._ask(X, lambda scored: scored.boundary_probability())  # type: ignore[attr-defined]

    def partial_fit(self, *args: Any, **options: Any) -> SegmentCRF:
        """Not for segments: raises an InputError."""
        del args, options
        raise InputError("partial_fit is for chains; fit SegmentCRF on all sequences, with warm_start=True")

    def structure_for(self, labels: Sequence[str]) -> Structure:
        """The structure of a fitted model."""
        del labels
        return self._loaded.structure

    def _training(self, *, growing: bool = False, ranks: Any = None) -> SegmentTraining:
        del growing
        if ranks is not None:
            raise InputError("SegmentCRF is trained by one process; leave out ranks, or train a ChainCRF")
        known = None
        if self.__sklearn_is_fitted__():
            names = [*self._parameters.structure.labels]
            known = Known(self._parameters.calibrated(UNCALIBRATED), names, getattr(self, "provenance_", {}))
        return SegmentTraining(
            Settings.of(self),
            known,
            max_length=self.max_length,
            segment_templates=self.segment_templates,
            segment_features=self.segment_features,
        )

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        del classes
        coding: SegmentCoding = parameters.structure.coding  # type: ignore[attr-defined]
        if getattr(parameters.encoder, "longest", None) != coding.structure.longest:
            raise ValueError("the features of segments are of other lengths than the segments")
        if self.segment_features is not None:
            parameters.encoder.table.function = self.segment_features  # type: ignore[union-attr]
        super()._settle(parameters, coding.classes, voters)

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        coding: SegmentCoding = parameters.structure.coding  # type: ignore[attr-defined]
        described = {"scheme": coding.scheme, "types": [*coding.types], "longest": [*coding.longest]}
        return {"segments": described}, {}

    def _prepare(self, header: dict[str, Any]) -> None:
        described = header["segments"]
        scheme, types, longest = described["scheme"], described["types"], described["longest"]
        if not all(isinstance(name, str) for name in types) or not all(type(n) is int for n in longest):
            raise ValueError("the types of segments are damaged")
        if max(longest) > 1 << 16:
            raise ValueError(f"segments of {max(longest)} tokens")
        if scheme is not None and scheme not in SCHEMES:
            raise ValueError(f"a label scheme {scheme!r}")
        coding = SegmentCoding(scheme, tuple(types), tuple(longest), tuple(header["labels"]))
        if not set(coding.spellable()) <= set(coding.classes):
            raise ValueError("the labels lack some that the types of segments need")
        self._loaded = coding

    def _scored(self, X: Any, predictor: Predictor | None = None, *, keep: bool = False) -> SegmentScored:
        predictor = self._predictor() if predictor is None else predictor
        encoded = encode(X, self._parameters.encoder, grow=False, n_threads=predictor.structure.n_jobs)
        return SegmentScored(predictor, X, encoded, keep=keep)

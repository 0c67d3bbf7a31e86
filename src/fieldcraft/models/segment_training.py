"""The training of SegmentCRF: that of other models, on the states that the labels' segments have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.segment_templates import parse_segment_templates, split_templates
from fieldcraft.features.segmented import SegmentFeatures
from fieldcraft.labels import encode_labels, label_names
from fieldcraft.models.blocks import Predictor
from fieldcraft.models.default_templates import default_templates
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.inputs import EncodedSequences, encode, labels_of
from fieldcraft.models.parameters import Scoring
from fieldcraft.models.scored import Scored
from fieldcraft.models.segment_coding import SegmentCoding
from fieldcraft.models.segment_design import build_segment_design
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Known, Settings, SharedDesign, Trained
from fieldcraft.structures.segments import Segments

Floats = NDArray[np.float64]


class SegmentTraining(Training):
    """One training of segments.

    Parameters
    ----------
    settings, known : as for Training
    max_length, segment_templates, segment_features : parameters of SegmentCRF
    """

    coding: SegmentCoding

    def __init__(
        self,
        settings: Settings,
        known: Known | None,
        *,
        max_length: Any,
        segment_templates: Any,
        segment_features: Callable[..., Any] | None,
    ) -> None:
        self.max_length, self.segment_features = max_length, segment_features
        settings.templates, lines = split_templates(settings.templates)
        text = "" if segment_templates is None else segment_templates
        self.segment_text = f"{text}\n{lines}" if lines else text
        parse_segment_templates(self.segment_text)  # raises errors before any work
        if segment_features is not None and not callable(segment_features):
            raise InputError(
                f"segment_features is a {type(segment_features).__name__}; give a function of (sequence, "
                "start, end)"
            )
        if settings.decoding != "viterbi":
            raise InputError(
                f"decoding={settings.decoding!r}: labels chosen one by one form no segments; use 'viterbi'"
            )
        if settings.states != "labels":
            raise InputError(f"states={settings.states!r}: the states of segments are given by their types")
        if settings.beam is not None:
            raise InputError(f"beam={settings.beam!r} is for chains of many labels; leave it out")
        super().__init__(settings, lambda _: self.coding.structure, known)

    def run(self, X: Any, y: Any, *, dev: Any = None, **options: Any) -> Trained:
        if isinstance(X, EncodedSequences):
            raise InputError("SegmentCRF looks at the sequences themselves; pass X, not EncodedSequences")
        labels = labels_of(X, y)
        self.coding = SegmentCoding.learn(labels, self.settings.labels, self.max_length)
        return super().run(X, self.coding.named_states(labels), dev=dev, **options)

    def _see(self, labels: list[Any], classes: Iterable[str] = (), X: Any = None) -> None:
        super()._see(labels, classes)
        self.chosen = default_templates(self.settings.templates, X, (), spans=True)

    def _labels(self, labels: list[Any], classes: Iterable[str]) -> list[str]:
        del labels, classes
        return list(self.coding.structure.labels)

    def _structure(self) -> Segments:
        return self.coding.structure.using(self.n_jobs)

    def _encoder(self) -> Any:
        s = self.settings
        templates = self.chosen.templates if self.chosen else s.templates
        near = parse_segment_templates(self.segment_text).gazetteers
        named = _named(s.gazetteers)
        rest = {name: getattr(s, name) for name in design_.OPTIONS}
        if templates is None:
            rest["gazetteers"] = None  # those that `near` names are for segments
        tokens = design_.make_encoder(templates, **rest)
        return SegmentFeatures(
            tokens,
            self.segment_text,
            self.coding.structure.longest,
            gazetteers={name: named[name] for name in near if name in named},
            function=self.segment_features,
        )

    def _encoded(self, X: Any, labels: list[Any]) -> SharedDesign:
        encoder = self._encoder()
        design = self._segment_design(encoder, X, labels)
        return SharedDesign(encoder, design, labels, self._provenance(design, encoder))

    def _segment_design(self, encoder: Any, X: Any, labels: list[Any]) -> design_.Design:
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in labels])]).astype(np.int64)
        gold = encode_labels(labels, self.classes, offsets)
        end, length, kind = self.coding.structure.space.segments(gold, offsets)
        several = (
            np.asarray(self.coding.longest)[kind] > 1
        )  # a type of single tokens has the features of tokens
        encoder.learn(X, offsets, end[several], length[several], self.n_jobs)
        encoded = encode(X, encoder, grow=True, n_threads=self.n_jobs)
        if encoded.offsets[-1] == 0:
            raise InputError("there is nothing to learn from: X has no tokens")
        gold = encode_labels(labels, self.classes, encoded.offsets)
        s = self.settings
        design = build_segment_design(
            encoder,
            encoded,
            gold,
            self._structure(),
            features=s.features,
            min_count=s.min_count,
            n_jobs=self.n_jobs,
        )
        if len(design.index) == 0:
            raise InputError("no feature is left to learn; lower min_count or add attributes to the tokens")
        return design

    def held_out(self, encoder: design_.Encoder, index: FeatureIndex, X: Any, y: Any) -> HeldOut:
        s = self.settings
        scorer = Scoring.of(index, self._structure()).scorer_of
        settings = {"metric": s.metric, "decoding": s.decoding}
        return SegmentHeldOut(encoder, self._structure(), scorer, X, y, coding=self.coding, **settings)


class SegmentHeldOut(HeldOut):
    """weights -> score of the labels that the best segments spell."""

    def __init__(
        self,
        encoder: design_.Encoder,
        structure: Segments,
        scorer: Any,
        X: Any,
        y: Any,
        *,
        coding: SegmentCoding,
        metric: Any,
        decoding: Any,
    ) -> None:
        labels = labels_of(X, y)
        self.coding = coding
        self.encoded = encode(X, encoder, grow=False, n_threads=structure.n_jobs)
        self.names = [*coding.classes, *sorted(set(label_names(labels)) - set(coding.classes))]
        self.gold = encode_labels(labels, self.names, self.encoded.offsets)
        chosen = resolve_metric(metric, labels)
        self.metric, self._score = chosen.name, chosen.on_ids(self.names)
        self._structure, self._scorer, self._decoding = structure, scorer, decoding

    def labels(self, weights: Floats) -> NDArray[np.int32]:
        names = np.array(self._structure.labels, object)
        predictor = Predictor(names, self._structure, self._scorer(weights), self._decoding)
        states = Scored(predictor, None, self.encoded, keep=False).label_numbers()
        bounds = self.encoded.offsets.tolist()
        spelled = [self.coding.spell(states[a:b]) for a, b in zip(bounds, bounds[1:])]
        return encode_labels(spelled, self.names, self.encoded.offsets)


def _named(gazetteers: Any) -> dict[str, Any]:
    if gazetteers is None:
        return {}
    return dict(gazetteers) if hasattr(gazetteers, "items") else {g.name: g for g in gazetteers}

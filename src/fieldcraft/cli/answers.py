"""The output of `tag`: columns of labels and probabilities, or one JSON object per sequence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.cli.rules import Lapses, Obeying
from fieldcraft.corpus import Corpus, Sequence, Span, schemes, write
from fieldcraft.errors import InputError
from fieldcraft.models.text import characters

ABSENT = "_"  # in a column of the N-th best labelling if there are fewer than N
ONE_LABEL = ("conllu", "attributes")  # formats in which the prediction replaces the label


class Answers:
    """The requested predictions of one model."""

    def __init__(
        self, crf: Any, *, confidence: bool, marginals: bool, k_best: int | None, constraints: Any = None
    ) -> None:
        self.crf = crf
        self.constraints = constraints
        self.lapses = Lapses()
        self._begun: Any = None  # the target that has a line of names already
        self.confidence = confidence
        self.marginals = marginals
        self.k_best = k_best
        self.several = confidence or marginals or bool(k_best)  # more than one prediction per batch
        self.names: list[str] = crf.classes_.tolist()
        self.position = {name: i for i, name in enumerate(self.names)}

    def write(self, stream: Any, sequences: list[Sequence], target: Any) -> None:
        """Write the sequences with further columns for the predictions."""
        batch = _corpus(stream, [sequence for sequence in sequences if len(sequence)])
        columns = self._columns(batch)
        if stream.format in ONE_LABEL and len(columns) > 1:
            raise InputError(
                f"{stream.source}: {stream.format} files have room for one predicted label; "
                "use --json for probabilities and further labellings"
            )
        separator = stream.separator if stream.format == "columns" else "blank"
        write(
            batch,
            target,
            format=stream.format,
            predicted=columns,
            separator=separator if separator in ("blank", "tab") else "tab",
            header=target is not self._begun,
        )
        self._begun = target

    def write_json(self, stream: Any, sequences: list[Sequence], target: Any) -> None:
        """Write one object per line: the columns, the predicted labels, and the other predictions."""
        batch = _corpus(stream, sequences)
        records = self._records(batch)
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
        target.write("".join(lines).encode())

    def _columns(self, batch: Corpus) -> dict[str, Any]:
        if self.k_best:
            return self._k_best_columns(batch)
        if not self.several:
            return {"predicted": self._asked(batch).predict()}
        scored = self._asked(batch)
        labels, probabilities = scored.predict(), scored.predict_proba()
        columns = {"predicted": labels}
        if self.confidence:
            chosen = (self._chosen(*pair).tolist() for pair in zip(labels, probabilities))
            columns["confidence"] = [[f"{p:.6f}" for p in row] for row in chosen]
        for y, name in enumerate(self.names if self.marginals else ()):
            columns[f"p({name})"] = [[f"{name}:{p:.6f}" for p in rows[:, y]] for rows in probabilities]
        return columns

    def _k_best_columns(self, batch: Corpus) -> dict[str, Any]:
        if self.confidence or self.marginals:
            raise InputError("--k-best with --confidence or --marginals needs --json; add it")
        assert self.k_best is not None
        listed = self._asked(batch).k_best(self.k_best)
        columns: dict[str, Any] = {}
        for rank in range(self.k_best):
            columns[f"predicted.{rank + 1}"] = [
                paths[rank][0] if rank < len(paths) else [ABSENT] * len(paths[0][0]) for paths in listed
            ]
        return columns

    def _records(self, batch: Corpus) -> list[dict[str, Any]]:
        """Labels, spans and the other predictions; the batch is encoded and scored once."""
        scored = self._asked(batch)
        labels = scored.predict()
        records = [
            {**(sequence.info or {}), **sequence.columns, **sequence.label_columns(*batch.label_names[:1])}
            for sequence in batch
        ]
        for record, row in zip(records, labels):
            record["predicted"] = row
        if schemes.is_tag_set(self.names):
            self._add_spans(records, batch, labels, scored)
        if self.constraints is not None:
            for record, decoding in zip(records, scored.decode()):
                record["optimal"] = decoding.optimal
                record["gap"] = decoding.gap if decoding.gap == decoding.gap else None
        if self.several:
            self._add_answers(records, labels, scored)
        return records

    def _asked(self, batch: Corpus) -> Any:
        """What answers about a batch: encoded and scored once, or under constraints."""
        if self.constraints is not None:
            return Obeying(self.crf, batch, self.constraints, self.lapses)
        return self.crf.scored(batch) if self.several else _Unkept(self.crf, batch)

    def _add_answers(self, records: list[dict[str, Any]], labels: Any, scored: Any) -> None:
        if self.confidence:
            for record, decoding in zip(records, scored.decode()):
                record["probability"] = round(float(np.exp(decoding.value)), 6)
        if self.confidence or self.marginals:
            self._add_probabilities(records, labels, scored.predict_proba())
        if self.k_best:
            for record, paths in zip(records, scored.k_best(self.k_best)):
                record["k_best"] = [
                    {"labels": path, "probability": round(float(np.exp(log_p)), 6)} for path, log_p in paths
                ]

    def _add_probabilities(self, records: list[dict[str, Any]], labels: Any, probabilities: Any) -> None:
        for record, row, p in zip(records, labels, probabilities):
            if self.confidence:
                record["confidence"] = self._chosen(row, p).round(6).tolist()
            if self.marginals:
                record["marginals"] = [dict(zip(self.names, token)) for token in p.round(6).tolist()]

    def _add_spans(self, records: list[dict[str, Any]], batch: Corpus, labels: Any, scored: Any) -> None:
        if self.confidence and self.constraints is None:
            for record, sequence, spans in zip(records, batch, scored.predict_spans()):
                record["spans"] = [
                    {**_span(span, sequence), "probability": round(float(p), 6)} for span, p in spans
                ]
        else:
            for record, sequence, row in zip(records, batch, labels):
                record["spans"] = [_span(span, sequence) for span in schemes.spans(row)]

    def _chosen(self, labels: list[str], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of each predicted label [T]."""
        at = np.fromiter(map(self.position.__getitem__, labels), np.intp, len(labels))
        return np.asarray(probabilities[np.arange(len(labels)), at])


class _Unkept:
    """Labels alone, for which nothing is kept."""

    def __init__(self, crf: Any, batch: Corpus) -> None:
        self._crf, self._batch = crf, batch

    def predict(self) -> Any:
        return self._crf.predict(self._batch)


def _corpus(stream: Any, sequences: list[Sequence]) -> Corpus:
    label = stream.label_names[0] if len(stream.label_names) == 1 else None
    return Corpus(sequences, label=label, fields=stream.fields, source=stream.source)


def _span(span: Span, sequence: Sequence) -> dict[str, Any]:
    """A span in tokens; in characters if the sequence has its text and the offsets of its tokens."""
    info = sequence.info or {}
    if "offsets" in info:
        start, end, text = characters(span, info)
        return {"start": start, "end": end, "label": span.label, "text": text}
    first = next(iter(sequence.columns.values()), [])
    shown = {"start": span.start, "end": span.end, "label": span.label}
    return {**shown, "text": " ".join(first[span.start : span.end])} if first else shown

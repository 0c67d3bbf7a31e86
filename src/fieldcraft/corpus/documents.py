"""Documents: the sentences between two lines that open a document, as one sequence.

Such lines begin with -DOCSTART- (CoNLL), or are comments `# newdoc …` (CoNLL-U) or `# doc …`. Readers mark
the first sentence behind one in its ``info``; the sentences of a document are joined here, with a column
`sentence` that numbers them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fieldcraft.corpus.formats.context import ReadJob
from fieldcraft.corpus.layout import Layout
from fieldcraft.corpus.sequences import Labels, Sequence
from fieldcraft.errors import CorpusError

SENTENCE = "sentence"
DOCUMENT = "document"  # the entry of a sequence's info


def as_documents(
    sequences: Iterable[Sequence], job: ReadJob, respell: Callable[[Sequence], Sequence]
) -> Iterator[Sequence]:
    """The sentences of each document as one sequence; labels are respelled sentence by sentence."""
    sentences: list[Sequence] = []
    opened = False
    for sequence in sequences:
        starts = DOCUMENT in (sequence.info or {})
        opened |= starts
        if starts and sentences:
            yield _joined(sentences, job)
            sentences = []
        sentences.append(respell(sequence))
    if sentences:
        if not opened:
            raise CorpusError(
                f"{job.source.name}: no line opens a document (-DOCSTART-, # newdoc, # doc); leave out "
                "documents= to read sentences"
            )
        yield _joined(sentences, job)


def _joined(sentences: list[Sequence], job: ReadJob) -> Sequence:
    job.layout = _with_sentence(job)
    numbers = [str(i) for i, sentence in enumerate(sentences) for _ in range(len(sentence))]
    names = sentences[0].columns
    columns = {name: [word for s in sentences for word in s.columns[name]] for name in names}
    info: dict[str, Any] = {}
    for sentence in sentences:
        for key, value in (sentence.info or {}).items():
            info[key] = [*info.get(key, []), *value] if isinstance(value, list) else info.get(key, value)
    return Sequence({**columns, SENTENCE: numbers}, _labels(sentences), info=info or None)


def _labels(sentences: list[Sequence]) -> Labels:
    first = sentences[0].labels
    if first is None:
        return None
    if isinstance(first, dict):
        return {name: [label for s in sentences for label in s.label_list(name)] for name in first}
    return [label for s in sentences for label in s.label_list()]


def _with_sentence(job: ReadJob) -> Layout | None:
    layout = job.layout
    if layout is None or SENTENCE in layout.observed:
        return layout
    at = layout.fields.index(layout.labels[0]) if layout.labels else len(layout.fields)
    fields = (*layout.fields[:at], SENTENCE, *layout.fields[at:])
    return layout._replace(fields=fields, observed=(*layout.observed, SENTENCE))

"""Raw strings in, spans with character offsets and probabilities out.

    string -> tokens -> words -> sequence (X) -> best labels -> token spans -> characters

All strings go through one encoding and one inference. A span is one of the label scheme, or, where the
labels are no scheme, a longest run of one label other than O; its probability is that of
``span_probability``. Line breaks are blanks: a string is one sequence, whatever it holds.
Hazard: half of a surrogate pair cannot be encoded; the model sees U+FFFD in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import OUTSIDE, is_tag_set
from fieldcraft.corpus.schemes import spans as scheme_spans
from fieldcraft.corpus.tokenising import Token, resolve_tokenizer
from fieldcraft.design import Encoder
from fieldcraft.errors import InputError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.models.spans import span_probabilities

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF

ToSequence = Callable[[list[str]], Any]
_SURROGATES = re.compile("[\ud800-\udfff]")


class TextSpan(NamedTuple):
    """The characters start .. end-1 of a string carry a label, with a probability."""

    start: int
    end: int
    label: str
    text: str
    probability: float


def predict_text(
    model: ChainCRF, strings: Iterable[str], to_sequence: ToSequence | None = None
) -> list[list[TextSpan]]:
    """Per string the spans that a fitted model finds in it."""
    texts = _checked(strings)
    tokenizer = resolve_tokenizer(model.tokenizer)
    tokens = [tokenizer(text) for text in texts]
    make = _word_sequence(model.encoder_) if to_sequence is None else to_sequence
    sequences = [make([_encodable(token.text) for token in row]) for row in tokens]
    encoded, potentials = model._apply(sequences)
    _check_lengths(tokens, np.diff(encoded.offsets).tolist())
    names = model.classes_.tolist()
    read = scheme_spans if is_tag_set(names) else _runs
    spans = [read(labels) for labels in model._lists(model._states(encoded, potentials), encoded.offsets)]
    found = span_probabilities(potentials, encoded.offsets, names, spans, model._jobs())
    return [_in_characters(*row) for row in zip(texts, tokens, spans, found)]


def _checked(strings: Iterable[str]) -> list[str]:
    if isinstance(strings, (str, bytes)) or not isinstance(strings, Iterable):
        raise InputError(
            f"predict_text takes a list of strings, not a {type(strings).__name__}; "
            "put a single string in a list: predict_text([text])"
        )
    texts = list(strings)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"string {i} is a {type(text).__name__}; predict_text takes str "
                "(decode bytes first; give words in lists to predict)"
            )
    return texts


def _word_sequence(encoder: Encoder) -> ToSequence:
    """Words as they are, if they are all that the model looks at."""
    if not isinstance(encoder, TemplateFeatures):
        raise InputError(
            "this model was trained on features of your own, which a string does not hold; pass "
            "to_sequence=, the function from a list of words to the sequence of features that X would hold"
        )
    templates = encoder.templates
    word = _word_column(templates)
    others = [name for name in templates.named_columns if name != word]
    if others:
        raise InputError(
            f"the templates look at column {', '.join(others)} besides the words ({word}), which a string "
            "does not hold; pass to_sequence=, a function from a list of words to the sequence that X "
            "would hold: a dict of columns, or a tuple for each word"
        )
    return list


def _word_column(templates: Templates) -> str:
    if templates.positional:
        return "0"
    return "word" if "word" in templates.columns else templates.columns[0]


def _encodable(word: str) -> str:
    return word if word.isascii() else _SURROGATES.sub("\ufffd", word)


def _check_lengths(tokens: Sequence[Sequence[Token]], lengths: Sequence[int]) -> None:
    for i, (row, length) in enumerate(zip(tokens, lengths)):
        if len(row) != length:
            raise InputError(
                f"string {i}: to_sequence gave {length} tokens for {len(row)} words; "
                "it must keep one token for each word"
            )


def _runs(labels: Sequence[str]) -> list[Span]:
    """The longest runs of one label, O left out."""
    found, start = [], 0
    for label, run in groupby(labels):
        end = start + len(list(run))
        if label != OUTSIDE:
            found.append(Span(start, end, label))
        start = end
    return found


def _in_characters(
    text: str, tokens: Sequence[Token], spans: Sequence[Span], probabilities: Sequence[float]
) -> list[TextSpan]:
    found = []
    for span, probability in zip(spans, probabilities):
        start, end = tokens[span.start].start, tokens[span.end - 1].end
        found.append(TextSpan(start, end, span.label, text[start:end], probability))
    return found

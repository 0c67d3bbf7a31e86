"""Raw strings in, spans with character offsets and probabilities out.

    string -> tokens -> words -> sequence (X) -> best labels -> token spans -> characters

``TextReader`` makes the sequences, for ``predict_text`` and for the command line; they store the text and the
positions of their tokens. The spans are those of ``Scored.predict_spans``. Line breaks are blanks: a
string is one sequence, whatever it contains.
Hazard: half of a surrogate pair cannot be encoded; it is replaced by U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fieldcraft.corpus import Sequence as Columns
from fieldcraft.corpus import Span
from fieldcraft.corpus.tokenising import resolve_tokenizer
from fieldcraft.errors import InputError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.several import parts_of
from fieldcraft.features.templates import Templates

if TYPE_CHECKING:
    from fieldcraft.models.answers import Answers

ToSequence = Callable[[list[str]], Any]
_SURROGATES = re.compile("[\ud800-\udfff]")


class TextSpan(NamedTuple):
    """The characters start .. end-1 of a string carry a label, with a probability."""

    start: int
    end: int
    label: str
    text: str
    probability: float


class TextReader:
    """Strings -> sequences of one column, for models whose only observations are words.

    Parameters
    ----------
    model : its ``tokenizer`` splits the strings, and its templates name the column
    """

    def __init__(self, model: Answers) -> None:
        self._cut = resolve_tokenizer(model.tokenizer)
        parts = parts_of(model.encoder_)
        self._all = [part.templates for part in parts if isinstance(part, TemplateFeatures)]
        self.templates = self._all[0] if self._all else None
        self.column = "word" if self.templates is None else _word_column(self.templates)

    @property
    def others(self) -> list[str]:
        """The columns besides the words that the templates use."""
        named = dict.fromkeys(name for templates in self._all for name in templates.named_columns)
        return [name for name in named if name != self.column]

    def sequence(self, text: str) -> Columns:
        """A string as words; its ``info`` has the text and the start and end of each token."""
        tokens = self._cut(text)
        words = [_encodable(token.text) for token in tokens]
        offsets = [[token.start, token.end] for token in tokens]
        return Columns({self.column: words}, info={"text": text, "offsets": offsets})


def characters(span: Span, info: dict[str, Any]) -> tuple[int, int, str]:
    """The start and end of a span of tokens in its text, and the text between."""
    start, end = info["offsets"][span.start][0], info["offsets"][span.end - 1][1]
    return start, end, info["text"][start:end]


def predict_text(
    model: Answers, strings: Iterable[str], to_sequence: ToSequence | None = None
) -> list[list[TextSpan]]:
    """Per string the spans that a trained model predicts."""
    texts = _checked(strings)
    reader = TextReader(model)
    if to_sequence is None:
        _refuse_other_columns(reader)
    cut = [reader.sequence(text) for text in texts]
    words = [sequence.columns[reader.column] for sequence in cut]
    X: Any = words if to_sequence is None else [to_sequence(row) for row in words]
    scored = model._scored(X)
    _check_lengths(words, scored.lengths())
    return [_in_characters(*pair) for pair in zip(cut, scored.predict_spans())]


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


def _refuse_other_columns(reader: TextReader) -> None:
    if reader.templates is None:
        raise InputError(
            "this model was trained on features of your own, which a string does not have; pass "
            "to_sequence=, the function from a list of words to the sequence of features that X would have"
        )
    if reader.others:
        raise InputError(
            f"the templates look at column {', '.join(reader.others)} besides the words ({reader.column}), "
            "which a string does not have; pass to_sequence=, a function from a list of words to the "
            "sequence that X would have: a dict of columns, or a tuple for each word"
        )


def _word_column(templates: Templates) -> str:
    if templates.positional:
        return "0"
    return "word" if "word" in templates.columns else next(iter(templates.columns), "word")


def _encodable(word: str) -> str:
    return word if word.isascii() else _SURROGATES.sub("\ufffd", word)


def _check_lengths(words: Sequence[Sequence[str]], lengths: Sequence[int]) -> None:
    for i, (row, length) in enumerate(zip(words, lengths)):
        if len(row) != length:
            raise InputError(
                f"string {i}: to_sequence returned {length} tokens for {len(row)} words; "
                "it must keep one token for each word"
            )


def _in_characters(cut: Columns, spans: Sequence[tuple[Span, float]]) -> list[TextSpan]:
    out = []
    for span, probability in spans:
        start, end, text = characters(span, cut.info or {})
        out.append(TextSpan(start, end, span.label, text, probability))
    return out

"""The arguments X and y of fit and predict -> encoded sequences and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fieldcraft.corpus import Corpus, Sequence
from fieldcraft.design import Encoder
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.labels import check_labels


@dataclass(frozen=True)
class EncodedSequences:
    """Sequences that are encoded already: an argument X whose attributes are ids of ``encoder``.

    ``fit`` gives the encoder to the model, so that held-out data and predictions need the same one.
    """

    encoder: Encoder
    encoded: Encoded

    def __len__(self) -> int:
        return len(self.encoded.offsets) - 1


def sequences_of(X: Any, encoder: Encoder) -> Any:
    """X in the form that the encoder takes."""
    if isinstance(X, Corpus) and encoder.kind == "free":
        features = [sequence.attributes for sequence in X]
        if any(f is None for f in features):
            raise InputError("a corpus of columns needs templates: pass templates= (for example 'entities')")
        return features
    return X


def corpus_of(X: Any) -> Any:
    """X; a list of sequences of a corpus, as cross-validation makes it, is a corpus again."""
    is_part = isinstance(X, list) and bool(X) and all(isinstance(sequence, Sequence) for sequence in X)
    return Corpus(X) if is_part else X


def labels_of(X: Any, y: Any, *, partial: bool = False) -> list[Any]:
    """The label lists: y, or those of the corpus; with ``partial`` they may contain None and sets."""
    X = corpus_of(X)
    if y is None:
        if not isinstance(X, Corpus):
            raise InputError("y is missing: pass fit(X, y), or fit(corpus) with a labelled corpus")
        y = X.labels
    return check_labels(_length(X), y, partial=partial)


def weights_of(X: Any) -> list[float] | None:
    """The weights of the sequences of a corpus; None if all are 1."""
    weights = [sequence.weight for sequence in X] if isinstance(X, Corpus) else []
    return weights if any(weight != 1.0 for weight in weights) else None


def source_of(X: Any) -> dict[str, Any] | None:
    """How files like a corpus are read: the arguments of ``fc.read``; None if X does not tell."""
    if not isinstance(X, Corpus) or len(X.label_names) != 1 or any(s.attributes is not None for s in X):
        return None
    return {"columns": list(X.fields), "label": X.label_names[0]}


def _length(X: Any) -> int:
    if isinstance(X, (str, bytes, dict)):
        raise InputError(f"X is a {type(X).__name__}; it must be a list of sequences")
    try:
        return len(X)
    except TypeError:
        raise InputError(
            f"X is a {type(X).__name__}; it must be a list of sequences (turn generators into lists)"
        ) from None


def encode(X: Any, encoder: Encoder, *, grow: bool, n_threads: int = 1) -> Encoded:
    """Attribute ids of X."""
    if isinstance(X, EncodedSequences):
        if X.encoder is not encoder:
            raise InputError(
                "X was encoded by another encoder than the model's; pass the sequences themselves, or encode "
                "them with encoder_ of the model"
            )
        return X.encoded
    return encoder.encode(sequences_of(X, encoder), grow=grow, n_threads=n_threads)

"""From what users have to frozen integer arrays: no string passes this line.

Encoder: sequences -> attribute ids. Labels -> numbers. Both together -> the feature index, one row per
weight. Everything later works on these arrays alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.free import FreeFeatures
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.templates import Templates


class TemplateLike(Protocol):
    """What the feature index needs to know of a template."""

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> tuple[int, int]: ...
    @property
    def part(self) -> str: ...


class Encoder(Protocol):
    """Sequences -> attribute ids, growing in training and frozen afterwards."""

    @property
    def hash_size(self) -> int | None: ...
    @property
    def n_attributes(self) -> int: ...
    @property
    def edge_bias(self) -> bool: ...
    @property
    def attribute_template(self) -> NDArray[np.int32]: ...
    @property
    def templates(self) -> Iterable[TemplateLike]: ...
    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded: ...
    def attribute_text(self, ids: Iterable[int]) -> list[str]: ...
    def keep(self, ids: NDArray[np.int64]) -> Encoder: ...
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]: ...


ENCODERS: dict[str, Any] = {"free": FreeFeatures, "templates": TemplateFeatures}


def make_encoder(
    templates: Any,
    *,
    gazetteers: Any = None,
    hash_size: int | None = None,
    edge_prefix: str | None = None,
) -> Encoder:
    """The encoder for a template set (or a name of one), or for free features with None."""
    if templates is None:
        if gazetteers is not None:
            raise InputError("gazetteers are used by templates; pass templates= too")
        return FreeFeatures(hash_size=hash_size, edge_prefix=edge_prefix)
    if edge_prefix is not None:
        raise InputError("edge_prefix is for free features; in templates write `edge: ...`")
    return TemplateFeatures(Templates.resolve(templates), gazetteers=gazetteers, hash_size=hash_size)


class FeatureRules(NamedTuple):
    """Which label configurations get a weight: those seen in training, those held likely too, or all."""

    all_states: bool
    all_transitions: bool
    likely: float | None = None  # the least probability of those that training does not show


FEATURES = {
    "supported": FeatureRules(all_states=False, all_transitions=False),
    "all": FeatureRules(all_states=True, all_transitions=True),
    "all_states": FeatureRules(all_states=True, all_transitions=False),
    "all_transitions": FeatureRules(all_states=False, all_transitions=True),
    "selected": FeatureRules(all_states=False, all_transitions=False, likely=0.05),
}


def resolve_features(given: Any) -> FeatureRules:
    """The rules of a name; ``selected:p`` has another probability than ``selected``."""
    name, colon, number = given.partition(":") if isinstance(given, str) else ("", "", "")
    if name not in FEATURES or (colon and FEATURES[name].likely is None):
        raise InputError(f"features={given!r}; choose one of {', '.join(FEATURES)}")
    if not colon:
        return FEATURES[name]
    try:
        likely = float(number)
    except ValueError:
        likely = -1.0
    if not 0.0 < likely < 1.0:
        raise InputError(f"features={given!r}; give a probability, e.g. selected:0.05")
    return FEATURES[name]._replace(likely=likely)


class PartialLabels(NamedTuple):
    """Candidates of token t: labels[ptr[t] : ptr[t + 1]]; none at all where nothing is known."""

    ptr: NDArray[np.int64]  # [tokens + 1]
    labels: NDArray[np.int32]

    def allowed(self, n_labels: int) -> NDArray[np.uint8]:
        """[tokens, labels] 1 where a token may have the label; all of them where nothing is known."""
        n = np.diff(self.ptr)
        table = np.zeros((len(n), n_labels), np.uint8)
        table[np.repeat(np.arange(len(n)), n), self.labels] = 1
        table[n == 0] = 1
        return table

    def any(self) -> NDArray[np.int32]:
        """[tokens] one candidate each, where an array of labels must be given."""
        known = np.diff(self.ptr) > 0
        out = np.zeros(len(known), np.int32)
        out[known] = self.labels[self.ptr[:-1][known]]
        return out


@dataclass(frozen=True)
class Design:
    """A labelled corpus as arrays: attribute ids, gold states, and the features they support."""

    encoded: Encoded
    gold: NDArray[np.int32]  # [tokens]; with partial labels one candidate each
    index: FeatureIndex
    partial: PartialLabels | None = None

    @property
    def n_sequences(self) -> int:
        return len(self.encoded.offsets) - 1


def build_design(
    encoder: Encoder,
    encoded: Encoded,
    gold: NDArray[np.int32] | PartialLabels,
    n_labels: int,
    *,
    features: str = "supported",
    min_count: int = 1,
) -> Design:
    """Count what the corpus supports and lay the feature index over it.

    Partial labels support a configuration, and count it, wherever all of its labels are candidates;
    a token of which nothing is known supports nothing.
    """
    rules = resolve_features(features)
    if not isinstance(min_count, (int, np.integer)) or min_count < 1:
        raise InputError(f"min_count is {min_count!r}; it must be a whole number, at least 1")
    if min_count > 1 and any(rules):
        raise InputError(
            f"min_count={min_count} with features={features!r}: unsupported features have a count of 0 and "
            "would all go; use features='supported'"
        )
    templates = list(encoder.templates)
    of_attribute = encoder.attribute_template  # [A]
    if isinstance(gold, PartialLabels):
        labels, ptr, partial = gold.labels, gold.ptr, gold
        gold = partial.any()
    else:
        labels, ptr, partial = gold, None, None
    on_edge = np.array([t.part == "edge" for t in templates], np.uint8)[of_attribute]
    attribute, previous, label, count, family = _core.count_features(
        native_tokens(encoded),
        encoder.n_attributes,
        on_edge if on_edge.any() else None,
        labels,
        ptr,
        n_labels,
        rules.all_states,
        rules.all_transitions,
        encoder.edge_bias,
        0 if rules.all_states or rules.all_transitions else int(min_count),
    )
    template = np.full(len(label), -1, np.int32)
    template[attribute >= 0] = of_attribute[attribute[attribute >= 0]]
    index = FeatureIndex(
        attribute, previous, label, template, count, family, windows_of(encoder), encoder.n_attributes
    )
    return Design(encoded, gold, index, partial)


def windows_of(encoder: Encoder) -> NDArray[np.int32]:
    """[templates, 2] the first and last offset that each template looks at."""
    return np.array([t.window for t in encoder.templates], np.int32).reshape(-1, 2)


def native_tokens(encoded: Encoded) -> Any:
    """The core's view of encoded tokens; it checks every offset and id."""
    return _core.Tokens(*encoded)


def native_columns(index: FeatureIndex) -> Any:
    """The core's view of a feature index."""
    return _core.Columns(index.n_attributes, index.attribute, index.previous, index.label)


def label_names(y: Sequence[Sequence[Any]]) -> list[str]:
    """The labels that occur, also those that occur only as candidates, sorted."""
    names: set[Any] = set()
    for labels in y:
        try:
            names.update(labels)
        except TypeError:  # a list of candidates
            names.update(map(_hashable, labels))
    sets = [name for name in names if isinstance(name, frozenset)]
    names.discard(None)
    return sorted(map(str, names.difference(sets).union(*sets)))  # NumPy's texts become plain ones


def _hashable(label: Any) -> Any:
    return label if label is None or isinstance(label, str) else frozenset(label)


def encode_labels(
    y: Sequence[Sequence[str]], names: Sequence[str], offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Numbers of the labels [tokens]; checks that each sequence has as many as it has tokens."""
    number = {name: i for i, name in enumerate(names)}
    _check_lengths(y, offsets)
    try:
        found = map(number.__getitem__, chain.from_iterable(y))
        return np.fromiter(found, np.int32, int(offsets[-1]))
    except KeyError:
        _refuse_unknown(y, number)
        raise


def encode_partial(
    y: Sequence[Sequence[Any]], names: Sequence[str], offsets: NDArray[np.int64]
) -> PartialLabels:
    """Numbers of the candidates of each token; None has none of them."""
    number: dict[Any, tuple[int, ...]] = {name: (i,) for i, name in enumerate(names)}
    number[None] = ()
    _check_lengths(y, offsets)
    found: list[tuple[int, ...]] = []
    for i, labels in enumerate(y):
        for t, given in enumerate(labels):
            label = _hashable(given)
            if label not in number:
                if isinstance(label, str) or not label <= number.keys():
                    raise _undeclared(i, t, given)
                number[label] = tuple(sorted(number[one][0] for one in label))
            found.append(number[label])
    ptr = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(candidates) for candidates in found], out=ptr[1:])
    return PartialLabels(ptr, np.fromiter(chain.from_iterable(found), np.int32, int(ptr[-1])))


def _check_lengths(y: Sequence[Sequence[Any]], offsets: NDArray[np.int64]) -> None:
    lengths = np.fromiter((len(labels) for labels in y), np.int64, len(y))
    wrong = np.flatnonzero(lengths != np.diff(offsets))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"sequence {i}: {lengths[i]} labels for {offsets[i + 1] - offsets[i]} tokens; "
            "each token needs one label"
        )


def _undeclared(sequence: int, token: int, label: Any) -> InputError:
    return InputError(
        f"sequence {sequence}, token {token}: label {label!r} is not among those that labels= declares; "
        "add it there or relabel"
    )


def declared_labels(given: Any, y: Sequence[Sequence[Any]]) -> list[str]:
    """The labels of a model: those given, in their order, or all that occur; others in y are refused."""
    found = label_names(y)
    if given is None:
        return found
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names) or not names:
        raise InputError(f"labels={given!r}; give a list of different label names")
    if not set(found) <= set(names):
        for i, labels in enumerate(y):
            for t, label in enumerate(labels):
                if not set(label_names([[label]])) <= set(names):
                    raise _undeclared(i, t, label)
    return list(map(str, names))


def _refuse_unknown(y: Sequence[Sequence[str]], number: dict[str, int]) -> None:
    for i, labels in enumerate(y):
        for t, label in enumerate(labels):
            if label not in number:
                raise InputError(
                    f"sequence {i}, token {t}: label {label!r} was not seen in training; "
                    "relabel it or train with it"
                )


UNORDERED = (str, bytes, dict, set, frozenset)  # what has a length but is no list of labels


def check_labels(X_length: int, y: Any, *, partial: bool = False) -> list[Any]:
    """y as a list of label lists, as many as there are sequences, or an InputError.

    With ``partial`` a label may also be None or a set, frozenset or list of candidates.
    """
    if isinstance(y, (str, bytes, dict)) or not hasattr(y, "__iter__"):
        raise InputError(f"y is a {type(y).__name__}; it must be a list of label lists")
    labels = y if isinstance(y, list) else list(y)
    if len(labels) != X_length:
        raise InputError(f"X has {X_length} sequences and y has {len(labels)}; they must agree")
    for i, sequence in enumerate(labels):
        if isinstance(sequence, UNORDERED) or not hasattr(sequence, "__len__"):
            raise InputError(f"y[{i}] is a {type(sequence).__name__}; each sequence needs a list of labels")
        if all(issubclass(kind, str) for kind in set(map(type, sequence))):
            continue
        for t, label in enumerate(sequence):
            if not isinstance(label, str):
                check_partial(i, t, label, partial=partial)
    return labels


def check_partial(sequence: int, token: int, label: Any, *, partial: bool) -> None:
    """Refuse a label that is no string, unless it is partial and may be so."""
    where = f"sequence {sequence}, token {token}: label {label!r}"
    if not (label is None or isinstance(label, (set, frozenset, list))):
        raise InputError(f"{where} is a {type(label).__name__}; labels are strings: use str(label)")
    if not partial:
        raise InputError(
            f"{where} is not a string; unknown labels (None) and sets of candidates need "
            "objective='marginal_likelihood'"
        )
    if label is None:
        return
    if not label:
        raise InputError(f"{where} is an empty set of candidates; use None where nothing is known")
    for one in label:
        if not isinstance(one, str):
            raise InputError(f"{where} holds a {type(one).__name__}; candidates are strings: use str(label)")

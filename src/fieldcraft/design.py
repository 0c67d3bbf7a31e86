"""From sequences and labels to integer arrays; later stages work on these arrays alone.

Encoder: sequences -> attribute ids. Together with the labels' numbers (labels.py) they support the feature
index, one row per weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.features.classes import Classes, with_classes, with_tuples
from fieldcraft.features.clique_columns import CliqueColumns
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.functions import FunctionFeatures, check_functions
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.paired import PairFeatures
from fieldcraft.features.segmented import SegmentFeatures
from fieldcraft.features.several import SeveralFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.labels import PartialLabels
from fieldcraft.spelling import suggestion

# sequences -> attribute ids
Encoder = FreeFeatures | TemplateFeatures | SeveralFeatures | SegmentFeatures | PairFeatures | CliqueColumns
ENCODERS: dict[str, Any] = {
    "free": FreeFeatures,
    "templates": TemplateFeatures,
    "several": SeveralFeatures,
    "segments": SegmentFeatures,
    "pairs": PairFeatures,
    "cliques": CliqueColumns,
}

OPTIONS = "gazetteers", "hash_size", "edge_prefix", "functions"  # of encoders, beside templates


def make_encoder(
    templates: Any,
    *,
    gazetteers: Any = None,
    hash_size: int | None = None,
    edge_prefix: str | None = None,
    functions: Any = None,
) -> Encoder:
    """The encoder for a template set (or a name of one) and functions, or for free features with None."""
    called = check_functions(functions)
    if templates is None:
        if called:
            raise InputError("functions are called with columns; pass templates= too, or a corpus of columns")
        if gazetteers is not None:
            raise InputError("gazetteers are used by templates; pass templates= too")
        return FreeFeatures(hash_size=hash_size, edge_prefix=edge_prefix)
    if edge_prefix is not None:
        raise InputError("edge_prefix is for free features; in templates write `edge: ...`")
    looks = TemplateFeatures(Templates.resolve(templates), gazetteers=gazetteers, hash_size=hash_size)
    if not called:
        return looks
    columns = [] if looks.templates.positional else looks.templates.columns
    made = [FunctionFeatures(name, f, columns, hash_size=hash_size) for name, f in called.items()]
    return SeveralFeatures([looks, *made])


class FeatureRules(NamedTuple):
    """Which label configurations get a weight: those of the training data, also probable ones, or all."""

    all_states: bool
    all_transitions: bool
    likely: float | None = None  # least probability of configurations that are not in the data


FEATURES = {
    "supported": FeatureRules(all_states=False, all_transitions=False),
    "all": FeatureRules(all_states=True, all_transitions=True),
    "all_states": FeatureRules(all_states=True, all_transitions=False),
    "all_transitions": FeatureRules(all_states=False, all_transitions=True),
    "selected": FeatureRules(all_states=False, all_transitions=False, likely=0.05),
}


def resolve_features(features: Any) -> FeatureRules:
    """The rules of a name; ``selected:p`` has another probability than ``selected``."""
    name, colon, number = features.partition(":") if isinstance(features, str) else ("", "", "")
    if name not in FEATURES or (colon and FEATURES[name].likely is None):
        raise InputError(
            f"features={features!r}; choose one of {', '.join(FEATURES)}{suggestion(features, FEATURES)}"
        )
    if not colon:
        return FEATURES[name]
    try:
        likely = float(number)
    except ValueError:
        likely = -1.0
    if not 0.0 < likely < 1.0:
        raise InputError(f"features={features!r}; give a probability, e.g. selected:0.05")
    return FEATURES[name]._replace(likely=likely)


@dataclass(frozen=True)
class Design:
    """A labelled corpus as arrays: attribute ids, gold states, and the features they support."""

    encoded: Encoded
    gold: NDArray[np.int32]  # [tokens]; with partial labels one candidate each
    index: FeatureIndex
    partial: PartialLabels | None = None
    counted: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)

    def tokens(self) -> Any:
        """The core's view of ``encoded``; that whose features were counted saves the next step some work."""
        known, encoded = (self.counted or (None, None))[:2]
        return known if encoded is self.encoded else native_tokens(self.encoded)

    def gold_counts(self) -> NDArray[np.int32] | None:
        """[F] how often the gold labelling has each feature, if they were counted and all values are 1."""
        _, encoded, gold, index = self.counted or (None,) * 4
        counted = encoded is self.encoded and gold is self.gold and index is self.index
        plain = self.encoded.values is None and self.partial is None
        return self.index.count if counted and plain else None

    def __getstate__(self) -> dict[str, Any]:
        """Without the core's view, which stays in this process."""
        return {**vars(self), "counted": None}

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
    structure: Classes | None = None,
    merge: Callable[[FeatureIndex, int], FeatureIndex] | None = None,
    add: Callable[[NDArray[np.int64]], object] | None = None,
    n_jobs: int = 1,
) -> Design:
    """Count the configurations in the corpus and make the feature index.

    Partial labels count a configuration wherever all of its labels are candidates; tokens without any
    known label count nothing. With a ``structure`` the features are those of its
    parts and classes (features/classes.py); without one, those of a chain of plain labels. ``merge`` adds up
    the counts of several processes and leaves out the features that are seen less often than its second
    argument; ``add`` adds up other whole numbers of theirs, in place.
    """
    rules, min_count = _rules(features, min_count)
    pairs = structure is None or "edge" in structure.parts
    of_attribute = encoder.attribute_template  # [A]
    of_edges = np.array([t.part == "edge" for t in encoder.templates], np.uint8)
    many = bool(of_attribute.any())  # else all attributes are those of the first template
    on_edge = of_edges[of_attribute] if many or of_edges[:1].any() else None  # [A]
    if on_edge is not None and not on_edge.any():
        on_edge = None
    if not pairs and on_edge is not None:
        raise _no_edges(structure, encoder, of_attribute)
    if isinstance(gold, PartialLabels):
        labels, ptr, partial = gold.labels, gold.ptr, gold
        gold = partial.any()
    else:
        labels, ptr, partial = gold, None, None
    tokens = native_tokens(encoded)
    least = 0 if rules.all_states or rules.all_transitions else min_count
    attribute, configurations, count, family = _core.count_features(
        tokens,
        encoder.n_attributes,
        on_edge,
        labels,
        ptr,
        n_labels,
        rules.all_states,
        rules.all_transitions and pairs,
        encoder.edge_bias and pairs,
        least if merge is None else min(least, 1),
        n_jobs,
    )
    template = np.minimum(attribute, 0)  # [F] -1 without an attribute
    if many:
        template[attribute >= 0] = of_attribute[attribute[attribute >= 0]]
    columns = (attribute, configurations.reshape(2, -1).T, template, count, family)
    index = FeatureIndex(*columns, windows_of(encoder), encoder.n_attributes)
    if merge is not None:
        index = merge(index, least)
    if structure is not None:
        index = with_classes(index, structure)
        if "tuple" in structure.configurations():
            known = np.eye(n_labels, dtype=np.uint8)[gold] if partial is None else partial.allowed(n_labels)
            counts = structure.tuple_counts(known, encoded.offsets)
            if add is not None:
                add(counts)
            index = with_tuples(index, counts, all_of_them=rules.all_transitions)
    own = index if merge is None else None  # merged counts are not those of this corpus
    return Design(encoded, gold, index, partial, (tokens, encoded, gold, own))


def _rules(features: str, min_count: int) -> tuple[FeatureRules, int]:
    rules = resolve_features(features)
    min_count = whole_number(min_count, "min_count", 1)
    if min_count > 1 and any(rules):
        raise InputError(
            f"min_count={min_count} with features={features!r}: unsupported features have a count of 0 and "
            "would all go; use features='supported'"
        )
    return rules, min_count


def _no_edges(structure: Any, encoder: Encoder, of_attribute: NDArray[np.int32]) -> InputError:
    templates = [encoder.templates[t] for t in np.unique(of_attribute)]
    names = [template.name for template in templates if template.part == "edge"]
    return InputError(
        f"the structure {structure.name} has no edges, which the template {names[0]!r} looks at; leave out "
        "edge templates and edge_prefix"
    )


def windows_of(encoder: Encoder) -> NDArray[np.int32]:
    """[templates, 2] the first and last offset that each template looks at."""
    return np.array([t.window for t in encoder.templates], np.int32).reshape(-1, 2)


def native_tokens(encoded: Encoded) -> Any:
    """The core's view of encoded tokens; it checks every offset and id."""
    return _core.Tokens(*encoded)


def native_columns(index: FeatureIndex) -> Any:
    """The core's view of a feature index."""
    return _core.Columns(index.n_attributes, index.attribute, index.previous, index.label)

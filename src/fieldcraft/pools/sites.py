"""Where a change of features harms and where it mends: tokens that one of two labellings alone has right.

Of the labellings a (without certain features) and b (with them), a site is *harmed* if a alone is right there
and *mended* if b alone is. Its type says what the features have to do with it:

    A          one of them is active at the site, under some labelling
    elsewhere  none there, but one at another token of the sequence
    B          none in the sequence: only the other weights can have changed the label

Described in A. Smith's thesis (2007), section 8.3, which has types A and B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.evaluation.labellings import Encoded as Labelled
from fieldcraft.evaluation.labellings import Labellings
from fieldcraft.evaluation.labellings import encode as encode_pair
from fieldcraft.evaluation.metrics import Metric, resolve_metric
from fieldcraft.evaluation.reports import aligned
from fieldcraft.features.column_reader import RowReader
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.inspection.weights import FeatureWeight, WeightTable
from fieldcraft.models.inputs import encode
from fieldcraft.models.parameters import is_native
from fieldcraft.pools.activity import Activity, Mask
from fieldcraft.problems import check_mask

TYPES = ("A", "elsewhere", "B")
SHOWN = 20  # sites that print shows of each kind


@dataclass(frozen=True)
class Site:
    """One token.

    Parameters
    ----------
    sequence, token : where it is, from 0
    word : its word; None if X has features instead of words
    gold, a, b : its right label and those of the two labellings
    type : "A", "elsewhere" or "B", see above
    features : those of the features that are active there under gold, a or b, with their weights
    """

    sequence: int
    token: int
    word: str | None
    gold: str
    a: str
    b: str
    type: str
    features: tuple[FeatureWeight, ...]


@dataclass(frozen=True)
class Sites:
    """The result of ``sites``. ``print`` shows tables and the first sites, ``to_dict`` returns plain values.

    Parameters
    ----------
    metric : name of the score
    a, b : the scores
    repaired : the score that b would have if all harmed sites were right
    harmed, mended : the tokens that a alone, and that b alone, has right
    names : what a and b are called in the table
    """

    metric: str
    a: float
    b: float
    repaired: float
    harmed: tuple[Site, ...]
    mended: tuple[Site, ...]
    names: tuple[str, str] = ("a", "b")

    def counts(self) -> dict[str, dict[str, int]]:
        """How many sites there are of each type: ``{"harmed": {"A": …}, "mended": …}``."""
        found = {"harmed": self.harmed, "mended": self.mended}
        numbers = {kind: Counter(site.type for site in listed) for kind, listed in found.items()}
        return {kind: {name: number[name] for name in TYPES} for kind, number in numbers.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {**asdict(self), "counts": self.counts()}

    def __str__(self) -> str:
        scores = [self.metric, *(f"{100 * score:.2f}" for score in (self.a, self.b, self.repaired))]
        kinds = [[kind, *(f"{n:,}" for n in row.values())] for kind, row in self.counts().items()]
        tables = [[["", *self.names, "harmed sites right"], scores], [["sites", *TYPES], *kinds]]
        lists = [
            _listed(kind, listed, self.names)
            for kind, listed in (("harmed", self.harmed), ("mended", self.mended))
            if listed
        ]
        return "\n\n".join([*map(aligned, tables), *lists])


def sites(
    gold: Labellings,
    a: Labellings,
    b: Labellings,
    *,
    X: Any,
    model: Any,
    features: Any,
    metric: str = "auto",
    names: tuple[str, str] = ("a", "b"),
) -> Sites:
    """List the tokens that only one of two labellings has right, and what certain features do there.

    Parameters
    ----------
    gold, a, b : a list of labels per sequence each
    X : the sequences
    model : a trained chain that has the features
    features : [F] a mask over ``model.features_``, or a function of them that returns one
    metric : as in ``compare``
    names : what to call a and b

    >>> from fieldcraft import ChainCRF
    >>> from fieldcraft.pools.discriminative import family_singletons
    >>> X, y = [[["w=a"], ["w=b"]], [["w=a"]]], [["X", "Y"], ["X"]]
    >>> crf = ChainCRF().fit(X, y)
    >>> found = sites(y, y, [["X", "X"], ["Y"]], X=X, model=crf, features=family_singletons)
    >>> [(site.sequence, site.token, site.type) for site in found.harmed], found.b, found.repaired
    ([(0, 1, 'A'), (1, 0, 'B')], 0.3333333333333333, 1.0)
    """
    rows = [list(labels) for labels in gold]
    seen = _Seen(model, features, X)
    first, second = (_encoded(rows, side, name, seen) for side, name in zip((a, b), names))
    chosen = resolve_metric(metric, [first.names, second.names])
    right_a, right_b = (side.gold == side.predicted for side in (first, second))
    harmed, mended = (seen.listed(first, second, one) for one in (right_a & ~right_b, right_b & ~right_a))
    repaired = second._replace(predicted=np.where(right_a, second.gold, second.predicted))
    before, after, possible = (_score(chosen, side) for side in (first, second, repaired))
    called = (str(names[0]), str(names[1]))
    return Sites(chosen.name, before, after, possible, harmed, mended, called)


class _Seen:
    """The sequences as the model sees them."""

    def __init__(self, model: Any, features: Any, X: Any) -> None:
        index = model.features_
        self.table: WeightTable = model._predictor().weight_table()
        if not is_native(model._parameters.structure):
            raise InputError(
                "sites are for chains of plain labels, whose features can be looked up under a labelling; "
                "use a model with states='labels'"
            )
        wanted = features(index) if callable(features) else features
        mask = check_mask(wanted, len(index))
        if mask is None:
            raise InputError("features=None; give a mask over model.features_ or a function of them")
        self.mask: Mask = mask
        self.X, self.encoder = X, model.encoder_
        self.classes = model.classes_.tolist()
        self.encoded = encode(X, model.encoder_, grow=False)
        self.activity = Activity(index, len(self.classes))

    def listed(self, first: Labelled, second: Labelled, alone: Mask) -> tuple[Site, ...]:
        """The sites at the tokens of ``alone`` [tokens]."""
        tokens = np.flatnonzero(alone)
        sequence = np.searchsorted(self.encoded.offsets, tokens, side="right") - 1
        token = tokens - self.encoded.offsets[sequence]
        labels = [
            [side.names[label] for label in ids[tokens].tolist()]
            for side, ids in ((first, first.gold), (first, first.predicted), (second, second.predicted))
        ]
        active = self._active(first, second, tokens, sequence)
        return tuple(
            Site(*row)
            for row in zip(
                *(sequence.tolist(), token.tolist(), self._words(sequence, token)),
                *(*labels, self._types(tokens, sequence), active),
            )
        )

    def _types(self, tokens: NDArray[np.int64], sequence: NDArray[np.int64]) -> list[str]:
        here = self.activity.possible(self.encoded, self.mask)  # [tokens]
        before = np.concatenate([[0], np.cumsum(here)])[self.encoded.offsets]  # [N + 1]
        somewhere = np.diff(before) > 0  # [N]
        kind = np.where(here[tokens], 0, np.where(somewhere[sequence], 1, 2))
        return [TYPES[number] for number in kind.tolist()]

    def _active(
        self, first: Labelled, second: Labelled, tokens: NDArray[np.int64], sequence: NDArray[np.int64]
    ) -> list[tuple[FeatureWeight, ...]]:
        """The features in the mask that are active at the tokens under one of the three labellings."""
        which, at = np.unique(sequence, return_inverse=True)
        part = self.encoded.take(which)
        place = tokens - self.encoded.offsets[sequence] + part.offsets[at]
        kept = self.encoded.tokens_of(which)
        pairs = ((first, first.gold), (first, first.predicted), (second, second.predicted))
        found = sum(
            self.activity.under(part, self._numbers(side.names, ids[kept]))[place] for side, ids in pairs
        )
        return [self._described(found.indices[i:j]) for i, j in zip(found.indptr, found.indptr[1:])]

    def _described(self, rows: NDArray[np.integer[Any]]) -> tuple[FeatureWeight, ...]:
        chosen = np.sort(rows[self.mask[rows]]).astype(np.int64)
        observed = chosen[self.table.index.attribute[chosen] >= 0]  # label pairs alone have no text
        return self.table.describe(observed)

    def _numbers(self, names: list[str], ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Ids into ``names`` -> the model's numbers, -1 for labels that it does not know."""
        known = {name: i for i, name in enumerate(self.classes)}
        return np.array([known.get(name, -1) for name in names], np.int32)[ids]

    def _words(self, sequence: NDArray[np.int64], token: NDArray[np.int64]) -> list[str | None]:
        if not isinstance(self.encoder, TemplateFeatures):
            return [None] * len(token)
        reader = RowReader(self.encoder.templates)
        column = reader.read(self.X)[reader.names.index("word") if "word" in reader.names else 0]
        return [column[i][t] for i, t in zip(sequence.tolist(), token.tolist())]


def _encoded(gold: list[list[str]], labels: Labellings, name: str, seen: _Seen) -> Labelled:
    try:
        found = encode_pair(gold, labels)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if not np.array_equal(found.offsets, seen.encoded.offsets):
        raise InputError(
            f"X has {len(seen.encoded.offsets) - 1} sequences with {seen.encoded.offsets[-1]} tokens, gold "
            f"{len(gold)} with {found.offsets[-1]}; each token needs one label"
        )
    return found


def _score(metric: Metric, side: Labelled) -> float:
    on_ids: Callable[..., float] = metric.on_ids(side.names)
    return float(on_ids(side.gold, side.predicted, side.offsets))


def _listed(kind: str, listed: tuple[Site, ...], names: tuple[str, str]) -> str:
    """A line for each of the first sites; features stand behind it."""
    head = [kind, "token", "word", "gold", *names, "type"]
    lines = aligned([head, *map(_cells, listed[:SHOWN])]).splitlines()
    told = ["features", *("; ".join(map(_shown, site.features)) for site in listed[:SHOWN])]
    more = [f"… and {len(listed) - SHOWN:,} more"] if len(listed) > SHOWN else []
    return "\n".join([*(f"{line}  {text}".rstrip() for line, text in zip(lines, told)), *more])


def _cells(site: Site) -> list[str]:
    where = [str(site.sequence), str(site.token), site.word or ""]
    return [*where, site.gold, site.a, site.b, site.type]


def _shown(feature: FeatureWeight) -> str:
    pair = feature.label if feature.previous is None else f"{feature.previous} {feature.label}"
    return f"{feature.attribute} -> {pair} {feature.weight:+.2f}"

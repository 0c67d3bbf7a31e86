"""The training of FactorialCRF: labels of several columns, and the features of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Corpus
from fieldcraft.design import Design, windows_of
from fieldcraft.errors import InputError
from fieldcraft.features.columns_of_labels import EncodedColumns, column_index
from fieldcraft.labels import encode_partial
from fieldcraft.models.column_views import Views
from fieldcraft.models.default_templates import default_templates
from fieldcraft.models.inputs import encode
from fieldcraft.models.missing_labels import sum_over_missing
from fieldcraft.models.training import NOTHING, Training
from fieldcraft.models.training_settings import Settings, SharedDesign, Trained
from fieldcraft.optimisers import Optimiser
from fieldcraft.potentials import FeatureTable, TableWeights
from fieldcraft.priors import Prior
from fieldcraft.problems.factorial import FactorialProblem
from fieldcraft.structures.factorial import FactorialChains

Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[str]]


class FactorialTraining(Training):
    """One training.

    Parameters
    ----------
    settings : as for Training
    structure_of : labels of the columns -> the structure
    views : which templates the columns look at
    """

    columns: dict[str, list[str]]

    def __init__(
        self, settings: Settings, structure_of: Callable[[Columns], FactorialChains], views: Views
    ) -> None:
        self._structure_of, self._views = structure_of, views
        super().__init__(settings, lambda _: structure_of(self.columns), None)

    def run(self, X: Any, y: Any, *, dev: Any = None, **options: Any) -> Trained:
        rows = rows_of(X, y)
        self.columns = declared(self.settings.labels, rows)
        missing = any(label is None for row in rows for labels in row.values() for label in labels)
        if missing:
            sum_over_missing(self)
        scored = None if dev is None else self._score_of(dev)
        return super().run(X, numbered(rows, self.columns), dev=scored, **options)

    def _see(self, labels: list[Any], classes: Iterable[str] = (), X: Any = None) -> None:
        super()._see(labels, classes, X)
        self.chosen = default_templates(self.settings.templates, X, self.classes, pairs=False)

    def _labels(self, labels: list[Any], classes: Iterable[str]) -> list[str]:
        del labels, classes
        return list(self._structure_of(self.columns).labels)

    def _encoded(self, X: Any, labels: list[Any]) -> SharedDesign:
        encoder = self._encoder()
        structure = self._structure_of(self.columns)
        tokens = encode(X, encoder, grow=True, n_threads=self.n_jobs)
        if tokens.offsets[-1] == 0:
            raise InputError(NOTHING)
        self._refuse_edges(encoder)
        encoded = EncodedColumns.of(tokens, structure.n_columns)
        known = encode_partial(labels, self.classes, encoded.offsets)
        states = np.where(np.diff(known.ptr) > 0, known.any(), -1)
        index = column_index(
            encoder,
            tokens,
            states.reshape(-1, structure.n_columns),
            {name: len(column) for name, column in self.columns.items()},
            self._sums(structure, known.any(), encoded.offsets),
            windows=windows_of(encoder),
            min_count=self.settings.min_count,
            supported=not self.rules.all_states,
            looks=self._views.looks_of(self.columns, encoder),
            own=self._views.owners(self.columns, encoder),
        )
        gold = known.any()
        design = Design(encoded, gold, index, known if self.objective.partial else None)
        self._learnt = encoder, index
        return SharedDesign(encoder, design, labels, self._provenance(design, encoder))

    def _refuse_edges(self, encoder: Any) -> None:
        names = [template.name for template in encoder.templates if template.part == "edge"]
        used = {encoder.templates[t].name for t in np.unique(encoder.attribute_template)}
        looking = [name for name in names if name in used]
        if looking:
            raise InputError(
                f"template {looking[0]!r} looks at label pairs; those of a FactorialCRF have weights of "
                "their own only, leave it out"
            )

    def _sums(self, structure: FactorialChains, gold: Any, offsets: Any) -> dict[str, NDArray[np.int64]]:
        """How often gold labels have each cell of each table."""
        counted = structure.indicator(gold, offsets)
        return {
            name: counted[part][:, cells].sum(axis=0).astype(np.int64)
            for part, tables in structure.tables.items()
            for name, cells in tables.items()
        }

    def _problem(self, optimiser: Optimiser, design: Design, prior: Prior, **options: Any) -> Any:
        if optimiser.needs not in ("gradient", "expectation", "passes"):
            raise InputError(
                f"{optimiser.name} needs a problem that factorial chains lack ({optimiser.needs}); use "
                "'lbfgs', 'owlqn', 'conjugate_gradient', 'em', 'sgd' or 'averaged_perceptron'"
            )
        requests = {**optimiser.requests(), "curved": False}
        return FactorialProblem(self._structure(), design, prior, **{**requests, **options})

    def _score_of(self, dev: tuple[Any, Any]) -> Callable[[Floats], float]:
        """weights -> the share of held-out labels, of all columns, that are predicted."""
        rows = rows_of(*dev)
        structure, made = self._structure_of(self.columns), list[Any]()

        def score(weights: Floats) -> float:
            if not made:
                encoder, index = self._learnt
                tokens = encode(dev[0], encoder, grow=False, n_threads=self.n_jobs)
                table = FeatureTable(index, structure.configurations())
                made.append((table, EncodedColumns.of(tokens, structure.n_columns)))
            table, encoded = made[0]
            states, _ = structure.argmax(TableWeights(table, weights, structure).potentials(encoded))
            found = named(states, encoded.offsets, self.columns)
            pairs = [
                (a, b) for gold, guess in zip(rows, found) for n in gold for a, b in zip(gold[n], guess[n])
            ]
            known = [a == b for a, b in pairs if a is not None]
            return float(np.mean(known)) if known else float("nan")

        return score


def rows_of(X: Any, y: Any) -> list[dict[str, list[Any]]]:
    """Labels: for each sequence a dict column -> list."""
    if y is None:
        if not isinstance(X, Corpus):
            raise InputError("y is missing: pass fit(X, y), or fit(corpus) with several label columns")
        y = X.labels
    rows: list[dict[str, list[Any]]] = []
    for i, row in enumerate(y):
        if not isinstance(row, Mapping):
            raise InputError(
                f"sequence {i}: labels are a {type(row).__name__}, those of one column; give a dict "
                "column -> labels, or read the corpus with several label columns, for example pos and chunk"
            )
        if rows and list(row) != list(rows[0]):
            raise InputError(f"sequence {i} has the columns {', '.join(row)}, others {', '.join(rows[0])}")
        if len({len(labels) for labels in row.values()}) > 1:
            lengths = ", ".join(f"{name} {len(labels)}" for name, labels in row.items())
            raise InputError(f"sequence {i}: the columns have different lengths ({lengths})")
        rows.append({str(name): list(labels) for name, labels in row.items()})
    if hasattr(X, "__len__") and len(X) != len(rows):
        raise InputError(f"{len(X)} sequences, labels of {len(rows)}; give one dict for each sequence")
    for i, (x, row) in enumerate(zip(X, rows) if not hasattr(X, "encoded") else ()):
        n = len(next(iter(row.values()), ()))
        if len(x) != n:
            raise InputError(f"sequence {i} has {len(x)} tokens and {n} labels in each column")
    return rows


def declared(labels: Any, rows: list[dict[str, list[Any]]]) -> dict[str, list[str]]:
    """The labels of each column: those declared (a dict), else those that occur, sorted."""
    if not rows or not rows[0]:
        raise InputError(NOTHING)
    out = {}
    for name in rows[0]:
        seen = {label for row in rows for label in row[name] if label is not None}
        wrong = [label for label in seen if not isinstance(label, str)]
        if wrong:
            raise InputError(
                f"column {name!r} has the label {wrong[0]!r}; labels are texts, None where unknown"
            )
        out[name] = list(labels[name]) if isinstance(labels, Mapping) and name in labels else sorted(seen)
        if not out[name]:
            raise InputError(f"column {name!r} has no known label; there is nothing to learn from")
    return out


def numbered(rows: list[dict[str, list[Any]]], columns: Columns) -> list[list[str | None]]:
    """Labels as the names of variables' states ("0", "1" …), token by token; None where unknown."""
    number = {name: {label: str(k) for k, label in enumerate(labels)} for name, labels in columns.items()}
    out = []
    for i, row in enumerate(rows):
        lists = []
        for name, labels in row.items():
            unknown = [t for t, label in enumerate(labels) if label is not None and label not in number[name]]
            if unknown:
                raise InputError(
                    f"sequence {i}, token {unknown[0]}: label {labels[unknown[0]]!r} is none of the column "
                    f"{name!r}: {', '.join(columns[name])}"
                )
            lists.append([None if label is None else number[name][label] for label in labels])
        out.append([state for token in zip(*lists) for state in token])
    return out


def named(states: NDArray[Any], offsets: NDArray[np.int64], columns: Columns) -> list[dict[str, list[str]]]:
    """States [variables] -> for each sequence a dict column -> labels."""
    table = states.reshape(-1, len(columns))
    texts = [np.array([*labels, None], object)[table[:, c]] for c, labels in enumerate(columns.values())]
    ends = offsets // len(columns)
    return [
        {name: texts[c][a:b].tolist() for c, name in enumerate(columns)} for a, b in zip(ends[:-1], ends[1:])
    ]

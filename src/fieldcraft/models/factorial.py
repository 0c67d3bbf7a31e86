"""FactorialCRF: several labels for each token, jointly (a dynamic CRF).

Every label column is a chain that looks at all features of a token. Between columns there is a weight for
each pair of labels of a token and, with ``cross``, for each label after a label of an earlier column; with
``steps`` one for each pair of neighbouring labels of a column with a later column's label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.columns_of_labels import EncodedColumns
from fieldcraft.models.column_views import Views
from fieldcraft.models.factorial_training import FactorialTraining, named, numbered, rows_of
from fieldcraft.models.graph import method_of
from fieldcraft.models.graph_answers import warn_of
from fieldcraft.models.inputs import corpus_of, encode
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.models.training_settings import Settings
from fieldcraft.potentials import Parts
from fieldcraft.problems import crew
from fieldcraft.structures.factorial import EXACT, MOST_STATES, FactorialChains
from fieldcraft.structures.graphs.methods import DECODINGS, INFERENCES
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]


class FactorialCRF(SequenceModel):
    """Labels several columns of tokens together.

    Parameters
    ----------
    templates : as for ChainCRF, without templates of label pairs
    cross : labels also depend on those of earlier columns at the token before
    steps : two neighbouring labels of a column also depend on the second token's labels of later columns
    looks : dict column -> names of the templates and functions that it looks at (``*`` and ``?`` are
        wildcards); columns without an entry look at all
    scores : dict column -> name of a function whose attributes are the column's labels, with a score each: a
        label looks at its own score alone, and other columns at none of them
    labels : dict column -> names of its labels, in order; None for those that occur, sorted
    inference : "auto" ("exact" up to 4,096 combinations of labels, else "propagation"), "exact", or a method
        of factor graphs (see ``fc.GraphCRF``)
    decoding : the same for predictions
    objective, prior, optimiser, features, min_count, gazetteers, functions, hash_size : as for ChainCRF
    n_jobs, random_state, verbose : as for ChainCRF

    Examples
    --------
    >>> X = [[["the"], ["dog"], ["barks"]], [["a"], ["cat"], ["sleeps"]]]
    >>> y = [{"pos": ["D", "N", "V"], "chunk": ["B", "I", "O"]}] * 2
    >>> model = FactorialCRF().fit(X, y)
    >>> model.predict([[["the"], ["cat"]]])
    [{'pos': ['D', 'N'], 'chunk': ['B', 'I']}]
    """

    def __init__(
        self,
        templates: Any = None,
        *,
        cross: bool = False,
        steps: bool = False,
        looks: Any = None,
        scores: Any = None,
        labels: Any = None,
        inference: Any = "auto",
        decoding: Any = "auto",
        objective: Any = None,
        prior: Any = "auto",
        optimiser: Any = "auto",
        features: str = "supported",
        min_count: int = 1,
        gazetteers: Any = None,
        functions: Any = None,
        hash_size: int | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.templates, self.cross, self.steps = templates, cross, steps
        self.looks, self.scores, self.labels = looks, scores, labels
        self.inference, self.decoding = inference, decoding
        self.objective, self.prior, self.optimiser = objective, prior, optimiser
        self.features, self.min_count, self.gazetteers = features, min_count, gazetteers
        self.functions, self.hash_size, self.n_jobs = functions, hash_size, n_jobs
        self.random_state, self.verbose = random_state, verbose

    def fit(self, X: Any, y: Any = None, **options: Any) -> FactorialCRF:
        """Train on sequences with the labels of several columns.

        Parameters
        ----------
        X, y : sequences, and for each a dict column -> labels (None where unknown); or a corpus that was read
            with several label columns
        options : those of ``ChainCRF.fit``; held-out data is scored by the share of right labels
        """
        super().fit(X, y, **options)
        return self

    @property
    def classes_(self) -> dict[str, NDArray[np.object_]]:  # type: ignore[override]
        """Column -> its labels, in their order."""
        self._require_fitted()
        return {name: np.array([*labels, None], object)[:-1] for name, labels in self._columns.items()}

    def predict(self, X: Any, *, constraints: Any = None) -> list[dict[str, list[str]]]:  # type: ignore[override]
        """The best labels: for each sequence a dict column -> labels."""
        _refuse(constraints)
        structure, potentials = self._scores(X)
        best = structure.decode(potentials)
        if not best.optimal:
            warn_of([best])
        return named(best.labels, potentials.offsets, self._columns)

    def predict_proba(self, X: Any, *, constraints: Any = None) -> list[dict[str, Floats]]:  # type: ignore[override]
        """For each sequence a dict column -> probabilities [T, labels], in the order of ``classes_``."""
        _refuse(constraints)
        structure, potentials = self._scores(X)
        table = structure.label_marginals(potentials).reshape(-1, structure.n_columns, structure.n_states)
        ends = potentials.offsets // structure.n_columns
        sizes = {name: len(labels) for name, labels in self._columns.items()}
        return [
            {name: table[a:b, c, :n] for c, (name, n) in enumerate(sizes.items())}
            for a, b in zip(ends[:-1], ends[1:])
        ]

    def log_partition(self, X: Any) -> Floats:
        """[N] log Z of each sequence."""
        structure, potentials = self._scores(X)
        return structure.log_partition(potentials)

    def log_probability(self, X: Any, y: Any = None) -> Floats:
        """[N] log p(known labels | x)."""
        self._require_fitted()
        rows = numbered(rows_of(X, y), self._columns)
        structure, potentials = self._scores(X)
        states = np.array([-1 if s is None else int(s) for row in rows for s in row], np.int32)
        allowed = (states[:, None] < 0) | (states[:, None] == np.arange(structure.n_states))
        known = structure.restrict(potentials, allowed)
        return structure.log_partition(known) - structure.log_partition(potentials)

    def score(self, X: Any, y: Any = None) -> float:
        """The share of known labels, of all columns, that are predicted."""
        rows, found = rows_of(X, y), self.predict(X)
        right = [
            a == b
            for gold, guess in zip(rows, found)
            for name in gold
            for a, b in zip(gold[name], guess[name])
            if a is not None
        ]
        return float(np.mean(right)) if right else float("nan")

    def partial_fit(self, *args: Any, **options: Any) -> FactorialCRF:
        """Not for several columns: raises an InputError."""
        del args, options
        raise InputError("partial_fit is for chains; fit FactorialCRF on all sequences")

    def inspect(self, **options: Any) -> Any:
        """Not for several columns: raises an InputError."""
        del options
        raise InputError("inspect is for one label column; look at weights_ and features_ (a row per weight)")

    def structure_for(self, labels: Sequence[str]) -> FactorialChains:
        """The structure of a fitted model."""
        del labels
        return self._structure_of(self._columns)

    def _structure_of(self, columns: Mapping[str, Sequence[str]]) -> FactorialChains:
        _check_names(columns)
        methods = [
            self._method("inference", self.inference, INFERENCES, columns),
            self._method("decoding", self.decoding, DECODINGS, columns),
        ]
        between = {"cross": bool(self.cross), "steps": bool(self.steps)}
        return FactorialChains(columns, **between, inference=methods[0], decoding=methods[1])

    def _method(self, kind: str, given: Any, table: Any, columns: Mapping[str, Sequence[str]]) -> Any:
        combinations = int(np.prod([len(labels) for labels in columns.values()], dtype=float))
        if given == "auto":
            return (EXACT, {}) if combinations <= MOST_STATES else ("quick", {})
        if given == EXACT:
            return EXACT, {}
        return method_of(kind, given, [EXACT, *table])

    def _training(self, *, growing: bool = False, ranks: Any = None) -> FactorialTraining:
        del growing
        if ranks is not None:
            raise InputError("FactorialCRF is trained by one process; leave out ranks")
        settings = Settings.of(self)
        settings.decoding = "viterbi"
        return FactorialTraining(settings, self._structure_of, Views(self.looks, self.scores))

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Any = None) -> None:
        del classes
        if voters is not None:
            raise InputError("votes are for chains; use the averaged perceptron")
        structure: FactorialChains = parameters.structure  # type: ignore[assignment]
        self._columns = {name: list(labels) for name, labels in structure.columns.items()}
        self._parameters, self.voters_ = parameters, None

    def _stored_labels(self) -> list[str]:
        return list(self._parameters.structure.labels)

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        del parameters
        return {"columns": self._columns}, {}

    def _prepare(self, header: dict[str, Any]) -> None:
        columns = header["columns"]
        for name, labels in columns.items():
            texts = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
            if not texts or not labels or len(set(labels)) < len(labels):
                raise ValueError(f"the labels of the column {name!r} are damaged")
        if not columns:
            raise ValueError("no label column")
        self._columns = columns

    def _scores(self, X: Any) -> tuple[FactorialChains, Parts]:
        """The structure, and the potentials of sequences."""
        self._require_fitted()
        n_jobs, parameters = resolve_jobs(self.n_jobs), self._parameters
        structure: FactorialChains = parameters.structure.using(n_jobs)  # type: ignore[assignment]
        with crew(n_jobs):
            tokens = encode(corpus_of(X), parameters.encoder, grow=False, n_threads=n_jobs)
            return structure, parameters.scorer.potentials(EncodedColumns.of(tokens, structure.n_columns))

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        del X, arguments, options
        raise InputError(
            "this question is for models with one label per token; ask a FactorialCRF for predict, "
            "predict_proba, log_partition, log_probability or score"
        )


def _refuse(constraints: Any) -> None:
    if constraints is not None:
        raise InputError("constraints are for chains; leave them out")


def _check_names(columns: Mapping[str, Sequence[str]]) -> None:
    for name in columns:
        if not name or name == "node" or any(sign in name for sign in "~+>"):
            raise InputError(f"label column {name!r}: give a name without ~, + and >, and not 'node'")
    if len(columns) > 15:
        raise InputError(f"{len(columns)} label columns; at most 15 are possible")

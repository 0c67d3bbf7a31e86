"""MultiLabelCRF: several yes-or-no labels for a row, which depend on one another.

    p(y | x) = exp(sum over labels l with y_l = 1 of <x, weights of l>
                   + sum over pairs of labels that both hold of the weight of the pair) / Z(x)

A row is a graph with a variable of two states for each label. Without pairs it is an independent logistic
regression for each label.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.models.graph import GraphCRF, check_width
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.cliques import Clique, GraphInstance

Floats = NDArray[np.float64]
STATES = ("0", "1")


class MultiLabelCRF(GraphCRF):
    """Multi-label classification with a weight for every pair of labels.

    Parameters
    ----------
    pairs : "all", "none", or a list of pairs of label numbers
    others : as for GraphCRF

    Examples
    --------
    >>> X = [[1.0], [0.9], [0.1], [0.0]]
    >>> Y = [[1, 1], [1, 1], [0, 0], [0, 0]]
    >>> MultiLabelCRF().fit(X, Y).predict([[0.8], [0.2]]).tolist()
    [[1, 1], [0, 0]]
    """

    pairs: Any

    def __init__(
        self,
        pairs: Any = "all",
        *,
        inference: Any = "auto",
        decoding: Any = "auto",
        objective: Any = None,
        prior: Any = "auto",
        optimiser: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, Y: Any, **options: Any) -> MultiLabelCRF:  # type: ignore[override]
        """Train on rows X [N, A] (an array or sparse matrix) with labels Y [N, L]: 1, 0, or -1 if unknown.

        ``options`` are those of ``GraphCRF.fit``; ``X_dev, y_dev`` are held-out rows and labels.
        """
        labels = _checked(Y)
        pairs = pairs_of(self.pairs, labels.shape[1])
        self.cliques = [Clique("label", np.array([-1, 0]))]
        if len(pairs):
            self.cliques.append(Clique("pair", np.array([[-1, -1], [-1, 0]])))
        self.labels, self._n_labels = list(STATES), labels.shape[1]
        if options.get("X_dev") is not None:
            held_out = _checked(options.pop("y_dev", None))
            options["X_dev"] = instances_of(options["X_dev"], pairs, labels.shape[1], held_out)
        super().fit(instances_of(X, pairs, labels.shape[1], labels), **options)
        return self

    @property
    def n_labels_(self) -> int:
        """How many labels there are."""
        self._require_fitted()
        return int(self._n_labels)

    def predict(self, X: Any) -> NDArray[np.int64]:  # type: ignore[override]
        """[N, L] the most probable combination of labels of each row, 1 or 0."""
        found = super().predict(self._instances(X))
        states = [[int(label) for label in row] for row in found]
        return np.array(states, np.int64).reshape(-1, self._n_labels)

    def predict_proba(self, X: Any) -> Floats:  # type: ignore[override]
        """[N, L] the probability that each label holds."""
        answers = self.infer(X)
        return np.array([[p[1] for p in one.variables] for one in answers]).reshape(-1, self._n_labels)

    def infer(self, X: Any) -> list[Inference]:  # type: ignore[override]
        """log Z and marginals of each row."""
        return super().infer(self._instances(X))

    def decode(self, X: Any) -> list[Decoding]:  # type: ignore[override]
        """The most probable combination of each row with its log-probability."""
        return super().decode(self._instances(X))

    def log_probability(self, X: Any, Y: Any) -> Floats:  # type: ignore[override]
        """[N] log p(Y | x) of the known labels of each row."""
        return super().log_probability(self._instances(X, _checked(Y)))

    def score(self, X: Any, Y: Any) -> float:  # type: ignore[override]
        """The share of rows with all labels right (exact match)."""
        return float(np.mean((self.predict(X) == np.asarray(Y)).all(axis=1)))

    def _beside(self, parameters: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        described, arrays = super()._beside(parameters)
        return {**described, "n_labels": self._n_labels}, arrays

    def _prepare(self, header: dict[str, Any]) -> None:
        super()._prepare(header)
        if type(header["n_labels"]) is not int or not 0 < header["n_labels"] < 1 << 20:
            raise ValueError(f"{header['n_labels']!r} labels")
        self._n_labels = header["n_labels"]

    def _instances(self, X: Any, labels: NDArray[Any] | None = None) -> list[GraphInstance]:
        self._require_fitted()
        made = instances_of(X, pairs_of(self.pairs, self._n_labels), self._n_labels, labels)
        for instance in made[:1]:
            width = instance.cliques["label"][1].shape[1] // self._n_labels - 1
            check_width(self, "label", width, self._n_labels, constants=1)
        return made


def pairs_of(pairs: Any, n_labels: int) -> NDArray[np.int32]:
    """[P, 2] the pairs of labels that depend on each other directly."""
    if isinstance(pairs, str) and pairs in ("all", "none"):
        chosen = list(combinations(range(n_labels), 2)) if pairs == "all" else []
    else:
        given = None if isinstance(pairs, str) else np.asarray(pairs)
        if given is None or given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            raise InputError(f"pairs={pairs!r}; give 'all', 'none' or a list of pairs of label numbers")
        chosen = [(int(a), int(b)) for a, b in given]
    for a, b in chosen:
        if a == b or not (0 <= a < n_labels and 0 <= b < n_labels):
            raise InputError(f"pairs: ({a}, {b}) is no pair of the {n_labels} labels, numbered from 0")
    return np.array(chosen, np.int32).reshape(-1, 2)


def instances_of(
    X: Any, pairs: NDArray[np.int32], n_labels: int, labels: NDArray[Any] | None
) -> list[GraphInstance]:
    """Rows as graphs: label l looks at the row's features and a constant, in columns of its own."""
    from scipy import sparse

    rows = sparse.csr_array(X, dtype=np.float64)
    if labels is not None and labels.shape != (rows.shape[0], n_labels):
        raise InputError(f"Y has shape {labels.shape}; ({rows.shape[0]}, {n_labels}) is needed")
    rows = sparse.hstack([rows, sparse.csr_array(np.ones((rows.shape[0], 1)))], format="csr")
    every, identity = sparse.eye_array(n_labels), sparse.eye_array(len(pairs), format="csr")
    out = []
    for i in range(rows.shape[0]):
        cliques: dict[str, Any] = {
            "label": (np.arange(n_labels), sparse.kron(every, rows[[i]], format="csr"))
        }
        if len(pairs):
            cliques["pair"] = (pairs, identity)
        out.append(GraphInstance(n_labels, cliques, None if labels is None else labels[i]))
    return out


def _checked(Y: Any) -> NDArray[np.int64]:
    """[N, L] labels that are 1, 0 or -1."""
    given = np.asarray(Y)
    if given.ndim != 2 or given.dtype.kind not in "iub" or not np.isin(given, (-1, 0, 1)).all():
        raise InputError(
            f"Y must be [N, L] of 1, 0 or -1 (unknown), got shape {given.shape} and {given.dtype}"
        )
    return given.astype(np.int64)

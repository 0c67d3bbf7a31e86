"""CollectiveClassifier: rows with features and links between them are labelled together.

    p(y | x) = exp(sum over rows v of <x_v, weights of y_v> + sum over links of weight[class of y_u, y_v]) / Z

Training and test rows may stand in one graph: labels that are None are summed over in training, and those
that are known stay as they are in predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.models.graph import GraphCRF
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.cliques import Clique, GraphInstance

Floats = NDArray[np.float64]


class CollectiveClassifier(GraphCRF):
    """Labels linked rows together.

    Parameters
    ----------
    tying : weights of a link: "same" (equal labels or not), "agreement" (one for each label that both have)
        or "full" (one for each pair of labels, by the order of the rows)
    others : as for GraphCRF

    Examples
    --------
    >>> features = [[1.0], [0.9], [0.0], [0.1], [0.5]]
    >>> graph = np.zeros((5, 5))
    >>> graph[[0, 2, 3], [1, 3, 4]] = 1                  # the last row says little, but is linked to row 3
    >>> model = CollectiveClassifier().fit(features, graph, ["a", "a", "b", "b", None])
    >>> model.predict(features, graph, ["a", "a", "b", "b", None]).tolist()
    ['a', 'a', 'b', 'b', 'b']
    """

    def __init__(
        self,
        tying: Any = "same",
        *,
        labels: Any = None,
        inference: Any = "auto",
        decoding: Any = "auto",
        objective: Any = None,
        prior: Any = "auto",
        optimiser: Any = "auto",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.tying, self.labels, self.inference, self.decoding = tying, labels, inference, decoding
        self.objective, self.prior, self.optimiser = objective, prior, optimiser
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose

    def fit(self, features: Any, graph: Any, labels: Any, **options: Any) -> CollectiveClassifier:  # type: ignore[override]
        """Train on the rows whose label is known, within the whole graph.

        Parameters
        ----------
        features : [n, A] array or sparse matrix
        graph : [n, n] adjacency, sparse or not: an entry other than 0 links two rows, in either direction
        labels : [n] names, None where unknown
        options : those of ``GraphCRF.fit``: max_seconds, callbacks …
        """
        self.cliques = [Clique("features"), Clique("link", self.tying)]
        super().fit([instance_of(features, graph, labels)], **options)
        return self

    def predict(self, features: Any, graph: Any, labels: Any = None) -> NDArray[np.object_]:  # type: ignore[override]
        """[n] labels of all rows; those that ``labels`` has are kept."""
        X = [instance_of(features, graph, labels)]
        return np.array([*super().predict(X, clamp=True)[0], None], object)[:-1]

    def predict_proba(self, features: Any, graph: Any, labels: Any = None) -> Floats:  # type: ignore[override]
        """[n, Y] probabilities in the order of ``classes_``; rows whose label is given have it for sure."""
        return np.array(self.infer(features, graph, labels).variables)

    def infer(self, features: Any, graph: Any, labels: Any = None) -> Inference:  # type: ignore[override]
        """log Z and marginals, with the labels that are given."""
        return super().infer([instance_of(features, graph, labels)], clamp=True)[0]

    def decode(self, features: Any, graph: Any, labels: Any = None) -> Decoding:  # type: ignore[override]
        """The labels of all rows with their log-probability, and whether they are proved to be the best."""
        return super().decode([instance_of(features, graph, labels)], clamp=True)[0]

    def log_partition(self, features: Any, graph: Any, labels: Any = None) -> float:  # type: ignore[override]
        """log Z, over labellings that have the given labels."""
        return float(self.infer(features, graph, labels).log_partition)

    def log_probability(self, features: Any, graph: Any, labels: Any) -> float:  # type: ignore[override]
        """log p(known labels | features, graph)."""
        return float(super().log_probability([instance_of(features, graph, labels)])[0])

    def score(self, features: Any, graph: Any, labels: Any, given: Any = None) -> float:  # type: ignore[override]
        """The share of ``labels`` (without None) that are predicted; those ``given`` stay uncounted."""
        found = self.predict(features, graph, given)
        kept = [None] * len(found) if given is None else list(given)
        pairs = [(a, b) for a, b, c in zip(found, labels, kept) if b is not None and c is None]
        return float(np.mean([a == b for a, b in pairs])) if pairs else float("nan")


def instance_of(features: Any, graph: Any, labels: Any = None) -> GraphInstance:
    """Rows and links as a graph; each row has a constant as its last feature."""
    from scipy import sparse

    rows = sparse.csr_array(features, dtype=np.float64)
    links = sparse.coo_array(graph)
    n = rows.shape[0]
    if links.shape != (n, n):
        raise InputError(f"graph has shape {links.shape} for {n} rows of features; it must be ({n}, {n})")
    present = links.data != 0
    i, j = links.row[present], links.col[present]
    pairs = np.stack([np.minimum(i, j), np.maximum(i, j)], 1)[i != j]
    pairs = np.unique(pairs, axis=0).reshape(-1, 2)
    observed = sparse.hstack([rows, sparse.csr_array(np.ones((n, 1)))], format="csr")
    return GraphInstance(n, {"features": (np.arange(n), observed), "link": (pairs, None)}, labels)

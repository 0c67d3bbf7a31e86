"""CollectiveClassifier: rows with features and links between them are labelled together.

    p(y | x) = exp(sum over rows v of <x_v, weights of y_v> + sum over links of weight[class of y_u, y_v]) / Z

Training and test rows may stand in one graph: labels that are None are summed over in training, and those
that are known stay as they are in predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.inspection.nodes import NodeExplanation
from fieldcraft.models.graph import GraphCRF, check_width
from fieldcraft.models.node_tables import Linked, NodeTables, needed
from fieldcraft.models.node_votes import explained
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

    tying: Any
    tables_: NodeTables | None = None

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
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(self, features: Any, graph: Any, labels: Any, **options: Any) -> CollectiveClassifier:  # type: ignore[override]
        """Train on the rows whose label is known, within the whole graph.

        Parameters
        ----------
        features : [n, A] array or sparse matrix
        graph : [n, n] adjacency, sparse or not: an entry other than 0 links two rows, in either direction.
            Or a dict of relations, each with weights of its own: adjacencies, or pairs of rows [P, 2] as
            ``fc.pairs`` and ``fc.links`` return them
        labels : [n] names, None where unknown
        options : those of ``GraphCRF.fit``: max_seconds, callbacks …
        """
        instance = instance_of(features, graph, labels)
        self.cliques = [
            Clique(name, "full" if name == "features" else self.tying) for name in instance.cliques
        ]
        super().fit([instance], **options)
        self.tables_ = None
        return self

    def fit_tables(
        self,
        nodes: Any,
        edges: Any,
        *,
        id: str = "id",
        source: str = "source",
        target: str = "target",
        label: str = "label",
        words: Sequence[str] = (),
        relation: str | None = None,
        leave: Sequence[str] = (),
        **options: Any,
    ) -> CollectiveClassifier:
        """Train on a table of nodes and a table of edges.

        Tables are data frames, dicts of columns, lists of dicts, or names of CSV, TSV and Parquet files. All
        columns of the nodes are features, but for id, label and ``leave``: numbers, categories and words.

        Parameters
        ----------
        id, label : columns of the nodes; the label is empty where unknown
        source, target : columns of the edges with the ids of both ends
        words : columns of the nodes with texts, whose words are features
        relation : column of the edges with their kind; each kind has weights of its own
        leave : columns of the nodes that are no features
        options : as for ``fit``

        >>> nodes = {"id": [*"abcde"], "size": [1, 2, 9, 8, None], "label": [*"ssll", None]}
        >>> edges = {"source": ["a", "c", "d", "d"], "target": ["b", "d", "e", "c"]}
        >>> model = CollectiveClassifier().fit_tables(nodes, edges)
        >>> model.predict_tables(nodes, edges).tolist()
        ['s', 's', 'l', 'l', 'l']
        """
        tables = NodeTables(id, source, target, label, tuple(words), relation, tuple(leave))
        linked = tables.learn(nodes, edges)
        self.fit(linked.features, linked.relations, linked.labels, **options)
        self.tables_ = tables
        return self

    def predict_tables(self, nodes: Any, edges: Any) -> NDArray[np.object_]:
        """[n] labels of all nodes; those that the table has are kept."""
        linked = self.read_tables(nodes, edges)
        return self.predict(linked.features, linked.relations, linked.labels)

    def read_tables(self, nodes: Any, edges: Any, *, label: str | None = None) -> Linked:
        """Ids, features, relations and labels (by default those of the training's column) of tables."""
        self._require_fitted()
        tables, names = needed(self.tables_), set(self.classes_)
        linked = tables.read(nodes, edges, label=label)
        for node, one in zip(linked.ids, linked.labels):
            if one is not None and one not in names:
                raise InputError(
                    f"node {node!r}: label {one!r} is none of {', '.join(self.classes_)}, which the model "
                    "has; leave it empty where it is unknown"
                )
        return linked

    def explain_node(
        self, nodes: Any, edges: Any, node: Any, *, against: str | None = None, top: int = 10
    ) -> NodeExplanation:
        """The votes of a node's features and neighbours for its label, against the runner-up or another."""
        linked = self.read_tables(nodes, edges)
        return explained(self, needed(self.tables_), linked, str(node), against, top)

    def predict(self, features: Any, graph: Any, labels: Any = None) -> NDArray[np.object_]:  # type: ignore[override]
        """[n] labels of all rows; those that ``labels`` has are kept."""
        X = [self._instance(features, graph, labels)]
        return np.array([*super().predict(X, clamp=True)[0], None], object)[:-1]

    def predict_proba(self, features: Any, graph: Any, labels: Any = None) -> Floats:  # type: ignore[override]
        """[n, Y] probabilities in the order of ``classes_``; rows whose label is given have it for sure."""
        return np.array(self.infer(features, graph, labels).variables)

    def infer(self, features: Any, graph: Any, labels: Any = None) -> Inference:  # type: ignore[override]
        """log Z and marginals, with the labels that are given."""
        return super().infer([self._instance(features, graph, labels)], clamp=True)[0]

    def decode(self, features: Any, graph: Any, labels: Any = None) -> Decoding:  # type: ignore[override]
        """The labels of all rows with their log-probability, and whether they are proved to be the best."""
        return super().decode([self._instance(features, graph, labels)], clamp=True)[0]

    def log_partition(self, features: Any, graph: Any, labels: Any = None) -> float:  # type: ignore[override]
        """log Z, over labellings that have the given labels."""
        return float(self.infer(features, graph, labels).log_partition)

    def log_probability(self, features: Any, graph: Any, labels: Any) -> float:  # type: ignore[override]
        """log p(known labels | features, graph)."""
        return float(super().log_probability([self._instance(features, graph, labels)])[0])

    def score(self, features: Any, graph: Any, labels: Any, given: Any = None) -> float:  # type: ignore[override]
        """The share of ``labels`` (without None) that are predicted; those ``given`` stay uncounted."""
        found = self.predict(features, graph, given)
        kept = [None] * len(found) if given is None else list(given)
        pairs = [(a, b) for a, b, c in zip(found, labels, kept) if b is not None and c is None]
        return float(np.mean([a == b for a, b in pairs])) if pairs else float("nan")

    def _instance(self, features: Any, graph: Any, labels: Any) -> GraphInstance:
        """Rows and links as a graph, with features of the width of the training."""
        instance = instance_of(features, graph, labels)
        check_width(self, "features", instance.cliques["features"][1].shape[1] - 1, constants=1)
        return instance

    def _beside(self, parameters: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        described, arrays = super()._beside(parameters)
        return described | ({} if self.tables_ is None else {"tables": self.tables_.state()}), arrays

    def _prepare(self, header: dict[str, Any]) -> None:
        super()._prepare(header)
        self.tables_ = NodeTables.from_state(header["tables"]) if "tables" in header else None


def instance_of(features: Any, graph: Any, labels: Any = None) -> GraphInstance:
    """Rows and links as a graph; each row has a constant as its last feature."""
    from scipy import sparse

    rows = sparse.csr_array(features, dtype=np.float64)
    n = rows.shape[0]
    relations = dict(graph) if isinstance(graph, Mapping) else {"link": sparse.coo_array(graph)}
    observed = sparse.hstack([rows, sparse.csr_array(np.ones((n, 1)))], format="csr")
    cliques: dict[str, Any] = {"features": (np.arange(n), observed)}
    for name, given in relations.items():
        if name == "features":
            raise InputError("graph: a relation cannot be called 'features'; choose another name")
        cliques[name] = (_pairs(given, n), None)
    return GraphInstance(n, cliques, labels)


def _pairs(given: Any, n: int) -> NDArray[Any]:
    """[P, 2] from pairs of rows, or from an adjacency [n, n]."""
    from scipy import sparse

    if not sparse.issparse(given):
        given = np.asarray(given)
        if given.ndim == 2 and given.shape[1] == 2 and given.dtype.kind in "iu":
            return np.asarray(given)
    links = sparse.coo_array(given)
    if links.shape != (n, n):
        raise InputError(f"graph has shape {links.shape} for {n} rows of features; it must be ({n}, {n})")
    present = links.data != 0
    i, j = links.row[present], links.col[present]
    pairs = np.stack([np.minimum(i, j), np.maximum(i, j)], 1)[i != j]
    return np.asarray(np.unique(pairs, axis=0).reshape(-1, 2))

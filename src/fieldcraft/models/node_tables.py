"""Nodes and edges as tables: what a model of linked rows reads, and how it reads it again for predictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus.row_tables import column, columns_of, is_missing
from fieldcraft.errors import CorpusError, InputError
from fieldcraft.features.relations import links
from fieldcraft.features.table_columns import TableColumns

Ints = NDArray[np.int32]
NODES, EDGES = "the table of nodes", "the table of edges"


class Linked(NamedTuple):
    """Tables as a model takes them.

    ids : [n] of the rows
    features : [n, A] sparse
    relations : for each kind of edge [P, 2] rows
    labels : [n], None where unknown
    columns : all columns of the nodes
    """

    ids: list[str]
    features: Any
    relations: dict[str, Ints]
    labels: list[str | None]
    columns: dict[str, list[Any]]


@dataclass
class NodeTables:
    """Which columns of the tables are what.

    Parameters
    ----------
    id : column of the nodes with a name for each
    source, target : columns of the edges with the ids of their ends
    label : column of the nodes; empty where unknown
    words : columns of the nodes with texts, whose words are features
    relation : column of the edges with their kind, each of which has weights of its own; None for one kind
    leave : further columns of the nodes that are no features
    """

    id: str = "id"
    source: str = "source"
    target: str = "target"
    label: str = "label"
    words: tuple[str, ...] = ()
    relation: str | None = None
    leave: tuple[str, ...] = ()
    features: TableColumns = field(default_factory=lambda: TableColumns([]))

    def learn(self, nodes: Any, edges: Any) -> Linked:
        """Read training tables; their columns become features."""
        columns = columns_of(nodes)
        column(columns, self.label, NODES)
        used = {self.id, self.label, *self.leave}
        self.features = TableColumns.learn(columns, leave=used, words=self.words)
        return self.read(columns, edges)

    def read(self, nodes: Any, edges: Any, *, label: str | None = None) -> Linked:
        """Read tables; labels are in the column ``label``, by default that of training, if it is there."""
        columns, ends = columns_of(nodes), columns_of(edges)
        ids = [str(one) if not is_missing(one) else None for one in column(columns, self.id, NODES)]
        named = columns.get(self.label) if label is None else column(columns, label, NODES)
        labels = [None if is_missing(one) else str(one) for one in named or [None] * len(ids)]
        relations = self._relations(ids, ends)
        return Linked(
            [str(one) for one in ids], self.features.encode(columns, NODES), relations, labels, columns
        )

    def _relations(self, ids: list[Any], edges: dict[str, list[Any]]) -> dict[str, Ints]:
        ends = [column(edges, name, EDGES) for name in (self.source, self.target)]
        if self.relation is None:
            return {"link": links(ids, *ends)}
        kinds = [str(one) for one in column(edges, self.relation, EDGES)]
        links(ids, *ends)  # errors then count the edges of the whole table
        chosen = {kind: np.array([one == kind for one in kinds]) for kind in dict.fromkeys(kinds)}
        return {
            kind: links(ids, *([end for end, kept in zip(one, mask) if kept] for one in ends))
            for kind, mask in chosen.items()
        }

    def number(self, linked: Linked, node: str) -> int:
        """The row of a node; InputError for an unknown id."""
        if node not in linked.ids:
            raise InputError(f"there is no node with the id {node!r} among the {len(linked.ids):,}")
        return linked.ids.index(node)

    def state(self) -> dict[str, Any]:
        """For a model file."""
        texts = {name: getattr(self, name) for name in TEXTS}
        lists = {name: list(getattr(self, name)) for name in ("words", "leave")}
        return {**texts, **lists, "relation": self.relation, "features": self.features.state()}

    @classmethod
    def from_state(cls, state: Any) -> NodeTables:
        """Undo ``state``; ValueError where it is damaged."""
        named: Iterable[Any] = [state[name] for name in TEXTS]
        lists = [tuple(state[name]) for name in ("words", "leave")]
        relation = state["relation"]
        texts = [*named, *lists[0], *lists[1], *([] if relation is None else [relation])]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("the names of the columns are damaged")
        features = TableColumns.from_state(state["features"])
        names = {name: state[name] for name in TEXTS}
        return cls(**names, words=lists[0], relation=relation, leave=lists[1], features=features)


TEXTS = ("id", "source", "target", "label")


def needed(tables: NodeTables | None) -> NodeTables:
    """The tables of a model, or an error where it was trained on arrays."""
    if tables is None:
        raise CorpusError(
            "the model was trained on arrays and does not know tables; train it with fit_tables, or with "
            "fieldcraft graph train"
        )
    return tables

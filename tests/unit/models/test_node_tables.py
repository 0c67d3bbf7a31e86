"""Models of linked rows from tables: features of columns, relations, files, explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import CorpusError, FieldcraftError, InputError
from fieldcraft.features.table_columns import TableColumns
from fieldcraft.models.node_tables import NodeTables

NODES = {
    "id": ["a", "b", "c", "d", "e"],
    "size": [1.0, 2.0, 9.0, 8.0, None],
    "venue": ["X", "X", "Y", "Y", "X"],
    "title": ["Small thing", "small", "large thing", "Large", ""],
    "label": ["lo", "lo", "hi", "hi", None],
}
EDGES = {"source": ["a", "c", "e"], "target": ["b", "d", "d"], "kind": ["knows", "knows", "cites"]}


def model(**options: Any) -> Any:
    return fc.CollectiveClassifier(prior=fc.Gaussian(variance=1.0)).fit_tables(NODES, EDGES, **options)


def test_columns_become_features() -> None:
    made = TableColumns.learn(NODES, leave=["id", "label"], words=["title"])
    assert made.names() == ["size", "venue=X", "venue=Y", "title=small", "title=thing", "title=large"]
    rows = made.encode(NODES, "here").toarray()
    spread = np.std([1.0, 2.0, 9.0, 8.0])
    np.testing.assert_allclose(rows[:, 0], [-4 / spread, -3 / spread, 4 / spread, 3 / spread, 0])
    assert rows[:, 1:].tolist() == [
        [1, 0, 1, 1, 0],
        [1, 0, 1, 0, 0],
        [0, 1, 0, 1, 1],
        [0, 1, 0, 0, 1],
        [1, 0, 0, 0, 0],
    ]
    other = {**NODES, "venue": ["Z"] * 5, "title": ["unknown"] * 5}
    assert not made.encode(other, "here").toarray()[:, 1:].any()
    again = TableColumns.from_state(made.state())
    assert again.columns == made.columns


def test_tables_are_arrays_that_were_made_for_them() -> None:
    """The same weights as by hand."""
    crf = model(words=["title"], leave=["venue"])
    tables = NodeTables(words=("title",), leave=("venue",))
    linked = tables.learn(NODES, EDGES)
    adjacency = np.zeros((5, 5))
    adjacency[[0, 2, 4], [1, 3, 3]] = 1
    other = fc.CollectiveClassifier(prior=fc.Gaussian(variance=1.0))
    other.fit(linked.features, adjacency, [*NODES["label"]])
    np.testing.assert_allclose(crf.weights_, other.weights_, rtol=1e-9, atol=1e-12)
    assert crf.predict_tables(NODES, EDGES).tolist() == ["lo", "lo", "hi", "hi", "hi"]
    assert other.tables_ is None
    with pytest.raises(CorpusError, match="trained on arrays"):
        other.predict_tables(NODES, EDGES)


def test_relations_have_weights_of_their_own(tmp_path: Path) -> None:
    crf = model(relation="kind")
    assert [clique.name for clique in crf.cliques_] == ["features", "knows", "cites"]
    with pytest.raises(InputError, match="the clique 'hates'; the model has cites, features, knows"):
        crf.predict_tables(NODES, {**EDGES, "kind": ["hates"] * 3})
    crf.save(tmp_path / "m.fc")
    loaded: Any = fc.load(tmp_path / "m.fc")
    assert loaded.tables_.state() == crf.tables_.state()
    assert loaded.predict_tables(NODES, EDGES).tolist() == crf.predict_tables(NODES, EDGES).tolist()
    whole = (tmp_path / "m.fc").read_bytes()
    for text, other in (
        (b'kind\\": \\"number', b'kind\\": \\"nimber'),
        (b'\\"source\\": \\"source', b'\\"sourse\\": \\"source'),
    ):
        assert text in whole
        with pytest.raises(FieldcraftError):
            fc.load(whole.replace(text, other))


def test_pairs_are_relations() -> None:
    features = [[1.0], [1.0], [-1.0], [-1.0], [0.0]]
    graph = {
        "venue": fc.pairs(NODES, same="venue"),
        "edge": fc.links(NODES["id"], EDGES["source"], EDGES["target"]),
    }
    crf = fc.CollectiveClassifier().fit(features, graph, NODES["label"])
    assert crf.predict(features, graph, NODES["label"]).tolist()[:4] == NODES["label"][:4]
    with pytest.raises(InputError, match="cannot be called 'features'"):
        crf.predict(features, {"features": [[0, 1]]})
    with pytest.raises(InputError, match="variable 9 does not exist"):
        crf.predict(features, {"venue": [[0, 9]]})


def test_votes_add_up_to_the_difference_of_two_labellings() -> None:
    crf = model(words=["title"], leave=["venue"])
    found = crf.explain_node(NODES, EDGES, "e", top=1)
    assert (found.node, found.label, found.other) == ("e", "hi", "lo")
    assert (found.neighbours[0].node, found.neighbours[0].label, found.neighbours[0].known) == (
        "d",
        "hi",
        True,
    )
    linked = crf.tables_.read(NODES, EDGES)
    scores = [
        crf.log_probability(linked.features, linked.relations, [*NODES["label"][:4], label])
        for label in ("hi", "lo")
    ]
    assert found.difference == pytest.approx(scores[0] - scores[1], rel=1e-9)
    odds = np.log(found.probability) - np.log(found.other_probability)
    assert found.difference == pytest.approx(odds, rel=1e-7)  # all neighbours are known
    assert "difference of the scores" in str(found)
    assert found.to_dict()["neighbours"][0]["relation"] == "link"
    against = crf.explain_node(NODES, EDGES, "a", against="hi")
    assert (against.label, against.other) == ("lo", "hi")
    with pytest.raises(InputError, match="no node with the id 'z' among the 5"):
        crf.explain_node(NODES, EDGES, "z")
    with pytest.raises(InputError, match="against='lo'"):
        crf.explain_node(NODES, EDGES, "a", against="lo")


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"target": ["b", "d", "z"]}, "edge 2 .e to z.: there is no row with the id 'z'"),
    ({"label": [None] * 5}, {}, "no instance has a known label"),
    ({"id": ["a", "a", "c", "d", "e"]}, {}, "id 'a' stands in rows 0 and 1"),
]


@pytest.mark.parametrize(("nodes", "edges", "why"), REFUSED, ids=[why for _, _, why in REFUSED])
def test_bad_tables(nodes: dict[str, Any], edges: dict[str, Any], why: str) -> None:
    with pytest.raises(FieldcraftError, match=why):
        fc.CollectiveClassifier().fit_tables({**NODES, **nodes}, {**EDGES, **edges})


def test_bad_input_of_predictions() -> None:
    crf = model()
    with pytest.raises(InputError, match="row 1: 'many' in column 'size' is no number"):
        crf.predict_tables({**NODES, "size": [1, "many", 2, 3, 4]}, EDGES)
    with pytest.raises(CorpusError, match="the table of nodes has no column 'venue'"):
        crf.predict_tables({name: cells for name, cells in NODES.items() if name != "venue"}, EDGES)
    with pytest.raises(InputError, match="node 'a': label 'mid' is none of hi, lo"):
        crf.predict_tables({**NODES, "label": ["mid", None, None, None, None]}, EDGES)
    linked = crf.tables_.read(NODES, EDGES)
    with pytest.raises(InputError, match="features have 1 columns, in training 7"):
        crf.predict(np.ones((5, 1)), linked.relations)
    with pytest.raises(InputError, match="variable 2: label 'hi' is none of lo"):
        fc.CollectiveClassifier(labels=["lo"]).fit_tables(NODES, EDGES)


def test_constructors_store_what_they_take() -> None:
    for kind in (fc.GraphCRF, fc.CollectiveClassifier, fc.MultiLabelCRF):
        given = {name: object() for name in kind()._parameter_names()}
        assert kind(**given).get_params() == given  # type: ignore[arg-type]

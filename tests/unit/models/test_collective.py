"""CollectiveClassifier: the GraphCRF of rows and links, known labels that stay, files, refusals."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import fieldcraft as fc
from fieldcraft.errors import InputError


def linked(seed: int = 0) -> tuple[Any, Any, list[str], list[str | None]]:
    """Synthetic: rows with a noisy feature, linked mostly to rows of the same label; half of the labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(["x", "y"], 8)
    features = (labels == "x")[:, None] + rng.normal(scale=1.2, size=(16, 1))
    graph = np.zeros((16, 16))
    for a, b in [*((i, i + 1) for i in range(7)), *((i, i + 1) for i in range(8, 15)), (7, 8)]:
        graph[a, b] = 1
    given = [str(label) if i % 2 else None for i, label in enumerate(labels)]
    return features, graph, labels.tolist(), given


@pytest.mark.parametrize("tying", ["same", "agreement", "full"])
def test_it_is_the_graph_crf_of_rows_and_links(tying: str) -> None:
    features, graph, _, given = linked()
    model = fc.CollectiveClassifier(tying).fit(sparse.csr_matrix(features), sparse.coo_matrix(graph), given)
    pairs = np.argwhere(graph)
    rows = np.concatenate([features, np.ones((16, 1))], axis=1)
    x = fc.GraphInstance(16, {"features": (np.arange(16), rows), "link": (pairs, None)}, given)
    crf = fc.GraphCRF(["features", fc.Clique("link", tying)]).fit([x])
    np.testing.assert_array_equal(model.weights_, crf.weights_)
    assert model.predict(features, graph, given).tolist() == crf.predict([x], clamp=True)[0]
    p = model.predict_proba(features, graph, given)
    np.testing.assert_array_equal(p, np.array(crf.predict_proba([x], clamp=True)[0]))
    assert model.log_probability(features, graph, given) == crf.log_probability([x])[0]


def test_links_help_and_known_labels_stay() -> None:
    features, graph, labels, given = linked()
    model = fc.CollectiveClassifier().fit(features, graph, given)
    alone = fc.CollectiveClassifier().fit(features, np.eye(16, k=15), given)
    found = model.predict(features, graph, given)
    assert all(known in (None, label) for known, label in zip(given, found))
    assert model.score(features, graph, labels, given) > alone.score(features, 0 * graph, labels, given)
    assert model.decode(features, graph, given).labels == found.tolist()
    assert model.predict(features, graph.T, given).tolist() == found.tolist()  # links have no direction
    assert model.infer(features, graph).log_partition == model.log_partition(features, graph)
    assert np.isnan(model.score(features, graph, given, given))


def test_files_and_pickles(tmp_path: Path) -> None:
    features, graph, _, given = linked(1)
    model = fc.CollectiveClassifier("agreement").fit(features, graph, given)
    model.save(tmp_path / "rows.fc")
    for other in (fc.load(tmp_path / "rows.fc"), pickle.loads(pickle.dumps(model))):
        assert isinstance(other, fc.CollectiveClassifier)
        assert other.tying == "agreement"
        np.testing.assert_allclose(
            other.predict_proba(features, graph), model.predict_proba(features, graph), rtol=1e-12
        )
        np.testing.assert_allclose(other.fit(features, graph, given).weights_, model.weights_)


def test_refusals() -> None:
    features, graph, _, given = linked()
    with pytest.raises(InputError, match=r"graph has shape \(15, 15\) for 16 rows"):
        fc.CollectiveClassifier().fit(features, graph[:15, :15], given)
    with pytest.raises(InputError, match="15 labels for 16 variables"):
        fc.CollectiveClassifier().fit(features, graph, given[:15])
    with pytest.raises(InputError, match="no instance has a known label"):
        fc.CollectiveClassifier().fit(features, graph, [None] * 16)
    with pytest.raises(InputError, match="no instance has a factor of this template"):
        fc.CollectiveClassifier().fit(features, 0 * graph, given)
    model = fc.CollectiveClassifier().fit(features, graph, given)
    with pytest.raises(InputError, match="features have 2 columns, in training 1; give the same"):
        model.predict(np.ones((16, 2)), graph)
    with pytest.raises(InputError, match="label 'z' is none of x, y"):
        model.predict(features, graph, ["z"] + [None] * 15)

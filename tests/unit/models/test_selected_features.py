"""features="selected": what is likely in a young model gets a weight, and nothing else does.

The young model's marginals are computed by the log-space reference; the features that they select are found
with loops.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, FieldcraftError, Gaussian
from fieldcraft.models.training import BRIEF
from oracles import chain_reference as reference
from unit.training.corpora import EDGE, design_of, draw, plain, potentials

N_LABELS = 4
EXACT: dict[str, Any] = {"max_iterations": 2000, "tolerance": 1e-9, "objective_tolerance": 0.0}
Feature = tuple[int, int, int]


@pytest.fixture(scope="module", params=[False, True], ids=["nodes", "edges"])
def corpus(request: Any) -> tuple[list[Any], list[list[str]], bool]:
    rng = np.random.default_rng(11)
    lengths = [1, *rng.integers(1, 9, size=40), 0]
    X, y = draw(rng, N_LABELS, lengths, n_names=60, edges=request.param)
    for i in range(N_LABELS):
        y[i + 1][0] = f"L{i:03d}"
    return X, y, request.param


def model(edges: bool, **settings: Any) -> ChainCRF:
    return ChainCRF(prior=Gaussian(variance=3.0), edge_prefix=EDGE if edges else None, **settings)


def likely(design: Any, on_edge: set[int], weights: Any, least: float) -> set[Feature]:
    """By definition, token by token."""
    node, edge = potentials(design, N_LABELS, weights)
    encoded, every = design.encoded, np.ones(N_LABELS, bool)
    sources, targets = np.divmod(np.arange(N_LABELS**2), N_LABELS)
    found: set[Feature] = set()
    for first, last in zip(encoded.offsets[:-1], encoded.offsets[1:]):
        if first == last:
            continue
        flat = edge[first:last].reshape(-1, N_LABELS**2)
        chain = reference.dense(node[first:last], flat, sources, targets, every, every)
        of_nodes, of_steps = reference.marginals(chain)
        for t in range(last - first):
            begin, end = encoded.token_ptr[first + t], encoded.token_ptr[first + t + 1]
            attributes = set(encoded.attributes[begin:end].tolist())
            labels = np.flatnonzero(of_nodes[t] > least)
            found |= {(a, -1, int(y)) for a in attributes - on_edge for y in labels}
            if t > 0:
                pairs = np.flatnonzero(of_steps[t] > least)
                steps = [(int(sources[p]), int(targets[p])) for p in pairs]
                found |= {(a, x, y) for a in (attributes & on_edge) | {-1} for x, y in steps}
    return found


def features(index: Any) -> list[Feature]:
    return list(zip(index.attribute.tolist(), index.previous.tolist(), index.label.tolist()))


@pytest.mark.parametrize("least", [0.02, 0.05, 0.3])
def test_the_likely_ones(corpus: Any, least: float) -> None:
    X, y, edges = corpus
    young = model(edges, optimiser=LBFGS(max_iterations=BRIEF)).fit(X, y)
    design = design_of(X, y, N_LABELS, edges=edges)
    supported = features(design.index)
    texts = young.encoder_.attribute_text(range(design.index.n_attributes))
    on_edge = {a for a, text in enumerate(texts) if edges and text.startswith(EDGE)}
    wanted = likely(design, on_edge, young.weights_, least) | set(supported)
    total = len(design_of(X, y, N_LABELS, edges=edges, features="all").index)
    assert len(supported) < len(wanted) < total
    crf = model(edges, features=f"selected:{least}", optimiser=LBFGS(max_iterations=0)).fit(X, y)
    found = features(crf.features_)
    assert found[: len(supported)] == supported  # appended: weights keep their places
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_columns_of_the_new_rows(corpus: Any) -> None:
    """As features="all" counts them."""
    X, y, edges = corpus
    crf = model(edges, features="selected", optimiser=LBFGS(max_iterations=1)).fit(X, y)
    every = model(edges, features="all", optimiser=LBFGS(max_iterations=1)).fit(X, y).features_
    rows = every.rows_of(crf.features_.attribute, crf.features_.previous, crf.features_.label)
    assert rows.min() >= 0
    assert (crf.features_.count == 0).any()
    for column in ("count", "family", "template"):
        np.testing.assert_array_equal(getattr(crf.features_, column), getattr(every, column)[rows])


def test_training_goes_on_to_the_minimum(corpus: Any) -> None:
    X, y, edges = corpus
    crf = model(edges, features="selected", optimiser=LBFGS(memory=20, **EXACT)).fit(X, y)
    design = replace(design_of(X, y, N_LABELS, edges=edges), index=crf.features_)
    loss = plain(design, N_LABELS, crf.weights_)
    assert np.abs(loss.gradient + crf.weights_ / 3.0).max() <= 1e-7
    assert crf.weights_[crf.features_.count == 0].max() < 0.1  # mostly against what is wrong


def test_threads_do_not_matter(corpus: Any) -> None:
    X, y, edges = corpus
    one, two = (model(edges, features="selected", n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.features_.digest == two.features_.digest
    assert one.weights_.tobytes() == two.weights_.tobytes()


def test_snapshots_files_and_growth(corpus: Any, tmp_path: Path) -> None:
    X, y, edges = corpus
    settings: dict[str, Any] = {"features": "selected:0.1", "optimiser": LBFGS(max_iterations=12)}
    whole = model(edges, **settings).fit(X, y)
    half = model(edges, **settings)
    half.fit(X, y, snapshot=tmp_path / "run", snapshot_every=4, callbacks=[lambda r: r.iteration == 6])
    resumed = model(edges, **settings).fit(X, y, snapshot=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(resumed.weights_, whole.weights_)
    whole.save(tmp_path / "model.fc")
    loaded = fc.load(tmp_path / "model.fc")
    assert loaded.features == "selected:0.1"
    assert loaded.features_.digest == whole.features_.digest
    digest = whole.features_.digest
    more, labels = draw(np.random.default_rng(3), N_LABELS, [3, 4, 5], n_names=200, edges=edges)
    grown = whole.partial_fit(more, labels)
    assert grown.features_.select(np.arange(len(grown.features_)) < len(loaded.features_)).count.sum() > 0
    assert features(grown.features_)[: len(loaded.features_)] == features(loaded.features_)
    assert grown.features_.digest != digest


def test_a_mask_that_is_a_function_counts_from_the_beginning(corpus: Any) -> None:
    X, y, edges = corpus
    crf = model(edges, features="selected").fit(X, y, feature_mask=lambda index: ~index.is_edge)
    assert not crf.weights_[crf.features_.is_edge].any()
    assert crf.weights_[~crf.features_.is_edge].all()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"features": "selected:2"}, "give a probability, e.g. selected:0.05"),
        ({"features": "selected:x"}, "give a probability"),
        ({"features": "selected:"}, "give a probability"),
        ({"features": "all:0.1"}, "choose one of supported, all, "),
        ({"features": None}, "choose one of"),
        ({"features": "selected", "min_count": 2}, "would all go"),
    ],
)
def test_refusals(corpus: Any, settings: dict[str, Any], complaint: str) -> None:
    X, y, edges = corpus
    with pytest.raises(FieldcraftError, match=complaint):
        model(edges, **settings).fit(X, y)


def test_two_passes_l1_then_l2() -> None:
    """The features that an L1 penalty keeps, with weights that it does not shrink."""
    train = fc.datasets.addresses(n=150, seed=4)  # synthetic
    templates = "lower(word)\nsuffix(word, 2)\nedge"
    sparse = ChainCRF(templates, prior=fc.Laplacian(scale=1.0)).fit(train)
    kept = sparse.weights_ != 0
    again = ChainCRF(templates, prior=Gaussian(variance=5.0)).fit(train, feature_mask=kept)
    np.testing.assert_array_equal(again.weights_ != 0, kept)
    assert 0 < kept.sum() < len(kept) / 2
    assert np.abs(again.weights_).sum() > np.abs(sparse.weights_).sum()

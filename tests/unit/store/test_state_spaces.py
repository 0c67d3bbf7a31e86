"""A model whose states are not its labels survives a file and a pickle; damaged state spaces are refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.design import build_design, make_encoder
from fieldcraft.errors import FieldcraftError, ModelFileError
from fieldcraft.labels import encode_labels
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.warm_start import weights_for
from fieldcraft.store.files import read_arrays, write_arrays
from fieldcraft.structures.states import StateSpace

LABELS = ("N", "V")
X = [[["a", "first"], ["b", "e|x"], ["a"]], [["b", "first"]], [["c"], ["c", "e|x"], ["a", "e|y"], ["b"]]]
Y = [["N", "V", "V"], ["V"], ["N", "N", "V", "N"]]


def tied() -> StateSpace:
    """Two states per label that share node weights; a start and a transition are forbidden."""
    pairs = [(s, t) for s in range(4) for t in range(4) if (s, t) != (3, 0)]
    sources, targets = np.array(pairs).T
    starts = np.array([True, True, True, False])
    label_of = np.array([0, 0, 1, 1])
    return StateSpace(4, sources, targets, starts, np.ones(4, bool), label_of, LABELS, node_class=label_of)


def model(states: StateSpace, **options: Any) -> fc.ChainCRF:
    """A model with weights drawn at random."""
    crf = fc.ChainCRF(states=states, n_jobs=1, **options)
    structure = crf.structure_for(LABELS)
    encoder = make_encoder(None, hash_size=crf.hash_size, edge_prefix=crf.edge_prefix)
    encoded = encoder.encode(X, grow=True)
    gold = encode_labels(Y, LABELS, encoded.offsets)
    index = build_design(encoder, encoded, gold, 2, features="all", structure=structure).index
    weights = np.random.default_rng(5).normal(size=len(index))
    weights[::7] = 0.0
    crf._settle(Parameters.of(encoder, index, weights, structure), LABELS)
    return crf


def answers(crf: fc.ChainCRF) -> list[bytes]:
    """Potentials and what the structure makes of them, as bytes."""
    parameters = crf._parameters
    potentials = parameters.scorer.potentials(parameters.encoder.encode(X, grow=False))
    structure = parameters.structure
    states, score = structure.argmax(potentials)
    numbers = [structure.log_partition(potentials), structure.label_marginals(potentials), score]
    return [array.tobytes() for array in (potentials["node"], potentials["edge"], states, *numbers)]


@pytest.mark.parametrize("encoder", [{"edge_prefix": "e|"}, {"hash_size": 32}], ids=["edges", "hashed"])
def test_files_and_pickles(encoder: dict[str, Any], tmp_path: Path) -> None:
    crf = model(tied(), **encoder)
    expected = answers(crf)
    assert len(np.unique(crf.features_.label[~crf.features_.is_edge])) == 2  # classes
    assert crf.features_.previous.max() == 3  # states
    for options in ({}, {"compact": True}, {"zeros": True}, {"checksums": False}):
        crf.save(tmp_path / "model.fc", **options)
        loaded = fc.load(tmp_path / "model.fc")
        assert answers(loaded) == expected, options
        loaded.save(tmp_path / "again.fc", **options)
        assert (tmp_path / "again.fc").read_bytes() == (tmp_path / "model.fc").read_bytes(), options
    again = pickle.loads(pickle.dumps(crf))
    assert answers(again) == expected
    assert again.features_.digest == crf.features_.digest
    for copied in (again, loaded):
        for name in ("sources", "targets", "starts", "stops", "label_of", "node_class", "edge_class"):
            np.testing.assert_array_equal(getattr(copied.states, name), getattr(crf.states, name))
        assert copied.states.names == LABELS


def trained(states: Any, **options: Any) -> fc.ChainCRF:
    return fc.ChainCRF(
        states=states,
        edge_prefix="e|",
        objective="marginal_likelihood",
        optimiser=fc.LBFGS(max_iterations=200, tolerance=1e-8),
        n_jobs=1,
        **options,
    ).fit(X, Y)


def test_training(tmp_path: Path) -> None:
    """A model over tied states trains, and what is loaded goes on where it stopped."""
    crf = trained(tied())
    index = crf.features_
    assert set(index.label[~index.is_edge].tolist()) == {0, 1}
    assert set(index.previous[index.is_edge].tolist()) == {0, 1, 2, 3}
    structure = crf._parameters.structure
    potentials = crf._parameters.scorer.potentials(crf.encoder_.encode(X, grow=False))
    labels = structure.label_of[structure.argmax(potentials)[0]]
    assert [LABELS[y] for y in labels] == [label for sequence in Y for label in sequence]
    crf.save(tmp_path / "model.fc", zeros=True)
    loaded = fc.load(tmp_path / "model.fc")
    assert answers(loaded) == answers(crf)
    loaded.warm_start = True
    value = loaded.objective_value_
    loaded.fit(X, Y)
    assert loaded.objective_value_ == pytest.approx(value, rel=1e-9)
    assert all(record.objective <= value * (1 + 1e-9) for record in loaded.training_log_)
    assert loaded.partial_fit(X[:1], Y[:1]).features_.digest == index.digest


def test_inspection_names_labels() -> None:
    """Features of classes are shown with the labels of these; of several transitions the largest weight."""
    crf = trained(tied())
    found = crf.inspect(top=50)
    named = [*found.top.positive, *found.top.negative]
    assert {(feature.previous, feature.label) for feature in named} >= {(None, "N"), (None, "V"), ("N", "V")}
    assert {feature.label for feature in named} == set(LABELS)
    assert found.transitions.shape == (2, 2)
    index, label_of = crf.features_, crf.states.label_of
    pairs = (index.attribute < 0) & (label_of[index.previous] == 1) & (label_of[index.label] == 0)
    assert pairs.sum() == 3  # one of the four is forbidden
    assert found.transitions[1, 0] == crf.weights_[pairs].max()
    only = crf.inspect(top=50, label="V")
    assert 0 < only.n_matching < found.n_matching


def test_a_warm_start_with_other_states() -> None:
    """What the classes of another state space learnt is of no use: training begins anew."""
    crf = trained(tied())
    plain = trained("labels")
    for before, after in (("labels", tied()), (tied(), "labels")):
        known = crf if isinstance(before, StateSpace) else plain
        structure = fc.ChainCRF(states=after).structure_for(LABELS)
        other = plain if known is crf else crf
        assert not weights_for(known._parameters, other.encoder_, other.features_, structure).any()
        same = weights_for(known._parameters, known.encoder_, known.features_, known._parameters.structure)
        np.testing.assert_array_equal(same, known.weights_)


def test_a_plain_space_is_stored_as_labels(tmp_path: Path) -> None:
    crf = model(StateSpace.labels(LABELS))
    crf.save(tmp_path / "plain.fc")
    assert not any(name.startswith("states.") for name in read_arrays(tmp_path / "plain.fc")[1])
    loaded = fc.load(tmp_path / "plain.fc")
    assert loaded.states == "labels"
    assert loaded.log_partition(X).tobytes() == crf.log_partition(X).tobytes()


@pytest.mark.parametrize("states", ["labels+observed", "ngrams:2+observed", "latent:1"])
def test_a_space_that_training_settled_is_in_the_file(states: str, tmp_path: Path) -> None:
    """Also where all label pairs occur, so that the space is that of plain labels."""
    labels = [["N", "V", "V"], ["V"], ["N", "N", "V", "N"]]
    crf = fc.ChainCRF(states=states, n_jobs=1).fit(X, labels)
    crf.save(tmp_path / "m.fc")
    loaded = fc.load(tmp_path / "m.fc")
    assert loaded.states == states
    assert loaded.states_.n_states == crf.states_.n_states
    np.testing.assert_array_equal(loaded.log_probability(X, labels), crf.log_probability(X, labels))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("parts")
    model(tied(), edge_prefix="e|").save(folder / "x.fc")
    return (*read_arrays(folder / "x.fc"), folder)


COLUMNS = {
    "states.sources": 15,
    "states.targets": 15,
    "states.edge_class": 15,
    "states.label_of": 4,
    "states.node_class": 4,
    "states.starts": 4,
    "states.stops": 4,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_hostile_state_spaces(name: str, parts: tuple[dict[str, Any], dict[str, Any], Path]) -> None:
    header, arrays, folder = parts
    array, n = arrays[name], COLUMNS[name]
    assert len(array) == n
    bad = [array[:-1], array[:0], array.astype(np.int64), array.astype(np.float32), array.reshape(1, -1)]
    most = np.iinfo(array.dtype).max
    for value in (-1, 2, 4, 99, most) if array.dtype == np.int32 else (2, 255):
        changed = array.copy()
        changed[n // 2] = value
        bad += [changed, np.full(n, value, array.dtype)]
    for wrong in bad:
        if np.array_equal(wrong, array) and wrong.dtype == array.dtype and wrong.shape == array.shape:
            continue
        write_arrays(folder / "bad.fc", header, {**arrays, name: wrong})
        try:
            loaded = fc.load(folder / "bad.fc")
        except ModelFileError:
            continue
        answers(loaded)  # another state space, but a whole one
    write_arrays(folder / "bad.fc", header, {k: v for k, v in arrays.items() if k != name})
    with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
        fc.load(folder / "bad.fc")


@pytest.mark.parametrize(
    ("name", "value"),
    [("states.label_of", 2), ("states.label_of", -1), ("states.sources", 4), ("states.targets", -1)],
)
def test_numbers_out_of_range(
    name: str, value: int, parts: tuple[dict[str, Any], dict[str, Any], Path]
) -> None:
    header, arrays, folder = parts
    changed = arrays[name].copy()
    changed[-1] = value
    write_arrays(folder / "bad.fc", header, {**arrays, name: changed})
    with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
        fc.load(folder / "bad.fc")


@pytest.mark.parametrize("name", ["index.label", "index.previous", "index.n", "index.edge_n", "index.first"])
def test_hostile_features(name: str, parts: tuple[dict[str, Any], dict[str, Any], Path]) -> None:
    """Read by the table, not by the core, and refused as well."""
    header, arrays, folder = parts
    array = arrays[name]
    wrongs = [np.full_like(array, np.iinfo(array.dtype).max), array[:-1], np.zeros(0, array.dtype)]
    for wrong in wrongs:
        write_arrays(folder / "bad.fc", header, {**arrays, name: wrong})
        try:
            answers(fc.load(folder / "bad.fc"))
        except FieldcraftError:
            continue
        assert name == "index.first"  # which the table does not read
        assert len(wrong) == len(array)
    for number in (-1, 10**6, 2**63):
        write_arrays(folder / "bad.fc", {**header, "index": {**header["index"], "n_pairs": number}}, arrays)
        with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
            fc.load(folder / "bad.fc")

"""Kinds of models: any class with the methods of ``Storable`` saves and loads once it is registered."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.models import kinds
from fieldcraft.models.estimator import Estimator
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.persistence import freeze, save, thaw
from fieldcraft.potentials import Parts
from fieldcraft.store.files import read_arrays, write_arrays
from fieldcraft.structures.structure import Structure

X, Y = [[["a"], ["b"], ["a"]], [["b"], ["c"]]], [["N", "V", "N"], ["V", "N"]]


class Gentle(fc.ChainCRF):
    """A chain with a parameter of its own."""

    def __init__(self, templates: Any = None, *, temperature: float = 1.0, n_jobs: int | None = None) -> None:
        super().__init__(templates, n_jobs=n_jobs)
        self.temperature = temperature


class Triples(Structure):
    """Node scores, and a table of label triples that nothing is computed from here."""

    name: ClassVar[str] = "triples"
    parts: ClassVar[tuple[str, ...]] = ("node", "triple")

    def configurations(self) -> Mapping[str, Any]:
        n = len(self.labels)
        return {
            "node": np.arange(n)[:, None],
            "triple": np.stack(np.indices((n, n, n)), axis=-1).reshape(-1, 3),
        }


class Bare(Estimator):
    """No chain at all: what ``Storable`` asks for and nothing else."""

    classes_: Any
    _parameters: Parameters

    def __init__(self, depth: int = 2, note: Any = None) -> None:
        self.depth, self.note = depth, note

    def structure_for(self, labels: Sequence[str]) -> Triples:
        return Triples(labels)

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Any = None) -> None:
        del voters
        self.classes_, self._parameters = np.array(classes, object), parameters

    def __getstate__(self) -> dict[str, Any]:
        return freeze(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        thaw(self, state)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "KINDS", dict(kinds.KINDS))
    monkeypatch.setattr("fieldcraft.models.persistence.KINDS", kinds.KINDS)
    kinds.register_kind("gentle", Gentle)
    kinds.register_kind("bare", Bare)


def fitted_bare() -> Bare:
    """Features with one label and with three, weights drawn at random."""
    from fieldcraft.design import make_encoder
    from fieldcraft.features.index import FeatureIndex

    encoder = make_encoder(None)
    encoder.encode(X, grow=True)
    labels = np.array([[-1, -1, 0], [-1, -1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.int32)
    attribute = np.array([0, 2, 1, -1, 2], np.int32)
    count = np.array([3, 300, 1, 0, 2], np.int32)
    template = np.minimum(attribute, 0)
    windows = np.array([[0, 0], [0, 0]], np.int32)
    parts, codes = ("triple", "node"), np.array([1, 1, 0, 0, 0], np.uint8)
    index = FeatureIndex(attribute, labels, template, count, count + 1, windows, 3, parts, codes)
    model = Bare(depth=7, note={"why": ["a test", None, 1.5]})
    weights = np.random.default_rng(2).normal(size=5)
    model._settle(Parameters.of(encoder, index, weights, model.structure_for(["N", "V"])), ["N", "V"])
    return model


def potentials(model: Any) -> Parts:
    parameters = model._parameters
    found: Parts = parameters.scorer.potentials(parameters.encoder.encode(X, grow=False))
    return found


def test_a_subclass_under_a_kind_of_its_own(tmp_path: Path) -> None:
    crf = Gentle(temperature=0.5, n_jobs=1).fit(X, Y)
    crf.save(tmp_path / "gentle.fc")
    for twin in (fc.load(tmp_path / "gentle.fc"), pickle.loads(pickle.dumps(crf))):
        assert type(twin) is Gentle
        assert twin.temperature == 0.5
        assert twin.predict(X).tolist() == crf.predict(X).tolist()
        np.testing.assert_array_equal(twin.log_partition(X), crf.log_partition(X))
    assert read_arrays(tmp_path / "gentle.fc")[0]["kind"] == "gentle"


def test_a_subclass_without_a_kind_is_stored_as_what_it_inherits_from(tmp_path: Path) -> None:
    class Nameless(fc.ChainCRF):
        pass

    Nameless(n_jobs=1).fit(X, Y).save(tmp_path / "model.fc")
    assert type(fc.load(tmp_path / "model.fc")) is fc.ChainCRF


def test_any_structure_with_labels_in_threes(tmp_path: Path) -> None:
    """Three label columns, parts of their own, no chain: the file has the columns as they are."""
    model = fitted_bare()
    expected = potentials(model)
    assert expected["triple"].shape == (5, 8)
    save(model, tmp_path / "bare.fc")
    assert read_arrays(tmp_path / "bare.fc")[0]["index"]["layout"] == "columns"
    for twin in (fc.load(tmp_path / "bare.fc"), pickle.loads(pickle.dumps(model))):
        assert type(twin) is Bare
        assert (twin.depth, twin.note) == (7, {"why": ["a test", None, 1.5]})
        assert twin._parameters.index.digest == model._parameters.index.digest
        np.testing.assert_array_equal(twin._parameters.index.count, [3, 300, 1, 0, 2])
        for part in Triples.parts:
            assert potentials(twin)[part].tobytes() == expected[part].tobytes()


BAD: dict[str, list[Any]] = {
    "index.attribute": [np.full(5, 3, np.int32), np.full(5, -2, np.int32), np.zeros(4, np.int32)],
    "index.labels": [
        np.full((3, 5), 2, np.int32),
        np.full((3, 5), -5, np.int32),
        np.zeros((0, 5), np.int32),
        np.zeros((65, 5), np.int32),
        np.zeros(5, np.int32),
        np.zeros((3, 5), np.int64),
    ],
    "index.codes": [np.full(5, 2, np.uint8), np.zeros(6, np.uint8), np.zeros(5, np.int8)],
    "index.count.at": [np.array([5], np.uint32)],
    "weights": [np.zeros(4), np.zeros((5, 1))],
}


@pytest.mark.parametrize("name", BAD)
def test_hostile_columns(name: str, tmp_path: Path) -> None:
    save(fitted_bare(), tmp_path / "bare.fc")
    header, arrays = read_arrays(tmp_path / "bare.fc")
    for bad in BAD[name]:
        write_arrays(tmp_path / "bad.fc", header, {**arrays, name: bad})
        with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
            fc.load(tmp_path / "bad.fc")
    for key, value in (("parts", "node"), ("parts", []), ("n_attributes", -1), ("n_attributes", 2**40)):
        write_arrays(tmp_path / "bad.fc", {**header, "index": {**header["index"], key: value}}, arrays)
        with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
            fc.load(tmp_path / "bad.fc")
    for layout in ("packed", "none", None, []):
        write_arrays(tmp_path / "bad.fc", {**header, "index": {**header["index"], "layout": layout}}, arrays)
        with pytest.raises(ModelFileError, match=r"bad\.fc is damaged"):
            fc.load(tmp_path / "bad.fc")


def test_an_unknown_kind(tmp_path: Path) -> None:
    crf = Gentle(n_jobs=1).fit(X, Y)
    crf.save(tmp_path / "model.fc")
    del kinds.KINDS["gentle"]
    with pytest.raises(
        ModelFileError, match=r"model\.fc holds a 'gentle', which is no known kind .*chain.*bare"
    ):
        fc.load(tmp_path / "model.fc")


def test_a_file_sets_no_parameter_that_the_kind_lacks(tmp_path: Path) -> None:
    Gentle(n_jobs=1).fit(X, Y).save(tmp_path / "model.fc")
    header, arrays = read_arrays(tmp_path / "model.fc")
    for name in ("fit", "n_jobs", "templates", "__class__"):
        write_arrays(tmp_path / "bad.fc", {**header, "parameters": {name: "x"}}, arrays)
        with pytest.raises(ModelFileError, match=f"Gentle has no parameter '{name}' to be set by a file"):
            fc.load(tmp_path / "bad.fc")


def test_refused_registrations() -> None:
    kinds.register_kind("gentle", Gentle)  # once more
    with pytest.raises(InputError, match=r"the kind 'gentle' is .*Gentle already; choose another name"):
        kinds.register_kind("gentle", fc.ChainCRF)
    with pytest.raises(InputError, match=r"the kind 'chain' is fieldcraft.models.chain:ChainCRF already"):
        kinds.register_kind("chain", Gentle)
    with pytest.raises(InputError, match="dict has no method get_params, structure_for, _settle"):
        kinds.register_kind("dict", dict)
    with pytest.raises(InputError, match="give a name"):
        kinds.register_kind("", Gentle)


def test_a_model_without_a_kind(tmp_path: Path) -> None:
    del kinds.KINDS["bare"]
    with pytest.raises(
        InputError, match=r"Bare has no kind to be stored under; call register_kind\(name, Bare\)"
    ):
        save(fitted_bare(), tmp_path / "bare.fc")


def test_parameters_that_cannot_be_stored(tmp_path: Path) -> None:
    model = fitted_bare()
    model.note = {1, 2}
    with pytest.raises(InputError, match=r"note=\{1, 2\} of Bare cannot be stored in a file"):
        save(model, tmp_path / "bare.fc")
    assert pickle.loads(pickle.dumps(model)).note == {1, 2}


def test_loading_imports_what_the_file_needs(tmp_path: Path) -> None:
    """The modules of a kind are imported for its files alone."""
    fc.ChainCRF(n_jobs=1).fit(X, Y).save(tmp_path / "chain.fc")
    code = (
        "import sys, fieldcraft as fc; fc.load; before = 'fieldcraft.models.chain' in sys.modules; "
        f"fc.load({str(tmp_path / 'chain.fc')!r}); print(before, 'fieldcraft.models.chain' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

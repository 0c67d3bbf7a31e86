"""A model saved, loaded and pickled answers bit for bit; a damaged file is an error, never a crash."""

from __future__ import annotations

import json
import pickle
import struct
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, FieldcraftError
from fieldcraft.errors import ModelFileError
from fieldcraft.features.index import COLUMNS
from fieldcraft.models import persistence
from fieldcraft.store.files import read_arrays, write_arrays

Y = [["D", "N"], ["D", "N", "V"], ["N"]]
FREE: list[Any] = [
    [["w=the", "é"], {"w": "dog", "n": 0.5}],
    [["w=a"], ["w=cat", "日本"], {"w": {"deep": ["x", "y"]}}],
    [""],
]
WORDS = [["The", "dog"], ["A", "cat", "runs"], ["Dogs"]]

KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "free": ({}, FREE),
    "edges": ({"edge_prefix": "w"}, FREE),
    "hashed": ({"hash_size": 64}, FREE),
    "laplacian": ({"prior": "laplacian"}, FREE),
    "all": ({"features": "all", "min_count": 1}, FREE),
    "posterior": ({"decoding": "posterior", "random_state": 5}, FREE),
    "templates": ({"templates": "word\nlower(word)\nedge: bias\nedge: word[-1]\n"}, WORDS),
    "matrices": ({}, [np.eye(3)[:2], np.eye(3), np.ones((1, 3))]),
}


def fitted(kind: str) -> tuple[ChainCRF, Any]:
    options, X = KINDS[kind]
    return ChainCRF(n_jobs=1, **options).fit(X, Y), X


def answers(crf: ChainCRF, X: Any) -> list[Any]:
    """Everything that a model can be asked, as comparable values."""
    numbers = [crf.log_partition(X), crf.entropy(X), crf.log_probability(X, Y), *crf.predict_proba(X)]
    texts = [crf.predict(X).tolist(), crf.k_best(X, 3), crf.sample(X, 4)]
    return [*(array.tobytes() for array in numbers), *texts]


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind: str, tmp_path: Path) -> None:
    crf, X = fitted(kind)
    crf.save(tmp_path / "model.fc", zeros=True)
    loaded = fc.load(tmp_path / "model.fc")
    assert isinstance(loaded, ChainCRF)
    assert loaded.weights_.tobytes() == crf.weights_.tobytes()
    assert loaded.classes_.tolist() == crf.classes_.tolist()
    assert loaded.features_.digest == crf.features_.digest
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(loaded.features_, name), getattr(crf.features_, name))
    loaded.n_jobs = 1
    assert answers(loaded, X) == answers(crf, X)


@pytest.mark.parametrize("kind", KINDS)
def test_compact(kind: str, tmp_path: Path) -> None:
    """Without counts the answers are the same and the file is smaller."""
    crf, X = fitted(kind)
    crf.save(tmp_path / "full.fc")
    crf.save(tmp_path / "compact.fc", compact=True)
    assert (tmp_path / "compact.fc").stat().st_size < (tmp_path / "full.fc").stat().st_size
    assert answers(fc.load(tmp_path / "compact.fc"), X) == answers(crf, X)


@pytest.mark.parametrize("kind", KINDS)
def test_pickle(kind: str) -> None:
    crf, X = fitted(kind)
    again = pickle.loads(pickle.dumps(crf))
    assert answers(again, X) == answers(crf, X)
    assert repr(again.get_params()) == repr(crf.get_params())
    assert again.training_log_ == crf.training_log_
    assert again.objective_value_ == crf.objective_value_
    assert (again.stop_reason_, again.n_iter_) == (crf.stop_reason_, crf.n_iter_)


def test_an_unfitted_model_can_be_pickled() -> None:
    crf = ChainCRF(prior=fc.Gaussian(variance=3.0), optimiser=LBFGS(memory=3))
    again = pickle.loads(pickle.dumps(crf))
    assert repr(again) == repr(crf)
    assert not hasattr(again, "weights_")


def test_a_second_generation_is_the_first(tmp_path: Path) -> None:
    crf, _ = fitted("free")
    crf.save(tmp_path / "1.fc")
    fc.load(tmp_path / "1.fc").save(tmp_path / "2.fc")
    assert (tmp_path / "1.fc").read_bytes() == (tmp_path / "2.fc").read_bytes()


def test_the_file_is_safetensors_with_a_readable_header(tmp_path: Path) -> None:
    crf, _ = fitted("free")
    path = tmp_path / "model.fc"
    crf.save(path)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    ours = json.loads(header["__metadata__"]["fieldcraft"])
    assert (ours["format"], ours["kind"], ours["labels"]) == (3, "chain", ["D", "N", "V"])
    assert header["weights"]["dtype"] == "F64"


def test_saving_replaces_whole_files_and_leaves_nothing_else(tmp_path: Path) -> None:
    crf, _ = fitted("free")
    path = tmp_path / "model.fc"
    path.write_text("old")
    crf.save(path)
    fc.load(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.fc"]


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.fc"
    path.write_text("old")

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        fitted("free")[0].save(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.fc"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"the folder .*gone does not exist; make it first"):
        fitted("free")[0].save(tmp_path / "gone" / "model.fc")
    with pytest.raises(FileNotFoundError, match="no such file"):
        fc.load(tmp_path / "none.fc")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 100, b"\xff" * 64])
def test_no_model_at_all(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.fc"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"x\.fc is not a fieldcraft file, or is damaged"):
        fc.load(path)


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma", "zlib"])
def test_a_compressed_model_says_so(module: str, tmp_path: Path) -> None:
    path = tmp_path / "x.fc"
    fitted("free")[0].save(path)
    content = import_module(module).compress(path.read_bytes())
    path.write_bytes(content)
    for source in (path, content):
        with pytest.raises(
            ModelFileError, match=r"is compressed \(\w+\), or is damaged; decompress it first"
        ):
            fc.load(source)


def test_a_bundle_without_metadata_saves_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are packed into one file often lack what importlib.metadata reads."""

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(persistence, "version", absent)
    fitted("free")[0].save(tmp_path / "x.fc")
    assert fc.load(tmp_path / "x.fc").provenance_["fieldcraft"] == "unknown"


def test_a_foreign_safetensors_file(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a": np.ones(2)}, tmp_path / "x.fc")
    with pytest.raises(ModelFileError, match="fieldcraft did not write it"):
        fc.load(tmp_path / "x.fc")


def test_a_future_format(tmp_path: Path) -> None:
    crf, _ = fitted("free")
    crf.save(tmp_path / "x.fc")
    header, arrays = read_arrays(tmp_path / "x.fc")
    write_arrays(tmp_path / "y.fc", {**header, "format": 99}, arrays)
    with pytest.raises(ModelFileError, match="has format 99; this fieldcraft reads formats 1 to 4"):
        fc.load(tmp_path / "y.fc")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("parts")
    crf, _ = fitted("free")
    crf.save(folder / "x.fc", checksums=False)  # so that damage reaches what lies behind them
    return (*read_arrays(folder / "x.fc"), folder)


def attempt(path: Path) -> None:
    """Loading and asking either works or is refused; nothing else may happen."""
    try:
        crf = fc.load(path)
        crf.predict(FREE)
        for p in crf.predict_proba(FREE):
            assert p.shape[1] == len(crf.classes_)
    except FieldcraftError:
        pass


BAD_ARRAYS: dict[str, Any] = {
    "weights": [np.ones(1), np.ones((2, 2)), np.zeros(0)],
    "index.first": [np.full(3, 99, np.uint32), np.zeros(0, np.uint32), np.zeros(3, np.int64)],
    "index.n": [np.full(3, 99, np.uint8), np.zeros(0, np.uint8)],
    "index.label": [np.full(3, 99, np.uint8), np.array([-1], np.int32)],
    "index.previous": [np.full(3, 99, np.uint8)],
    "index.edge_attribute": [np.array([3], np.uint32), np.array([10**6], np.uint32)],
    "index.edge_n": [np.array([2**32 - 1], np.uint32)],
    "index.count.small": [np.zeros(2, np.uint8)],
    "index.count.at": [np.array([10**6], np.uint32)],
    "encoder.starts": [np.zeros(0, np.uint32), np.array([5, 1, 0], np.uint32), np.array([0, 10**12])],
    "encoder.names": [np.zeros(0, np.uint8)],
    "encoder.slots": [np.zeros(64, np.uint32), np.full(64, 2**32 - 1, np.uint32), np.zeros(3, np.uint32)],
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_hostile_arrays(name: str, parts: tuple[dict[str, Any], dict[str, Any], Path]) -> None:
    header, arrays, folder = parts
    for bad in BAD_ARRAYS[name]:
        write_arrays(folder / "bad.fc", header, {**arrays, name: bad})
        attempt(folder / "bad.fc")
    kind, n = arrays[name].dtype, len(arrays[name])
    if name in ("index.first", "index.label", "index.previous", "index.n", "encoder.starts"):
        most = np.iinfo(kind).max  # the right length and type, but far out of range
        write_arrays(folder / "bad.fc", header, {**arrays, name: np.full(n, most, kind)})
        with pytest.raises(ModelFileError):
            fc.load(folder / "bad.fc")
    rest = {key: array for key, array in arrays.items() if key != name}
    write_arrays(folder / "bad.fc", header, rest)
    attempt(folder / "bad.fc")


@pytest.mark.parametrize("name", ["kind", "labels", "encoder", "index", "parameters"])
def test_hostile_headers(name: str, parts: tuple[dict[str, Any], dict[str, Any], Path]) -> None:
    header, arrays, folder = parts
    for bad in (None, "x", -1, [], {}, 10**9, ["a"] * 3):
        write_arrays(folder / "bad.fc", {**header, name: bad}, arrays)
        attempt(folder / "bad.fc")
    rest = {key: value for key, value in header.items() if key not in (name, "format")}
    write_arrays(folder / "bad.fc", rest, arrays)
    with pytest.raises(ModelFileError, match=r"bad\.fc (is damaged|holds a None)"):
        fc.load(folder / "bad.fc")


@given(st.data())
@settings(max_examples=150)
def test_flipped_and_missing_bytes(
    parts: tuple[dict[str, Any], dict[str, Any], Path], data: st.DataObject
) -> None:
    _, _, folder = parts
    content = bytearray((folder / "x.fc").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content))) if data.draw(st.booleans()) else len(content)
    (folder / "flipped.fc").write_bytes(bytes(content[:cut]))
    attempt(folder / "flipped.fc")


def test_a_model_from_bytes(tmp_path: Path) -> None:
    crf, X = fitted("templates")
    crf.save(tmp_path / "x.fc")
    content = (tmp_path / "x.fc").read_bytes()
    assert answers(fc.load(content), X) == answers(crf, X)
    with pytest.raises(ModelFileError, match="the model is not a fieldcraft file"):
        fc.load(content[:100])


def test_what_a_file_tells_of_training(tmp_path: Path) -> None:
    crf = ChainCRF(tokenizer=fc.Tokenizer(pattern="[a-z]+", name="lower")).fit(FREE, Y)
    crf.source_ = {"format": "columns", "columns": ["word", "ner"]}
    crf.save(tmp_path / "x.fc")
    loaded = fc.load(tmp_path / "x.fc")
    assert loaded.training_log_ == crf.training_log_
    for name in ("objective_value_", "stop_reason_", "converged_", "n_iter_", "source_", "tokenizer"):
        assert getattr(loaded, name) == getattr(crf, name), name
    assert loaded.provenance_ == {**crf.provenance_, "fieldcraft": fc.__version__}
    assert (crf.provenance_["sequences"], crf.provenance_["tokens"]) == (3, 6)


def test_the_digest_is_of_the_data() -> None:
    digest = ChainCRF().fit(FREE, Y).provenance_["data"]
    assert ChainCRF(prior="laplacian").fit(FREE, Y).provenance_["data"] == digest
    other = [FREE[0], FREE[1], ["x"]]  # ids are the same, names differ
    assert ChainCRF().fit(other, Y).provenance_["data"] != digest
    assert ChainCRF().fit(FREE, [["D", "N"], ["D", "N", "V"], ["V"]]).provenance_["data"] != digest

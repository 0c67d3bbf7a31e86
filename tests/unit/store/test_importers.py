"""Models of other toolkits: small ones made here, damaged ones, hostile ones."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.features.attribute_texts import Builder, readings
from fieldcraft.features.templates import Templates
from fieldcraft.store.importers import cqdb, is_model
from fieldcraft.store.importers.crfpp import UNIT, trie_texts

pycrfsuite = pytest.importorskip("pycrfsuite")

X = [[["w=the", "first"], ["w=dog"], ["w=barks", "last"]], [["w=a", "first"], ["w=cat", "last"]]]
Y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
ODD = [[["w=ß", "x:y"], ["emoji:👩‍👩‍👧"], ["unknown"]], [["w=a", "w=a"]], []]


@pytest.fixture
def crfsuite_model(tmp_path: Path) -> Path:
    trainer = pycrfsuite.Trainer(params={"c2": 0.1}, verbose=False)
    for items, labels in zip([*X, ODD[0]], [*Y, ["Z", "É", "A"]]):  # labels not in sorted order
        trainer.append(items, labels)
    path = tmp_path / "model"
    trainer.train(str(path))
    return path


def tagger_of(path: Path) -> Any:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def assert_same_answers(crf: fc.ChainCRF, tagger: Any, sequences: list[Any]) -> None:
    predicted, marginals = crf.predict(sequences), crf.predict_marginals(sequences)
    for items, labels, each in zip(sequences, predicted, marginals):
        assert list(labels) == tagger.tag(items)
        for t, probabilities in enumerate(each):
            for label, p in probabilities.items():
                assert p == pytest.approx(tagger.marginal(label, t), abs=1e-12)


def test_a_model_of_crfsuite(crfsuite_model: Path) -> None:
    crf, tagger = fc.load(crfsuite_model), tagger_of(crfsuite_model)
    assert crf.classes_.tolist() == tagger.labels()  # in the file's order, which decides ties
    assert_same_answers(crf, tagger, X + ODD)
    assert fc.load(crfsuite_model.read_bytes()).predict(X).tolist() == crf.predict(X).tolist()


def test_the_weights_of_a_model_of_crfsuite(crfsuite_model: Path) -> None:
    info = fc.compat.pycrfsuite.Tagger()
    info.open(crfsuite_model)
    theirs = tagger_of(crfsuite_model).info()
    for name in ("state_features", "transitions"):
        ours, expected = getattr(info.info(), name), getattr(theirs, name)
        assert ours == pytest.approx({k: v for k, v in expected.items() if v}, abs=1e-6)


def test_an_imported_model_is_saved_and_explained(crfsuite_model: Path, tmp_path: Path) -> None:
    crf = fc.load(crfsuite_model)
    crf.save(tmp_path / "model.fc")
    again = fc.load(tmp_path / "model.fc")
    np.testing.assert_array_equal(again.weights_, crf.weights_)
    assert again.predict(X).tolist() == crf.predict(X).tolist()
    assert again.source_ == {"format": "attributes"}
    assert again.explain(X[0]).labels == list(crf.predict(X)[0])


def test_exported_models_answer_in_crfsuite(tmp_path: Path) -> None:
    crf = fc.ChainCRF(prior=fc.Gaussian(variance=5)).fit([*X, ODD[0]], [*Y, ["Z", "É", "A"]])
    crf.export(tmp_path / "model")
    tagger = tagger_of(tmp_path / "model")
    assert tagger.labels() == crf.classes_.tolist()
    assert_same_answers(crf, tagger, X + ODD)
    assert fc.load(tmp_path / "model").predict(X).tolist() == crf.predict(X).tolist()


def test_a_model_comes_back_byte_by_byte(tmp_path: Path) -> None:
    """CRFsuite's own file, imported and exported; its labels and attributes were met in sorted order."""
    trainer = pycrfsuite.Trainer(params={"c2": 0.1}, verbose=False)
    trainer.append([["a", "b"], ["c"]], ["X", "Y"])
    trainer.append([["a"], ["c", "d"]], ["Y", "Z"])
    trainer.train(str(tmp_path / "theirs"))
    fc.load(tmp_path / "theirs").export(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_exported_templates(tmp_path: Path) -> None:
    """Attributes have the texts that fieldcraft shows."""
    data = [{"word": ["a", "b"]}, {"word": ["b", "c"]}]
    crf = fc.ChainCRF("word[-1..0]\nedge").fit(data, [["X", "Y"], ["Y", "X"]])
    crf.export(tmp_path / "model")
    items = [["word[-1]=<s-1>", "word=a"], ["word[-1]=a", "word=b"]]
    assert tagger_of(tmp_path / "model").tag(items) == list(crf.predict(data[:1])[0])


def space(sources: list[int], targets: list[int], label_of: list[int]) -> fc.StateSpace:
    n = len(label_of)
    return fc.StateSpace(n, sources, targets, [True] * n, [True] * n, label_of, names=("DET", "NOUN", "VERB"))  # type: ignore[arg-type]


NO_RETURN = space([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2], [0, 1, 2])
TWO_NOUNS = space([0, 0, 1, 2, 2, 3], [1, 2, 2, 1, 3, 3], [0, 1, 1, 2])


@pytest.mark.parametrize("where", ["label", "attribute"])
def test_names_that_crfsuite_would_cut_short_are_not_exported(where: str, tmp_path: Path) -> None:
    label, attribute = ("D\0x", "a") if where == "label" else ("D", "a\0x")
    crf = fc.ChainCRF().fit([[[attribute], ["b"]]], [[label, "N"]])
    with pytest.raises(InputError, match=f"the {where} .*x00x' contains a 0"):
        crf.export(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"edge_prefix": "w="}, "look at the input"),
        ({"hash_size": 50}, "hashed"),
        ({"states": NO_RETURN}, "forbids transitions"),
        ({"states": TWO_NOUNS, "objective": "marginal_likelihood"}, "states are not its labels"),
    ],
)
def test_what_crfsuite_cannot_express(settings: dict[str, Any], reason: str, tmp_path: Path) -> None:
    crf = fc.ChainCRF(**settings).fit(X, Y)
    with pytest.raises(InputError, match=reason):
        crf.export(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_gazetteers_and_unknown_formats_are_not_exported(tmp_path: Path) -> None:
    names = fc.Gazetteer("names", ["b"])
    data = [{"word": ["a", "b"]}, {"word": ["b", "c"]}]
    crf = fc.ChainCRF("word\nin(names, word)", gazetteers=[names]).fit(data, [["X", "Y"], ["Y", "X"]])
    with pytest.raises(InputError, match="gazetteers"):
        crf.export(tmp_path / "model")
    with pytest.raises(InputError, match="crfsuite"):
        crf.export(tmp_path / "model", format="onnx")


# -- pickles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_sklearn_crfsuite(protocol: int) -> None:
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    theirs = sklearn_crfsuite.CRF(c2=0.1).fit(X, Y, X, Y)  # held-out data: the log has scores
    crf = fc.load(pickle.dumps(theirs, protocol))
    assert crf.predict(X).tolist() == [list(labels) for labels in theirs.predict(X)]


class Calls:
    """Unpickling calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_hostile_pickles_call_nothing(protocol: int, tmp_path: Path) -> None:
    import os

    trace = tmp_path / "trace"
    for hostile in (
        Calls(os.system, f"touch {trace}"),
        Calls(eval, f"open({str(trace)!r}, 'w')"),
        {"modelfile": Calls(os.system, f"touch {trace}")},
        [Calls(getattr, "", "join")],
        Fraction(1, 3),
        np.zeros(3),
    ):
        with pytest.raises(ModelFileError):
            fc.load(pickle.dumps(hostile, protocol))
    assert not trace.exists()


def test_a_pickle_without_a_model() -> None:
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    with pytest.raises(ModelFileError, match="not fitted"):
        fc.load(pickle.dumps(sklearn_crfsuite.CRF()))


@pytest.mark.parametrize(
    "hostile", [b"\x80\x05\x96" + b"\xff" * 7 + b"\x00.", b"\x80\x04Nr\xff\xff\xff\x7f."]
)
def test_pickles_that_ask_for_memory(hostile: bytes) -> None:
    """A byte array of 2^56 bytes; a number far beyond that of the objects."""
    with pytest.raises(ModelFileError, match=r"bytearray8|numbers more"):
        fc.load(hostile)


# -- damage ---------------------------------------------------------------------------------------


def mutants(content: bytes, n: int) -> list[bytes]:
    random.seed(len(content))
    out = [content[: random.randrange(len(content))] for _ in range(n // 4)]
    for _ in range(n - len(out)):
        changed = bytearray(content)
        for _ in range(random.choice([1, 1, 4])):
            at = random.randrange(len(changed))
            width = random.choice([1, 4])
            changed[at : at + width] = random.choice([b"\0", b"\xff", random.randbytes(1)]) * width
        out.append(bytes(changed))
    return out


def test_damaged_models_of_crfsuite(crfsuite_model: Path) -> None:
    """An error or an answer; never another exception or a crash."""
    refused = 0
    for mutant in mutants(crfsuite_model.read_bytes(), 600):
        try:
            fc.load(mutant).predict(X + ODD)
        except ModelFileError:
            refused += 1
    assert refused > 200


# -- tables of strings ----------------------------------------------------------------------------


def test_strings_come_back() -> None:
    names = [b"", b"a", b"b" * 11, b"c" * 12, b"d" * 13, "é".encode() * 20]
    table = np.frombuffer(b"xxx" + cqdb.write(names), np.uint8)
    data, starts = cqdb.read(table, 3)
    assert [data.tobytes()[a:b] for a, b in zip(starts[:-1], starts[1:])] == names


def test_hashes_are_those_of_lookup3() -> None:
    """Two values that its author published, of strings with a 0 at their end cut off by the length."""
    words = np.frombuffer(b"Four score and seven years ago".ljust(36, b"\0"), "<u4").reshape(1, 3, 3)
    assert cqdb._hash_words(words, np.array([30], np.uint32)).tolist() == [0x17770551]
    empty = np.zeros((1, 1, 3), np.uint32)
    assert cqdb._hash_words(empty, np.array([1], np.uint32)).tolist() == cqdb.hash_strings([b""]).tolist()


# -- texts of attributes --------------------------------------------------------------------------


def test_all_readings_of_a_text() -> None:
    assert list(readings("U:1/2/3", ["U:", "/", ""])) == [["1", "2/3"], ["1/2", "3"]]
    assert list(readings("U:ab", ["U:", "", ""])) == [["", "ab"], ["a", "b"], ["ab", ""]]
    assert list(readings("U:x", ["U:", "/", ""])) == []
    assert list(readings("U", ["U", ""])) == [[""]]
    with pytest.raises(ModelFileError, match="1000 ways"):
        list(readings("U:" + "/" * 100, ["U:", "/", "/", "/", ""]))


def test_an_ambiguous_text_is_found_by_all_its_words() -> None:
    builder = Builder(Templates.parse("U:%x[-1,0]/%x[0,0]", format="crfpp"))
    builder.add("U:1/2/3", "node", 7)
    builder.add("U:_B-1/x", "node", 8)
    features, text = builder.finish()

    def texts_of(words: list[str]) -> list[int]:
        encoded = features.encode([[(word,) for word in words]], grow=False)
        return text[encoded.attributes].tolist()

    assert texts_of(["1", "2/3"]) == [7]
    assert texts_of(["1/2", "3"]) == [7]
    assert texts_of(["1", "2"]) == []
    assert texts_of(["x"]) == [8]  # behind the boundary
    assert texts_of(["_B-1", "x"]) == [8]  # behind a word that is spelled like it


def test_a_double_array_by_hand() -> None:
    """ "a" -> 4 and "ab" -> 6, bases 1, 100 and 210."""
    units = np.zeros(400, UNIT)
    units[0] = 1, 0
    units[1 + 97 + 1] = 200, 1  # a
    units[200] = -4 - 1, 200  # the end of "a"
    units[200 + 98 + 1] = 390, 200  # b
    units[390] = -6 - 1, 390
    assert sorted(trie_texts(units)) == [("a", 4), ("ab", 6)]
    units[1 + 97 + 1] = 200, 299  # a circle
    with pytest.raises(ValueError, match="damaged"):
        trie_texts(units)


def test_a_model_without_weights(tmp_path: Path) -> None:
    text = "version: 100\ncost-factor: 1\nmaxid: 2\nxsize: 1\n\nA\nB\n\nU:%x[0,0]\n\n0 U:x\n\n0.0\n0.0\n"
    crf = fc.load(text.encode())
    assert len(crf.weights_) == 0
    assert crf.predict_marginals([[("x",)]])[0][0] == pytest.approx({"A": 0.5, "B": 0.5})
    assert "A" in str(crf.explain([("x",)]))


def test_corpora_are_no_models(tmp_path: Path) -> None:
    for name, text in (
        ("a.fc", "Rome I-LOC\n"),
        ("b.crfsuite", "B\tw=a\n"),
        ("c", "version: 2\n"),
        ("d", ""),
    ):
        (tmp_path / name).write_text(text)
        assert not is_model(tmp_path / name)
    fc.ChainCRF().fit(X, Y).save(tmp_path / "train.conll")
    assert is_model(tmp_path / "train.conll")

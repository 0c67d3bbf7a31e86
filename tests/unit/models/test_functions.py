"""Functions beside templates: the model of the same features computed by hand; files without functions."""

import pickle
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

X = [["in", "Rome"], ["Ann", "is", "here"], ["Rome", "in", "May"]]
Y = [["O", "B-LOC"], ["B-PER", "O", "O"], ["B-LOC", "O", "B-DATE"]]
Columns = dict[str, list[str]]


def ends(columns: Columns) -> list[str]:
    return [word[-2:] for word in columns["word"]]


def lengths(columns: Columns) -> list[float]:
    return [len(word) / 10 for word in columns["word"]]


def facts(columns: Columns) -> list[dict[str, Any]]:
    return [{"title": word.istitle(), "first": word[0], "vowels": 0.5} for word in columns["word"]]


def table(columns: Columns) -> Any:
    return np.array([[1.0, len(word)] for word in columns["word"]])


FUNCTIONS: dict[str, Any] = {"ends": ends, "lengths": lengths, "facts": facts, "table": table}


def by_hand(words: list[str]) -> list[dict[str, Any]]:
    """The items of all four functions and of the template `word`, as free features."""
    return [
        {
            f"word={word}": 1.0,
            f"ends:{word[-2:]}": 1.0,
            "lengths": len(word) / 10,
            "facts:title": word.istitle(),
            "facts:first": word[0],
            "facts:vowels": 0.5,
            "table:0": 1.0,
            "table:1": float(len(word)),
        }
        for word in words
    ]


def trained(functions: Any = FUNCTIONS, templates: Any = "edge\nword", **settings: Any) -> fc.ChainCRF:
    return fc.ChainCRF(
        templates, functions=functions, optimiser=fc.LBFGS(tolerance=1e-9, objective_tolerance=0), **settings
    ).fit(X, Y)


def flat(arrays: Any) -> Any:
    return np.concatenate(list(arrays))


def test_the_model_is_that_of_the_same_features_computed_by_hand() -> None:
    mine = trained()
    peer = fc.ChainCRF(optimiser=fc.LBFGS(tolerance=1e-9, objective_tolerance=0))
    peer.fit([by_hand(words) for words in X], Y)
    known = sorted(mine.encoder_.attribute_text(range(mine.encoder_.n_attributes)))
    assert known == sorted(peer.encoder_.attribute_text(range(peer.encoder_.n_attributes)))
    assert mine.objective_value_ == pytest.approx(peer.objective_value_, rel=1e-9)
    fresh = ["Ann", "in", "Paris"]
    np.testing.assert_allclose(
        flat(mine.predict_proba([fresh])),
        flat(peer.predict_proba([by_hand(fresh)])),
        rtol=1e-6,  # two trainings that end within their tolerance of one optimum
    )


@pytest.mark.parametrize(
    "form",
    [
        lambda words: {"word": words, "pos": ["X"] * len(words)},
        lambda words: [{"word": word, "pos": "X"} for word in words],
        lambda words: [(word, "X") for word in words],
    ],
)
def test_every_form_of_a_sequence_has_the_same_columns(form: Any) -> None:
    seen: list[Columns] = []

    def noted(columns: Columns) -> list[str]:
        seen.append(columns)
        return columns["pos"]

    rows = [form(words) for words in [*X, []]]
    fc.ChainCRF("columns word pos\nword", functions={"noted": noted}).fit(rows, [*Y, []])
    assert [{**columns} for columns in seen[:3]] == [{"word": w, "pos": ["X"] * len(w)} for w in X]


def test_a_corpus_gets_templates_by_default_beside_functions() -> None:
    corpus = fc.Corpus.from_columns({"word": X}, Y)
    crf = fc.ChainCRF(functions={"ends": ends}).fit(corpus)
    names = [template.name for template in crf.encoder_.templates]
    assert crf.templates_ is not None
    assert "ends" in names
    assert "length(word)" in names
    assert crf.predict(corpus).tolist() == Y


def test_a_file_stores_the_names_and_needs_the_functions_again(tmp_path: Any) -> None:
    crf, path = trained(), tmp_path / "model.fc"
    crf.save(path)
    assert b"vowels" in path.read_bytes()
    assert b"istitle" not in path.read_bytes()
    alone: Any = fc.load(path)
    assert alone.functions == dict.fromkeys(FUNCTIONS)
    assert "ends" in str(alone.inspect())
    assert alone.classes_.tolist() == crf.classes_.tolist()
    for refused in (alone.predict, alone.predict_proba, alone.explain):
        with pytest.raises(InputError, match=r"function ends, .* functions=\{'ends': function\}"):
            refused(X[0] if refused == alone.explain else X)
    with pytest.raises(InputError, match="function ends"):
        alone.fit(X, Y)
    with pytest.raises(InputError, match="no function 'end'; its functions are ends, lengths"):
        fc.load(path, functions={"end": ends})
    some: Any = fc.load(path, functions={**FUNCTIONS, "table": None})
    with pytest.raises(InputError, match="function table"):
        some.predict(X)
    again: Any = fc.load(path, functions=FUNCTIONS)
    np.testing.assert_array_equal(flat(again.predict_proba(X)), flat(crf.predict_proba(X)))
    again.fit(X, Y)
    assert again.predict(X).tolist() == crf.predict(X).tolist()


def test_a_model_without_functions_takes_none(tmp_path: Any) -> None:
    path = tmp_path / "plain.fc"
    fc.ChainCRF("word").fit(X, Y).save(path)
    with pytest.raises(InputError, match="no function 'ends'; it was trained without any"):
        fc.load(path, functions={"ends": ends})


def test_copies_keep_their_functions() -> None:
    crf = trained()
    calibrated = fc.calibrate(crf, [*X, ["Rome"]], [*Y, ["O"]])  # with one mistake
    for copied in (pickle.loads(pickle.dumps(crf)), calibrated):
        assert copied.predict(X).tolist() == crf.predict(X).tolist()
    grown = trained().partial_fit([["Bob"]], [["B-PER"]])
    assert grown.predict([["Bob"]]).tolist() == [["B-PER"]]


def test_hashed_attributes() -> None:
    crf = trained(hash_size=64)
    assert crf.encoder_.n_attributes == 5 * 64
    assert crf.predict(X).tolist() == Y


def test_segments_have_functions_too(tmp_path: Any) -> None:
    crf = fc.SegmentCRF("word", segment_templates="segment.length\nfirst(word)", functions=FUNCTIONS).fit(
        X, Y
    )
    path = tmp_path / "segments.fc"
    crf.save(path)
    assert "facts:title" in crf.encoder_.attribute_text(range(crf.encoder_.n_attributes))
    with pytest.raises(InputError, match="function ends"):
        fc.load(path).predict(X)
    again = fc.load(path, functions=FUNCTIONS)
    np.testing.assert_array_equal(flat(again.predict_proba(X)), flat(crf.predict_proba(X)))


def test_pools_unite_functions_of_one_name(tmp_path: Any) -> None:
    first, second = trained(), trained({"ends": ends}, "word")
    pool = fc.LogOpinionPool([first, second], weights=[0.6, 0.4])
    texts = pool.encoder_.attribute_text(range(pool.encoder_.n_attributes))
    assert texts.count("ends:me") == 1
    pool.save(tmp_path / "pool.fc")
    again = fc.load(tmp_path / "pool.fc", functions=FUNCTIONS)
    np.testing.assert_array_equal(flat(again.predict_proba(X)), flat(pool.predict_proba(X)))
    other = trained({"ends": lambda columns: columns["word"]}, "word")
    with pytest.raises(InputError, match="different functions of the name 'ends'"):
        fc.LogOpinionPool([first, other]).predict(X)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([ends], "functions is a list; give a dict"),
        ({"": ends}, "give each function a name"),
        ({"ends": "word"}, r"functions\['ends'\] is a str"),
        ({"ends": lambda columns: "no"}, "sequence 0: function 'ends' returned a str"),
        ({"ends": lambda columns: ["one"]}, "returned 1 items for 2 tokens"),
        ({"ends": lambda columns: [None] * len(columns["word"])}, "function 'ends': sequence 0, token 0"),
        ({"ends": lambda columns: [float("nan")] * len(columns["word"])}, "function 'ends': sequence 0"),
    ],
)
def test_what_is_no_function_of_columns_is_refused(functions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trained(functions)


def test_features_have_no_columns() -> None:
    with pytest.raises(InputError, match="functions are called with columns"):
        fc.ChainCRF(functions={"ends": ends}).fit([[["a"]]], [["X"]])


@pytest.mark.parametrize("inference", ["auto", "propagation"])
def test_skip_chains(inference: str, tmp_path: Any) -> None:
    """A file of a skip chain has the names of its functions, too."""
    words, labels = [["Ann", "met", "Bob", "and", "Ann"]], [["P", "O", "P", "O", "P"]]
    crf = fc.SkipChainCRF("word", functions={"ends": ends}, inference=inference, n_jobs=1).fit(words, labels)
    crf.save(tmp_path / "m.fc")
    with pytest.raises(InputError, match="ends"):
        fc.load(tmp_path / "m.fc").predict(words)
    again = fc.load(tmp_path / "m.fc", functions={"ends": ends})
    np.testing.assert_array_equal(again.predict_proba(words)[0], crf.predict_proba(words)[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(crf)).predict(words)[0], crf.predict(words)[0])

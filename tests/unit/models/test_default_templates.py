"""Templates that are chosen where none are given."""

from __future__ import annotations

from pathlib import Path

import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.models.default_templates import default_templates

SPANS, TAGS = [["O", "B-LOC"]], [["IN", "NNP"]]
WORDS = [["in", "Rome"]]


def test_a_set_for_every_kind_of_corpus() -> None:
    cases = [
        ({"word": WORDS}, SPANS, "entities-words"),
        ({"word": WORDS, "pos": TAGS}, SPANS, "entities"),
        ({"word": WORDS}, TAGS, "tagging"),
        ({"word": WORDS, "pos": TAGS}, TAGS, "tagging"),
    ]
    for columns, labels, name in cases:
        corpus = fc.Corpus.from_columns(columns, labels)
        crf = fc.ChainCRF().fit(corpus)
        assert crf.templates_ == fc.Templates.named(name)
        assert crf.get_params()["templates"] is None
        assert crf.predict(corpus).tolist() == labels


def test_the_column_of_words_may_have_another_name() -> None:
    crf = fc.ChainCRF().fit(fc.Corpus.from_columns({"my words": WORDS}, TAGS))
    assert crf.templates_ is not None
    assert crf.templates_.named_columns == ["my words"]
    lemma = fc.Corpus.from_columns({"lemma": WORDS, "form": WORDS}, TAGS)
    chosen = default_templates(None, lemma, ["IN"])
    assert chosen is not None
    assert chosen.templates.named_columns == ["form"]


def test_a_set_by_name_looks_at_the_column_of_words() -> None:
    corpus = fc.Corpus.from_columns({"form": WORDS}, TAGS)
    crf = fc.ChainCRF("tagging").fit(corpus)
    assert crf.get_params()["templates"] == "tagging"
    assert crf.templates_ is not None
    assert crf.templates_.named_columns == ["form"]
    assert crf.predict(corpus).tolist() == TAGS
    with pytest.raises(InputError, match="look at column"):
        fc.ChainCRF("entities").fit(corpus)
    with pytest.raises(InputError, match="look at column 'word'"):
        fc.ChainCRF("word").fit(corpus)


def test_features_stay_features() -> None:
    crf = fc.ChainCRF().fit([[["w=in"], ["w=Rome"]]], SPANS)
    assert crf.templates_ is None
    assert default_templates(None, [{"word": ["in"]}], ["O"]) is None
    assert default_templates("word", fc.Corpus.from_columns({"word": WORDS}, SPANS), ["O"]) is None


def test_the_file_has_what_was_chosen(tmp_path: Path) -> None:
    corpus = fc.Corpus.from_columns({"word": WORDS}, SPANS)
    fc.ChainCRF().fit(corpus).save(tmp_path / "m.fc")
    loaded = fc.load(tmp_path / "m.fc")
    assert loaded.templates_ == fc.Templates.named("entities-words")
    assert loaded.source_ == {"columns": ["word", "label"], "label": "label"}


@pytest.mark.parametrize("kind", [fc.SegmentCRF, fc.CodedCRF])
def test_other_models_choose_too(kind: type) -> None:
    corpus = fc.Corpus.from_columns({"word": WORDS * 2}, SPANS * 2)
    assert kind().fit(corpus).predict(corpus).tolist() == SPANS * 2


def test_tuning_and_growing() -> None:
    corpus = fc.Corpus.from_columns({"word": WORDS * 2}, SPANS * 2)
    result = fc.tune(fc.ChainCRF(), corpus, X_dev=corpus, over={"variance": [1.0, 10.0]})
    assert result.model is not None
    assert result.model.templates_ == fc.Templates.named("entities-words")
    assert fc.ChainCRF().partial_fit(corpus).partial_fit(corpus).predict(corpus).tolist() == SPANS * 2


def test_the_log_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    fc.ChainCRF(verbose=True).fit(fc.Corpus.from_columns({"word": WORDS, "pos": TAGS}, SPANS))
    told = capsys.readouterr().err
    assert "templates: entities, since the labels are those of spans and there is a column 'pos'" in told
    assert "not raw text" in told

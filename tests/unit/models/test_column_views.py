"""Columns of a FactorialCRF that look at some templates alone, or at scores of another model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

EXACT = fc.LBFGS(tolerance=1e-10, objective_tolerance=0.0, max_iterations=1000)
TEMPLATES = "columns word\nword\nword[-1]\nfirst\n"


def trusted(columns: dict[str, list[str]]) -> list[dict[str, float]]:
    """Scores of tags: high for the one that the word begins with."""
    return [{word[0]: 2.0, "N": 0.5, "X": 1.0} for word in columns["word"]]


FUNCTIONS = {"trusted": trusted}


@pytest.fixture
def corpus() -> fc.Corpus:
    rng = np.random.default_rng(3)
    tags = [rng.choice(list("DNV"), size=rng.integers(2, 6)).tolist() for _ in range(12)]
    words = [[f"{rng.choice([tag, 'N'])}{rng.integers(3)}" for tag in row] for row in tags]
    chunks = [["B" if a == "D" else "O" for a in ["V", *row[:-1]]] for row in tags]
    made = fc.Corpus.from_columns({"word": words, "pos": tags}, chunks, label="chunk")
    return made.with_label(["pos", "chunk"])


def parts_of(model: fc.FactorialCRF) -> list[tuple[str, str, int]]:
    """Part, attribute and label of every weight that has an attribute."""
    index = model.features_
    rows = np.flatnonzero(index.attribute >= 0)
    texts = model.encoder_.attribute_text(index.attribute[rows].tolist())
    parts = [index.parts[part] for part in index.part[rows]]
    return list(zip(parts, texts, index.label[rows].tolist()))


def test_a_column_looks_at_the_templates_that_it_is_given(corpus: fc.Corpus) -> None:
    model = fc.FactorialCRF(TEMPLATES, looks={"pos": ["word*"]}, optimiser=EXACT).fit(corpus)
    assert {text.partition("=")[0] for part, text, _ in parts_of(model) if part == "pos"} == {
        "word",
        "word[-1]",
    }
    assert "first" in {text for part, text, _ in parts_of(model) if part == "chunk"}

    def mask(index: Any) -> Any:  # the same by leaving out weights
        return ~(index.belongs_to("pos") & (index.template == 2))

    other = fc.FactorialCRF(TEMPLATES, optimiser=EXACT).fit(corpus, feature_mask=mask)
    assert model.objective_value_ == pytest.approx(other.objective_value_, rel=1e-9)
    np.testing.assert_allclose(
        model.log_probability(corpus), other.log_probability(corpus), rtol=1e-5, atol=1e-6
    )


def test_a_label_looks_at_its_own_score_alone(corpus: fc.Corpus, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"functions": FUNCTIONS, "optimiser": EXACT}
    model = fc.FactorialCRF(TEMPLATES, looks={"pos": []}, scores={"pos": "trusted"}, **settings).fit(corpus)
    mine = [(text, y) for part, text, y in parts_of(model) if part == "pos"]
    assert sorted(mine) == [("trusted:D", 0), ("trusted:N", 1), ("trusted:V", 2)]
    assert not any(text.startswith("trusted") for part, text, _ in parts_of(model) if part == "chunk")

    every = fc.FactorialCRF(TEMPLATES, **settings).fit(corpus)
    kept = set(parts_of(model))
    mask = np.array([True] * len(every.weights_))
    mask[np.flatnonzero(every.features_.attribute >= 0)] = [feature in kept for feature in parts_of(every)]
    other = fc.FactorialCRF(TEMPLATES, **settings).fit(corpus, feature_mask=mask)
    assert model.objective_value_ == pytest.approx(other.objective_value_, rel=1e-9)

    model.save(tmp_path / "scored.fc")
    again: Any = fc.load(tmp_path / "scored.fc", functions=FUNCTIONS)
    assert again.scores == {"pos": "trusted"}
    assert again.predict(corpus) == model.predict(corpus)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"looks": {"ner": ["word"]}}, "looks: 'ner' is no label column; there are pos, chunk"),
        ({"looks": {"pos": ["suffix"]}}, "looks: column 'pos' is to look at 'suffix', which is no template"),
        ({"looks": ["word"]}, "looks is a list; give a dict by label column"),
        ({"scores": {"pos": "tagger"}}, "scores: column 'pos' has those of 'tagger', which is no function"),
        ({"scores": {"chunk": "trusted"}}, "no attribute of 'trusted' is a label of the column 'chunk'"),
        ({"scores": {"pos": "trusted", "chunk": "trusted"}}, "two columns have the same function"),
    ],
)
def test_refusals(corpus: fc.Corpus, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        fc.FactorialCRF(TEMPLATES, functions=FUNCTIONS, **settings).fit(corpus)

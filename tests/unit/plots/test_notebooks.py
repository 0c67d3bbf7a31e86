"""What notebooks show: whole HTML without scripts, in which data is text; readable in both themes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.tuning.results import Result
from fieldcraft.tuning.trial import Point
from unit.html_tags import OURS, Tags

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;", "</style></div>", "it's"]


def hostile_corpus(labels: list[str]) -> fc.Corpus:
    return fc.Corpus(
        [fc.Sequence({"word": HOSTILE, "<b>": HOSTILE}, labels)] * 7, label="<i>", source="<u>here"
    )


def bake_off() -> fc.BakeOff:
    row = Result(HOSTILE[0], "<o>", "<p>", "<q>", 1.0, score=0.5, points=(Point(1, 0.1, 1.0, None, 0.5),))
    failed = Result(HOSTILE[1], "", "", "", error="<b>no")
    return fc.BakeOff("<m>", 1, 2, (row, failed))


SCHEME = ["B-<b>", "I-<b>", "O", "B-A", "I-A"]
PROBABILITIES = [[[0.8, 0.2], [0.4, 0.6]]]
SHOWN: dict[str, Any] = {
    "corpus": lambda: hostile_corpus(SCHEME),
    "tags": lambda: hostile_corpus(["<N>", "V", "O", "<N>", "V"]),
    "sequence": lambda: hostile_corpus(SCHEME)[0],
    "scores": lambda: fc.metrics.span_scores([SCHEME], [SCHEME]),
    "comparison": lambda: fc.compare(
        [HOSTILE] * 3, [HOSTILE] * 3, [HOSTILE[::-1]] * 3, resamples=20, names=(HOSTILE[0], "<b>")
    ),
    "bake-off": bake_off,
    "confusion": lambda: fc.metrics.confusion([HOSTILE], [HOSTILE[::-1]]),
    "reliability": lambda: fc.metrics.reliability([["A", "B"]], PROBABILITIES, ["A", "B"]),
    "text": lambda: fc.plots.labelled_text(HOSTILE, SCHEME, SCHEME[::-1]),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_html_is_whole_and_data_is_text(kind: str) -> None:
    page = SHOWN[kind]()._repr_html_()
    tags = Tags(page)
    assert tags.open == []
    assert tags.seen <= OURS
    assert tags.names <= {"class", "style"}
    assert not re.search(
        r"https?://|src=\w|@import|url\(", re.sub("&[a-z0-9#]+;", "", page.replace("src=x", ""))
    )
    if kind in {"corpus", "tags", "sequence", "comparison", "bake-off", "confusion", "text"}:
        assert HOSTILE[0] in "".join(tags.texts)
    assert "color: black" not in page
    assert "background: white" not in page


def test_tuning() -> None:
    X, y = [[["w=a"], ["w=b"]]] * 4, [["A", "B"]] * 4
    found = fc.tune(fc.ChainCRF(n_jobs=1), X, y, X_dev=X, y_dev=y, over={"variance": [0.1, 1.0]})
    assert "".join(Tags(found._repr_html_()).texts).count("variance=") == 3


def test_a_corpus_shows_its_first_sequences() -> None:
    texts = "".join(Tags(hostile_corpus(SCHEME)._repr_html_()).texts)
    assert "7 sequences, 35 tokens" in texts
    assert texts.count("it's") == 5
    assert "and 2 more" in texts
    long = fc.Sequence({"word": ["w"] * 100})
    assert "the first 60 of 100 tokens" in long._repr_html_()
    bare = fc.Corpus([fc.Sequence({}, ["A"], attributes=[{"<x>": 1.0}])])
    assert "&lt;x&gt;" in bare._repr_html_()
    assert Tags(fc.Corpus([])._repr_html_()).open == []


def test_gold_against_predicted() -> None:
    shown = fc.plots.labelled_text(
        ["in", "New", "York", "Ann"],
        [(fc.Span(1, 3, "LOC"), 0.75), (fc.Span(3, 4, "PER"), 0.5)],
        ["O", "O", "B-LOC", "B-PER"],
    )
    assert str(shown).splitlines() == [
        "gold       in New [York LOC ✗] [Ann PER]",
        "predicted  in [New York LOC 0.75 ✗] [Ann PER 0.50]",
    ]
    page = shown._repr_html_()
    assert page.count('class="span wrong"') == 2
    assert page.count('class="span"') == 2
    assert ">gold<" in page


def test_tags_are_marked_one_by_one(tmp_path: Path) -> None:
    shown = fc.plots.labelled_text(["a", "dog"], ["DET", "NOUN"])
    assert str(shown) == "[a DET] [dog NOUN]"
    page = shown.to_html(tmp_path / "s.html")
    assert (tmp_path / "s.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!DOCTYPE html>")


def test_what_does_not_fit() -> None:
    for given, message in (
        (["O"], "predicted: 1 labels for 2 words"),
        ([(1, 3, "A")], "does not fit 2 words"),
        ([(0, 2, "A"), (1, 2, "B")], "overlap"),
    ):
        with pytest.raises(InputError, match=message):
            fc.plots.labelled_text(["a", "b"], given)


def test_an_explanation_starts_with_its_tokens() -> None:
    crf = fc.ChainCRF("word\nedge").fit([{"word": ["<u>", "x"]}], [["B-A", "O"]])
    page = crf.explain({"word": ["<u>", "x"]})._repr_html_()
    assert page.count('class="card"') == 2
    assert "or O 0." in page
    assert page.index("strip") < page.index("<table>")

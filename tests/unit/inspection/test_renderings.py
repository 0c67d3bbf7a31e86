"""Text, colours, JSON and HTML of reports; what data says is never obeyed by a browser or a terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.inspection.report import Report
from fieldcraft.inspection.text import width
from fieldcraft.terminal import visible
from unit.html_tags import OURS, Tags
from unit.inspection.fitted import KINDS, asked, fitted

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;", "</style></table>", "it's"]


def hostile() -> fc.ChainCRF:
    """A model whose attributes and labels are full of markup."""
    X = [[[name] for name in HOSTILE]] * 2
    return fc.ChainCRF(n_jobs=1).fit(X, [["<b>", "A", "<b>", "A", "<b>"], ["A"] * 5])


def reports(kind: str) -> list[Report]:
    crf = fitted(kind)
    sequence = asked(kind)[0]
    return [crf.inspect(), crf.inspect(label="N"), crf.explain(sequence), crf.explain(sequence, token=0)]


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_pure(kind: str) -> None:
    for report in reports(kind):
        assert json.loads(report.to_json()) == json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert "\n" not in report.to_json(indent=None)


def test_json_of_what_is_no_number() -> None:
    crf = fitted("lists")
    found = crf.inspect()
    broken = type(found)(**{**vars(found), "settings": {"objective_value": float("nan")}})
    assert json.loads(broken.to_json())["settings"] == {"objective_value": None}
    assert None in np.ravel(found.to_dict()["transitions"]).tolist() or not np.isnan(found.transitions).any()


@pytest.mark.parametrize("kind", KINDS)
def test_text_and_html_are_whole(kind: str) -> None:
    for report in reports(kind):
        text = str(report)
        assert "\x1b" not in text
        assert not [line for line in text.split("\n") if line != line.rstrip()]
        assert report.title() in text
        for page in (report._repr_html_(), report.to_html()):
            assert Tags(page).open == []


def test_markup_in_data_is_escaped() -> None:
    crf = hostile()
    for report in (
        crf.inspect(),
        crf.inspect(attribute="*"),
        crf.explain([[name] for name in [*HOSTILE, "<i>new"]]),
    ):
        for page in (report._repr_html_(), report.to_html()):
            tags = Tags(page)
            assert tags.seen <= OURS
            assert tags.names <= {"class", "style", "lang", "charset", "name", "content"}
            assert "<script>alert(1)</script>" in "".join(tags.texts)
            assert "<script" not in page


def test_words_are_escaped_in_headings() -> None:
    crf = fc.ChainCRF("word\nedge").fit([{"word": ["<u>", "x"]}], [["A", "B"]])
    assert "<u>" not in crf.explain({"word": ["<u>", "x"]}).to_html()
    assert "&lt;u&gt;" in crf.explain({"word": ["<u>", "x"]}, token=0)._repr_html_()


def test_control_characters_are_spelled_out() -> None:
    crf = fc.ChainCRF().fit([[["a\x1b[31mred"], ["b\nc\x00"]]], [["A", "B"]])
    text = str(crf.inspect())
    assert "\x1b" not in text
    assert r"a\x1b[31mred" in text
    assert r"b\nc\x00" in text
    assert visible("naïve 日本") == "naïve 日本"


def test_wide_characters_keep_columns_straight() -> None:
    assert [width(text) for text in ("abc", "日本", "é", "e\u0301")] == [3, 4, 1, 1]
    crf = fc.ChainCRF().fit([[["日本"], ["abcd"]]], [["A", "B"]])
    rows = [line for line in str(crf.inspect()).split("\n") if re.search("日本|abcd", line)]
    assert len({width(line) for line in rows if line.startswith("  +")}) == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_and_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    report = fitted("lists").inspect()
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m" in report.text(colour=True)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert "\x1b" not in report.text()
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert "\x1b[" in report.text()
    assert "\x1b" not in report.text(colour=False)
    assert "\x1b" not in str(report)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in report.text()


@pytest.mark.parametrize("kind", ["edges", "templates"])
def test_colours_change_nothing_else(kind: str) -> None:
    for report in reports(kind):
        assert re.sub(r"\x1b\[[0-9;]*m", "", report.text(colour=True)) == str(report)


def test_pages_are_saved(tmp_path: Path) -> None:
    report = fitted("templates").explain(asked("templates")[0])
    page = report.to_html(tmp_path / "why.html")
    assert (tmp_path / "why.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?://|src=|@import|url\(", page)  # needs nothing else


def test_many_labels_show_pairs_instead_of_a_matrix() -> None:
    labels = [f"L{i:02d}" for i in range(30)]
    crf = fc.ChainCRF(n_jobs=1).fit([[["a"]] * 60], [labels + labels[::-1]])
    assert "from \\ to" not in str(crf.inspect())
    assert "Strongest and weakest transitions" in str(crf.inspect())


def test_no_pairs_are_said_to_be_none() -> None:
    assert "label pairs have no weights" in str(fitted("no pairs").inspect())


def test_rich_is_loaded_for_colours_only() -> None:
    code = (
        "import sys, fieldcraft as fc; crf = fc.ChainCRF(n_jobs=1).fit([['a', 'b']], [['A', 'B']]);"
        "str(crf.inspect()); crf.explain(['a']).to_html(); before = 'rich' in sys.modules;"
        "crf.inspect().text(colour=True); print(before, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

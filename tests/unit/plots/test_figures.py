"""Figures: what they show, read back from matplotlib; labels inside the picture; hostile names; files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.plots.confidence import spans_by_confidence, thresholds_of
from fieldcraft.plots.curves import TuningLine

pytest.importorskip("matplotlib")
from matplotlib.text import Text

RNG = np.random.default_rng(0)
LONG = ["a label of quite unusual length", "$x_{1", "tab\there", "<b>", "naïve"]
RELIABLE = fc.metrics.reliability(
    [["A", "B", "A"]], [[[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]], ["A", "B"], bins=5
)
CURVES = {f"entry/{i}:memory=3,tolerance=1e-09": ([1.0, 2.0 + i], [0.5, 0.8 + i / 100]) for i in range(9)}
WEIGHTS = np.where(RNG.random((5, 5)) < 0.3, np.nan, RNG.normal(size=(5, 5)))
DRAWN: dict[str, Callable[..., Any]] = {
    "learning": lambda **k: fc.plots.learning_curves([9.0, 3.0, 1.0], [None, 0.5, 0.7], [0.1, 0.2, 0.4], **k),
    "objective": lambda **k: fc.plots.learning_curves([9.0, 3.0], **k),
    "tuning": lambda **k: fc.plots.tuning_curve(
        {name: TuningLine([0.1, 1.0], [0.5, 0.6], [10, 20_000]) for name in LONG},
        axis="variance",
        logarithmic=True,
        **k,
    ),
    "contest": lambda **k: fc.plots.score_by_seconds(CURVES, title="$", **k),
    "nobody": lambda **k: fc.plots.score_by_seconds({}, **k),
    "confusion": lambda **k: fc.plots.confusion(RNG.integers(0, 99_999, (5, 5)), LONG, **k),
    "nothing": lambda **k: fc.plots.confusion(np.zeros((2, 2)), ["A", "B"], **k),
    "many": lambda **k: fc.plots.confusion(np.eye(40), [f"label {i}" for i in range(40)], **k),
    "transitions": lambda **k: fc.plots.transitions(WEIGHTS, LONG, **k),
    "forbidden": lambda **k: fc.plots.transitions([[0.0, -np.inf], [np.nan, 1.0]], ["A", "B"], **k),
    "weights": lambda **k: fc.plots.template_weights(LONG, [5.0, 4.0, 3.0, 1e6, 0.0], [1, 2, 3, 4, 0], **k),
    "reliability": lambda **k: fc.plots.reliability({"before": RELIABLE, "$after": RELIABLE}, **k),
    "one": lambda **k: fc.plots.reliability(RELIABLE, **k),
    "thresholds": lambda **k: fc.plots.precision_recall(RNG.random(50), RNG.random(50) < 0.5, 40, **k),
    "none": lambda **k: fc.plots.precision_recall([], [], 0, **k),
    "segments": lambda **k: fc.plots.segmentation(
        LONG, [((0, 2, LONG[0]), 0.5), fc.Span(3, 4, "$A")], [1, 0.2, 0.9, 0.8, 1, 1], **k
    ),
    "graph": lambda **k: fc.plots.factor_graph([[0], [0, 1], [1, 2, 3]], [[0.2, 0.8]] * 3 + [[1.0]], **k),
    "lonely": lambda **k: fc.plots.factor_graph([], [[0.5, 0.5]], names=["$x"], **k),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_every_text_is_inside_the_picture(kind: str) -> None:
    """Nothing is clipped: all texts lie in the figure, and those at the side do not meet."""
    figure = DRAWN[kind]()
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    whole = figure.bbox.padded(1.0)
    for axes in figure.axes:
        named = [axes.title, axes.xaxis.label, axes.yaxis.label] if axes.axison else []
        for text in [*named, *axes.texts, *(shown_ticks(axes) if axes.axison else [])]:
            box = Text.get_window_extent(text, renderer)  # of the words, without the line of a note
            if text.get_text() and text.get_visible():
                assert min(*(box.min - whole.min), *(whole.max - box.max)) >= 0, (text.get_text(), box)
                assert text.get_fontsize() >= 6.5


def shown_ticks(axes: Any) -> list[Any]:
    """The labels of ticks that lie on the axes; others are not drawn."""
    found = []
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        ticks = axis.get_major_ticks()
        found += [tick.label1 for tick in ticks if min(low, high) <= tick.get_loc() <= max(low, high)]
    return found


@pytest.mark.parametrize("kind", DRAWN)
def test_figures_are_files(kind: str, tmp_path: Path) -> None:
    DRAWN[kind](path=tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_bytes().startswith(b"<?xml")


def test_streams_suffixes_and_formats(tmp_path: Path) -> None:
    stream = BytesIO()
    assert DRAWN["objective"](path=stream)._repr_png_().startswith(b"\x89PNG")
    assert stream.getvalue().startswith(b"\x89PNG")
    DRAWN["objective"](path=tmp_path / "plain")
    assert (tmp_path / "plain.png").exists()
    with pytest.raises(InputError, match="end the name with .png or .svg"):
        DRAWN["objective"](path=tmp_path / "x.docx")
    assert not (tmp_path / "x.docx").exists()


def test_numbers_in_cells_are_the_counts() -> None:
    figure = fc.plots.confusion([[3, 1], [0, 1_200]], ["A", "B"])
    assert [text.get_text() for text in figure.axes[0].texts] == ["3", "1", "", "1,200"]
    assert figure.axes[0].images[0].get_array().tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_curves_show_what_they_were_given() -> None:
    figure = DRAWN["learning"]()
    lines = [line.get_xydata().tolist() for axes in figure.axes for line in axes.lines]
    assert lines[0] == [[1, 9], [2, 3], [3, 1]]
    assert lines[1] == [[0.1, 9], [0.2, 3], [0.4, 1]]
    assert lines[2] == [[2, 50], [3, 70]]
    best = DRAWN["tuning"]().axes[0].lines[-1].get_xydata().tolist()
    assert best == [[1.0, 60.0]]


def test_thresholds_against_a_loop() -> None:
    sure, right = RNG.integers(0, 10, 60) / 10, RNG.random(60) < 0.6
    thresholds, precision, recall = thresholds_of(sure, right, 50)
    assert thresholds.tolist() == sorted(set(sure.tolist()))
    for t, p, r in zip(thresholds, precision, recall):
        hits = sum(1 for c, ok in zip(sure, right) if c >= t and ok)
        assert p == pytest.approx(100 * hits / sum(c >= t for c in sure))
        assert r == pytest.approx(100 * hits / 50)
    found = spans_by_confidence([[(fc.Span(0, 1, "A"), 0.5)], []], [[], [fc.Span(0, 1, "A")]])
    assert [found[0].tolist(), found[1].tolist(), found[2]] == [[0.5], [False], 1]


def test_layout_keeps_variables_apart_and_neighbours_close() -> None:
    pairs = [(i, i + 1) for i in range(11)]
    figure = fc.plots.factor_graph(pairs, [[0.5, 0.5]] * 12)
    at = np.array([note.xy for note in figure.axes[0].texts])
    apart = np.sqrt(((at[:, None] - at[None]) ** 2).sum(axis=-1))
    beside = [apart[a, b] for a, b in pairs]
    assert max(beside) < 1.5 * min(beside)
    assert min(apart[a, b] for a in range(12) for b in range(a)) > 0.5 * min(beside)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: fc.plots.confusion([[1]], ["A", "B"]), "shape"),
        (lambda: fc.plots.learning_curves([1.0], [0.1, 0.2]), "held_out has 2 numbers for 1"),
        (lambda: fc.plots.precision_recall([0.1], [True, False], 1), "pass one of each"),
        (lambda: fc.plots.template_weights(["a"], [1.0, 2.0], [1]), "pass as many"),
        (lambda: fc.plots.segmentation(["a"], [(0, 2, "A")]), "does not fit 1 words"),
        (lambda: fc.plots.segmentation(["a"], [], [1.0]), "expected \\(2,\\)"),
        (lambda: fc.plots.segmentation(["a"] * 61, []), "room for 60"),
        (lambda: fc.plots.factor_graph([[0, 3]], [[1.0]]), "not one of the 1"),
        (lambda: fc.plots.factor_graph([], [[1.0]], positions=[[0, 0, 0]]), "expected \\(1, 2\\)"),
        (lambda: fc.plots.factor_graph([], [[1.0]] * 200), "room for 150"),
    ],
)
def test_what_does_not_fit(draw: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import sys, fieldcraft as fc; fc.plots; fc.plots.labelled_text(['a'], ['A'])._repr_html_();"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_results_return_their_figures() -> None:
    X, y = [[["w=a"], ["w=b"]]] * 4, [["A", "B"]] * 4
    found = fc.tune(fc.ChainCRF(n_jobs=1), X, y, X_dev=X, y_dev=y, over={"variance": [0.1, 1.0]})
    assert len(found.plot().axes) == 2

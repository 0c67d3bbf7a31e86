"""Progress on a terminal, in a notebook and in a log: the same words, as often as each can bear."""

from __future__ import annotations

import sys
from io import StringIO
from types import ModuleType
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.display import EVERY, OFTEN, Lines, Pace, kind_of
from fieldcraft.models.progress import Progress
from fieldcraft.optimisers.loop import Record
from fieldcraft.tuning.progress import TrialsProgress
from fieldcraft.tuning.trial import Point


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class OutStream(StringIO):
    """As a kernel's standard streams, which are no terminals."""


OutStream.__module__ = "ipykernel.iostream"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """What a fake IPython was asked to display, and to update."""
    calls: list[tuple[str, dict[str, str]]] = []

    class Handle:
        def update(self, bundle: dict[str, str], *, raw: bool) -> None:
            assert raw
            calls.append(("update", bundle))

    def display(bundle: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        calls.append(("display", bundle))
        return Handle()

    module = ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return calls


def test_kinds() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    assert [kind_of(stream) for stream in (Terminal(), OutStream(), StringIO())] == [
        "terminal",
        "notebook",
        "log",
    ]


def test_pace() -> None:
    clock = Clock()
    pace = Pace(5.0, clock)
    assert [pace.due(), pace.due()] == [True, False]
    clock.now += 4.9
    assert not pace.due()
    clock.now += 0.2
    assert [pace.due(), pace.due()] == [True, False]


def test_a_log_has_a_line_every_few_seconds() -> None:
    """428 iterations of 0.05 seconds are 21 seconds: the first, four in between, the last."""
    clock, stream = Clock(), StringIO()
    lines = Lines(stream, clock)
    for i in range(1, 429):
        lines.show(f"iteration {i}")
        clock.now += 0.05
    lines.tell("stopped: done")
    numbers = [int(line.split()[1]) for line in stream.getvalue().splitlines()[:-1]]
    assert numbers[0] == 1
    assert numbers[-1] == 428
    assert len(numbers) == 2 + int(427 * 0.05 / EVERY)
    assert all(b - a == pytest.approx(EVERY / 0.05, abs=2) for a, b in zip(numbers, numbers[1:-1]))
    assert stream.getvalue().endswith("stopped: done\n")


def test_a_notebook_has_one_updated_line(shown: list[tuple[str, dict[str, str]]]) -> None:
    clock, stream = Clock(), OutStream()
    lines = Lines(stream, clock)
    for i in range(1, 11):
        lines.show(f"iteration {i}")
        clock.now += OFTEN / 2
    lines.tell("stopped: done")
    assert [kind for kind, _ in shown] == ["display"] + ["update"] * (len(shown) - 1)
    assert len(shown) <= 7
    assert shown[-1][1] == {"text/plain": "iteration 10"}
    assert stream.getvalue() == "stopped: done\n"


def test_training_in_a_notebook(shown: list[tuple[str, dict[str, str]]]) -> None:
    progress = Progress(3, OutStream())
    for i in (1, 2, 3):
        progress(Record(i, 1.0, 0.5, 0.1, i))
    progress.end("done")
    assert shown[0][1]["text/plain"].startswith("iteration 1/3")
    assert shown[-1][1]["text/plain"].startswith("iteration 3/3")


def test_a_search_in_a_notebook(shown: list[tuple[str, dict[str, str]]]) -> None:
    with TrialsProgress(shown=True, stream=OutStream()) as progress:
        progress.begin("<b>")
        progress.tell("<b>", Point(1, 0.5, 3.0, None, 0.5))
    assert shown[0][0] == "display"
    assert {kind for kind, _ in shown[1:]} == {"update"}
    assert "&lt;b&gt;" in shown[-1][1]["text/html"]
    assert "<b>  1  3.00" in shown[-1][1]["text/plain"]


def test_tune_shows_progress_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = [[["w=a"], ["w=b"]]] * 4, [["A", "B"]] * 4
    told = {"X_dev": X, "y_dev": y, "over": {"variance": [0.1, 1.0]}}
    fc.tune(fc.ChainCRF(n_jobs=1), X, y, **told)
    assert capsys.readouterr().err == ""
    fc.tune(fc.ChainCRF(n_jobs=1), X, y, verbose=True, **told)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "variance=0.1:  training"
    assert any("score 100.00" in line and line.startswith("variance=1:") for line in lines)
    fc.tune(fc.ChainCRF(n_jobs=1, verbose=True), X, y, verbose=False, **told)
    assert capsys.readouterr().err == ""

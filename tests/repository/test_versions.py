"""The benchmark of two builds: who is measured when, what is repeated, what is called slower."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import version_worker, versions  # noqa: E402
from benchmarks.synthetic import Synthetic  # noqa: E402
from benchmarks.versions import Build, Key, Times, compare, rows  # noqa: E402

KEY = Key("W1", "tagging lists")


class Scripted:
    """A build whose times are known beforehand, and a diary of what both were asked."""

    def __init__(self, side: str, seconds: Sequence[float], diary: list[str]) -> None:
        self.side, self.left, self.diary = side, list(seconds), diary

    def begin(self, workload: str) -> None:
        self.diary.append(f"{self.side} {workload}")

    def ready(self) -> None:
        pass

    def seconds(self, measure: str) -> float:
        self.diary.append(f"{self.side} {measure}")
        return self.left.pop(0)

    def core(self) -> str:
        return "core.so"


def compared(
    old: Sequence[float], new: Sequence[float], *, passes: int, repeats: int = 0
) -> tuple[Times, list[str]]:
    diary: list[str] = []
    builds = Scripted("old", old, diary), Scripted("new", new, diary)

    @contextmanager
    def start() -> Iterator[tuple[Scripted, Scripted]]:
        diary.append("start")
        yield builds

    times = compare(start, [KEY], passes=passes, repeats=repeats, tell=lambda _: None)
    return times[KEY], diary


def test_builds_take_turns_and_change_who_is_first() -> None:
    _, diary = compared([1.0] * 3, [1.0] * 3, passes=3, repeats=3)
    assert diary[:3] == ["start", "old W1", "new W1"]
    assert [entry.split()[0] for entry in diary[3:]] == ["old", "new", "new", "old", "old", "new"]


def test_a_pass_goes_through_all_measurements_of_a_workload() -> None:
    diary: list[str] = []
    builds = [Scripted(side, [1.0] * 6, diary) for side in versions.SIDES]
    keys = [Key("W1", "a"), Key("W2", "c"), Key("W1", "b")]
    compare(lambda: nullcontext(builds), keys, passes=2, repeats=0, tell=lambda _: None)
    assert [entry for entry in diary if entry.startswith("old")] == [
        *("old W1", "old a", "old b", "old a", "old b"),
        *("old W2", "old c", "old c"),
    ]


def test_the_best_pass_counts() -> None:
    times, _ = compared([2.0, 1.0, 1.0, 3.0], [1.04, 9.0, 7.0, 1.04], passes=4)
    assert times.ratio == pytest.approx(1.04, rel=1e-12)
    assert times.verdict == ""


def test_what_is_slower_is_repeated_with_new_processes_until_it_is_not() -> None:
    times, diary = compared([1.0] * 4, [1.2, 1.2, 1.0, 1.0], passes=2, repeats=3)
    assert diary.count("start") == 2
    assert times.verdict == ""


def test_what_stays_slower_is_called_so_after_all_repeats() -> None:
    times, diary = compared([1.0] * 8, [1.06] * 8, passes=2, repeats=3)
    assert diary.count("start") == 4
    assert times.verdict == "slower"
    assert [*rows({KEY: times})] == [["W1", "tagging lists", "1000", "1060", "1.060", "0.0%", "8", "slower"]]


@pytest.mark.parametrize("noisy", ["old", "new"])
def test_what_varies_within_one_build_is_repeated(noisy: str) -> None:
    varying, steady = [1.0, 1.2, 1.2, 1.0], [1.0] * 4
    sides = (varying, steady) if noisy == "old" else (steady, varying)
    once, _ = compared(*sides, passes=2)
    assert once.verdict == "noisy"
    assert once.noise == pytest.approx(0.2, rel=1e-12)
    twice, diary = compared(*sides, passes=2, repeats=3)
    assert diary.count("start") == 2
    assert twice.verdict == ""


def test_what_is_faster_without_noise_is_not_repeated() -> None:
    times, diary = compared([1.0] * 2, [0.9] * 2, passes=2, repeats=3)
    assert diary.count("start") == 1
    assert times.verdict == "faster"


def test_a_process_that_ends_is_an_error(tmp_path: Path) -> None:
    python = shutil.which("false")
    assert python is not None
    with Build(python, str(tmp_path)) as build, pytest.raises(RuntimeError, match="ended"):
        build.core()


def test_the_process_of_a_build_tells_its_core(tmp_path: Path) -> None:
    from fieldcraft import _core

    with Build(sys.executable, str(tmp_path)) as build:
        assert build.core() == _core.__file__


@pytest.mark.parametrize(("times", "status"), [([1.0, 1.0], 0), ([1.0, 1.06], 1)])
def test_the_exit_status_says_whether_anything_is_slower(
    times: list[float],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "conll2000").mkdir()
    monkeypatch.setenv("FIELDCRAFT_DATA", str(tmp_path))
    builds = [Scripted(side, [seconds], []) for side, seconds in zip(versions.SIDES, times)]
    monkeypatch.setattr(versions, "started", lambda *_: nullcontext(builds))
    words = ["W1", "--old", sys.executable, "--passes", "1", "--repeats", "0", "--measure", "tagging lists"]
    monkeypatch.setattr(sys, "argv", ["versions", *words])
    assert versions.main() == status
    shown = capsys.readouterr()
    assert "| W1 | tagging lists | 1000 |" in shown.out
    assert "the same build" in shown.err
    assert ("slower: W1 tagging lists" in shown.err) == bool(status)


class Small(Synthetic):
    """A few synthetic sequences that are also there as a column of words."""

    templates = "columns word\nword[-1..1]\n"

    def load(self, split: str) -> tuple[list[list[tuple[str, ...]]], Any]:
        features, labels = self.features(split)
        return [[(token[2],) for token in sequence] for sequence in features], labels

    def by_column(self, split: str) -> tuple[list[dict[str, list[str]]], Any]:
        sequences, labels = self.load(split)
        return [{"word": [word for (word,) in tokens]} for tokens in sequences], labels


@pytest.mark.parametrize("clock", version_worker.CLOCKS)
def test_every_measurement_runs_on_this_build(
    clock: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Small("small", "synthetic", 12, 20)
    monkeypatch.setitem(version_worker.SOURCES, "small", source)
    worker = version_worker.Worker(clock)
    assert worker.answer({"prepare": "small", "folder": str(tmp_path), "iterations": 2})["features"] > 100
    prepared = worker.prepared
    assert prepared is not None
    for measure in version_worker.MEASURES.values():
        assert measure.seconds(prepared, 1) > 0.0
    assert worker.answer({"measure": "evaluation, 1 thread"})["seconds"] > 0.0
    assert prepared.problem[2].n_variables == len(prepared.weights)
    value = version_worker.evaluation(prepared.problem[1], prepared.weights)()
    assert value == version_worker.evaluation(prepared.problem[2], prepared.weights)()

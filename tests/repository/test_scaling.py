"""Benchmarks of many threads, of busy cores and of two builds: what is measured, met and quoted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import busy, command, quote, scaling, threads  # noqa: E402
from benchmarks.synthetic import Synthetic  # noqa: E402

Run = dict[str, Any]
MACHINE = {"processor": "a test"}


class Small(Synthetic):
    """A few synthetic sequences that are also there as a column of words."""

    templates = "columns word\nword[-1..1]\n"

    def by_column(self, split: str) -> tuple[list[dict[str, list[str]]], Any]:
        features, labels = self.features(split)
        return [{"word": [token[2] for token in sequence]} for sequence in features], labels


SMALL = Small("small", "synthetic", 12, 20)


@pytest.mark.parametrize(
    ("cores", "expected"),
    [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (16, [1, 2, 4, 8, 16]), (24, [1, 2, 4, 8, 16, 24])],
)
def test_powers_of_two_and_all_cores(cores: int, expected: list[int]) -> None:
    assert threads.counts(cores) == expected


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("evaluations", {"times": 2}),
        ("evaluations", {"times": 1, "copies": 3}),
        ("iterations", {}),
        ("fits", {"also": [3]}),
        ("tagging", {"given": "lists"}),
        ("tagging", {"given": "columns"}),
    ],
)
def test_every_work_is_measured_with_each_number_of_threads(task: str, settings: Run) -> None:
    found = scaling.TASKS[task](SMALL, counts=[1, 2], rounds=3, **settings)
    assert found["seconds"].keys() == {"1", "2"}
    assert all(len(values) == 3 and min(values) > 0 for values in found["seconds"].values())
    assert found.get("same", True)
    if task == "fits":
        assert found["bits"].keys() == {"1", "2", "3"}


def test_numbers_of_threads_take_turns() -> None:
    diary: list[int] = []
    works = {n: (lambda n=n: float(diary.append(n) or n)) for n in (1, 2)}
    assert scaling.in_turn(works, 2) == {"1": [1.0, 1.0], "2": [2.0, 2.0]}
    assert diary == [1, 2, 1, 2]


def scripted(speed_ups: dict[str, float], *, peer: bool) -> list[Run]:
    """Runs in which 8 and 16 threads are so many times as fast as one."""
    runs: list[Run] = []
    for work in threads.works(5):
        fast = speed_ups.get(work.title, 20.0)
        seconds = {"1": [0.2, 0.1], "8": [0.1 / fast], "16": [0.1 / fast, 9.0]}
        extra = {"same": True, "bits": {"1": "x"}} if work.title == "W1, fit" else {}
        shared = {"title": work.title, "seconds": seconds, "counts": [1, 8, 16], "others": 0.0, "tokens": 7}
        runs.append({**work.settings, **shared, **extra})
    if peer:
        runs.append({"side": "peer", "workload": "W1", "evaluation": 1.0, "others": 0.0})
    return runs


def test_sixteen_threads_are_held_to_their_floors() -> None:
    runs = scripted({"W1, evaluation": 8.9, "W1, tagging lists": 5.1}, peer=True)
    runs[4]["seconds"]["16"] = [0.1 / 19.0]  # slower than with 8 by a nineteenth
    found = {v.title: v for v in threads.verdicts(runs, 5)}
    missed = {title for title, verdict in found.items() if not verdict.met}
    assert missed == {
        "W1, evaluation: 16 threads, times one thread",
        "W1, evaluation: times CRFsuite",
        "W1, fit: seconds with 16 threads over 8",
    }
    assert found["W1, evaluation: times CRFsuite"].value == pytest.approx(89.0, rel=1e-12)
    assert found["W1, tagging lists: 16 threads, times one thread"].met


def test_other_bits_are_missed() -> None:
    runs = scripted({}, peer=False)
    runs[4]["same"] = False
    missed = [v.title for v in threads.verdicts(runs, 5) if not v.met]
    assert missed == ["W1, fit: the same bits with every number of threads"]


def test_without_the_peer_its_column_is_left_out() -> None:
    with_peer = threads.markdown(MACHINE, scripted({}, peer=True), 5)
    without = threads.markdown(MACHINE, scripted({}, peer=False), 5)
    assert "| W1, evaluation | ms | 1000 | 100 | 5 (20.00x) | 5 (20.00x) |" in with_peer
    assert "| W1, evaluation | ms | 100 | 5 (20.00x) | 5 (20.00x) |" in without
    assert "CRFsuite" not in without


def test_busy_cores_are_judged_by_means() -> None:
    shared: Run = {"task": "fits", "workload": "W1", "counts": [1, 2], "others": 0.0}
    fair, slow = {"1": [1.0, 3.0], "2": [2.05, 2.05]}, {"1": [1.0, 3.0], "2": [0.5, 3.8]}
    runs = [{**shared, "seconds": fair}, {**shared, "task": "evaluations", "seconds": slow}]
    assert [busy.ratio(run) for run in runs] == pytest.approx([1.025, 1.075], rel=1e-12)
    text = busy.markdown(MACHINE, runs, 1, 2)
    assert "| W1, fit | 2 | 2.05 | 1.025 | 1.05 | met |" in text
    assert "| 1.075 | 1.05 | missed |" in text


@pytest.mark.alone
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be shared out")
def test_a_spinning_process_has_its_core_and_ends() -> None:
    before = os.sched_getaffinity(0)
    cores = sorted(before)[:2]
    with busy.spinning(cores, 1) as spinners:
        assert os.sched_getaffinity(0) == set(cores)
        assert [os.sched_getaffinity(process.pid) for process in spinners] == [{cores[1]}]
    assert os.sched_getaffinity(0) == before
    assert all(process.returncode is not None for process in spinners)


def test_the_first_command_is_compared_by_the_best_passes() -> None:
    def ran(seconds: float, cpu: float, objective: float) -> Run:
        shown = {"iterations": 9, "optimiser": "lbfgs", "stopped": "objective no longer falls"}
        return {"seconds": seconds, "cpu": cpu, "objective": objective, **shown}

    text = command.markdown(
        {"old": [ran(9, 16, 2.0), ran(8, 20, 2.0)], "new": [ran(4, 2, 2.0), ran(1, 9, 2.002)]}
    )
    assert "| old | 8.00 | 16.00 | 9 | 2.000000 | lbfgs |" in text
    assert "0.125 of the seconds, 0.125 of the CPU seconds (at most 0.25); objective +1.00e-03" in text


def test_pages_quote_the_range_of_the_committed_report() -> None:
    for name in quote.QUOTED:
        marked = quote.MARKED.search((ROOT / name).read_text(encoding="utf-8"))
        assert marked is not None, name
        assert marked.group(0).split("\n")[1] == quote.committed(), "run python -m benchmarks.quote"


def test_pages_have_the_table_of_the_committed_report() -> None:
    for name in quote.TABLED:
        marked = quote.TABLE.search((ROOT / name).read_text(encoding="utf-8"))
        assert marked is not None, name
        shown = marked.group(0).split("\n", 1)[1].rsplit("\n", 1)[0]
        assert shown == quote.committed_ranges(), "run python -m benchmarks.quote"


def test_a_quote_gives_the_worst_and_the_best() -> None:
    runs = [
        {
            "side": side,
            "task": "race",
            "workload": w,
            "name": f"{w}-c2=1",
            "seconds": s,
            "memory": 1,
            "threads": n,
        }
        for w, theirs in (("W1", 55.9), ("W4", 16.99), ("W6", 31.0))
        for side, n, s in (("peer", 1, theirs), ("ours", 2, 1.0))
    ]
    assert "16 to 55 times as fast with c2 = 1 (3 tasks of 3 to 22 labels)." in quote.sentence(runs)

"""The benchmark's races: who runs when, when ours was where CRFsuite ended, means and floors."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import judgement, pairs  # noqa: E402
from benchmarks.plan import FULL, plan  # noqa: E402
from benchmarks.races import EVERYWHERE, RACES, crossing, settled, to_optimum  # noqa: E402

Run = dict[str, Any]


def raced(seconds_of_peer: float) -> list[tuple[str, str]]:
    """(side, race) of each process, if CRFsuite takes so long to its own end and a second otherwise."""
    done: list[Run] = []
    for settings in plan(["races"], FULL, Path("x"), done):
        long = RACES[settings["name"]].to_the_end
        done.append({**settings, "seconds": seconds_of_peer if long else 1.0})
    return [(run["side"], run["name"]) for run in done]


def test_every_workload_has_its_races() -> None:
    found = {(race.workload, race.c2) for race in RACES.values() if race.to_the_end}
    expected = {(w, c2) for w in EVERYWHERE for c2 in (1.0, 0.1)} | {("W1", 0.01), ("W2", 0.01)}
    assert found == expected
    assert {"sparse", "perceptron"} <= RACES.keys()


def test_a_long_race_is_run_once_between_two_of_ours() -> None:
    diary = raced(61.0)
    for name, race in RACES.items():
        sides = [side for side, other in diary if other == name]
        assert sides == (["ours", "peer", "ours"] if race.to_the_end else ["peer", "ours"] * FULL.passes)
    first = diary.index(("ours", "W1-c2=1"))
    assert diary[first : first + 3] == [(side, "W1-c2=1") for side in ("ours", "peer", "ours")]


def test_a_race_can_be_run_by_itself() -> None:
    names = [settings["name"] for settings in plan(["W6-c2=1", "sparse"], FULL, Path("x"), [])]
    assert set(names) == {"W6-c2=1", "sparse"}


def test_a_short_race_is_run_in_every_pass() -> None:
    diary = raced(59.0)
    assert [side for side, name in diary if name == "W6-c2=1"] == [
        "ours",
        "peer",
        "ours",
        *["peer", "ours"] * 2,
    ]


def test_the_crossing_is_the_first_point_at_or_below_the_target() -> None:
    path = [(1.0, 2.0, 9.0), (2.0, 4.0, math.inf), (3.0, 6.0, 5.0), (4.0, 8.0, 4.0)]
    assert crossing(path, 5.0) == (3.0, 6.0)
    assert crossing(path, 4.5) == (4.0, 8.0)
    assert crossing(path, 3.0) == (math.inf, math.inf)


def run_of(side: str, workload: str, c2: float, **figures: Any) -> Run:
    shared = {"task": "race", "workload": workload, "name": f"{workload}-c2={c2:g}", "memory": 1.0}
    return {"side": side, **shared, **({"threads": 2} if side == "ours" else {}), **figures}


def test_ours_is_timed_to_the_objective_that_the_peer_had_later() -> None:
    path = [(1.0, 2.0, 9.0), (3.0, 6.0, 5.0), (8.0, 9.0, 4.0)]
    ours, peer = run_of("ours", "W1", 1.0, path=path), run_of("peer", "W1", 1.0, objective=6.0, seconds=60.0)
    first, second = settled([ours, peer])
    assert (first["seconds"], first["seconds_cpu"]) == (3.0, 6.0)
    assert "path" not in first
    assert second == peer


def races_won_by(ratios: dict[str, float], c2: float) -> list[Run]:
    peers = [run_of("peer", w, c2, seconds=100.0, seconds_cpu=90.0) for w in ratios]
    return peers + [run_of("ours", w, c2, seconds=100.0 / r, seconds_cpu=10.0) for w, r in ratios.items()]


def test_the_geometric_mean_has_a_floor_of_its_own() -> None:
    runs = races_won_by(dict(zip(EVERYWHERE, [16.0, 16.0, 16.0, 16.0, 16.0, 32.0])), 1.0)
    rows = {row.workload: row for row in judgement.rows(runs) if row.title.startswith(to_optimum(1.0))}
    assert rows["W1"].verdict == "short of the aim"
    assert rows["mean"].ratio == pytest.approx(16 * 2 ** (1 / 6), rel=1e-12)
    assert rows["mean"].verdict == "below the floor"
    assert judgement.missed(runs) == [
        f"mean, {to_optimum(1.0)}, geometric mean: 17.96x where 25x is the floor"
    ]


def test_a_race_that_is_never_won_misses_every_floor() -> None:
    runs = races_won_by(dict.fromkeys(EVERYWHERE, 50.0), 0.1)
    runs[-3]["seconds"] = math.inf
    assert runs[-3]["workload"] == "W4"
    assert [text.split(",")[0] for text in judgement.missed(runs)] == ["W4", "mean"]


def test_without_all_workloads_there_is_no_mean() -> None:
    rows = [*judgement.rows(races_won_by({"W1": 20.0, "W2": 20.0}, 1.0))]
    assert {row.workload for row in rows} == {"W1", "W2"}
    assert [(row.peer_cpu, row.ours_cpu) for row in rows if row.unit == "s"] == [(90.0, 10.0)] * 2


def test_side_by_side_every_part_has_a_pair_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3, 7})
    busy: set[int] = set()

    def one(name: str, cores: Sequence[int]) -> list[Run]:
        assert len(cores) == 2
        assert not busy & {*cores}
        busy.update(cores)
        time.sleep(0.001)
        busy.difference_update(cores)
        return [{"name": name, "cores": [*cores]}]

    runs = pairs.measure(["W1", "races", "startup"], one)
    assert [r["name"] for r in runs] == [*pairs.parts(["W1", "races", "startup"])]
    assert {*RACES, "W1", "startup"} == {r["name"] for r in runs}
    assert {tuple(r["cores"]) for r in runs} == {(0, 1), (2, 3)}

"""Walks through a space: what a grid holds, where golden section goes, that scores decide the rest."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.tuning.methods import METHODS
from fieldcraft.tuning.space import Dimension, applied, make_space, plain, read_over, spelled

NEEDS_OPTUNA = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="optuna is not installed"
)


def walk(
    method: str, over: dict[str, Any], score: Callable[..., float], points: int = 15
) -> list[tuple[dict[str, Any], float]]:
    space = make_space(fc.ChainCRF(prior=fc.ElasticNet()), over)
    steps, found = METHODS[method](space, points, 0), []
    settings = next(steps)
    while True:
        found.append((settings, score(*settings.values())))
        try:
            settings = steps.send(found[-1][1])
        except StopIteration:
            return found


@pytest.mark.parametrize(
    ("ends", "logarithmic"), [((0.1, 1000), True), ((1000, 0.1), True), ((-1, 3), False), ((0, 1), False)]
)
def test_ranges(ends: tuple[float, float], logarithmic: bool) -> None:
    range_ = fc.Between(*ends)
    values = range_.grid(7)
    assert (values[0], values[-1]) == ends
    steps = [math.log(b / a) if logarithmic else b - a for a, b in itertools.pairwise(values)]
    assert steps == pytest.approx([steps[0]] * 6, rel=1e-9)
    assert [range_.place(value) for value in values] == pytest.approx([i / 6 for i in range(7)], abs=1e-12)
    assert range_.grid(1) == [ends[0]]


def test_a_grid_holds_every_combination_and_moves_by_one_step() -> None:
    over = {"scale": fc.Between(1, 8), "templates": ["a", "b"], "variance": [5, 1, 3], "min_count": [1]}
    found = [settings for settings, _ in walk("grid", over, lambda *values: 0.0, points=4)]
    assert list(found[0]) == ["templates", "min_count", "prior__scale", "prior__variance"]
    scales = [1.0, 2.0, 4.0, 8.0]
    expected = set(itertools.product("ab", [1], scales, [5, 1, 3]))
    rounded = [
        (s["templates"], s["min_count"], round(s["prior__scale"], 9), s["prior__variance"]) for s in found
    ]
    assert len(rounded) == len(expected)
    assert set(rounded) == expected
    assert [row[0] for row in rounded] == ["a"] * 12 + ["b"] * 12
    assert rounded[12][2:] == rounded[0][2:]  # each template set begins with the strong penalty
    for one, other in itertools.pairwise(rounded[:12]):
        assert sum(a != b for a, b in zip(one, other)) == 1


@pytest.mark.parametrize("top", [0.15, 3.0, 42.0, 900.0])
@pytest.mark.parametrize("sharp", [0.3, 2.0])
def test_golden_section_finds_the_top(top: float, sharp: float) -> None:
    def curve(variance: float) -> float:
        return -(abs(math.log(variance / top)) ** sharp)

    for points in (2, 3, 12, 25):
        found = walk("golden", {"variance": fc.Between(0.1, 1000)}, curve, points)
        assert len(found) == points
        best = max(found, key=lambda pair: pair[1])[0]["prior__variance"]
        width = math.log(1e4) * ((math.sqrt(5) - 1) / 2) ** (points - 1)  # of the bracket that is left
        assert abs(math.log(best / top)) <= width * (1 + 1e-9)


def test_golden_section_is_the_same_from_either_end() -> None:
    def curve(value: float) -> float:
        return -((value - 0.3) ** 2)

    up = walk("golden", {"scale": fc.Between(0.1, 10)}, curve, 9)
    down = walk("golden", {"scale": fc.Between(10, 0.1)}, curve, 9)
    assert max(s for _, s in up) == pytest.approx(max(s for _, s in down), rel=1e-9)


@pytest.mark.parametrize(
    ("over", "points", "part"),
    [
        ({"scale": fc.Between(1, 2), "variance": fc.Between(1, 2)}, 5, "one range alone"),
        ({"scale": [1, 2]}, 5, "one range alone"),
        ({"scale": fc.Between(1, 2)}, 1, "at least 2 points"),
    ],
)
def test_what_golden_section_refuses(over: dict[str, Any], points: int, part: str) -> None:
    with pytest.raises(InputError, match=part):
        walk("golden", over, lambda *values: 0.0, points)


@NEEDS_OPTUNA
def test_optuna_is_seeded_and_stays_in_the_space() -> None:
    over = {"scale": fc.Between(0.1, 10), "variance": fc.Between(100, 1), "templates": ["a", "b"]}

    def score(templates: str, scale: float, variance: float) -> float:
        return -abs(math.log(scale)) - abs(math.log(variance / 10)) - (templates == "a")

    found = walk("optuna", over, score, 30)
    assert found == walk("optuna", over, score, 30)
    assert all(0.1 <= s["prior__scale"] <= 10 and 1 <= s["prior__variance"] <= 100 for s, _ in found)
    assert max(score for _, score in found) > -2.0


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldcraft.tuning.methods.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install optuna"):
        walk("optuna", {"scale": [1, 2]}, lambda *values: 0.0)


def test_spellings() -> None:
    over = read_over(["variance=0.1..1000", "scale=1,2.5", "templates=simple,entities", "mean=-1..1e0"])
    assert over == {
        "variance": fc.Between(0.1, 1000),
        "scale": [1, 2.5],
        "templates": ["simple", "entities"],
        "mean": fc.Between(-1, 1.0),
    }
    for text in ("variance", "=1..2", "variance="):
        with pytest.raises(InputError, match=r"NAME=FIRST\.\.LAST"):
            read_over([text])
    with pytest.raises(InputError, match="twice"):
        read_over(["scale=1,2", "scale=3,4"])


def test_settings_reach_the_estimator() -> None:
    crf = fc.ChainCRF("word", prior=fc.Gaussian(variance=3, mean=0.5))
    made = applied(crf, {"templates": "pos", "min_count": 2, "prior__variance": 7.0})
    assert (made.templates, made.min_count, made.prior) == ("pos", 2, fc.Gaussian(variance=7.0, mean=0.5))
    assert (crf.templates, crf.min_count, crf.prior) == ("word", 1, fc.Gaussian(variance=3, mean=0.5))
    made = applied(crf, {"prior": "laplacian", "prior__scale": 2.0})
    assert made.prior == fc.Laplacian(2.0)
    with pytest.raises(InputError, match="Laplacian has no variance"):
        applied(crf, {"prior": "laplacian", "prior__variance": 2.0})


def test_settings_in_words() -> None:
    settings = {"templates": "simple", "prior": fc.Gaussian(2.0), "prior__variance": 0.123456}
    assert plain(settings)["prior"] == "Gaussian(variance=2.0, mean=0.0)"
    assert spelled({"templates": "simple", "prior__variance": 0.123456}) == "templates=simple variance=0.1235"
    assert Dimension("min_count", (1, 3)).place(3) == 1.0
    assert Dimension("prior", ("gaussian", "none")).place("none") == 1.0


@pytest.mark.parametrize(
    ("over", "part"),
    [
        ({}, "nothing to search"),
        (["variance"], "nothing to search"),
        ({"variance": []}, "the list of values is empty"),
        ({"variance": [1, 2, 1]}, "twice"),
        ({"variance": [1], "prior__variance": [2]}, "prior__variance twice"),
        ({"variance": 3.0}, "no range"),
        ({"templates": "simple"}, "no range"),
        ({"variance": fc.Between(1, 1)}, "both ends"),
        ({"variance": fc.Between(1, float("inf"))}, "finite"),
        ({"variance": fc.Between("a", 2)}, "finite"),  # type: ignore[arg-type]
        ({"varience": [1]}, "'varience' cannot be searched over; .*variance, mean, templates"),
        ({"optimiser__memory": [1]}, "cannot be searched over"),
        ({"n_jobs": [1, 2]}, "cannot be searched over"),
    ],
)
def test_spaces_that_make_no_sense(over: Any, part: str) -> None:
    with pytest.raises(InputError, match=part):
        make_space(fc.ChainCRF(), over)

"""Every table and figure runs, on a few sentences; the figures of the thesis agree wherever they repeat."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from experiments import tables  # noqa: E402
from experiments.__main__ import main  # noqa: E402
from experiments.archive import Archive, Part  # noqa: E402
from experiments.configuration import Configuration  # noqa: E402
from experiments.corpora import collapsed, entities, tagging  # noqa: E402
from experiments.families import gaussian, hyperbolic, laplacian, shifted, unregularised  # noqa: E402
from experiments.running import QUICK, Effort, Laboratory, Stop, guessed  # noqa: E402
from experiments.table import MEASURES, Figure, Table  # noqa: E402

from fieldcraft.evaluation.bootstrap import Quotient  # noqa: E402

CHAPTER_5 = [*range(1, 11), *range(12, 26)]  # 5.11 counts features of the thesis' own
TABLES = ["4.5", "4.6", "4.9", *(f"5.{n}" for n in CHAPTER_5)]
WANTED = [*(f"table-{number}" for number in TABLES), "figure-4.1", "figure-5.2"]
FILES = {
    "conll2003": ("eng.train.gz", "eng.testa", "eng.testb"),
    "conll2000": ("train.txt.gz", "test.txt"),
}


@pytest.fixture
def data(data_file: Callable[[str], Path]) -> Path:
    found = [data_file(f"{folder}/{name}") for folder, names in FILES.items() for name in names]
    return found[0].parents[1]


def loaded() -> list[Table]:
    return [one for one in map(tables.load, tables.names()) if isinstance(one, Table)]


def test_every_table_is_there() -> None:
    assert tables.names() == WANTED
    for name in WANTED:
        assert tables.load(name).name == name


def test_figures_of_the_thesis_agree_where_they_repeat() -> None:
    seen: dict[tuple[str, str], dict[float, list[str]]] = {}
    for table in loaded():
        for row in table.rows:
            for measure, figure in zip(table.measures, row.thesis):
                place = seen.setdefault((row.configuration.key, measure), {})
                place.setdefault(figure, []).append(table.number)
    assert max(len(numbers) for place in seen.values() for numbers in place.values()) > 5
    assert [place for place in seen.values() if len(place) > 1] == []


@pytest.mark.parametrize("table", loaded(), ids=lambda table: table.number)
def test_a_table_makes_sense(table: Table) -> None:
    assert set(table.measures) <= set(MEASURES)
    assert {row.configuration.task for row in table.rows} == {table.task}
    assert len({row.configuration.key for row in table.rows}) == len(table.rows)
    assert {len(row.thesis) for row in table.rows} <= {0, 2}
    for row in table.rows:
        assert not ("test" in table.measures and not row.configuration.reads_test)
        for measure, figure in zip(table.measures, row.thesis):
            assert 60 < figure < 100 or measure == "active"


def test_the_three_families_have_fifteen_settings() -> None:
    for task in ("entities", "tagging"):
        for family in (gaussian, laplacian, hyperbolic):
            assert len(set(family(task).grid)) == 15


@pytest.mark.slow
def test_every_table_runs(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["all", "--quick", "--data", str(data), "--into", str(tmp_path)])
    told = capsys.readouterr()
    for name in WANTED:
        report = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert report in told.out
        assert "only a trial" in report
        assert str(data) not in report
        one = tables.load(name)
        if isinstance(one, Figure):
            assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            continue
        for row in one.rows:
            line = next(line for line in report.splitlines() if line.startswith(f"| {row.name} |"))
            for figure in row.thesis:
                assert f"| {figure:,.2f} |" in line or f"| {figure:,.0f} |" in line
    lines = (tmp_path / "archive.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(set(keys)) == len(keys)
    main(["all", "--quick", "--data", "nowhere", "--into", str(tmp_path)])  # all is known, nothing is read
    assert len((tmp_path / "archive.jsonl").read_text(encoding="utf-8").splitlines()) == len(lines)


def test_a_path_ends_where_cold_trainings_end(data: Path, tmp_path: Path) -> None:
    effort = Effort(sentences=60, iterations=1000)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    grid = ((0.5,), (1.0,), (2.0,))
    path = laboratory.result(Configuration("tagging", prior="gaussian", grid=grid)).path
    for point in path:
        alone = Configuration("tagging", prior="gaussian", grid=(point.setting,))
        assert laboratory.result(alone).path[0].objective == pytest.approx(point.objective, rel=1e-5)


def test_a_path_is_followed_along_its_line() -> None:
    older, last = Stop((2.0, 1.0), np.array([0.0, 1.0])), Stop((2.0, 2.0), np.array([0.0, 4.0]))
    assert guessed([], (2.0, 1.0), 2).tolist() == [0.0, 0.0]
    assert guessed([older], (2.0, 2.0), 2).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(guessed([older, last], (2.0, 4.0), 2), [0.0, 7.0], rtol=1e-12)
    np.testing.assert_allclose(guessed([older, last], (2.0, 2.0**1.5), 2), [0.0, 5.5], rtol=1e-12)
    np.testing.assert_allclose(guessed([older, last], (2.0, 100.0), 2), [0.0, 7.0], rtol=1e-12)  # no further
    assert guessed([older, last], (3.0, 4.0), 2).tolist() == [0.0, 4.0]  # two numbers move
    assert guessed([older, last], (2.0, -4.0), 2).tolist() == [0.0, 4.0]  # no logarithm


def test_what_is_given_is_what_was_chosen(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    sigma = laboratory.result(gaussian("tagging")).chosen
    assert laboratory.result(shifted("tagging", 0.67)).chosen == (0.67, *sigma)


def test_the_best_iteration_is_the_model(data: Path, tmp_path: Path) -> None:
    effort = Effort(sentences=100, iterations=30)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    result = laboratory.result(unregularised("tagging"))
    scores = [score for _, score, _ in result.curve]
    assert result.end is not None
    assert result.model.development.score == max(scores) == scores[result.model.iteration - 1]
    assert result.end.development.score == scores[-1]


def test_results_come_back_from_the_file(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    laboratory = Laboratory(data, Archive(path), effort=QUICK, say=lambda line: None)
    result = laboratory.result(unregularised("entities"))
    assert Archive(path).get(result.key) == result


def test_errors_and_shares_are_kept_exactly() -> None:
    rng = np.random.default_rng(0)
    errors, below = rng.integers(0, 120, 3684), rng.integers(0, 60, 3684).astype(float)
    part = Part.of(0.5, errors, Quotient(2 * below, below))
    np.testing.assert_array_equal(part.errors(), errors)
    kept = part.quotient()
    assert kept is not None
    np.testing.assert_array_equal(kept.above, 2 * below)
    np.testing.assert_array_equal(kept.below, below)


def test_the_shares_give_the_score(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    for task in ("entities", "tagging"):
        model = laboratory.result(unregularised(task)).model
        assert model.test is not None
        for part in (model.development, model.test):
            shares = part.quotient()
            assert shares is not None
            assert shares.score() == pytest.approx(part.score, rel=1e-12)
            assert part.score > 0


@pytest.mark.slow
def test_splits_have_the_sizes_of_the_thesis(data: Path) -> None:
    assert [len(part) for part in entities(data, 0)] == [14_987, 3_466, 3_684]
    assert sorted({label for labels in entities(data, 0).train.labels for label in labels}) == [
        *("B-LOC", "B-MISC", "B-ORG", "I-LOC", "I-MISC", "I-ORG", "I-PER", "O")
    ]
    splits = tagging(data, 0)
    assert [len(part) for part in splits] == [7_300, 1_636, 2_012]
    assert splits.test.n_tokens == 47_377
    assert splits.train.n_tokens + splits.development.n_tokens == 211_727
    assert {label for part in splits for labels in part.labels for label in labels} == set("NVJRO")
    assert tagging(data, 0) == splits
    assert tagging(data, 1).development != splits.development


def test_tags_are_collapsed() -> None:
    tags = ["NN", "NNPS", "VBD", "MD", "JJR", "RBS", "WRB", "RP", ",", "PRP$"]
    assert "".join(collapsed(tags)) == "NNVOJROOOO"


def test_each_setting_that_is_followed_begins_at_zero(data: Path, tmp_path: Path) -> None:
    effort = Effort(sentences=60, iterations=12)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    both = Configuration("tagging", prior="gaussian", grid=((0.5,), (2.0,)), follow=True)
    alone = Configuration("tagging", prior="gaussian", grid=((2.0,),), follow=True)
    assert laboratory.result(both).path[1].objective == laboratory.result(alone).path[0].objective

"""Trainings in several processes: what is planned, and that they leave what one process leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from experiments import tables
from experiments.__main__ import main
from experiments.archive import Archive, read_lines
from experiments.families import ALL, quarantined, unregularised
from experiments.masks import mask_of
from experiments.running import QUICK, Laboratory
from experiments.several import Place, Plan, Work, run

NAMES = ["figure-7.5", "table-6.10", "table-8.11"]


def plan(folder: Path, *names: str) -> dict[str, Work]:
    made = Plan(Laboratory(folder, Archive(folder / "archive.jsonl"), effort=QUICK, say=lambda line: None))
    for name in names:
        made.add(tables.load(name))
    return made.works


def test_work_comes_after_what_it_needs_and_once(tmp_path: Path) -> None:
    works = plan(tmp_path, *NAMES, *NAMES)
    for place, work in enumerate(works.values()):
        assert set(work.needs) <= set(list(works)[:place])
    kinds = [work.done for work in works.values()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "train": 5,  # STANDARD and SIMPLE; with a prior STANDARD, S2G and STANDARD among the features of both
        "pool": 3,
        "follow": 9,  # members alone, and eight gammas
        "score": 1,
        "choose": 1,
        "contrast": 1,
    }


@pytest.mark.slow
def test_weights_that_were_not_kept_are_made_again(data_file: Callable[[str], Path], tmp_path: Path) -> None:
    data = data_file("conll2003/eng.train.gz").parents[1]
    laboratory = Laboratory(data, Archive(tmp_path / "archive.jsonl"), effort=QUICK, say=lambda line: None)
    known = unregularised("entities")
    laboratory.result(known)
    before, best = laboratory.best_weights(known)
    assert [work.done for work in plan(tmp_path, "figure-7.5").values()][:2] == ["train", "follow"]
    for path in (tmp_path / "weights").iterdir():
        path.unlink()
    done = [work.done for work in plan(tmp_path, "figure-7.5").values()]
    assert done[:3] == ["best weights", "train", "follow"]
    np.testing.assert_array_equal(laboratory.best_weights(known)[1], best)
    assert len(before.index) == len(best)


@pytest.mark.slow
def test_the_whole_set_is_one_training(data_file: Callable[[str], Path], tmp_path: Path) -> None:
    data = data_file("gazetteers/companies.txt").parents[1]
    whole = quarantined(ALL, "standard").members[0]
    assert whole.mask == ""
    ground = Laboratory(data, Archive(tmp_path / "archive.jsonl"), effort=QUICK).ground(whole)
    assert mask_of(ALL, ground.data, ground.names.labels).all()


@pytest.mark.slow
def test_several_processes_leave_what_one_leaves(data_file: Callable[[str], Path], tmp_path: Path) -> None:
    data = str(data_file("conll2003/eng.train.gz").parents[1])
    several, one = tmp_path / "several", tmp_path / "one"
    main([*NAMES, "--quick", "--jobs", "2", "--train", "--data", data, "--into", str(several)])
    main([*NAMES, "--quick", "--data", data, "--into", str(one)])
    curves = ("development", "ambiguity", "test", "at_best")
    for name, fields in {"archive": ("model", "end", "chosen"), "cooperation": curves}.items():
        ours, theirs = (read_lines(folder / f"{name}.jsonl") for folder in (several, one))
        assert ours.keys() == theirs.keys()
        for key, line in ours.items():
            assert [line.get(field) for field in fields] == [theirs[key].get(field) for field in fields]
    assert read_lines(several / "contrasts.jsonl") == read_lines(one / "contrasts.jsonl")
    assert not (several / "table-6.10.md").exists()
    assert plan(several, *NAMES) == {}  # all is known
    lines = (several / "cooperation.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum('"test"' in line for line in lines) == 2  # the chosen gamma's, and that of members alone
    scored = [read["key"].removesuffix("-test") for read in map(json.loads, lines) if "test" in read]
    lost = next(line for line in lines if not any(key in line for key in scored))
    (several / "cooperation.jsonl").write_text("\n".join(set(lines) - {lost}) + "\n", encoding="utf-8")
    main(["figure-7.5", "--quick", "--known", "--data", "nowhere", "--into", str(several)])
    assert "**Not followed here:** together, gamma" in (several / "figure-7.5.md").read_text(encoding="utf-8")
    cut = "\n".join(line for line in lines if '"test"' in line or '"ambiguity": [0.0' in line) + "\n"
    (several / "cooperation.jsonl").write_text(cut, encoding="utf-8")  # as a run that was stopped leaves it
    assert [work.done for work in plan(several, *NAMES).values()] == ["follow"] * 8 + ["choose"]


@pytest.mark.slow
def test_what_fails_and_what_needs_it_are_left(tmp_path: Path) -> None:
    works = plan(tmp_path, "table-6.10")
    nowhere = Place(tmp_path / "nowhere", tmp_path / "archive.jsonl", None, QUICK, 0)
    assert {work.name for work in run(works.values(), nowhere, 2)} == set(works)
    assert run(works.values(), nowhere, 1, seconds=0.0) == list(works.values())


@pytest.mark.slow
def test_reports_of_what_is_known(data_file: Callable[[str], Path], tmp_path: Path) -> None:
    data = str(data_file("conll2003/eng.train.gz").parents[1])
    asked = ["table-6.10", "--quick", "--data", data, "--into", str(tmp_path)]
    with pytest.raises(SystemExit, match="nothing of table-6.10 is in the archive"):
        main([*asked, "--known"])
    main([*asked, "--patience", "2"])
    lines = (tmp_path / "archive.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line)["end"] is None for line in lines)  # nobody waited for it
    left = "\n".join(line for line in lines if '"tuned"' not in line)
    (tmp_path / "archive.jsonl").write_text(left + "\n", encoding="utf-8")
    main([*asked, "--known", "--data", "nowhere"])
    report = (tmp_path / "table-6.10.md").read_text(encoding="utf-8")
    assert "**Not trained here:** SIMPLE manual (thesis: 90.07, 84.54)." in report
    cells = next(line for line in report.splitlines() if line.startswith("| SIMPLE uniform |")).split("|")
    assert [cell.strip() for cell in cells[8:10]] == ["", ""]  # converged
    assert "SIMPLE manual |" not in report

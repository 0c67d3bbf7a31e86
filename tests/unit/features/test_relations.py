"""Pairs of rows by columns and by edges, against loops over all pairs."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import CorpusError, InputError


def expected(rows: list[dict[str, Any]], same: list[str], near: dict[str, float]) -> list[list[int]]:
    """Every pair, looked at one by one."""

    def meets(a: Any, b: Any) -> bool:
        one, other = (x if isinstance(x, list) else [x] for x in (a, b))
        return bool(({*one} & {*other}) - {None, ""})

    def close(a: Any, b: Any, far: float) -> bool:
        return a is not None and b is not None and abs(a - b) <= far

    return [
        [i, j]
        for i, j in combinations(range(len(rows)), 2)
        if all(meets(rows[i][c], rows[j][c]) for c in same)
        and all(close(rows[i][c], rows[j][c], far) for c, far in near.items())
    ]


@pytest.mark.parametrize(
    ("same", "near"),
    [
        (["venue"], {}),
        (["venue", "lang"], {}),
        (["authors"], {}),
        ([], {"year": 1}),
        (["venue"], {"year": 2}),
        ([], {"year": 2, "pages": 3.0}),
    ],
)
def test_pairs_are_those_of_a_loop(same: list[str], near: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "venue": rng.choice(["A", "B", "C", ""]),
            "lang": rng.choice(["en", "de"]),
            "authors": rng.choice(list("pqrstuv"), size=rng.integers(0, 3), replace=False).tolist(),
            "year": None if rng.random() < 0.1 else int(rng.integers(1990, 2000)),
            "pages": float(rng.integers(5, 15)),
        }
        for _ in range(40)
    ]
    found = fc.pairs(rows, same=same, near=near)
    assert found.dtype == np.int32
    assert found.tolist() == expected(rows, same, near)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert fc.pairs(columns, same=same, near=near).tolist() == found.tolist()


def test_tables_of_all_kinds(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"c": ["x", "y", "x", None], "n": [1.0, 2.0, 4.0, np.nan]})
    (tmp_path / "t.csv").write_text('c,n\nx,1\n"y",2\nx,4\n,\n')
    (tmp_path / "t.tsv").write_text("c\tn\nx\t1\ny\t2\nx\t4\n\t5\n")
    tables: list[Any] = [frame, tmp_path / "t.csv", str(tmp_path / "t.tsv")]
    if pytest.importorskip("pyarrow"):
        frame.to_parquet(tmp_path / "t.parquet")
        tables.append(tmp_path / "t.parquet")
    for table in tables:
        assert fc.pairs(table, same="c").tolist() == [[0, 2]]
        assert fc.pairs(table, near={"n": 1}).tolist()[:1] == [[0, 1]]


def test_a_relation_that_joins_everything_is_refused() -> None:
    table = {"language": ["en"] * 2000}
    with pytest.raises(
        InputError, match=r"1,999,000 pairs of 2,000 rows, more than max_pairs=100,000; the largest"
    ):
        fc.pairs(table, same="language")
    with pytest.raises(InputError, match=r"'year' within 5\): 6 pairs of 4 rows, more than max_pairs=5"):
        fc.pairs({"year": [1, 2, 3, 4]}, near={"year": 5}, max_pairs=5)
    assert len(fc.pairs({"c": ["x"] * 40}, same="c")) == 780  # small tables may be complete


def test_links() -> None:
    ids = ["a", 2, "c"]
    assert fc.links(ids, ["a", "2", "c", "c"], ["2", "a", "c", "a"]).tolist() == [[0, 1], [0, 2]]
    assert fc.links(ids, [], []).shape == (0, 2)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (
            lambda: fc.links(["a"], ["a"], ["b"]),
            "edge 0 .a to b.: there is no row with the id 'b'",
        ),
        (lambda: fc.links(["a", "a"], [], []), "id 'a' stands in rows 0 and 1"),
        (lambda: fc.links(["a", None], [], []), "row 1 has no id"),
        (lambda: fc.links(["a"], ["a"], []), "1 sources for 0 targets"),
        (lambda: fc.pairs({"c": ["x"]}), "give same= or near="),
        (lambda: fc.pairs({"c": ["x"]}, near={"c": 1}), "row 0 of column 'c' is 'x', no number"),
        (lambda: fc.pairs({"c": ["x"]}, same="c", max_pairs=-1), "max_pairs"),
    ],
)
def test_refusals(refused: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        refused()


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"c": ["x"]}, "no column 'd'; it has c"),
        ({"c": ["x"], "d": []}, "give every column one entry per row"),
        ([{"c": 1}, 3], "row 1 is a int"),
        (7, "a table is no int"),
    ],
)
def test_tables_that_are_none(table: Any, why: str) -> None:
    with pytest.raises(CorpusError, match=why):
        fc.pairs(table, same="d")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "name the columns"),
        ("c,c\n", "each once"),
        ("c,d\nx\n", "t.csv:2: 1 fields"),
        ('c\n"x', "t.csv:2"),
    ],
)
def test_damaged_files(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(CorpusError, match=why):
        fc.pairs(tmp_path / "t.csv", same="d")
    (tmp_path / "t.parquet").write_text("no")
    with pytest.raises(CorpusError, match=r"t\.parquet"):
        fc.pairs(tmp_path / "t.parquet", same="d")

"""Models of nodes in the shell: train, predict, evaluate, explain, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from shell import refused, run

import fieldcraft as fc

COLUMNS = ["--source", "from", "--target", "to", "--label", "topic", "--leave", "known", "--words", "text"]


def write(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Synthetic papers of two topics, a third of them labelled, and citations along a chain within each."""
    place = tmp_path_factory.mktemp("nodes")
    rng = np.random.default_rng(0)
    nodes: list[list[object]] = [["id", "size", "text", "topic", "known"]]
    gold: list[list[object]] = [nodes[0]]
    for i in range(30):
        topic = "law" if i < 15 else "art"
        known = topic if rng.random() < 0.4 else ""
        row = [f"n{i}", round(float(topic == "law") + rng.normal(), 3), f"word{rng.integers(4)} {topic[0]}"]
        nodes.append([*row, known, known])
        gold.append([*row, topic, known])
    write(place / "nodes.csv", nodes)
    write(place / "gold.csv", gold)
    write(place / "edges.csv", [["from", "to"], *([f"n{i}", f"n{i + 1}"] for i in range(29) if i != 14)])
    write(place / "odd.csv", [["from", "to"], ["n1", "n99"]])
    write(place / "blank.csv", [[*row[:3], "" if k else "topic", row[4]] for k, row in enumerate(nodes)])
    write(place / "strange.csv", [*nodes[:2], [*nodes[2][:3], "tax", ""], *nodes[3:]])
    write(place / "words.csv", [nodes[0], ["n0", "many", *nodes[1][2:]], *nodes[2:]])
    write(place / "narrow.csv", [[row[0], row[1], *row[3:]] for row in nodes])
    run("graph", "train", "nodes.csv", "edges.csv", *COLUMNS, "-o", "m.fc", "--quiet", cwd=place)
    return place


def test_predictions(folder: Path) -> None:
    done = run("graph", "predict", "m.fc", "nodes.csv", "edges.csv", "--marginals", cwd=folder)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    given = read(folder / "nodes.csv")
    assert [row["id"] for row in rows] == [row["id"] for row in given]
    assert all(row["topic"] == known["topic"] for row, known in zip(rows, given) if known["topic"])
    model: object = fc.load(folder / "m.fc")
    assert isinstance(model, fc.CollectiveClassifier)
    found = model.predict_tables(folder / "nodes.csv", folder / "edges.csv")
    assert [row["topic"] for row in rows] == found.tolist()
    assert float(rows[0]["p(art)"]) + float(rows[0]["p(law)"]) == pytest.approx(1.0, abs=1e-5)
    lines = run(
        "graph", "predict", "m.fc", "nodes.csv", "edges.csv", "--json", cwd=folder
    ).stdout.splitlines()
    assert json.loads(lines[3]) == {"id": "n3", "topic": rows[3]["topic"]}


def test_evaluation(folder: Path) -> None:
    done = run("evaluate", "m.fc", "gold.csv", "edges.csv", "--given", "known", "--json", cwd=folder)
    facts = json.loads(done.stdout)
    unknown = [row for row in read(folder / "gold.csv") if not row["known"]]
    assert facts["tokens"] == len(unknown)
    assert facts["token_accuracy"] > 0.8
    without = json.loads(run("evaluate", "m.fc", "gold.csv", "edges.csv", "--json", cwd=folder).stdout)
    assert without["tokens"] == 30


def test_explanation(folder: Path) -> None:
    shown = run("explain", "m.fc", "nodes.csv", "edges.csv", "--node", "n3", "--top", "2", cwd=folder).stdout
    assert shown.startswith("n3: law")
    assert "Neighbours" in shown
    facts = json.loads(
        run("explain", "m.fc", "nodes.csv", "edges.csv", "--node", "n3", "--json", cwd=folder).stdout
    )
    assert {one["node"] for one in facts["neighbours"]} == {"n2", "n4"}


def test_parquet_and_progress(folder: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name in ("nodes", "edges"):
        pandas.read_csv(folder / f"{name}.csv").to_parquet(tmp_path / f"{name}.parquet")
    done = run("graph", "train", "nodes.parquet", "edges.parquet", *COLUMNS, "-o", "p.fc", cwd=tmp_path)
    assert "2 labels" in done.stderr
    found = run("graph", "predict", "p.fc", "nodes.parquet", "edges.parquet", cwd=tmp_path).stdout
    assert found == run("graph", "predict", "m.fc", "nodes.csv", "edges.csv", cwd=folder).stdout


def test_answers_that_are_not_exact_are_remarked_on(folder: Path) -> None:
    options = [*COLUMNS, "--inference", "mean_field", "-o", "rough.fc", "--quiet"]
    run("graph", "train", "nodes.csv", "edges.csv", *options, cwd=folder)
    done = run("graph", "predict", "rough.fc", "nodes.csv", "edges.csv", "--marginals", cwd=folder)
    assert "warning: 1 of 1 answers are not exact (mean_field)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["tag", "m.fc", "nodes.csv"], ["fieldcraft graph predict m.fc NODES EDGES"]),
        (["graph", "predict", "m.fc", "nodes.csv", "odd.csv"], ["edge 0 (n1 to n99)", "'n99'"]),
        (["graph", "predict", "m.fc", "edges.csv", "edges.csv"], ["no column 'id'"]),
        (
            ["graph", "predict", "m.fc", "strange.csv", "edges.csv"],
            ["node 'n1': label 'tax' is none of art"],
        ),
        (
            ["graph", "predict", "m.fc", "words.csv", "edges.csv"],
            ["row 0: 'many' in column 'size'"],
        ),
        (["graph", "predict", "m.fc", "narrow.csv", "edges.csv"], ["no column 'text'"]),
        (["graph", "train", "nodes.csv", "odd.csv", *COLUMNS, "-o", "x.fc"], ["no row with the id 'n99'"]),
        (["graph", "train", "blank.csv", "edges.csv", *COLUMNS, "-o", "x.fc"], ["known label"]),
        (["graph", "train", "nodes.csv", "edges.csv", "-o", "x.fc"], ["no column 'label'", "topic"]),
        (["graph", "train", "nodes.csv", "edges.csv", *COLUMNS, "-o", "nodes.csv"], ["would be destroyed"]),
        (["evaluate", "m.fc", "gold.csv"], ["m.fc NODES EDGES"]),
        (["evaluate", "m.fc", "blank.csv", "edges.csv"], ["no node has a label in column 'topic'"]),
        (["explain", "m.fc", "nodes.csv", "edges.csv", "--node", "n99"], ["no node with the id 'n99'"]),
        (["explain", "m.fc", "nodes.csv", "--node", "n1"], ["both tables"]),
        (["explain", "m.fc", "nodes.csv"], ["graph predict"]),
    ],
)
def test_refusals(folder: Path, arguments: list[str], parts: list[str]) -> None:
    refused(run(*arguments, cwd=folder, check=1), *parts)


def test_a_model_of_sequences_labels_no_nodes(folder: Path) -> None:
    fc.ChainCRF().fit([[["a"]]], [["X"]]).save(folder / "chain.fc")
    refused(run("graph", "predict", "chain.fc", "nodes.csv", "edges.csv", cwd=folder, check=1), "use tag")
    refused(run("evaluate", "chain.fc", "nodes.csv", "--given", "known", cwd=folder, check=1), "--given")
    arrays = fc.CollectiveClassifier().fit([[1.0], [0.0]], [[0, 1], [0, 0]], ["a", "b"])
    arrays.save(folder / "arrays.fc")
    done = run("graph", "predict", "arrays.fc", "nodes.csv", "edges.csv", cwd=folder, check=1)
    refused(done, "trained on arrays")
    graph = fc.GraphCRF(["x"]).fit([fc.GraphInstance(2, {"x": ([0, 1], None)}, ["a", "b"])])
    graph.save(folder / "graph.fc")
    refused(run("tag", "graph.fc", "nodes.csv", cwd=folder, check=1), "load it in Python")

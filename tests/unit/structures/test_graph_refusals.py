"""What factor graphs refuse: each message says where, the rule, what was given and what to do."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from laws.graph_cases import CASES, enumerated, graph_of, grid

PAIR = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("scope", "table", "message"),
    [
        ([0, 9], PAIR, "names variable 9; there are 3"),
        ([-1, 0], PAIR, "names variable -1"),
        ([1, 1], PAIR, "a variable twice"),
        ([0, 1], [0.0, 1.0, 2.0], r"table has shape \(3,\); expected"),
        ([0, 2], PAIR, "table has shape"),
        ([[0, 1], [1, 2]], [PAIR, PAIR], "another group"),
        ([0, 1], [[0.0, np.nan], [0.0, 0.0]], "contains nan at"),
        ([0, 1], [[0.0, np.inf], [0.0, 0.0]], "contains inf at"),
        ([0.5, 1], PAIR, "whole numbers"),
        (np.zeros((0, 2), int), PAIR, "names no factor"),
        ("ab", PAIR, "whole numbers"),
        ([0, 1], "ab", "numbers"),
    ],
)
def test_factors(scope: Any, table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fc.FactorGraph([2, 2, 3]).add(scope, table)


@pytest.mark.parametrize("cardinalities", [[2, 0], [[2, 2]], [2.5], ["a"], [-1], [2**40]])
def test_cardinalities(cardinalities: Any) -> None:
    with pytest.raises(InputError):
        fc.FactorGraph(cardinalities)


INFERENCES = (
    "auto",
    "brute_force",
    "forest",
    "junction_tree",
    "propagation",
    "tree_reweighted",
    "mean_field",
)
DECODINGS = (
    "auto",
    "brute_force",
    "forest",
    "junction_tree",
    "propagation",
    "icm",
    "ilp",
    "linear_programme",
)


def impossible(kind: str) -> fc.FactorGraph:
    graph = fc.FactorGraph([2, 2])
    if kind == "unary":
        graph.add([0], [-np.inf, -np.inf])
    elif kind == "constant":
        graph.add(np.zeros((1, 0), int), [-np.inf])
    else:
        graph.add([0, 1], np.full((2, 2), -np.inf))
    return graph


@pytest.mark.parametrize("kind", ["unary", "pair", "constant"])
def test_an_unsatisfiable_graph(kind: str) -> None:
    for method in INFERENCES:
        with pytest.raises(InputError, match="no assignment is possible"):
            impossible(kind).infer(method)
    for method in (*DECODINGS, "dual_decomposition", "cuts"):
        with pytest.raises(InputError, match="no assignment is possible"):
            impossible(kind).decode(method)
    with pytest.raises(InputError, match="no assignment is possible"):
        impossible(kind).sample(3)
    assert impossible(kind).k_best(3) == []


def test_a_graph_that_only_search_finds_unsatisfiable() -> None:
    """Three variables of two states that must all differ: arc consistency sees nothing wrong."""
    graph = fc.FactorGraph([2, 2, 2])
    graph.add([[0, 1], [1, 2], [0, 2]], np.where(np.eye(2) > 0, -np.inf, 0.0))
    for method in ("auto", "brute_force", "junction_tree"):
        with pytest.raises(InputError, match="no assignment is possible"):
            graph.infer(method)
    for method in ("auto", "ilp"):
        with pytest.raises(InputError, match="no assignment is possible"):
            graph.decode(method)
    for method in ("icm", "propagation", "dual_decomposition", "linear_programme"):
        found = graph.decode(method)
        assert found.value == -np.inf
        assert not found.optimal
    assert np.isfinite(graph.infer("propagation", max_iterations=20).log_partition)
    with (
        pytest.raises(InputError, match="met no possible assignment"),
        pytest.warns(UserWarning, match="block"),
    ):
        graph.infer("gibbs", n=10, burn_in=10)


def test_a_junction_tree_that_is_too_wide_says_how_wide() -> None:
    with pytest.raises(
        InputError, match=r"largest clique has \d+ variables.*memory allows 1 KiB.*propagation"
    ):
        grid(10, 10, 2).infer("junction_tree", memory="1KiB")
    with pytest.raises(InputError, match="too wide"):
        grid(60, 60, 5).decode("junction_tree", memory=1e6)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("nonsense", {}, "not known; there are auto"),
        ("propagation", {"schedule": "x"}, "one of flooding"),
        ("propagation", {"damping": 1.0}, r"\[0, 1\)"),
        ("propagation", {"max_iterations": 0}, "max_iterations"),
        ("propagation", {"tolerance": -1}, "tolerance"),
        ("propagation", {"memory": 3}, "has no option 'memory'; its options are: schedule"),
        ("junction_tree", {"memory": "lots"}, "'500MB'"),
        ("junction_tree", {"order": "x"}, "min_fill"),
        ("gibbs", {"blocks": "x"}, "none, chains, trees"),
        ("gibbs", {"n": 0}, "n"),
        ("forest", {}, "has a cycle"),
    ],
)
def test_methods_and_options(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grid(3, 3, 2).infer(method, **options)


def test_brute_force_has_a_limit() -> None:
    with pytest.raises(InputError, match="brute force would score"):
        grid(6, 6, 2).infer("brute_force")


def test_errors_in_a_batch_name_the_graph() -> None:
    with pytest.raises(InputError, match="graph 1: no assignment"):
        fc.infer([grid(2, 2, 2), impossible("pair")], "junction_tree")
    with pytest.raises(InputError, match="graph 1 is int, no FactorGraph"):
        fc.infer([grid(2, 2, 2), 3])  # type: ignore[list-item]
    batch = fc.GraphBatch([grid(2, 2, 2)])
    with pytest.raises(InputError, match="tables have 3 entries"):
        batch.with_tables(np.zeros(3))
    with pytest.raises(InputError, match="contains nan"):
        batch.with_tables(np.full(len(batch.tables), np.nan))
    with pytest.raises(InputError, match="tables of 2 graphs"):
        batch.with_tables([[], []])


@pytest.mark.parametrize(
    ("observed", "message"),
    [({9: 0}, "variable 9 is observed"), ({0: 5}, "it has 2 states"), ({1: 0}, "observed in state 1 before")],
)
def test_conditions(observed: dict[int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grid(2, 2, 2).condition({1: 1}).condition(observed)


def test_scores_of_wrong_assignments() -> None:
    with pytest.raises(InputError, match="whole numbers"):
        grid(2, 2, 2).score([0, 1])
    with pytest.raises(InputError, match="variable 3 has 2 states"):
        grid(2, 2, 2).score([0, 1, 0, 2])


def test_files_return_what_was_written(tmp_path: Path) -> None:
    for case in CASES:
        graph = graph_of(case)
        graph.write(tmp_path / f"{case}.uai")
        again = fc.FactorGraph.read(tmp_path / f"{case}.uai")
        found, expected = enumerated(again), enumerated(graph)
        assert again.observed.tolist() == graph.observed.tolist()
        assert found.log_partition == pytest.approx(expected.log_partition, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file ends"),
        ("NONSENSE 3", "MARKOV or BAYES"),
        ("MARKOV 2 2", "2 words"),
        ("MARKOV 1 0 0", "whole number in 1"),
        ("MARKOV -1", "'-1'"),
        ("MARKOV 1 2 1 1 7 2 1 1", "whole number in 0 .. 0"),
        ("MARKOV 1 2 1 1 0 3 1 1 1", "3 entries for factor 0"),
        ("MARKOV 1 2 1 1 0 2 1 x", "'x' where a number"),
        ("MARKOV 1 2 1 1 0 2 1 -3", "not negative"),
        ("MARKOV 1 2 1 1 0 2 1 nan", "not negative"),
        ("MARKOV 1 2 1 1 0 2 1 1 5", "after the end"),
        ("MARKOV 999999999 2", "words"),
        ("MARKOV 1 2 1 1 0 2", "2 potentials"),
        ("MARKOV 2 2 2 1 2 0 0 4 1 1 1 1", "twice"),
    ],
)
def test_malformed_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.uai"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        fc.FactorGraph.read(path)


@pytest.mark.parametrize("text", ["1 9 0", "1 0 7", "1", "2 0 0 0 1", "x", "1 0 0 5 5"])
def test_malformed_evidence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "g.uai"
    grid(2, 2, 2).write(path)
    (tmp_path / "g.uai.evid").write_text(text)
    with pytest.raises(InputError, match=r"g\.uai\.evid"):
        fc.FactorGraph.read(path)


def test_files_of_bytes_and_steep_tables(tmp_path: Path) -> None:
    (tmp_path / "b.uai").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no text"):
        fc.FactorGraph.read(tmp_path / "b.uai")
    steep = fc.FactorGraph([2])
    steep.add([0], [0.0, -800.0])
    with pytest.raises(InputError, match="log-potential of -800"):
        steep.write(tmp_path / "s.uai")


def test_pictures(tmp_path: Path) -> None:
    graph = grid(3, 3, 2)
    graph.draw(tmp_path / "a.png", answer=graph.infer())
    graph.draw(tmp_path / "a.svg", [(v % 3, v // 3) for v in range(9)], answer=graph.decode())
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (tmp_path / "a.svg").read_text()
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        graph.draw(tmp_path / "a.pdf")
    with pytest.raises(InputError, match="positions have shape"):
        graph.draw(tmp_path / "a.png", [(0, 0)])


def test_samples_beyond_the_junction_tree_are_marked() -> None:
    with pytest.warns(UserWarning, match="Gibbs"):
        drawn = grid(5, 5, 2).sample(20, memory=300)
    assert drawn.shape == (20, 25)


def test_graphs_can_be_pickled() -> None:
    graph = grid(3, 3, 2).condition({0: 1})
    expected = graph.infer().log_partition
    assert pickle.loads(pickle.dumps(graph)).infer().log_partition == expected
    batch = fc.GraphBatch([graph]).with_tables(2 * graph.batch().tables)
    again = pickle.loads(pickle.dumps(batch))
    assert again.infer()[0].log_partition == batch.infer()[0].log_partition


def test_memory_is_what_the_system_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldcraft.structures.graphs.sizes.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="memory allows 1000 bytes"):
        grid(10, 10, 2).infer("junction_tree", memory="900GiB")


@pytest.mark.parametrize("method", ["propagation", "tree_reweighted"])
def test_messages_do_not_prove_that_an_assignment_is_possible(method: str) -> None:
    differ = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    graph = fc.FactorGraph([2, 2, 2])
    graph.add(scope=[[0, 1], [1, 2], [0, 2]], table=differ)  # a triangle of which no two corners are equal
    found = graph.infer(method)
    assert found.bound != "exact"
    assert "do not prove" in found.why
    with pytest.raises(InputError, match="no assignment is possible"):
        graph.infer()


def test_an_assignment_that_is_forbidden_says_so() -> None:
    graph = fc.FactorGraph([2, 2, 2])
    graph.add([[0, 1], [1, 2], [0, 2]], [[-np.inf, 0.0], [0.0, -np.inf]])  # two colours on a triangle
    for method in ("icm", "dual_decomposition", "linear_programme", "propagation"):
        found = graph.decode(method)
        assert (found.value, found.optimal) == (-np.inf, False)
        assert "no possible one was found" in found.why

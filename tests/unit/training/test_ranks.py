"""Training on the ranks of real MPI jobs equals training in one process."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.distributed import cuts_of, launched
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.merging import family_counts, merged_rows
from fieldcraft.pools.dealt import dealt
from unit.training.ranks_cases import CASES, corpus
from unit.training.ranks_job import cooperative, ends, evaluated, facts

JOB = Path(__file__).with_name("ranks_job.py")
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
needs_mpi = pytest.mark.skipif(
    not (MPIEXEC and find_spec("mpi4py")), reason="mpi4py or mpiexec is not installed"
)


def job(what: str, n: int, folder: Path) -> Any:
    """The result of a job on n ranks."""
    assert MPIEXEC is not None
    path = folder / f"{what}.{n}.pickle"
    command = [MPIEXEC, "-n", str(n), sys.executable, str(JOB), what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pickle.loads(path.read_bytes())


@cache
def alone(name: str, optimiser: Any) -> Any:
    """The same training in one process, with the optimiser that the ranks chose."""
    case = CASES[name]
    crf = case.model().set_params(optimiser=optimiser, n_jobs=1)
    return facts(crf.fit(case.X, case.y, X_dev=corpus(20, 5) if case.y is None else None))


def compare(name: str, given: Any) -> None:
    one = alone(name, given["optimiser"])
    assert (given["classes"], given["counts"]) == (one["classes"], one["counts"])
    assert given["attributes"] == one["attributes"]
    for column, values in one["index"].items():
        np.testing.assert_array_equal(given["index"][column], values, err_msg=column)
    np.testing.assert_allclose(given["objectives"][:2], one["objectives"][:2], rtol=1e-12)
    np.testing.assert_allclose(given["objectives"][-1], one["objectives"][-1], rtol=1e-8)
    if name != "all features":  # where labels tie, last bits decide; in the first iterations also elsewhere
        assert given["scores"][-1] == one["scores"][-1], name


@needs_mpi
def test_two_ranks_equal_one_process(tmp_path: Path) -> None:
    results = job("cases", 2, tmp_path)
    assert list(results) == list(CASES)
    for name, given in results.items():
        compare(name, given)
    chosen = {name: given["optimiser"].name for name, given in results.items()}
    assert (chosen["gaussian"], chosen["laplacian"]) == ("lbfgs", "owlqn")


@pytest.mark.slow
@needs_mpi
def test_four_ranks_equal_one_process_and_repeat_their_bits(tmp_path: Path) -> None:
    results, again = job("cases", 4, tmp_path), job("cases", 4, tmp_path)
    for name, given in results.items():
        compare(name, given)
        assert given["weights"].tobytes() == again[name]["weights"].tobytes()


@needs_mpi
def test_sums_have_the_order_of_the_ranks_and_equal_one_process(tmp_path: Path) -> None:
    results, vectors, (value, gradient) = job("sums", 3, tmp_path)
    whole, slope = evaluated(corpus())
    assert abs(value - whole) <= 1e-12 * abs(whole)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-12 * float(np.abs(slope).max()))
    assert results[True][3] == results[False][3]  # the bits do not depend on the way of the numbers
    for values, sums, joined, _ in results.values():
        assert joined.tolist() == [0.0] * 3 + [1.0] * 4 + [2.0] * 4
        assert values == [1.0 + 1 / 2 + 1 / 3] * len(sums)
        for i, total in enumerate(sums):
            expected = vectors[0][i] + vectors[1][i] + vectors[2][i]
            np.testing.assert_array_equal(total, expected)


@needs_mpi
def test_final_objectives_agree_as_far_as_training_goes(tmp_path: Path) -> None:
    """Last digits that differ lead to other iterations; at the optimum these end in the same place."""
    one, two = ends(), job("ends", 2, tmp_path)
    left = one[1e-6] / one[1e-10] - 1  # by the default rule, which stops above the optimum
    assert 1e-7 < left < 1e-5
    assert abs(two[1e-6] / one[1e-6] - 1) < left
    assert abs(two[1e-10] / one[1e-10] - 1) < 1e-8


@needs_mpi
def test_ranks_stop_together(tmp_path: Path) -> None:
    by_callback, by_time = job("stops", 2, tmp_path)
    assert (by_callback["reason"], len(by_callback["objectives"])) == ("stopped by a callback", 3)
    assert (by_time["reason"], len(by_time["objectives"])) == ("time is up", 1)


@needs_mpi
def test_errors_of_one_rank_are_raised_on_all(tmp_path: Path) -> None:
    told = job("errors", 2, tmp_path)
    expected = {
        "labels": "rank 1: X has 30 sequences and y has 1",
        "template": "rank 1: ",
        "other templates": "different templates",
        "optimiser": "sgd cannot be trained on several ranks",
        "dual": "dual_ascent cannot be trained on several ranks",
        "objective": "no optimiser minimises margin",
        "selected": "features='selected' cannot be trained on several ranks",
        "prior": "rank 1 has another prior than rank 0",
        "states": "different states",
        "impossible": "rank 1: sequence 0, token 0: label 'I-PER' is impossible here",
        "nothing": "there is nothing to learn from",
        "overflow": "rank 1: ",
    }
    for name, part in expected.items():
        assert all(part in text for text in told[name]), (name, told[name])
        assert told[name][0] == told[name][1], name


@needs_mpi
@pytest.mark.parametrize("n", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_members_of_a_pool_are_dealt_to_ranks(n: int, tmp_path: Path) -> None:
    """Two ranks for three problems, five for three: some have several ranks."""
    results = job("pools", n, tmp_path)
    for name, pool in cooperative().items():
        pool.fit(corpus(), X_dev=corpus(20, 5))
        objectives, weights, said = results[name]
        alone_ = [*(record.objective for record in pool.training_log_), pool.objective_value_]
        np.testing.assert_allclose(objectives[:3], alone_[:3], rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(objectives[-1], alone_[-1], rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(weights, pool.weights_, atol=1e-6, err_msg=name)
        assert any(line.startswith("ranks: the pool on 0") for line in said)


@pytest.mark.parametrize("n", range(1, 9))
def test_problems_are_dealt_by_cost(n: int) -> None:
    layout = dealt([1.0, 2.0, 5.0], n)
    assert layout[-1][0] == 0
    assert set().union(*layout) == set(range(n))
    assert all(layout)
    if n >= 3:
        assert sum(map(len, layout)) == n
        assert len(layout[2]) >= len(layout[1]) >= len(layout[0])


def test_shards_have_about_equal_sums() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 4, 7):
        lengths = rng.integers(0, 30, size=50).tolist()
        cuts = cuts_of(lengths, n)
        sums = [sum(lengths[a:b]) for a, b in zip(cuts, cuts[1:])]
        assert cuts == sorted(cuts)
        assert (cuts[0], cuts[-1], len(sums)) == (0, 50, n)
        assert max(abs(s - sum(lengths) / n) for s in sums) <= 30
    assert cuts_of([3], 3)[-1] == 1
    assert cuts_of([], 2) == [0, 0, 0]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PMI_SIZE": "4", "PMI_RANK": "2"}, (2, 4)),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, (0, 2)),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "7"}, (7, 8)),
        ({"PMI_SIZE": "1", "PMI_RANK": "0"}, None),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, None),
        ({"PMI_SIZE": "4"}, None),
    ],
)
def test_launchers_are_recognised(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: tuple[int, int] | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert launched() == expected
    assert fc.ChainCRF()._training().n_jobs == 1 or expected is None


def test_indexes_are_merged_in_the_order_of_one_process() -> None:
    def part(rows: list[tuple[int, int, int, int]]) -> Any:
        columns = np.array(rows, np.int32).reshape(-1, 4).T
        return columns[0], columns[1:3].T, columns[3]

    parts = [
        part([(-1, 1, 0, 2), (0, -1, 1, 1), (3, 0, 1, 1)]),
        part([]),
        part([(-1, 0, 1, 1), (0, -1, 1, 2)]),
    ]
    attribute, labels, count = merged_rows(parts, 1)
    rows = np.column_stack([attribute, labels, count]).tolist()
    assert rows == [[-1, 0, 1, 1], [-1, 1, 0, 2], [0, -1, 1, 3], [3, 0, 1, 1]]
    assert merged_rows(parts, 2)[2].tolist() == [2, 3]


def test_families_count_observations() -> None:
    offsets, ptr = np.array([0, 2, 2, 3]), np.array([0, 2, 3, 5])  # an empty sequence between two
    encoded = Encoded(offsets, ptr, np.array([0, 1, 1, 0, 1], np.int32), None)
    assert family_counts(encoded, np.array([False, True])).tolist() == [2, 1, 1]
    assert family_counts(encoded, np.array([False, False])).tolist() == [2, 3, 1]

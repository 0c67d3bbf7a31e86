"""A fault of one part in a million in any kernel turns at least one of its tests red.

The core is built a second time with native/canary.hpp awake (-DFIELDCRAFT_CANARY=RUNTIME) under build/canary,
where the next run finds it again. The tests named below run on that core in processes of their own: once with
every canary silent, where all must pass, and once per canary with the tests of its kernel alone, where one
must fail. conftest.py puts the core named by FIELDCRAFT_CORE in the place of the installed one.

THREADS perturbs what threads other than the first compute. It has to do more: every test listed for it must
fail, or that test would not notice threads that disagree.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAWS, TRAINING, MODELS = "tests/laws/", "tests/unit/training/", "tests/unit/models/"
ANSWERS = [LAWS + "test_chain_answers.py"]
FUSED = [TRAINING + "test_fused.py"]
SPARSE = [LAWS + "test_sparse_chains.py"]
OBJECTIVES = [LAWS + "test_objective_laws.py", TRAINING + "test_objectives.py"]
DUALS = [TRAINING + "test_dual_ascent.py"]
MARGINS = [TRAINING + "test_margins_passes.py", TRAINING + "test_margins_optimum.py"]
ONLINE = [TRAINING + "test_stochastic_descent.py", TRAINING + "test_stochastic_mistakes.py"]
SEGMENTS = [LAWS + "test_segment_laws.py"]
GRAPHS = [LAWS + "test_graph_exact.py"]
LOOPY = [LAWS + "test_graph_approximate.py"]
CUTS = [LAWS + "test_graph_decoding.py"]
SKIPS = [LAWS + "test_skip_chains.py"]
FACTORIAL = [LAWS + "test_factorial_laws.py"]
CANARIES = {
    "FACTORIAL_FORWARD": FACTORIAL,
    "FACTORIAL_BACKWARD": FACTORIAL,
    "FACTORIAL_EDGE": FACTORIAL,
    "FACTORIAL_BEST": FACTORIAL,
    "FORWARD": ANSWERS,
    "BACKWARD": ANSWERS,
    "VITERBI": ANSWERS,
    "EDGE": ANSWERS,
    "EXP": ANSWERS,
    "KBEST": ANSWERS,
    "LOGSPACE": ANSWERS,
    "LABELLING": ANSWERS,
    "ENTROPY": ANSWERS,
    "SAMPLE": [LAWS + "test_chain_paths.py"],
    "WINDOW": [MODELS + "test_span_probability.py"],
    "SCATTER": FUSED,
    "SCORE": FUSED,
    "OWN_EDGES": FUSED,
    "BLOCK_FORWARD": FUSED,
    "BLOCK_BACKWARD": FUSED,
    "BLOCK_PAIRS": FUSED,
    "OBJECTIVE": OBJECTIVES,
    "COVARIANCE": OBJECTIVES,
    "LOG_MARGINAL": OBJECTIVES,
    "RUNS_FORWARD": SPARSE,
    "RUNS_BACKWARD": SPARSE,
    "RUNS_PRODUCTS": SPARSE,
    "RUNS_BEST": SPARSE,
    "STATES_JOINED": SPARSE,
    "STATES_CLOSED": SPARSE,
    "STATES_LOG": SPARSE,
    "STATES_KBEST": SPARSE,
    "STATES_LABELLING": SPARSE,
    "STATES_SAMPLE": SPARSE,
    "BEAM_BOUND": [LAWS + "test_beams.py"],
    "DIRECTION": [TRAINING + "test_history.py"],
    "PENALTY": [TRAINING + "test_history.py"],
    "SHARED": [TRAINING + "test_shared_weights.py"],
    "DUAL": DUALS,
    "APPLY": DUALS,
    "PROXIMAL": DUALS,
    "DUAL_ENTRIES": DUALS,
    "DUAL_POINT": MARGINS,
    "FRANK_WOLFE": MARGINS,
    "SMO": MARGINS,
    "EXPONENTIATED": MARGINS,
    "DESCENT": ONLINE,
    "MISTAKES": ONLINE,
    "SAG": ONLINE,
    "SEGMENT_FORWARD": SEGMENTS,
    "SEGMENT_BACKWARD": SEGMENTS,
    "SEGMENT_MARGINAL": SEGMENTS,
    "SEGMENT_BEST": SEGMENTS,
    "SEGMENT_KBEST": SEGMENTS,
    "SEGMENT_SCORE": SEGMENTS,
    "SEGMENT_SAMPLE": SEGMENTS,
    "SEGMENT_PASSES": [TRAINING + "test_segment_passes.py"],
    "SKIP_CHAIN": SKIPS,
    "SKIP_CONTRACTION": SKIPS,
    "SKIP_EXPANSION": SKIPS,
    "SKIP_REWEIGHTED": SKIPS,
    "SIMILARITY": ["tests/unit/features/test_similarity.py"],
    "MESSAGES": LOOPY,
    "FLOODING": LOOPY,
    "TREE_BOUND": LOOPY,
    "MEAN_FIELD": LOOPY,
    "GIBBS": LOOPY,
    "DUAL_BOUND": CUTS,
    "CUTS": CUTS,
    "CLIQUE_SUM": GRAPHS,
    "CLIQUE_MAX": GRAPHS,
    "CLIQUE_SAMPLE": GRAPHS,
    "CLIQUE_K_BEST": GRAPHS,
}
THREADS = [
    "tests/unit/features/test_reading_threads.py::test_threads_read_the_same_values",
    LAWS + "test_chain_threads.py",
    LAWS + "test_segment_laws.py::test_threads_agree_to_the_last_bit",
    TRAINING + "test_history.py::test_long_vectors_in_threads_are_bit_identical",
    TRAINING + "test_objectives.py::test_threads_agree_to_the_last_bit",
    TRAINING + "test_dual_ascent.py::test_threads_do_not_change_a_bit",
    *(
        TRAINING + "test_threads.py::test_" + name
        for name in (
            *("evaluations", "trainings", "training_with_edge_features", "answers"),
            "batch_optimisers_and_dual_ascent",
        )
    ),
]
WORKERS = int(os.environ.get("TEST_WORKERS", "2"))
SECONDS = 400  # for one run of pytest, which takes 100 at most
RED = 1  # pytest's status when tests ran and some failed; 2 and above mean that it broke down


def names_in_the_core() -> set[str]:
    """Every name that a kernel hands to one of the macros."""
    sources = (p for p in (ROOT / "native").rglob("*.[ch]pp") if p.name != "canary.hpp")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    return set(re.findall(r"\bCANARY(?:_BY|_ELSEWHERE)?\(\s*([A-Z_]+)\s*,", text))


def test_every_canary_is_listed_and_lives_in_the_core() -> None:
    assert names_in_the_core() == {*CANARIES, "THREADS"}


@pytest.fixture
def core() -> Iterator[Path]:
    """The second build. -O1 halves its time; the perturbation does not depend on it."""
    folder = ROOT / "build" / "canary"
    folder.mkdir(parents=True, exist_ok=True)
    tools = Path(sys.executable).parent
    cmake = str(tools / "cmake") if (tools / "cmake").exists() else "cmake"
    configure = [
        cmake, "-S", str(ROOT), "-B", str(folder), "-DFIELDCRAFT_CANARY=RUNTIME",
        "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -DNDEBUG",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(WORKERS))
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (configure, [cmake, "--build", str(folder), "--parallel", jobs]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        (found,) = folder.glob("_core*.so")
        yield found


def run(core: Path, canary: str, tests: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    """These tests on that core while one canary sings. A run that does not end is ended, and is RED."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    env |= {"FIELDCRAFT_CORE": str(core), "FIELDCRAFT_CANARY": canary}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *tests]
    command += ["-o", f"faulthandler_timeout={SECONDS // 2}"]  # shows where it hangs
    try:
        return subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as error:
        printed = ((error.stdout or b"") + (error.stderr or b"")).decode(errors="replace")
        return subprocess.CompletedProcess(command, RED, f"{printed}\nnot done after {SECONDS} s", "")


def unnoticed(core: Path, name: str) -> str:
    """What a canary's tests printed if they all passed; '' where one failed, as it should."""
    done = run(core, name, CANARIES[name], "-x")
    return "" if done.returncode == RED else f"{name} went unnoticed:\n{done.stdout[-1500:]}"


@pytest.mark.slow
def test_a_fault_in_any_kernel_turns_a_test_red(core: Path) -> None:
    """First that all pass while nothing sings: else red would say nothing about the canary."""
    tests = sorted({test for chosen in [*CANARIES.values(), THREADS] for test in chosen})
    silent = run(core, "", tests, "-x", "-n", str(WORKERS))
    assert silent.returncode == 0, silent.stdout[-3000:]
    with ThreadPoolExecutor(WORKERS) as pool:
        problems = list(pool.map(lambda name: unnoticed(core, name), CANARIES))
    assert "".join(problems) == ""
    blind = THREADS
    for _ in range(3):  # on a busy machine the first thread may do all the work in spite of the head start
        blind = passed(run(core, "THREADS", blind, "-v", "-v", "--tb=no")) if blind else []
    assert blind == [], "threads that disagree go unnoticed by these tests"


def passed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The tests of a run that passed where all should fail."""
    assert done.returncode in (0, RED), done.stdout[-3000:]
    return re.findall(r"^(tests/\S+::\S.*?) PASSED", done.stdout, re.MULTILINE)

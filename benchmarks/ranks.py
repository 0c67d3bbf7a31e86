"""``python -m benchmarks.ranks [--ranks 2] [--rounds 3] [--check]``: MPI ranks against one process.

CoNLL-2003 with the templates ``entities`` and L-BFGS, one thread everywhere. In each round one process and a
job of several ranks do the same, in turn: read the training file, train to the end. Per round: seconds of an
evaluation (loss and gradient, their sum over the ranks, the prior; the median of the training), of an
iteration, and of everything from reading to the last iteration; those of the slowest rank count. The best
rounds are compared, in wall seconds, which need as many idle cores as there are ranks, and in CPU seconds,
which leave out most of the waiting.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.columns import data_folder
from fieldcraft import LBFGS, ChainCRF
from fieldcraft.cli.ranks import joined, read_parts
from fieldcraft.problems.chain import ChainProblem

LEAST = {"evaluation": 1.6, "training": 1.4}
MEMORY = 20  # steps of L-BFGS
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def now() -> np.ndarray[Any, Any]:
    return np.array([clock() for clock in CLOCKS.values()])


class Timed(ChainProblem):
    """The problem of the training, with the seconds of its evaluations."""

    seconds: ClassVar[list[Any]] = []

    def quadratic_loss(self, weights: Any, gradient: Any) -> float:
        before = now()
        value = super().quadratic_loss(weights, gradient)
        self.seconds.append(now() - before)
        return value


def work(path: str, iterations: int, tolerance: float) -> None:
    """What a process does; rank 0 prints the result as JSON."""
    from fieldcraft import problems
    from fieldcraft.structures.linear_chain import LinearChain

    problems.FUSED[LinearChain] = {**problems.FUSED[LinearChain], "gradient": Timed}
    begun, ends = now(), []
    with joined() as ranks:
        corpus, _, _ = read_parts(ranks, [path], None, {"columns": ["word", "pos", "chunk", "ner"]}, {})
        optimiser = LBFGS(memory=MEMORY, max_iterations=iterations, objective_tolerance=tolerance)
        crf = ChainCRF("entities", optimiser=optimiser, n_jobs=1)
        crf.fit(corpus, ranks=ranks, callbacks=[lambda _: ends.append(now())])
        own = {
            "evaluation": np.median(Timed.seconds, axis=0),
            "iteration": np.median(np.diff(ends, axis=0), axis=0),
            "training": ends[-1] - begun,
        }
        every = [own] if ranks is None else ranks.gather(own)
        slowest = {name: np.max([one[name] for one in every], axis=0).tolist() for name in own}
        if ranks is None or ranks.rank == 0:
            facts = {"tokens": crf.provenance_["tokens"], "features": len(crf.features_)}
            ends_at = {"objective": crf.objective_value_, "iterations": crf.n_iter_}
            print(json.dumps({**slowest, **ends_at, **facts}))


def run(n: int, path: Path, iterations: int, tolerance: float) -> Any:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [sys.executable, "-m", "benchmarks.ranks", "--work", str(path)]
    command += ["--iterations", str(iterations), "--tolerance", str(tolerance)]
    prefix = [] if n == 1 else [str(mpiexec) if mpiexec.exists() else "mpiexec", "-n", str(n)]
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(rounds: list[Any], sizes: list[int]) -> bool:
    """Print the best rounds and their ratios; whether the wall seconds of the last size are good enough."""
    best = {
        n: {
            name: np.min([r[n][name] for r in rounds], axis=0)
            for name in ("evaluation", "iteration", "training")
        }
        for n in sizes
    }
    for n in sizes:
        for name, seconds in best[n].items():
            ratio = best[1][name] / seconds
            cells = [f"{clock} {s:8.4f} s {r:5.2f}x" for clock, s, r in zip(CLOCKS, seconds, ratio)]
            print(f"{n} rank{'s' if n > 1 else ' '}  {name:>10}  {'   '.join(cells)}")
    objectives = {n: rounds[0][n]["objective"] for n in sizes}
    apart = max(abs(value / objectives[1] - 1) for value in objectives.values())
    print(f"objectives {objectives}, iterations {[rounds[0][n]['iterations'] for n in sizes]}")
    print(f"largest relative difference of the objectives {apart:.1e}")
    if len(sizes) > 2:
        fit(best, rounds[0][1])
    return all(best[1][name][0] / best[sizes[-1]][name][0] >= least for name, least in LEAST.items())


def fit(best: dict[int, Any], facts: Any) -> None:
    """Print the constants of docs/scale.md by least squares, none negative, and what its formula then says.

    evaluation = a T / R + e F, the rest of an iteration = (b - e) F + c m F / R
    """
    from scipy.optimize import nnls

    T, F, sizes = facts["tokens"], facts["features"], np.array(list(best), np.float64)
    terms = np.stack([1 / sizes, np.ones_like(sizes)], axis=1)  # [sizes, 2]
    for i, clock in enumerate(CLOCKS):
        evaluation, iteration = (
            np.array([best[n][name][i] for n in best]) for name in ("evaluation", "iteration")
        )
        (a, e), (c, rest) = (nnls(terms, y)[0] for y in (evaluation, np.maximum(iteration - evaluation, 0.0)))
        said = ", ".join(f"{1000 * value:.1f}" for value in terms @ [a + c, e + rest])
        print(
            f"{clock}: a = {1e6 * a / T:.2f} us, b = {1e9 * (e + rest) / F:.1f} ns, "
            f"c = {1e9 * c / (MEMORY * F):.2f} ns; iterations by the formula {said} ms"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-6,
        help="stop when ten iterations gain less, relative to the objective",
    )
    parser.add_argument("--check", action="store_true", help=f"exit 1 below {LEAST}")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.iterations, given.tolerance)
        return 0
    sizes = [1, *given.ranks]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "eng.train"
        with gzip.open(data_folder() / "conll2003" / "eng.train.gz") as packed, path.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        rounds: list[Any] = []
        for _ in range(given.rounds):
            rounds.append({n: run(n, path, given.iterations, given.tolerance) for n in sizes})
            print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
    return int(not report(rounds, sizes) and given.check)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m benchmarks.graphs [--quick]``: speed of factor graphs, with peers where they are installed.

CPU seconds, the best of several runs; graphs are synthetic. Peers: networkx (triangulation), PyMaxflow (cuts;
GPL, so it is no dependency), pytoulbar2 (best assignments). They run in processes of their own. Figures of
peers that do not install here are quoted in the last column.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from benchmarks.report import table
from fieldcraft import _core

HEAD = ("work", "CPU seconds", "wall seconds", "peer", "notes")


def pairs_of(height: int, width: int) -> np.ndarray:
    """Neighbours in a grid [pairs, 2]."""
    at = np.arange(height * width).reshape(height, width)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1)
    return np.concatenate([across, np.stack([at[:-1].ravel(), at[1:].ravel()], 1)])


def grid(height: int, width: int, states: int, *, attractive: bool = False) -> fc.FactorGraph:
    """Standard normal node tables; edge tables that are normal, or reward equal states (up to 1)."""
    rng = np.random.default_rng(0)
    graph, pairs = fc.FactorGraph(np.full(height * width, states)), pairs_of(height, width)
    graph.add(np.arange(height * width)[:, None], rng.normal(size=(height * width, states)))
    if attractive:
        graph.add(pairs, rng.uniform(0, 1, size=(len(pairs), 1, 1)) * np.eye(states))
    else:
        graph.add(pairs, rng.normal(size=(len(pairs), states, states)))
    return graph


def chain(n: int, states: int) -> fc.FactorGraph:
    rng = np.random.default_rng(0)
    graph = fc.FactorGraph(np.full(n, states))
    graph.add(np.arange(n)[:, None], rng.normal(size=(n, states)))
    graph.add(np.stack([np.arange(n - 1), np.arange(1, n)], 1), rng.normal(size=(n - 1, states, states)))
    return graph


def many(n: int) -> fc.GraphBatch:
    """n graphs of 50 nodes, 100 random edges and 3 states."""
    rng = np.random.default_rng(0)
    graphs, every = [], np.argwhere(np.triu(np.ones((50, 50)), 1))
    for _ in range(n):
        graph = fc.FactorGraph(np.full(50, 3))
        graph.add(np.arange(50)[:, None], rng.normal(size=(50, 3)))
        graph.add(every[rng.choice(len(every), 100, replace=False)], rng.normal(size=(100, 3, 3)))
        graphs.append(graph)
    return fc.GraphBatch(graphs)


def best(work: Callable[[], Any], times: int) -> tuple[float, float, Any]:
    """Smallest CPU and wall seconds, and what the work returned."""
    cpu, wall, found = [], [], None
    for _ in range(times):
        c, w = time.process_time(), time.perf_counter()
        found = work()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    return min(cpu), min(wall), found


def peer(code: str, *arguments: str) -> Any:
    """What a script prints as JSON; None where its package is missing."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else None


MAXFLOW = """
import json, time, numpy as np, maxflow
rng = np.random.default_rng(0)
node, n = rng.normal(size=(90000, 2)), 300
at = np.arange(n * n).reshape(n, n)
pairs = np.concatenate([np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1),
                        np.stack([at[:-1].ravel(), at[1:].ravel()], 1)])
weight = rng.uniform(0, 1, size=len(pairs))
seconds = []
for _ in range(3):
    begun = time.process_time()
    g = maxflow.Graph[float](n * n, len(pairs))
    nodes = g.add_nodes(n * n)
    g.add_edges(pairs[:, 0], pairs[:, 1], weight, weight)
    g.add_grid_tedges(nodes, -node[:, 1], -node[:, 0])
    g.maxflow()
    seconds.append(time.process_time() - begun)
print(json.dumps(min(seconds)))
"""
NETWORKX = """
import json, time, networkx as nx
from networkx.algorithms.approximation import treewidth_min_fill_in
graph = nx.grid_2d_graph(40, 40)
begun = time.process_time()
width = treewidth_min_fill_in(graph)[0]
print(json.dumps([time.process_time() - begun, width + 1]))
"""
TOULBAR2 = """
import json, sys, time, pytoulbar2
problem = pytoulbar2.CFN()
problem.Read(sys.argv[1])
begun = time.process_time()
found = problem.Solve(timeLimit=int(sys.argv[2]))
print(json.dumps([time.process_time() - begun, None if found is None else list(found[0])]))
"""


def speed(times: int, *, quick: bool) -> list[list[str]]:
    """The lines that have a limit."""
    rows = []

    def line(name: str, work: Callable[[], Any], told: str = "", notes: str = "", repeat: int = times) -> Any:
        cpu, wall, found = best(work, repeat)
        rows.append([name, f"{cpu:.4f}", f"{wall:.4f}", told, notes])
        print(*rows[-1], sep=" | ", flush=True)
        return found

    ising = grid(50, 50, 2, attractive=True)
    flooding: dict[str, Any] = {"schedule": "flooding", "max_iterations": 200, "tolerance": 0, "n_jobs": 1}
    line(
        "50x50 Ising, 200 flooding sweeps",
        lambda: ising.infer("propagation", **flooding),
        notes="PGMax 4.2 s",
    )
    line300 = chain(300, 5)
    line(
        "300-node chain, 5 states", lambda: line300.infer("forest", n_jobs=1), notes="pgmpy 17.6 s", repeat=20
    )
    flow = peer(MAXFLOW)
    cut = grid(300, 300, 2, attractive=True)
    cut.batch()
    told = "" if flow is None else f"PyMaxflow {flow:.3f}"
    line("300x300 cut, two labels", lambda: cut.decode("cuts", n_jobs=1), told)
    expansion = grid(200, 200, 10, attractive=True)
    inputs = expansion.batch().inputs
    line("200x200 expansion, 10 labels", lambda: _core.graph_cut(*inputs, "expansion", 100, 1), repeat=1)
    line("the same with a dual bound", lambda: expansion.decode("cuts", n_jobs=1), repeat=min(3, times))
    square = grid(40, 40, 2).batch()
    wide = None if quick else peer(NETWORKX)
    told = "" if wide is None else f"networkx {wide[0]:.1f} (clique of {wide[1]})"
    found = best(lambda: _core.graph_triangulate(square.handle, 0, "min_fill", float("inf")), times)
    rows.append(["40x40 min-fill", f"{found[0]:.4f}", f"{found[1]:.4f}", told, f"clique of {found[2][1]}"])
    print(*rows[-1], sep=" | ", flush=True)
    batch = many(1000 if quick else 10_000)
    options: dict[str, Any] = {"schedule": "flooding", "max_iterations": 50, "tolerance": 0, "n_jobs": 2}
    name = f"{len(batch):,} graphs, 50 sweeps, 2 threads"
    line(name, lambda: batch.infer("propagation", **options), repeat=min(2, times))
    line("100x100 image, 5 labels, GridCRF.predict", segmentation(), notes="limit 0.5", repeat=min(3, times))
    return rows


def segmentation() -> Callable[[], Any]:
    """A trained model that labels a synthetic image of 100 x 100 cells with 5 labels."""
    rng = np.random.default_rng(0)

    def image(size: int) -> tuple[np.ndarray, np.ndarray]:
        truth = np.kron(rng.integers(0, 5, size=(size // 10, size // 10)), np.ones((10, 10), int))
        return np.eye(5)[truth] + rng.normal(scale=0.8, size=(size, size, 5)), truth

    x, y = image(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # grids are not exact
        model = fc.GridCRF(tying="same", isotropic=True, objective="pseudo_likelihood", n_jobs=1).fit(
            [x], [y]
        )
    large, _ = image(100)

    def predict() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.predict([large])

    return predict


def quality(*, quick: bool) -> list[list[str]]:
    """50x50, 5 labels: what each method reaches, against toulbar2 and a long run."""
    size = 20 if quick else 50
    graph, rows = grid(size, size, 5), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grid.uai"
        graph.write(path)
        solved = peer(TOULBAR2, str(path), "10" if quick else "60")
    score = float("nan")
    if solved is not None and solved[1] is not None:
        score = graph.score(np.array(solved[1], np.int32))
        rows.append(["toulbar2", f"{solved[0]:.2f}", "", f"score {score:.3f}", "its best in the limit"])
        print(*rows[-1], sep=" | ", flush=True)
    decodings: list[tuple[str, dict[str, Any]]] = [
        ("dual_decomposition", {}),
        ("linear_programme", {}),
        ("icm", {}),
    ]
    for method, options in decodings:
        cpu, wall, found = best(lambda m=method, o=options: graph.decode(m, n_jobs=1, **o), 1)
        told = f"score {found.value:.3f} (toulbar2's {found.value - score:+.3f}), gap {found.gap:.3f}"
        rows.append([method, f"{cpu:.2f}", f"{wall:.2f}", told, f"converged: {found.converged}"])
        print(*rows[-1], sep=" | ", flush=True)
    reference = graph.infer("gibbs", n=200 if quick else 2000, blocks="trees", seed=1)
    for method in ("propagation", "tree_reweighted", "mean_field", "gibbs"):
        cpu, wall, found = best(lambda m=method: graph.infer(m, n_jobs=1), 1)
        off = np.abs(np.concatenate(found.variables) - np.concatenate(reference.variables))
        told = f"log Z {found.log_partition:.3f} ({found.bound}), mean error {off.mean():.4f}"
        rows.append([method, f"{cpu:.2f}", f"{wall:.2f}", told, f"converged: {found.converged}"])
        print(*rows[-1], sep=" | ", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller work, in seconds")
    quick = parser.parse_args().quick
    rows = speed(1 if quick else 5, quick=quick) + quality(quick=quick)
    print("\n".join(table(HEAD, rows)))


if __name__ == "__main__":
    main()

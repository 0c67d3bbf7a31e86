"""Factor graphs against pyAgrum (junction trees) and toulbar2 (best assignments).

The peers run in a process of their own, on UAI files: their libraries are not made to share one with ours.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fieldcraft as fc
from laws.cases import named, same
from laws.graph_cases import CASES, graph_of, grid

PYAGRUM = """
import json, sys
import numpy as np
import pyagrum as gum
found = []
for path in sys.argv[1:]:
    words = iter(open(path).read().split()[1:])
    cards = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    field = gum.MarkovRandomField()
    for v, n in enumerate(cards):
        field.add(gum.RangeVariable(f"v{v}", "", 0, n - 1))
    for scope in scopes:
        table = np.array([float(next(words)) for _ in range(int(next(words)))])
        table = table.reshape([cards[v] for v in scope])
        factor = field.addFactor({f"v{v}" for v in scope})
        order = [int(factor.variable(k).name()[1:]) for k in range(factor.nbrDim())]  # the first runs fastest
        factor.fillWith(np.transpose(table, [scope.index(v) for v in reversed(order)]).reshape(-1).tolist())
    engine = gum.ShaferShenoyMRFInference(field)
    engine.makeInference()
    found.append([engine.posterior(f"v{v}").tolist() for v in range(len(cards))])
print(json.dumps(found))
"""
TOULBAR2 = """
import json, sys
import pytoulbar2
found = []
for path in sys.argv[1:]:
    problem = pytoulbar2.CFN()
    problem.Read(path)
    found.append(list(problem.Solve()[0]))
print(json.dumps(found))
"""


def merged(graph: fc.FactorGraph) -> fc.FactorGraph:
    """One factor per scope, without constants, which is what the peers read."""
    joint: dict[tuple[int, ...], np.ndarray] = {}
    for group in graph.groups:
        for scope, table in zip(group.scope.tolist(), group.tables()):
            if scope:
                order = tuple(sorted(range(len(scope)), key=lambda k: scope[k]))
                key = tuple(scope[k] for k in order)
                joint[key] = joint.get(key, 0.0) + np.transpose(table, order)
    other = fc.FactorGraph(graph.cardinalities)
    for scope, table in joint.items():
        other.add(list(scope), table)
    return other


def answers(code: str, graphs: list[fc.FactorGraph], folder: Path) -> list[list]:
    """What a peer prints about the graphs."""
    paths = [folder / f"{i}.uai" for i in range(len(graphs))]
    for path, graph in zip(paths, graphs):
        graph.write(path)
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.skipif(find_spec("pyagrum") is None, reason="pyagrum is not installed")
def test_junction_trees_agree_with_pyagrum(tmp_path: Path) -> None:
    plain = [case for case in CASES if not case.observed and not case.forbidden]
    graphs = [*(merged(graph_of(case)) for case in plain), grid(5, 5, 3)]
    graphs = [graph for graph in graphs if (graph.cardinalities > 1).all()]
    assert len(graphs) >= 4
    for graph, found in zip(graphs, answers(PYAGRUM, graphs, tmp_path)):
        with named(graph):
            for one, other in zip(graph.infer("junction_tree").variables, found):
                same(one, other, rel=1e-9, abs=1e-12)


@pytest.mark.skipif(find_spec("pytoulbar2") is None, reason="pytoulbar2 is not installed")
def test_integer_programmes_agree_with_toulbar2(tmp_path: Path) -> None:
    plain = [case for case in CASES if not case.observed]
    graphs = [*(merged(graph_of(case)) for case in plain), grid(6, 6, 3), grid(12, 12, 2)]
    for graph, states in zip(graphs, answers(TOULBAR2, graphs, tmp_path)):
        with named(graph):
            best = graph.score(np.array(states, np.int32))
            same(graph.decode("ilp").value, best, rel=0, abs=1e-4)  # toulbar2 rounds costs

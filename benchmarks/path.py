"""What a tuned path of 15 Gaussian variances costs, against the slowest training of one of them from zero.

    python -m benchmarks.path

Every place, along the path and from zero, is trained to the same gradient tolerance. From zero only the
first, middle and last place are trained: the slowest of these is at most the slowest of all, so that the true
ratio is at most the one printed. Held out are the development set of CoNLL-2003 and the last 1,000 training
sentences of CoNLL-2000.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import fieldcraft as fc
from benchmarks.report import table
from benchmarks.workloads import W1, W2, Columns, Labels, Workload

FIRST, LAST, POINTS = 0.1, 1000.0, 15
ALONE = (0, POINTS // 2, POINTS - 1)
HELD_OUT = 1000  # sentences, where there is no development set
HEAD = ("corpus", "features", "path", "from zero", "path / slowest", "in seconds")


class Split(NamedTuple):
    """Columns and labels to train on and to score on."""

    X: Columns
    y: Labels
    X_dev: Columns
    y_dev: Labels


def split(workload: Workload) -> Split:
    """The training data, less the end of it where there is no development set."""
    X, y = workload.by_column("train")
    if "dev" in workload.files:
        return Split(X, y, *workload.by_column("dev"))
    return Split(X[:-HELD_OUT], y[:-HELD_OUT], X[-HELD_OUT:], y[-HELD_OUT:])


def measure(workload: Workload, templates: str) -> dict[str, Any]:
    """Evaluations and seconds of the path, and of the trainings from zero."""
    data = split(workload)
    path = _tuned(data, templates, fc.Between(FIRST, LAST))
    variances = [row.settings["prior__variance"] for row in path]
    alone = [_tuned(data, templates, [variances[k]])[0] for k in ALONE]
    if not all(row.converged for row in (*path, *alone)):
        raise RuntimeError("a training did not reach the tolerance; its cost cannot be compared")
    return {
        "corpus": workload.title,
        "features": path[0].features,
        "path": [row.evaluations for row in path],
        "alone": [row.evaluations for row in alone],
        "variances": [variances[k] for k in ALONE],
        "path_seconds": sum(row.seconds for row in path),
        "alone_seconds": [row.seconds for row in alone],
    }


def markdown(found: list[dict[str, Any]]) -> str:
    """A row per corpus; costs are evaluations of the objective and its gradient."""
    return "\n".join(table(HEAD, map(_cells, found)))


def _cells(one: dict[str, Any]) -> list[str]:
    alone = ", ".join(f"{cost:,} ({v:g})" for v, cost in zip(one["variances"], one["alone"]))
    ratio = sum(one["path"]) / max(one["alone"])
    seconds = one["path_seconds"] / max(one["alone_seconds"])
    whole = f"{sum(one['path']):,}"
    return [one["corpus"], f"{one['features']:,}", whole, alone, f"{ratio:.2f}", f"{seconds:.2f}"]


def _tuned(data: Split, templates: str, variances: Any) -> Any:
    crf = fc.ChainCRF(templates, prior=fc.Gaussian())
    over = {"variance": variances}
    return fc.tune(crf, data.X, data.y, X_dev=data.X_dev, y_dev=data.y_dev, over=over, points=POINTS).rows


if __name__ == "__main__":
    print(markdown([measure(W1, W1.templates), measure(W2, "entities")]))

"""Gibbs sampling: marginals as frequencies, with standard errors, effective sample sizes and R-hat.

A chain's draws are cut into batches; the standard error of a frequency is that of the mean of all batch
means. R-hat
compares the halves of all chains: the variance of the mean between them against the variance within.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.structures.answers import Inference
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.groups import Floats
from fieldcraft.structures.graphs.methods import choice

BLOCKS = ("none", "chains", "trees")
BATCHES = 20  # of each chain
MIXED = 1.05  # R-hat below which chains agree


def infer(
    batch: GraphBatch,
    *,
    n_jobs: int,
    n: int = 1000,
    burn_in: int = 200,
    chains: int = 4,
    blocks: str = "none",
    seed: int = 0,
) -> list[Inference]:
    """Frequencies of states over n sweeps of each chain; log Z is not known (nan).

    Parameters
    ----------
    n, burn_in : sweeps that count, and sweeps before them
    chains : how many, each from its own random start
    blocks : "none": variable by variable; "chains", "trees": sets without cycles are drawn jointly
    """
    warn_of_forbidden(batch)
    drawn = draw(batch, n, burn_in, chains, blocks, seed, n_jobs, keep=False)
    return [_answer(batch, i, *rows[:2], n * chains, blocks) for i, rows in enumerate(drawn)]


def draw(
    batch: GraphBatch,
    n: Any,
    burn_in: Any,
    chains: Any,
    blocks: Any,
    seed: int,
    n_jobs: int,
    *,
    keep: bool,
) -> list[tuple[Floats, Floats, NDArray[np.int32]]]:
    """Of each graph: counts [chains, batches, states], counts of factor cells, and the draws if kept."""
    n, burn_in = whole_number(n, "n", 1), whole_number(burn_in, "burn_in", 0)
    chains, blocks = whole_number(chains, "chains", 1), choice("blocks", blocks, BLOCKS)
    with batch.errors():
        return list(
            _core.graph_gibbs(
                *batch.inputs, n, burn_in, chains, min(BATCHES, n), blocks, seed % 2**64, keep, n_jobs
            )
        )


def swept(
    batch: GraphBatch, states: NDArray[np.int32], sweeps: int, seed: int, n_jobs: int
) -> NDArray[np.int32]:
    """[variables] states of all graphs after some sweeps, variable by variable, from ``states``."""
    start = np.ascontiguousarray(states, np.int32)
    with batch.errors():
        return np.asarray(_core.graph_sweeps(*batch.inputs, start, sweeps, seed % 2**64, n_jobs), np.int32)


def warn_of_forbidden(batch: GraphBatch) -> None:
    """Forbidden entries in tables of several variables may block moves."""
    if (batch.tables == -np.inf).any():
        warnings.warn(
            "the graph forbids configurations (-inf), which may block the moves of Gibbs sampling: a chain "
            "may stay among a part of the possible assignments; blocks='trees' helps, junction_tree is exact",
            stacklevel=5,
        )


def statistics(counts: Floats, total: int) -> dict[str, Floats]:
    """Frequencies p, standard errors, effective sizes and R-hat from counts [chains, batches, S]."""
    chains, batches, _ = counts.shape
    size = total / (chains * batches)
    p = counts.sum(axis=(0, 1)) / total
    means = counts / size
    pairs = max(1, chains * batches - 1)
    spread = ((means - p) ** 2).sum(axis=(0, 1)) / pairs / (chains * batches)
    shrunk = (p * total + 1) / (total + 2)  # a state that never came is not known to be impossible
    least = shrunk * (1 - shrunk) / total
    error = np.sqrt(np.maximum(spread, least))
    halves = np.stack([means[:, : batches // 2 or 1].mean(axis=1), means[:, batches // 2 :].mean(axis=1)])
    halves = halves.reshape(-1, counts.shape[2])
    length = max(2.0, total / len(halves))
    within = (halves * (1 - halves)).mean(axis=0) * length / (length - 1)
    between = halves.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.sqrt((length - 1) / length + between / within)
    r_hat = np.where(within > 0, r_hat, np.where(between > 0, np.inf, 1.0))
    return {"p": p, "error": error, "size": np.minimum(total, p * (1 - p) / error**2), "r_hat": r_hat}


def _answer(batch: GraphBatch, i: int, counts: Floats, factors: Floats, total: int, blocks: str) -> Inference:
    graph = batch.graphs[i]
    seen = np.repeat(graph.observed >= 0, graph.cardinalities)
    counts[..., seen] *= total / (counts.shape[0] * counts.shape[1])  # the core puts 1 at observed states
    found = statistics(counts, total)
    fixed = seen | np.repeat(graph.cardinalities == 1, graph.cardinalities)
    found["error"][fixed] = 0.0
    cut = np.cumsum(graph.cardinalities)[:-1]
    worst = float(found["r_hat"].max(initial=1.0))
    marginals = GraphBatch([graph]).marginals(0, found["p"], factors / total)
    unknown: Any = float("nan")
    sizes = found["size"][~fixed & (found["p"] > 0)]
    return Inference(
        unknown,
        marginals,
        bound="estimate",
        converged=worst < MIXED,
        iterations=total,
        residual=worst - 1,
        method="gibbs",
        why=f"frequencies of {total:,} draws; blocks: {blocks}; residual is the largest R-hat - 1",
        diagnostics={
            "standard_errors": np.split(found["error"], cut),
            "r_hat": worst,
            "effective_sample_size": float(sizes.min(initial=float(total))),
        },
    )

"""Linear chains by recursions in log space, for state counts and lengths beyond enumeration.

    alpha[t, y] = node[t, y] + logsumexp_{y'} (alpha[t-1, y'] + step[t, y', y]) - c_t
    beta[t, y]  = logsumexp_{y'} (step[t+1, y, y'] + node[t+1, y'] + beta[t+1, y']) - d_t
    log Z       = sum of c_t,   p(y at t) = softmax over y of alpha + beta

c_t and d_t make every row sum to one (in exp). Without them the rows of 100,000 tokens reach 1e5,
and the marginals, a difference of such rows, keep seven digits of sixteen.

Plain NumPy in float64, every sum shifted by its maximum, nothing scaled, nothing sparse: what is
forbidden is a -inf in a dense [S, S] matrix. Shares no formula with the enumeration in chain.py (a
test compares the two) and nothing with the package.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Dense(NamedTuple):
    """One sequence: start and stop are folded into the node scores."""

    node: Floats  # [T, S]
    step: Floats  # [S, S] shared or [T, S, S]; row t is the step from t-1 to t
    sources: NDArray[np.int32]  # [E]
    targets: NDArray[np.int32]  # [E]

    def at(self, t: int) -> Floats:
        return self.step if self.step.ndim == 2 else self.step[t]


def dense(
    node: ArrayLike,
    edge: ArrayLike,
    sources: ArrayLike,
    targets: ArrayLike,
    starts: ArrayLike,
    stops: ArrayLike,
) -> Dense:
    """The dense form of one sequence; edge is [E] or [T, E]."""
    scores = np.array(node, dtype=np.float64)
    rows = np.asarray(edge, dtype=np.float64)
    n_states = scores.shape[1]
    origins, ends = np.asarray(sources, dtype=np.int32), np.asarray(targets, dtype=np.int32)
    step = np.full((*rows.shape[:-1], n_states, n_states), -np.inf)
    step[..., origins, ends] = rows
    if len(scores):
        scores[0, ~np.asarray(starts, dtype=bool)] = -np.inf
        scores[-1, ~np.asarray(stops, dtype=bool)] = -np.inf
    return Dense(scores, step, origins, ends)


def log_sum(values: Floats, axis: int) -> Floats:
    """log sum exp along an axis; the sum of nothing but -inf is -inf."""
    top = values.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(values - shift).sum(axis=axis))
    result: Floats = total + np.squeeze(shift, axis=axis)
    return result


def normalised(row: Floats) -> tuple[Floats, float]:
    """A row of logs that sums to one, and the log of what it summed to; hopeless rows stay."""
    total = float(log_sum(row, 0))
    return (row - total, total) if total > -np.inf else (row, total)


def forward(chain: Dense) -> tuple[Floats, list[float]]:
    """alpha [T, S]: log-sum over prefixes that end in s at t, up to the c_t, which follow."""
    alpha = np.empty_like(chain.node)
    taken = []
    for t, scores in enumerate(chain.node):
        row = scores if t == 0 else scores + log_sum(alpha[t - 1][:, None] + chain.at(t), 0)
        alpha[t], total = normalised(row)
        taken.append(total)
    return alpha, taken


def backward(chain: Dense) -> Floats:
    """beta [T, S]: log-sum over suffixes after s at t, up to the d_t."""
    beta = np.zeros_like(chain.node)
    for t in range(len(beta) - 2, -1, -1):
        ahead = chain.at(t + 1) + (chain.node[t + 1] + beta[t + 1])[None, :]
        beta[t], _ = normalised(log_sum(ahead, 1))
    return beta


def log_partition(chain: Dense) -> float:
    return math.fsum(forward(chain)[1])


def marginals(chain: Dense, alpha: Floats | None = None) -> tuple[Floats, Floats]:
    """([T, S], [T, E]) probabilities of states and of transitions; row 0 of the second is zero.

    ``alpha`` saves the work where the caller has it already.
    """
    alpha, beta = forward(chain)[0] if alpha is None else alpha, backward(chain)
    steps = chain.step[..., chain.sources, chain.targets]  # [E] or [T, E]
    steps = steps if steps.ndim == 1 else steps[1:]
    ahead = (chain.node + beta)[1:, chain.targets]
    edges = np.zeros((len(chain.node), len(chain.sources)))
    edges[1:] = softmax(alpha[:-1, chain.sources] + steps + ahead)
    return softmax(alpha + beta), edges


def softmax(rows: Floats) -> Floats:
    """Every row to probabilities."""
    return np.exp(rows - log_sum(rows, 1)[:, None])


def argmax(chain: Dense) -> tuple[NDArray[np.int64], float]:
    """Best states and score; ties go to the lowest state, from the last position backwards."""
    if not len(chain.node):
        return np.zeros(0, dtype=np.int64), 0.0
    best = chain.node[0]
    back = np.zeros(chain.node.shape, dtype=np.int64)  # [T, S] best predecessor
    for t in range(1, len(back)):
        scores = best[:, None] + chain.at(t)
        back[t] = scores.argmax(axis=0)
        best = chain.node[t] + scores.max(axis=0)
    path = np.empty(len(back), dtype=np.int64)
    path[-1] = best.argmax()
    for t in range(len(back) - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, float(best.max())


def score(chain: Dense, path: ArrayLike) -> float:
    """The unnormalised score of one labelling."""
    states = np.asarray(path, dtype=np.int64)
    steps = [chain.at(t)[states[t - 1], states[t]] for t in range(1, len(states))]
    return float(chain.node[np.arange(len(states)), states].sum() + np.sum(steps))


def entropy(chain: Dense) -> float:
    """log Z - E[score]: entropy from marginals, not from labelings."""
    if not len(chain.node):
        return 0.0
    nodes, edges = marginals(chain)
    total = log_partition(chain)
    total -= float(nodes[nodes > 0] @ chain.node[nodes > 0])
    for t in range(1, len(edges)):
        scores = chain.at(t)[chain.sources, chain.targets]
        used = edges[t] > 0
        total -= float(edges[t][used] @ scores[used])
    return total

"""Linear chains: from potentials to log Z, marginals, best labellings, samples.

    score(y) = sum over t of node[t, y_t]  +  sum over t >= 1 of edge[t, y_{t-1}, y_t]
    log Z    = log of the sum over labellings of exp(score)

Layout: batches are ragged. ``node`` [tokens, S] has all sequences end to end, ``offsets`` [N + 1] says
where each begins. ``edge`` is [E], shared by all positions, or [tokens, E]; row t is the step from t-1 to
t and the first row of a sequence is ignored. -inf forbids. float32 or float64 in, float64 out.

Numerics: scaled recursions, with log-space recursions where they could lose digits
(``numerics="auto"``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.structures.extents import check_rows, check_samples
from fieldcraft.structures.held import Held, flags, real_numbers, state_numbers, whole_numbers
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]


class Marginals(NamedTuple):
    """Gradient of log Z: ``node`` [tokens, S], ``edge`` [tokens, E] or [E], and log Z [N]."""

    node: Floats
    edge: Floats
    log_partition: Floats


def log_partition(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    *,
    n_jobs: int = 1,
    numerics: str = "auto",
) -> Floats:
    """log Z of each sequence [N]; 0 for empty ones, -inf where no labelling is possible.

    >>> states = StateSpace.labels(["a", "b"])
    >>> log_partition(np.zeros((3, 2)), np.zeros(4), [0, 3], states).round(6)
    array([2.079442])
    """
    with Held(node, edge, offsets, states) as held:
        return _floats(_core.log_partition(held.potentials, numerics, resolve_jobs(n_jobs)))


def marginals(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    *,
    n_jobs: int = 1,
    numerics: str = "auto",
    edge_totals: bool = False,
) -> Marginals:
    """Probabilities of states and transitions at every position.

    With ``edge_totals`` the transitions are summed over all positions of the batch.
    """
    with Held(node, edge, offsets, states) as held:
        form = "totals" if edge_totals else "rows"
        if not edge_totals:
            check_rows(states, held.offsets)
        node_out, edge_out, log_z = _core.marginals(held.potentials, numerics, form, resolve_jobs(n_jobs))
    edge_out = edge_out if edge_out.shape[1] == states.n_transitions else edge_out[:, states.cells]
    return Marginals(node_out, edge_out[0] if edge_totals else edge_out, log_z)


def log_marginals(
    node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace, *, n_jobs: int = 1
) -> Floats:
    """Logarithms [tokens, S] of the node marginals, right also where these are too small for a number."""
    with Held(node, edge, offsets, states, dense=True) as held:
        return _floats(_core.log_marginals(held.potentials, resolve_jobs(n_jobs)))


def covariance(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    moved: ArrayLike,
    *,
    n_jobs: int = 1,
) -> tuple[Floats, Floats]:
    """Gradient of the sum of ``moved`` [tokens, S] times log marginals: node [tokens, S], edge [tokens, E].

    With moved = mu v it is the covariance of every part with the sum over positions of v[t, y_t], which
    is what any function of the node marginals mu needs for its gradient; in linear time.
    """
    with Held(node, edge, offsets, states, dense=True) as held:
        given = real_numbers(moved, "moved")
        if given.shape != held.node.shape:
            raise InputError(f"moved has shape {given.shape}; expected {held.node.shape}")
        check_rows(states, held.offsets)
        node_out, edge_out = _core.covariance(held.potentials, given, resolve_jobs(n_jobs))
    return node_out, edge_out if states.is_complete else edge_out[:, states.cells]


def argmax(
    node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace, *, n_jobs: int = 1
) -> tuple[NDArray[np.int32], Floats]:
    """The best labelling [tokens] and its score [N]; ties go to the lower state, last position first."""
    with Held(node, edge, offsets, states) as held:
        best, score_ = _core.argmax(held.potentials, resolve_jobs(n_jobs))
        return best, score_


def k_best(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    k: int,
    *,
    n_jobs: int = 1,
) -> list[tuple[NDArray[np.int32], Floats]]:
    """Per sequence the k best labellings [k', T] and their scores [k'], best first."""
    with Held(node, edge, offsets, states) as held:
        return list(_core.k_best(held.potentials, whole_number(k, "k", 1), resolve_jobs(n_jobs)))


def sample(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    n: int,
    *,
    seed: int,
    n_jobs: int = 1,
) -> list[NDArray[np.int32]]:
    """Per sequence n labellings [n, T] drawn from the distribution; the same for the same seed."""
    with Held(node, edge, offsets, states) as held:
        n = whole_number(n, "n", 0, "the number of samples")
        check_samples(n, held.offsets)
        return list(_core.sample(held.potentials, n, seed % 2**64, 0, resolve_jobs(n_jobs)))


def score(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    labels: ArrayLike,
    *,
    n_jobs: int = 1,
) -> Floats:
    """Score [N] of states [tokens], before normalisation."""
    with Held(node, edge, offsets, states) as held:
        given = whole_numbers(labels, np.int32, "labels")
        return _floats(_core.score(held.potentials, given, resolve_jobs(n_jobs)))


def entropy(
    node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace, *, n_jobs: int = 1
) -> Floats:
    """Entropy [N] of each sequence's distribution over labellings, in nats."""
    with Held(node, edge, offsets, states) as held:
        return _floats(_core.entropy(held.potentials, resolve_jobs(n_jobs)))


def window_probability(
    node: ArrayLike,
    edge: ArrayLike,
    offsets: ArrayLike,
    states: StateSpace,
    sequence: ArrayLike,
    first: ArrayLike,
    ptr: ArrayLike,
    allowed: ArrayLike,
    *,
    n_jobs: int = 1,
) -> Floats:
    """Probability [R] that every position of a window has a state from its allowed set.

    Window r covers positions first[r] .. of sequence[r]; rows ptr[r] .. ptr[r + 1] of ``allowed``
    [positions, S] are the sets.
    """
    with Held(node, edge, offsets, states, dense=True) as held:
        return _floats(
            _core.window_probability(
                held.potentials,
                whole_numbers(sequence, np.int64, "sequence"),
                whole_numbers(first, np.int64, "first"),
                whole_numbers(ptr, np.int64, "ptr"),
                flags(allowed, states.n_states, "allowed"),
                resolve_jobs(n_jobs),
            )
        )


def indicator(labels: ArrayLike, offsets: ArrayLike, states: StateSpace) -> tuple[Floats, Floats]:
    """Which parts a labelling has: node [tokens, S] and edge [tokens, E] of zeros and ones.

    >>> node, edge = indicator([1, 0], [0, 2], StateSpace.labels(2))
    >>> edge.tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """
    given = state_numbers(labels, offsets, states)
    node, edge = np.zeros((len(given), states.n_states)), np.zeros((len(given), states.n_transitions))
    node[np.arange(len(given)), given] = 1.0
    at = steps(offsets)
    cells = given[at - 1] * states.n_states + given[at]
    places = np.searchsorted(states.cells, cells)
    inside = np.isin(cells, states.cells)  # a step that is no transition has no part
    edge[at[inside], places[inside]] = 1.0
    return node, edge


def neighbour_scores(
    node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace, labels: ArrayLike
) -> Floats:
    """Scores [tokens, S] of each state at each position while its neighbours have the given labels."""
    held, given = Held(node, edge, offsets, states, dense=True), state_numbers(labels, offsets, states)
    pairs = held.edge.reshape(-1, states.n_states, states.n_states)
    at, ends = steps(offsets), np.asarray(offsets)
    row = at if len(pairs) > 1 else np.zeros_like(at)
    scores: Floats = held.node.copy()
    full = np.diff(ends) > 0
    scores[ends[:-1][full]] += np.where(states.starts, 0.0, -np.inf)
    scores[ends[1:][full] - 1] += np.where(states.stops, 0.0, -np.inf)
    scores[at] += pairs[row, given[at - 1], :]
    scores[at - 1] += pairs[row, :, given[at]]
    return scores


def neighbour_adjoint(
    rows: ArrayLike, offsets: ArrayLike, states: StateSpace, labels: ArrayLike
) -> tuple[Floats, Floats]:
    """From a gradient ``rows`` [tokens, S] in ``neighbour_scores`` to one in the potentials: node, edge."""
    given, node = np.asarray(labels, np.int64), np.array(rows, np.float64)
    pairs = np.zeros((len(node), states.n_states, states.n_states))
    at = steps(offsets)
    pairs[at, given[at - 1], :] += node[at]
    pairs[at, :, given[at]] += node[at - 1]
    return node, pairs.reshape(len(node), -1)[:, states.cells]


def steps(offsets: ArrayLike) -> NDArray[np.int64]:
    """Positions that have one before them in their sequence."""
    ends = np.asarray(offsets, np.int64)
    later = np.ones(int(ends[-1]), bool)
    later[ends[:-1][np.diff(ends) > 0]] = False
    return np.flatnonzero(later)


def _floats(array: Any) -> Floats:
    return np.asarray(array, np.float64)

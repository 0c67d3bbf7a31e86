"""The direction of the limited memory against the dense inverse-BFGS matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.optimisers.block_history import BlockHistory
from fieldcraft.optimisers.history import History
from unit.training.corpora import Floats, same

Pair = tuple[Floats, Floats]


def dense_direction(pairs: list[Pair], gradient: Floats) -> Floats:
    """-H g with H built pair by pair, oldest first, from the multiple of 1 that fits the newest."""
    n = len(gradient)
    H = np.eye(n)
    if pairs:
        s, y = pairs[-1]
        H *= (s @ y) / (y @ y)
    for s, y in pairs:
        r = 1.0 / (s @ y)
        left = np.eye(n) - r * np.outer(s, y)
        H = left @ H @ left.T + r * np.outer(s, s)
    return -H @ gradient


def curved_pair(rng: np.random.Generator, n: int) -> Pair:
    s = rng.normal(size=n)
    return short(s), short(s * rng.uniform(0.5, 4.0, size=n) + 0.1 * rng.normal(size=n))


def short(x: Floats) -> Floats:
    """What is left of x in 32 bits, as pairs are kept."""
    return x.astype(np.float32).astype(np.float64)


def push(history: History, pair: Pair) -> None:
    s, y = pair
    zero = np.zeros(len(s))
    history.add((zero, zero), (s, y))


def ask(history: History, gradient: Floats) -> Floats:
    out = np.full(len(gradient), np.nan)
    history.direction(gradient, out)
    return out


def test_without_memory_it_is_steepest_descent() -> None:
    gradient = np.array([1.0, -2.0, 0.5])
    same(ask(History(3, 3, 1), gradient), -gradient, rel=0, abs=0)


@pytest.mark.parametrize("memory", [1, 2, 3, 6, 10])
@pytest.mark.parametrize("n", [1, 2, 12, 33])
def test_dense_matrix(memory: int, n: int) -> None:
    """Far more pairs than slots, so that the ring wraps several times."""
    rng = np.random.default_rng(memory)
    history, pairs = History(memory, n, 1), []
    for _ in range(3 * memory + 2):
        pairs.append(curved_pair(rng, n))
        pairs = [pair for pair in pairs if pair[0] @ pair[1] > 0][-memory:]
        push(history, pairs[-1])
        gradient = rng.normal(size=n)
        expected = dense_direction(pairs, gradient)
        scale = float(np.abs(expected).max())
        same(ask(history, gradient), expected, rel=1e-9, abs=1e-9 * scale)
        assert len(history.order) == len(pairs)


@pytest.mark.parametrize("seed", range(6))
def test_pairs_without_curvature_are_dropped(seed: int) -> None:
    """A newest pair with s.y <= 0 leaves, and the evicted oldest does not come back."""
    rng = np.random.default_rng(seed)
    memory, n = 4, 9
    history = History(memory, n, 1)
    kept: list[Pair] = []
    dropped = 0
    for _ in range(25):
        s, y = curved_pair(rng, n)
        bad = rng.random() < 0.35
        pair = (s, -y if s @ y > 0 else y) if bad else (s, y if s @ y > 0 else -y)
        push(history, pair)
        kept = kept[-memory + 1 :] if len(kept) == memory else kept
        if not bad:
            kept = [*kept, pair]
        dropped += bad
        gradient = rng.normal(size=n)
        expected = dense_direction(kept, gradient)
        scale = float(np.abs(expected).max())
        same(ask(history, gradient), expected, rel=1e-9, abs=1e-9 * scale)
    assert dropped > 3


def test_a_pair_of_nothing_is_dropped() -> None:
    history = History(2, 3, 1)
    push(history, (np.zeros(3), np.zeros(3)))
    gradient = np.array([3.0, 0.0, -1.0])
    same(ask(history, gradient), -gradient, rel=0, abs=0)
    assert history.order == []


def test_clear_forgets() -> None:
    rng = np.random.default_rng(1)
    history = History(3, 5, 1)
    push(history, curved_pair(rng, 5))
    ask(history, np.ones(5))
    history.clear()
    same(ask(history, np.ones(5)), -np.ones(5), rel=0, abs=0)
    pair = curved_pair(rng, 5)
    push(history, pair)
    same(ask(history, np.ones(5)), dense_direction([pair], np.ones(5)), rel=1e-9)


@pytest.mark.parametrize("pushed", [0, 1, 2, 4, 7])
def test_a_restored_history_goes_on_bit_for_bit(pushed: int) -> None:
    rng = np.random.default_rng(pushed)
    first = History(4, 8, 1)
    for _ in range(pushed):
        push(first, curved_pair(rng, 8))
        ask(first, rng.normal(size=8))
    second = History(4, 8, 1)
    second.restore({name: array.copy() for name, array in first.state().items()})
    for _ in range(6):
        pair, gradient = curved_pair(rng, 8), rng.normal(size=8)
        push(first, pair)
        push(second, pair)
        assert ask(first, gradient).tobytes() == ask(second, gradient).tobytes()


def test_long_vectors_in_threads_are_bit_identical() -> None:
    """Long enough for other threads to take part; the dense matrix is replaced by two loops."""
    rng = np.random.default_rng(0)
    n = 1_500_000
    pairs = [curved_pair(rng, n) for _ in range(3)]
    gradient = rng.normal(size=n)
    found = []
    for n_jobs in (1, 2, 3, 7):
        history = History(2, n, n_jobs)
        for pair in pairs:
            push(history, pair)
            out = ask(history, gradient)
        found.append(out.tobytes())
    assert len(set(found)) == 1
    same(out, two_loops(pairs[-2:], gradient), rel=1e-9, abs=1e-9)


def two_loops(pairs: list[Pair], gradient: Floats) -> Floats:
    q, steps = gradient.copy(), []
    for s, y in reversed(pairs):
        a = (s @ q) / (s @ y)
        steps.append(a)
        q -= a * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), a in zip(pairs, reversed(steps)):
        q += (a - (y @ q) / (s @ y)) * s
    return -q


def test_pairs_are_differences() -> None:
    rng = np.random.default_rng(0)
    w, g, w_new, g_new = rng.normal(size=(4, 7))
    history = History(2, 7, 1)
    history.add((w, g), (w_new, g_new))
    same(history.s[history.order[-1]], short(w_new - w), rel=0, abs=0)
    same(history.y[history.order[-1]], short(g_new - g), rel=0, abs=0)


@pytest.mark.parametrize("pushed", [0, 1, 3])
@pytest.mark.parametrize("n", [1, 31, 5000])
def test_slope_and_first_trial(pushed: int, n: int) -> None:
    rng = np.random.default_rng(n)
    history = History(3, n, 1)
    for _ in range(pushed):
        push(history, curved_pair(rng, n))
        ask(history, rng.normal(size=n))
    start, gradient = rng.normal(size=(2, n))
    out, trial = np.empty(n), np.empty(n)
    slope = history.direction(gradient, out, start, trial)
    assert slope == pytest.approx(float(gradient @ out), rel=1e-11)
    same(trial, start + out, rel=0, abs=0)
    same(out, ask(history, gradient), rel=0, abs=0)


@pytest.mark.parametrize("large", [1e39, 1e200])
def test_a_pair_beyond_32_bits_is_dropped(large: float) -> None:
    """It leaves the others as they were, also while its slot is free."""
    rng = np.random.default_rng(2)
    pairs = [curved_pair(rng, 6) for _ in range(2)]
    history = History(3, 6, 1)
    push(history, pairs[0])
    ask(history, np.ones(6))
    with np.errstate(over="ignore"):
        push(history, (np.full(6, large), np.full(6, large)))
    same(ask(history, np.ones(6)), dense_direction(pairs[:1], np.ones(6)), rel=1e-9)
    push(history, pairs[1])
    same(ask(history, np.ones(6)), dense_direction(pairs, np.ones(6)), rel=1e-9)


@pytest.mark.parametrize("n_pairs", [0, 1, 5])
def test_a_direction_is_repeated_after_its_place_was_used(n_pairs: int) -> None:
    """A step of 1 may be written over the direction, which comes back with the same bits."""
    rng = np.random.default_rng(n_pairs)
    history, (start, gradient) = History(3, 40, 1), rng.normal(size=(2, 40))
    for _ in range(n_pairs):
        push(history, curved_pair(rng, 40))
        ask(history, gradient)
    direction, trial, again = np.empty(40), np.empty(40), np.empty(40)
    slope = history.direction(gradient, direction)
    assert history.direction(gradient, trial, start, trial) == slope
    assert np.array_equal(trial, start + direction)
    history.repeat(gradient, again)
    assert np.array_equal(again, direction)


@pytest.mark.parametrize("n", [1, 5, 4096, 5000, 150_000])
def test_vector_work(n: int) -> None:
    """Each operation of the optimisers against NumPy, alone and in threads."""
    rng = np.random.default_rng(n)
    w, g, d = (rng.normal(size=n) for _ in range(3))
    w[rng.random(n) < 0.4] = 0.0
    above, below = rng.uniform(0, 1, size=n), rng.uniform(0, 1, size=n)
    right, left = g + above, g - below
    at_zero = np.where(right < 0, right, np.where(left > 0, left, 0.0))
    pseudo = np.where(w > 0, right, np.where(w < 0, left, at_zero))
    for n_jobs in (1, 3):
        assert _core.dot(w, g, n_jobs) == pytest.approx(float(w @ g), rel=1e-11, abs=1e-11)
        expected = float(above @ np.maximum(w, 0) + below @ np.maximum(-w, 0))
        assert _core.l1_norm(w, above, below, n_jobs) == pytest.approx(expected, rel=1e-12)
        out = np.empty(n)
        _core.pseudo_gradient(w, g, above, below, out, n_jobs)
        same(out, pseudo, rel=0, abs=0)
        aligned = d.copy()
        _core.align(None, pseudo, aligned, n_jobs)
        same(aligned, np.where(d * pseudo < 0, d, 0.0), rel=0, abs=0)
        aligned = d.copy()
        _core.align(w, pseudo, aligned, n_jobs)
        same(aligned, np.where((w != 0) | (d * pseudo < 0), d, 0.0), rel=0, abs=0)
        _core.orthant_step(w, pseudo, 0.3, aligned, out, n_jobs)
        side = np.where(w != 0, np.sign(w), -np.sign(pseudo))
        to = w + 0.3 * aligned
        same(out, np.where(np.sign(to) == side, to, 0.0), rel=1e-15, abs=0)
        along = _core.change_along(g, w, d, n_jobs)
        assert along == pytest.approx(float(g @ (w - d)), rel=1e-11, abs=1e-11)
        rounded = np.empty(n, np.float32)
        _core.difference(w, g, rounded, n_jobs)
        same(rounded, short(w - g), rel=0, abs=0)
        gradient = g.copy()
        value = _core.gaussian(w, d, above, gradient, n_jobs)
        assert value == pytest.approx(float((above * (w - d) ** 2).sum() / 2), rel=1e-12)
        same(gradient, g + above * (w - d), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("n", [1, 7, 33, 5000, 150_000])
def test_elements_that_count_several_times(n: int) -> None:
    """An element with members is that many equal elements."""
    rng = np.random.default_rng(n)
    members = (
        rng.integers(1, 256, size=n, dtype=np.uint8)
        if n < 1000
        else rng.integers(1, 4, size=n, dtype=np.uint8)
    )
    g, w, old = (rng.normal(size=n) for _ in range(3))
    few, all_ = History(3, n, 2, members), History(3, int(members.sum()), 2)
    repeated = [np.repeat(x, members) for x in (g, w, old)]
    assert _core.dot(g, w, 2, members) == pytest.approx(
        float(repeated[0] @ repeated[1]), rel=1e-10, abs=1e-10
    )
    along = float(repeated[0] @ (repeated[1] - repeated[2]))
    assert _core.change_along(g, w, old, 2, members) == pytest.approx(along, rel=1e-10, abs=1e-9)
    for _ in range(2):
        s, y = curved_pair(rng, n)
        push(few, (s, y))
        push(all_, (np.repeat(s, members), np.repeat(y, members)))
        out, expected = np.empty(n), np.empty(len(repeated[0]))
        slope = few.direction(g, out)
        assert slope == pytest.approx(all_.direction(repeated[0], expected), rel=1e-9)
        same(np.repeat(out, members), expected, rel=1e-8, abs=1e-9)


GROUPS = [slice(0, 5), slice(5, 6), slice(6, 14)]


def test_groups_have_the_directions_of_their_own_memories() -> None:
    rng = np.random.default_rng(3)
    history, sizes = BlockHistory(3, GROUPS, 1), 10.0 ** np.repeat([0, 3, -3], [5, 1, 8])
    kept: list[Pair] = []
    for _ in range(5):
        s, y = (np.concatenate(parts) for parts in zip(*(curved_pair(rng, g.stop - g.start) for g in GROUPS)))
        kept.append((s, short(y * sizes)))
        push(history, kept[-1])
        gradient = rng.normal(size=14)
        parts = [dense_direction([(s[g], y[g]) for s, y in kept[-3:]], gradient[g]) for g in GROUPS]
        whole = np.concatenate(parts)
        same(ask(history, gradient), whole, rel=1e-9)
        start, trial = rng.normal(size=14), np.empty(14)
        slope = history.direction(gradient, trial, start, trial)
        same(slope, gradient @ whole, rel=1e-9)
        same(trial, start + whole, rel=1e-9)
        history.repeat(gradient, trial)
        same(trial, whole, rel=1e-9)
        other = BlockHistory(3, GROUPS, 1)
        other.restore(history.state())
        assert ask(other, gradient).tobytes() == ask(history, gradient).tobytes()
        assert other.order == history.order


def test_a_group_without_curvature_makes_all_forget() -> None:
    history, step = BlockHistory(3, GROUPS, 1), np.ones(14)
    push(history, (step, np.where(np.arange(14) == 5, -1.0, 1.0)))
    gradient = np.arange(14.0)
    same(ask(history, gradient), -gradient, rel=0, abs=0)
    assert history.order == []
    push(history, (step, 2 * step))
    same(ask(history, gradient), -gradient / 2, rel=1e-12)

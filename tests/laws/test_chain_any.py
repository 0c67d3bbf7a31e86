"""Chains that nobody would think of: whatever potentials hypothesis invents."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldcraft.structures import chain
from laws.cases import (
    Batch,
    enumerate_all,
    offsets_of,
    same,
)

score = st.one_of(
    st.floats(-20, 20), st.floats(-3000, 3000), st.sampled_from([0.0, -700.0, 745.0, -math.inf])
)


@st.composite
def small_batches(pick: st.DrawFn) -> Batch:
    """One or two sequences over a few states, with mild, wild and forbidden scores mixed."""
    n = pick(st.integers(2, 3))
    lengths = pick(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    keep = np.array(pick(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n)
    keep[0, 0] = True
    sources, targets = (ends.astype(np.int32) for ends in np.nonzero(keep))
    offsets = offsets_of(lengths)
    cells = int(offsets[-1]) * (n + len(sources))
    values = np.array(pick(st.lists(score, min_size=cells, max_size=cells)))
    node, edge = np.split(values, [int(offsets[-1]) * n])
    every = np.ones(n, dtype=bool)
    rows = int(offsets[-1])
    return Batch(node.reshape(rows, n), edge.reshape(rows, -1), offsets, sources, targets, every, every)


@given(small_batches())
@settings(max_examples=150)
def test_any_potentials(batch: Batch) -> None:
    node, edge = batch.node.copy(), batch.edge.copy()
    home = int(np.nonzero((batch.sources == 0) & (batch.targets == 0))[0][0])
    node[:, 0] = np.where(np.isneginf(node[:, 0]), -5000.0, node[:, 0])
    edge[:, home] = np.where(np.isneginf(edge[:, home]), -5000.0, edge[:, home])
    batch = replace(batch, node=node, edge=edge)
    answers = enumerate_all(batch)
    for numerics in ("auto", "log"):
        found = chain.marginals(*batch.inputs, numerics=numerics)
        same(found.log_partition, answers.log_partition)
        same(found.node, answers.node, abs=1e-10)
        same(found.edge, answers.edge, abs=1e-10)
    same(chain.argmax(*batch.inputs)[1], [best[0][1] for best in answers.best])

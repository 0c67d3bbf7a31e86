"""State spaces: plain labels, and spaces given transition by transition."""

from __future__ import annotations

import numpy as np

from fieldcraft.structures.states import StateSpace


def test_plain_labels_allow_everything() -> None:
    space = StateSpace.labels(["O", "B-PER", "I-PER"])
    assert space.n_states == 3
    assert list(zip(space.sources.tolist(), space.targets.tolist())) == [
        (a, b) for a in range(3) for b in range(3)
    ]
    assert space.starts.all()
    assert space.stops.all()
    assert space.label_of.tolist() == [0, 1, 2]


def test_arrays_have_the_types_of_the_core() -> None:
    space = StateSpace.labels(["a", "b"])
    types = {name: getattr(space, name).dtype.name for name in ("sources", "targets", "label_of")}
    assert types == dict.fromkeys(("sources", "targets", "label_of"), "int32")
    assert (space.starts.dtype, space.stops.dtype) == (bool, bool)


def test_one_label() -> None:
    space = StateSpace.labels(["only"])
    assert (space.n_states, space.sources.tolist(), space.targets.tolist()) == (1, [0], [0])


def test_a_space_keeps_what_it_is_given() -> None:
    sources, targets = np.array([0, 0, 2], dtype=np.int32), np.array([1, 2, 0], dtype=np.int32)
    starts, stops = np.array([True, False, False]), np.array([False, True, True])
    label_of = np.array([0, 1, 1], dtype=np.int32)
    space = StateSpace(3, sources, targets, starts, stops, label_of)
    assert space.n_states == 3
    for name, given in (("sources", sources), ("targets", targets), ("starts", starts)):
        assert np.array_equal(getattr(space, name), given)
    assert np.array_equal(space.stops, stops)
    assert np.array_equal(space.label_of, label_of)

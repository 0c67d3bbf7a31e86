"""A voted model: it predicts what its voters elect, and so do its copies in files and pickles."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.structures.votes import elect
from unit.training.corpora import draw


@pytest.fixture(scope="module")
def data() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(2)
    return draw(rng, 4, rng.integers(0, 9, size=60), n_names=15)


@pytest.fixture(scope="module")
def voted(data: Any) -> fc.ChainCRF:
    return fc.ChainCRF(prior=None, optimiser=fc.VotedPerceptron(max_voters=7, max_iterations=3)).fit(*data)


def test_voters_decide(data: Any, voted: fc.ChainCRF) -> None:
    """Each voter's prediction is that of a plain model with its weights."""
    assert voted.voters_ is not None
    assert 1 < len(voted.voters_.votes) <= 7
    offsets = np.cumsum([0, *map(len, data[0])])
    ballots = []
    for placed in voted.voters_.placed:
        single = fc.ChainCRF(prior=None)
        known = voted._parameters
        single._settle(
            type(known)(voted.encoder_, known.packed, placed, known.structure), voted.classes_.tolist()
        )
        ballots.append(single.scored(data[0]).label_numbers())
    elected = elect(np.stack(ballots), voted.voters_.votes, offsets)
    assert [y for labels in voted.predict(data[0]) for y in labels] == voted.classes_[elected].tolist()


def test_weights_are_the_averaged_perceptrons(data: Any, voted: fc.ChainCRF) -> None:
    mean = fc.ChainCRF(prior=None, optimiser=fc.AveragedPerceptron(max_iterations=3)).fit(*data)
    np.testing.assert_allclose(voted.weights_, mean.weights_, rtol=1e-12, atol=1e-12)
    assert mean.voters_ is None


def test_files_and_pickles(data: Any, voted: fc.ChainCRF, tmp_path: Path) -> None:
    voted.save(tmp_path / "voted.fc")
    for twin in (fc.load(tmp_path / "voted.fc"), pickle.loads(pickle.dumps(voted))):
        assert twin.voters_.votes.tolist() == voted.voters_.votes.tolist()  # type: ignore[union-attr]
        assert twin.predict(data[0]).tolist() == voted.predict(data[0]).tolist()


def test_voters_outlive_a_mean_of_zero(data: Any, voted: fc.ChainCRF, tmp_path: Path) -> None:
    """Files leave out weights of zero, but not where a voter has another; what is dropped changes nothing."""
    placed, packed = voted.voters_.placed, voted._parameters.packed  # type: ignore[union-attr]
    names, encoder = voted.classes_.tolist(), voted.encoder_
    none = type(voted._parameters)(encoder, packed, np.zeros_like(placed[0]), voted._parameters.structure)
    odd = copy.deepcopy(voted)
    odd._settle(none, names, voted.voters_)
    expected = voted.predict(data[0]).tolist()
    assert odd.predict(data[0]).tolist() == expected
    for options in ({}, {"compact": True}, {"float32": True}, {"zeros": True}):
        odd.save(tmp_path / "odd.fc", **options)
        loaded = fc.load(tmp_path / "odd.fc")
        assert loaded.predict(data[0]).tolist() == expected, options
        np.testing.assert_array_equal(loaded.voters_.placed, placed)
        loaded.save(tmp_path / "again.fc")
        assert fc.load(tmp_path / "again.fc").predict(data[0]).tolist() == expected


def test_ties_go_to_the_last_voter() -> None:
    ballots = np.array([[0, 1, 2], [1, 1, 2], [0, 2, 2]], np.int32)
    votes, offsets = np.array([2.0, 1.0, 2.0]), np.array([0, 2, 2, 3])
    assert elect(ballots, votes, offsets).tolist() == [0, 2, 2]

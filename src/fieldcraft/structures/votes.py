"""Votes: the labelling that most of several labellings of a sequence agree on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def elect(
    labellings: NDArray[np.int32], votes: NDArray[np.float64], offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Per sequence the labelling with most votes; of equal ones that of the last voter.

    Parameters
    ----------
    labellings : [V, tokens] states, a row per voter
    votes : [V] what each voter's labelling counts
    offsets : [N + 1] where sequences begin

    >>> two = np.array([[0, 1], [0, 2], [0, 1]], np.int32)
    >>> elect(two, np.array([1.0, 3.0, 1.0]), np.array([0, 2])).tolist()
    [0, 2]
    """
    chosen = np.empty(labellings.shape[1], np.int32)
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        ballots = [row.tobytes() for row in labellings[:, first:last]]
        tally: dict[bytes, float] = {}
        for ballot, count in zip(ballots, votes.tolist()):
            tally[ballot] = tally.get(ballot, 0.0) + count
        winner = max(range(len(ballots)), key=lambda voter: (tally[ballots[voter]], voter))
        chosen[first:last] = labellings[winner, first:last]
    return chosen

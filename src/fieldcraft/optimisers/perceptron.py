"""The structured perceptron (Collins 2002): w <- w + counts(gold) - counts(best) after each mistake.

plain      the last weights
averaged   the mean of the weights after every sequence, kept lazily
pass       weights stay as they are for a pass; then the mean of its updates is made at once (what some
           call voted). The mean of the weights after every pass is what is kept
voted      every weight vector votes as often as sequences it lived for (Freund & Schapire 1999);
           of the voters only the longest-lived are kept
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.optimisers.run import Floats, Run, State
from fieldcraft.optimisers.sgd import descent
from fieldcraft.optimisers.stochastic import AVERAGES, MistakeDriven, MistakeRun, mask_of
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class Perceptron(MistakeDriven):
    """Settings of the plain perceptron; see MistakeDriven.

    >>> Perceptron(max_iterations=5).max_iterations
    5
    """

    name = "perceptron"

    def make(self, problem: Passes, rate: float) -> Any:
        return descent(problem, AVERAGES[None], rate, 0.0)


UPDATES = {"sequence": False, "pass": True}  # does an update wait for the end of a pass


@dataclass(frozen=True)
class AveragedPerceptron(MistakeDriven):
    """Settings of the averaged perceptron; see MistakeDriven.

    Parameters
    ----------
    update : "sequence" updates after every mistake; "pass" makes the mean of a pass's updates at its end,
        which takes many more passes

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> crf = ChainCRF(optimiser="averaged_perceptron")
    >>> crf = crf.fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
    >>> crf.predict([[["w=b"], ["w=a"]]]).tolist()
    [['Y', 'X']]
    """

    update: str = "sequence"

    name = "averaged_perceptron"

    def check(self) -> None:
        super().check()
        self.one_of("update", UPDATES)

    def make(self, problem: Passes, rate: float) -> Any:
        return descent(problem, AVERAGES["uniform"], rate, 0.0, hold=UPDATES[self.update])


@dataclass(frozen=True)
class VotedPerceptron(MistakeDriven):
    """Settings of the voted perceptron; see MistakeDriven.

    The weights of the model are the votes' mean, as the averaged perceptron's; the voters are beside them.

    Parameters
    ----------
    max_voters : weight vectors to keep, each as large as the model
    """

    max_voters: int = 32

    name = "voted_perceptron"

    def check(self) -> None:
        super().check()
        if not isinstance(self.max_voters, (int, np.integer)) or self.max_voters < 1:
            raise InputError(f"VotedPerceptron: max_voters is {self.max_voters!r}; keep at least 1")

    def start(self, problem: Any, weights: Floats) -> Run:
        return VotedRun(self, problem, weights)

    def make(self, problem: Passes, rate: float) -> Any:
        del rate
        return _core.voted_perceptron(problem.passes(), mask_of(problem), self.max_voters)


class VotedRun(MistakeRun):
    """The voted perceptron under way."""

    def voters(self) -> tuple[Floats, Floats]:
        """Votes [V] and weights [V, F] of those who vote, in the order of their birth."""
        votes, _, weights = self.native.voters()
        alive = votes > 0
        return votes[alive], weights[alive]

    def extras(self) -> dict[str, Floats]:
        """What a model keeps beside its weights."""
        votes, weights = self.voters()
        return {"votes": votes, "voters": weights}

    def state(self) -> State:
        votes, born, weights = self.native.kept()
        return {**super().state(), "kept_votes": votes, "kept_born": born, "kept_weights": weights}

    def restore(self, state: State) -> None:
        super().restore(state)
        kept = (np.ascontiguousarray(state[f"kept_{part}"]) for part in ("votes", "born", "weights"))
        self.native.keep(*kept)

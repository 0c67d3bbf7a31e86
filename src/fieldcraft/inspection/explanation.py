"""Explanations of labels: the votes between the predicted label of a token and another one.

The parts add up: ``difference`` of a token is the score of the predicted labelling minus that of the
labelling with the other label at this token, and it is the sum of the votes (shown and not shown), of the
step in and of the step out. See votes.py for the equation.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.inspection.explanation_sections import explanation_sections
from fieldcraft.inspection.observations import Observations
from fieldcraft.inspection.overview import check_top
from fieldcraft.inspection.report import Card, Report, Section
from fieldcraft.inspection.votes import PAIR, Ballot, Contrast, Votes
from fieldcraft.inspection.weights import Floats, Rows, WeightTable


class Vote(NamedTuple):
    """The vote of one feature: value * (weight for the label - weight for the other label).

    A weight is None if the model has no such feature. ``attribute`` and ``template`` are None for the label
    pair itself.
    """

    attribute: str | None
    template: str | None
    value: float
    weight: float | None
    other: float | None
    vote: float


class Tally(NamedTuple):
    """The strongest votes, and how many more there are with which sum."""

    votes: tuple[Vote, ...]
    n_more: int
    more: float
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Pure JSON types."""
        return {**self._asdict(), "votes": [v._asdict() for v in self.votes]}


class Step(NamedTuple):
    """The step from or to the neighbour's predicted label: its score with the label and with the other."""

    neighbour: str
    score: float
    other: float
    tally: Tally

    def to_dict(self) -> dict[str, Any]:
        """Pure JSON types."""
        return {**self._asdict(), "tally": self.tally.to_dict()}


@dataclass(frozen=True)
class TokenExplanation:
    """Explanation of the label of one token.

    position, word      of the token (None without a word)
    label, probability  the predicted label and its marginal probability
    other, other_probability    the label it is compared with; None if the model has one label only
    difference          score of the label minus that of the other, all else equal
    features            votes of the features with this label alone
    step_in, step_out   votes of the transitions; None at the ends
    unknown             attributes not seen in training
    """

    position: int
    word: str | None
    label: str
    probability: float
    other: str | None
    other_probability: float | None
    difference: float
    features: Tally
    step_in: Step | None
    step_out: Step | None
    unknown: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Pure JSON types."""
        steps = {
            name: None if step is None else step.to_dict()
            for name, step in (("step_in", self.step_in), ("step_out", self.step_out))
        }
        return {**vars(self), "features": self.features.to_dict(), **steps, "unknown": list(self.unknown)}


@dataclass(frozen=True, repr=False)
class Explanation(Report):
    """Explanation of a sequence or of one token: ``labels`` of all tokens, ``tokens`` explained."""

    labels: list[str]
    tokens: tuple[TokenExplanation, ...]

    def __repr__(self) -> str:
        return f"<Explanation of {len(self.tokens)} of {len(self.labels)} tokens>"

    def title(self) -> str:
        """The title, one line."""
        if len(self.tokens) == 1:
            return f"Token {self.tokens[0].position} of {len(self.labels)}"
        return f"{len(self.tokens)} tokens"

    def sections(self) -> list[Section]:
        """The sections with their tables."""
        return explanation_sections(self)

    def cards(self) -> list[Card]:
        """A card for each token that is explained."""
        return [
            Card(
                str(token.position) if token.word is None else token.word,
                token.label,
                token.probability,
                "" if token.other is None else f"or {token.other} {token.other_probability:.2f}",
            )
            for token in self.tokens
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything as pure JSON types."""
        return {"labels": list(self.labels), "tokens": [token.to_dict() for token in self.tokens]}


class Prediction(NamedTuple):
    """The prediction for one sequence."""

    encoded: Encoded
    states: NDArray[np.int32]  # [T]
    marginals: Floats  # [T, Y]


def explain_sequence(
    table: WeightTable,
    X: Any,
    prediction: Prediction,
    *,
    token: int | None = None,
    label: str | None = None,
    top: int = 10,
) -> Explanation:
    """The `Explanation` of the only sequence of ``X``; see ``ChainCRF.explain``."""
    check_top(top)
    if not table.states_are_labels:
        raise InputError("explanations need a model whose states are its labels; inspect() works with any")
    tokens = _tokens(token, len(prediction.states))
    contrast = _contrast(prediction, tokens, None if label is None else table.label_number(label))
    seen = Observations(table, X, prediction.encoded)
    labels = [table.labels[y] for y in prediction.states.tolist()]
    return Explanation(labels, tuple(_explained(seen, prediction, contrast, top)))


def _tokens(token: Any, length: int) -> Rows:
    if token is None:
        return np.arange(length)
    try:
        number = operator.index(token)
    except TypeError:
        raise InputError(f"token is {token!r}; it must be a position, an integer") from None
    if not 0 <= number < length:
        raise InputError(f"token is {number}; the sequence has {length} tokens, numbered from 0")
    return np.array([number])


def _contrast(prediction: Prediction, tokens: Rows, label: int | None) -> Contrast:
    """The predicted labels and ``label``; or the runner-up if it is None or predicted."""
    states = prediction.states
    around = np.concatenate([[-1], states, [-1]]).astype(np.int32)  # labels before and after any token
    mine = states[tokens]
    rivals = prediction.marginals[tokens].copy()
    rivals[np.arange(len(tokens)), mine] = -1.0
    other = (
        rivals.argmax(axis=1).astype(np.int32) if rivals.shape[1] > 1 else np.full(len(tokens), -1, np.int32)
    )
    if label is not None:
        other = np.where(mine == label, other, np.int32(label))
    return Contrast(tokens, mine, other, around[tokens], around[tokens + 2])


def _explained(
    seen: Observations, prediction: Prediction, contrast: Contrast, top: int
) -> Iterator[TokenExplanation]:
    ballot, words, labels = Ballot(seen, contrast), seen.words(), seen.table.labels
    counted = zip(
        _tallies(seen, ballot.node(), top),
        _steps(seen, ballot.step_in(), contrast.previous, top),
        _steps(seen, ballot.step_out(), contrast.following, top),
        seen.unknown(contrast.tokens),
    )
    for i, (features, step_in, step_out, unknown) in enumerate(counted):
        t, y, z = (int(column[i]) for column in contrast[:3])
        yield TokenExplanation(
            position=t,
            word=words[t],
            label=labels[y],
            probability=float(prediction.marginals[t, y]),
            other=None if z < 0 else labels[z],
            other_probability=None if z < 0 else float(prediction.marginals[t, z]),
            difference=features.total + sum(step.tally.total for step in (step_in, step_out) if step),
            features=features,
            step_in=step_in,
            step_out=step_out,
            unknown=unknown,
        )


def _tallies(seen: Observations, votes: Votes, top: int) -> list[Tally]:
    """The strongest votes of each token; texts are computed for these only."""
    starts, ends = votes.bounds[:-1], votes.bounds[1:]
    rank = np.arange(len(votes.vote)) - np.repeat(starts, ends - starts)
    shown = np.flatnonzero(rank < top)
    listed = iter(_named(seen, votes, shown))
    out = []
    for a, b in zip(starts.tolist(), ends.tolist()):
        cut = min(a + top, b)
        more = float(votes.vote[cut:b].sum())
        first = tuple(next(listed) for _ in range(a, cut))
        out.append(Tally(first, b - cut, more, float(votes.vote[a:cut].sum()) + more))
    return out


def _named(seen: Observations, votes: Votes, shown: Rows) -> Iterator[Vote]:
    places = votes.position[shown]
    names = iter(seen.names(places[places != PAIR]))
    numbers = (column[shown].tolist() for column in (votes.value, votes.weight, votes.other, votes.vote))
    for place, value, weight, other, vote in zip(places.tolist(), *numbers):
        text, template = (None, None) if place == PAIR else next(names)
        yield Vote(text, template, value, _known(weight), _known(other), vote)


def _known(weight: float) -> float | None:
    return None if weight != weight else weight


def _steps(seen: Observations, votes: Votes, neighbours: NDArray[np.int32], top: int) -> list[Step | None]:
    """The step from or to the neighbour of each token, None without one."""
    labels = seen.table.labels
    mine = votes.value * np.nan_to_num(votes.weight)
    others = votes.value * np.nan_to_num(votes.other)
    spans = zip(votes.bounds[:-1].tolist(), votes.bounds[1:].tolist())
    return [
        Step(labels[x], float(mine[a:b].sum()), float(others[a:b].sum()), tally) if x >= 0 else None
        for x, (a, b), tally in zip(neighbours.tolist(), spans, _tallies(seen, votes, top))
    ]

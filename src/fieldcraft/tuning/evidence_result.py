"""What empirical Bayes found: a line per round, and the last model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fieldcraft.evaluation.reports import aligned

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF


@dataclass(frozen=True)
class Round:
    """One training and what was measured at its end.

    Parameters
    ----------
    variances : [K] it was trained with, in the order of the groups
    determined : [K] gamma: how many weights of each group the data determine
    value : the objective, prior included
    score : on held-out data, where there is some
    iterations, seconds : of the round
    """

    variances: tuple[float, ...]
    determined: tuple[float, ...]
    value: float
    score: float | None
    iterations: int
    seconds: float

    def __str__(self) -> str:
        score = "" if self.score is None else f", score {100 * self.score:.2f}"
        return f"variance {_numbers(self.variances)}: {sum(self.determined):,.0f} weights determined{score}"


@dataclass(frozen=True)
class Evidence:
    """The rounds of a search by evidence.

    Parameters
    ----------
    rounds : in order
    model : the last one trained; its prior has the variances of the last round
    converged : did the variances settle
    interrupted : did Ctrl-C end it
    """

    rounds: tuple[Round, ...]
    model: ChainCRF | None
    converged: bool
    interrupted: bool = False

    @property
    def variance(self) -> float | tuple[float, ...] | None:
        """Of the last round: a number, or one per group."""
        if not self.rounds:
            return None
        found = self.rounds[-1].variances
        return found[0] if len(found) == 1 else found

    def __str__(self) -> str:
        scored = any(r.score is not None for r in self.rounds)
        head = ["variance", "determined", "value", *(["score"] if scored else []), "iterations", "seconds"]
        ended = "settled" if self.converged else "interrupted" if self.interrupted else "out of rounds"
        return "\n".join([aligned([head, *(_cells(r) for r in self.rounds)], cut=False), "", ended])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain values, ready for JSON."""
        facts = {name: value for name, value in vars(self).items() if name != "model"}
        return {**facts, "rounds": [asdict(r) for r in self.rounds]}


def _numbers(numbers: tuple[float, ...]) -> str:
    return " ".join(f"{number:.4g}" for number in numbers)


def _cells(r: Round) -> list[str]:
    score = [] if r.score is None else [f"{100 * r.score:.2f}"]
    determined = " ".join(f"{number:,.0f}" for number in r.determined)
    return [
        _numbers(r.variances),
        determined,
        f"{r.value:.2f}",
        *score,
        str(r.iterations),
        f"{r.seconds:.1f}",
    ]

"""The result of empirical Bayes: a line per round, and the last model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fieldcraft.evaluation.reports import aligned

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF


@dataclass(frozen=True)
class Round:
    """One training and the measurements after it.

    Parameters
    ----------
    variances : [K] it was trained with, in the order of the groups
    determined : [K] gamma: how many weights of each group the data determine
    value : the objective, prior included
    score : on held-out data, None without
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
    converged : whether the variances settled
    interrupted : whether Ctrl-C stopped it
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
        variances = self.rounds[-1].variances
        return variances[0] if len(variances) == 1 else variances

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

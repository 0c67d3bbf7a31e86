"""Which optimiser minimises which objective under which penalty: one table, and choices made by it.

A row says what an optimiser can do. ``resolve`` turns what users pass (names, objects, None, "auto") into an
objective and an optimiser that fit, or refuses the pair with the row. The docs' table is made from this
one (``markdown``), and so is the choice of "auto": the first row marked for it that suits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.objectives import resolve_objective
from fieldcraft.optimisers.adagrad import Adagrad
from fieldcraft.optimisers.arow import AROW
from fieldcraft.optimisers.bounded_lbfgs import BoundedLBFGS
from fieldcraft.optimisers.conjugate_gradient import ConjugateGradient
from fieldcraft.optimisers.cutting_plane import CuttingPlane
from fieldcraft.optimisers.dual_ascent import DualAscent
from fieldcraft.optimisers.em import EM
from fieldcraft.optimisers.exponentiated_gradient import ExponentiatedGradient
from fieldcraft.optimisers.frank_wolfe import FrankWolfe
from fieldcraft.optimisers.iterative_scaling import GIS, IIS
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.owlqn import OWLQN
from fieldcraft.optimisers.passive_aggressive import PassiveAggressive
from fieldcraft.optimisers.perceptron import AveragedPerceptron, Perceptron, VotedPerceptron
from fieldcraft.optimisers.run import Optimiser
from fieldcraft.optimisers.sag import SAG
from fieldcraft.optimisers.sgd import SGD
from fieldcraft.optimisers.smo import SMO
from fieldcraft.optimisers.subgradient import Subgradient
from fieldcraft.priors import Prior
from fieldcraft.spelling import suggestion

# objectives with a gradient everywhere; the first one is an optimiser's default
SMOOTH = (
    "likelihood",
    "pointwise",
    "exponential",
    "pointwise_exponential",
    "pseudo_likelihood",
    "softmax_margin",
    "marginal_likelihood",
    "piecewise",
    "piecewise_pseudo_likelihood",
)
SAMPLED = (*SMOOTH, "contrastive_divergence")  # and those whose gradients are drawn
# parts of a prior, and how they are called where they are refused
PENALTIES = {
    "quadratic": "a quadratic part",
    "smooth": "a smooth part that is not quadratic",
    "l1": "an absolute-value part",
    "bounds": "bounds",
}


class Size(NamedTuple):
    """How large a training is, and of which kind, for optimisers that are not meant for all.

    observed_pairs : do features of label pairs look at the input
    edge_entries : how often these occur in the corpus
    precision : of the weakest quadratic penalty on any weight; 0 where a weight has none
    fresh : does it begin without weights from before
    large_values : have some features values far above 1
    patient : may a held-out score end it
    dual : does the structure have a dual problem, as chains of plain labels have
    """

    sequences: int
    tokens: int
    features: int
    labels: int = 1
    observed_pairs: bool = False
    precision: float = 0.0
    fresh: bool = True
    large_values: bool = False
    patient: bool = False
    edge_entries: int = 0
    dual: bool = True


@dataclass(frozen=True)
class Row:
    """What one optimiser can do.

    Parameters
    ----------
    optimiser : its settings' class
    objectives : names of what it minimises; the first is its natural one
    penalties : parts of a prior that it can handle
    use : when to take it
    batch : does it look at the whole corpus before each step
    auto : may "auto" pick it
    non_negative : does it need features that are nowhere negative
    """

    optimiser: type[Any]
    objectives: tuple[str, ...]
    penalties: tuple[str, ...]
    use: str
    batch: bool = True
    auto: bool = False
    non_negative: bool = False

    @property
    def name(self) -> str:
        return str(self.optimiser.name)

    def fits(self, objective: str, penalties: set[str], size: Size | None) -> bool:
        """Can it do this, at this size."""
        small_enough = size is None or self.optimiser().fits(size)
        return objective in self.objectives and penalties <= set(self.penalties) and small_enough

    def suits(self, objective: str, penalties: set[str], size: Size | None) -> bool:
        """May "auto" pick it for this."""
        return self.auto and self.fits(objective, penalties, size) and bool(self.optimiser().suits(size))

    def text(self) -> str:
        """The row in one line."""
        penalties = ", ".join(self.penalties) or "none"
        columns = [f"objectives: {', '.join(self.objectives)}", f"penalties: {penalties}"]
        return f"{self.name}: " + "; ".join([*columns, *(["features >= 0"] if self.non_negative else [])])


TABLE: dict[str, Row] = {
    row.name: row
    for row in (
        Row(
            DualAscent,
            ("likelihood",),
            ("quadratic",),
            "large corpora, with an upper bound on the distance to the optimum",
            batch=False,
            auto=True,
        ),
        Row(LBFGS, SMOOTH, ("quadratic", "smooth"), "smooth penalties; quick and exact", auto=True),
        Row(
            OWLQN,
            SMOOTH,
            ("quadratic", "smooth", "l1"),
            "small models: penalties with absolute values",
            auto=True,
        ),
        Row(
            BoundedLBFGS,
            SMOOTH,
            ("quadratic", "smooth", "l1", "bounds"),
            "weights within bounds, e.g. none negative; absolute values by doubling the weights",
            auto=True,
        ),
        Row(
            ConjugateGradient,
            SMOOTH,
            ("quadratic", "smooth"),
            "when memory is short: five vectors instead of L-BFGS's fifteen",
        ),
        Row(
            GIS,
            ("likelihood",),
            ("quadratic",),
            "comparison with older work; slow",
            non_negative=True,
        ),
        Row(
            IIS,
            ("likelihood",),
            ("quadratic",),
            "the same; fewer, more expensive steps where sequences differ in length",
            non_negative=True,
        ),
        Row(
            SGD,
            SAMPLED,
            ("quadratic", "l1"),
            "large corpora: a good model after a few passes",
            batch=False,
            auto=True,
        ),
        Row(Adagrad, SAMPLED, ("quadratic", "l1"), "the same where some features are rare", batch=False),
        Row(SAG, SMOOTH, ("quadratic",), "stochastic steps to an exact end", batch=False),
        Row(Perceptron, ("perceptron",), (), "comparison; the averaged one is better", batch=False),
        Row(AveragedPerceptron, ("perceptron",), (), "a good model in seconds", batch=False, auto=True),
        Row(VotedPerceptron, ("perceptron",), (), "voters instead of their mean", batch=False),
        Row(PassiveAggressive, ("perceptron",), (), "a good model in seconds, with a margin", batch=False),
        Row(AROW, ("perceptron",), (), "noisy data, rare features", batch=False),
        Row(
            SMO,
            ("margin",),
            ("quadratic",),
            "the margin, with an upper bound on the distance to the optimum; the quickest to a small one",
            batch=False,
            auto=True,
        ),
        Row(
            Subgradient,
            ("margin", "softmax_margin", "perceptron", "viterbi"),
            ("quadratic", "l1"),
            "losses with kinks on any corpus",
            batch=False,
            auto=True,
        ),
        Row(FrankWolfe, ("margin",), ("quadratic",), "the same in closed-form steps", batch=False),
        Row(
            ExponentiatedGradient,
            ("margin", "likelihood"),
            ("quadratic",),
            "the same on the dual of either objective",
            batch=False,
        ),
        Row(CuttingPlane, ("margin",), ("quadratic",), "the margin on small corpora"),
        Row(
            EM,
            ("marginal_likelihood",),
            ("quadratic", "smooth", "l1"),
            "partial labels, by completing them in turn",
        ),
    )
}


class Refusal(NamedTuple):
    """Objectives that "auto" refuses with a penalty of these parts, and why."""

    objectives: tuple[str, ...]
    penalties: tuple[str, ...]
    reason: str


REFUSALS = (
    Refusal(
        ("perceptron", "viterbi"),
        tuple(PENALTIES),
        "weights of zero have no loss, so a penalty leads there; use prior=None, or objective='margin'",
    ),
    Refusal(
        ("margin",),
        ("smooth", "bounds"),
        "optimisers for losses with kinks handle quadratic and absolute-value penalties only; use another "
        "prior, or objective='softmax_margin'",
    ),
)


class Choice(NamedTuple):
    """What a training uses."""

    objective: Any
    optimiser: Any
    row: Row


def resolve(objective: Any, optimiser: Any, prior: Prior, size: Size | None = None) -> Choice:
    """Objective and optimiser from objects, names, None or "auto", checked against one another and the prior.

    ``objective=None`` is the optimiser's natural one. Without a size, what depends on it is not checked.
    """
    penalties = penalties_of(prior)
    if optimiser is None or (isinstance(optimiser, str) and optimiser == "auto"):
        chosen = resolve_objective(objective)
        row = _automatic(chosen.name, penalties, prior, size)
        return Choice(chosen, row.optimiser.automatic(size), row)
    row, settings = _named(optimiser)
    check_settings(settings)
    chosen = resolve_objective(row.objectives[0] if objective is None else objective)
    _check_pair(row, settings, chosen.name, penalties, prior, size)
    return Choice(chosen, settings, row)


def passed_over(choice: Choice, prior: Prior, size: Size) -> str:
    """Why "auto" did not take an optimiser that stands before its choice and could do it; empty without."""
    penalties = penalties_of(prior)
    for row in TABLE.values():
        if row is choice.row:
            break
        why = row.optimiser().objection(size) if row.auto else ""
        if why and row.fits(choice.objective.name, penalties, size):
            return f"{choice.row.name} instead of {row.name}: {why}"
    return ""


def handled_by(optimiser: Any, objective: Any = None) -> tuple[str, ...]:
    """The parts of a prior that an optimiser, or the one that "auto" will pick, can handle."""
    if optimiser is None or (isinstance(optimiser, str) and optimiser == "auto"):
        name = resolve_objective(objective).name
        refused = {part for r in REFUSALS if name in r.objectives for part in r.penalties}
        return tuple(part for part in PENALTIES if part not in refused)
    return _named(optimiser)[0].penalties


def penalties_of(prior: Prior) -> set[str]:
    """The parts that a prior has."""
    return prior.parts()


def _automatic(objective: str, penalties: set[str], prior: Prior, size: Size | None) -> Row:
    for refusal in REFUSALS:
        if objective in refusal.objectives and penalties & set(refusal.penalties):
            raise InputError(f"{objective} with {type(prior).__name__}: {refusal.reason}")
    for row in TABLE.values():
        if row.suits(objective, penalties, size):
            return row
    raise InputError(
        f"no optimiser that 'auto' may pick minimises {objective} with {type(prior).__name__}; "
        f"{_remedy(objective, penalties)}"
    )


def _named(given: Any) -> tuple[Row, Any]:
    if isinstance(given, str) and given in TABLE:
        return TABLE[given], TABLE[given].optimiser()
    for row in TABLE.values():
        if type(given) is row.optimiser:
            return row, given
    names = f"{', '.join(TABLE)}{suggestion(given, TABLE)}"
    raise InputError(f"optimiser={given!r}; give 'auto', an optimiser object or one of {names}")


def _check_pair(
    row: Row, settings: Any, objective: str, penalties: set[str], prior: Prior, size: Size | None
) -> None:
    for part in sorted(penalties - set(row.penalties)):
        raise InputError(
            f"{type(prior).__name__} has {PENALTIES[part]}, which {row.name} cannot minimise "
            f"({row.text()}); {_remedy(objective, penalties)}, or leave prior at 'auto'"
        )
    if objective not in row.objectives:
        raise InputError(
            f"{row.name} does not minimise {objective} ({row.text()}); {_remedy(objective, penalties)}"
        )
    if size is not None and not settings.fits(size):
        raise InputError(
            f"{row.name} is not meant for {size.sequences} sequences, {size.tokens} tokens and "
            f"{size.features} features; {_remedy(objective, penalties)}"
        )


def _remedy(objective: str, penalties: set[str]) -> str:
    able = [row for row in TABLE.values() if row.fits(objective, penalties, None)]
    if not able:
        return "choose another objective or prior"
    names = [f"'{row.name}'" for row in able] + (["'auto'"] if any(row.auto for row in able) else [])
    return f"use optimiser={', '.join(names[:-1])} or {names[-1]}" if names[1:] else f"use {names[0]}"


# setting -> the least that makes sense
LEAST = {"max_iterations": 0, "memory": 1, "period": 1, "max_trials": 1, "steps": 1}


def check_settings(optimiser: Optimiser) -> None:
    """Refuse settings that make no sense."""
    name = type(optimiser).__name__
    for setting, value in _numbers(optimiser, tuple(LEAST)):
        if not isinstance(value, (int, np.integer)) or value < LEAST[setting]:
            raise InputError(f"{name}: {setting} is {value!r}; it must be a whole number >= {LEAST[setting]}")
    for setting, value in _numbers(optimiser, ("tolerance", "objective_tolerance")):
        if not isinstance(value, (int, float, np.number)) or math.isnan(value):
            raise InputError(f"{name}: {setting} is {value!r}; it must be a number")
    optimiser.check()


def _numbers(optimiser: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for field in fields(optimiser):
        if field.name in names:
            yield field.name, getattr(optimiser, field.name)


def markdown() -> str:
    """The table as the docs show it."""
    lines = ["| optimiser | object | objectives | penalties | when |", "|---|---|---|---|---|"]
    for row in TABLE.values():
        others = [name for name in row.objectives if name not in SMOOTH]
        listed = ["all smooth ones", *others] if set(SMOOTH) <= set(row.objectives) else row.objectives
        objectives = ", ".join(listed)
        needs = "; features ≥ 0" if row.non_negative else ""
        kind = row.optimiser.__name__
        penalties = ", ".join(row.penalties) or "none"
        lines.append(f"| `{row.name}` | `fc.{kind}` | {objectives}{needs} | {penalties} | {row.use} |")
    return "\n".join(lines)

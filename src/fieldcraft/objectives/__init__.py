"""Losses on the data, chosen by object or by name. Each works in potential space.

A new one is a file and a row in OBJECTIVES; see ``objective.py`` for what an objective is.
"""

from __future__ import annotations

from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.objectives.contrastive_divergence import ContrastiveDivergence
from fieldcraft.objectives.exponential import Exponential
from fieldcraft.objectives.likelihood import Likelihood
from fieldcraft.objectives.margin import Margin, SoftmaxMargin
from fieldcraft.objectives.marginal_likelihood import MarginalLikelihood
from fieldcraft.objectives.objective import Objective, PotentialGradient
from fieldcraft.objectives.perceptron import Perceptron
from fieldcraft.objectives.piecewise import Piecewise, PiecewisePseudoLikelihood
from fieldcraft.objectives.pointwise import Pointwise, PointwiseExponential
from fieldcraft.objectives.pseudo_likelihood import PseudoLikelihood
from fieldcraft.objectives.viterbi import Viterbi
from fieldcraft.spelling import suggestion
from fieldcraft.structures.linear_chain import LinearChain

OBJECTIVES: dict[str, type[Objective]] = {
    kind.name: kind
    for kind in (
        Likelihood,
        Perceptron,
        Pointwise,
        Exponential,
        PointwiseExponential,
        PseudoLikelihood,
        Margin,
        SoftmaxMargin,
        Viterbi,
        MarginalLikelihood,
        Piecewise,
        PiecewisePseudoLikelihood,
        ContrastiveDivergence,
    )
}

FOR_CHAINS = tuple(  # those that a linear chain has the operations for
    name for name, kind in OBJECTIVES.items() if all(hasattr(LinearChain, needed) for needed in kind.needs)
)
FOR_GRAPHS = tuple(name for name, kind in OBJECTIVES.items() if "log_marginals" not in kind.needs)


def resolve_objective(given: Any) -> Objective:
    """An objective from an object, a name or None (the likelihood)."""
    if given is None:
        return Likelihood()
    if isinstance(given, Objective):
        return given
    if isinstance(given, str) and given in OBJECTIVES:
        return OBJECTIVES[given]()
    names = f"{', '.join(OBJECTIVES)}{suggestion(given, OBJECTIVES)}"
    raise InputError(f"objective={given!r}; give None, an objective or one of {names}")


__all__ = [
    "FOR_CHAINS",
    "FOR_GRAPHS",
    "OBJECTIVES",
    "ContrastiveDivergence",
    "Exponential",
    "Likelihood",
    "Margin",
    "MarginalLikelihood",
    "Objective",
    "Perceptron",
    "Piecewise",
    "PiecewisePseudoLikelihood",
    "Pointwise",
    "PointwiseExponential",
    "PotentialGradient",
    "PseudoLikelihood",
    "SoftmaxMargin",
    "Viterbi",
    "resolve_objective",
]

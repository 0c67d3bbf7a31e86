"""Training problems: what an optimiser minimises, built for a structure.

An optimiser names the protocol that it needs (protocols.py). A structure with native code for a protocol has
a row in FUSED; every other structure gets the composed problem, which needs no more than its operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fieldcraft import _core
from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.priors import Prior
from fieldcraft.problems.chain import ChainPasses, ChainProblem
from fieldcraft.problems.composed import ComposedProblem
from fieldcraft.problems.dual import ChainDual
from fieldcraft.problems.penalised import check_mask, check_weights, crew, release_memory, with_crew
from fieldcraft.problems.scaling import ScalingProblem
from fieldcraft.problems.segments import SegmentProblem, segment_problem
from fieldcraft.problems.states import StateProblem, state_gradient
from fieldcraft.structures.beams import ALL
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.segments import Segments
from fieldcraft.structures.structure import Structure

Builder = Callable[..., Any]
COMPOSED: dict[str, Builder] = {
    "gradient": ComposedProblem,
    "expectation": ComposedProblem,
    "passes": ComposedProblem,
}
FUSED: dict[type[Structure], Mapping[str, Builder]] = {
    LinearChain: {
        "gradient": ChainProblem,
        "expectation": ChainProblem,
        "passes": ChainPasses,
        "dual": ChainDual,
        "scaling": ScalingProblem,
    }
}


def instruction_set() -> str:
    """The instruction set of the core; another one may give other last bits."""
    return str(_core.cpu_level())


def offers(structure: Structure, *, fused: bool = True) -> Mapping[str, Builder]:
    """The protocols that a structure's problems follow, each with its class."""
    if type(structure) is LinearChain and structure.beam != ALL:
        return {"gradient": state_gradient}
    native: Mapping[str, Builder] = {}
    if fused and structure.is_plain:
        native = FUSED.get(type(structure), {})
    elif fused and type(structure) is LinearChain:
        native = {"gradient": state_gradient}
    elif fused and isinstance(structure, Segments):
        native = {"gradient": segment_problem, "passes": segment_problem}
    return {**COMPOSED, **native}


def build(
    structure: Structure, needs: str, design: Design, prior: Prior, *, fused: bool = True, **options: Any
) -> Any:
    """The training problem of a design that follows the protocol ``needs``.

    Parameters
    ----------
    structure : what the potentials are for
    needs : "gradient", "expectation", "passes", "dual" or "scaling"
    design : encoded corpus with its feature index and gold labels
    prior : penalty on the weights
    fused : use native code written for the structure where there is any; without, the composed problem
    options : objective, costs, label_weights, sequence_weights, mask, n_jobs, reduce, and what the optimiser
        asks for (``Optimiser.requests``)
    """
    builders = offers(structure, fused=fused)
    if needs not in builders and structure.finds_best is False:
        raise InputError(
            "training with a beam needs an optimiser of gradients, such as 'lbfgs'; use one, or leave "
            "out beam= and set it when training is over"
        )
    if needs not in builders:
        raise InputError(
            f"the structure {structure.name} offers no {needs} problem, only {', '.join(builders)}; "
            "choose an optimiser that needs one of these, e.g. 'lbfgs' or 'sgd'"
        )
    objective = options.get("objective")
    if objective is not None:
        objective.check(structure)
    return builders[needs](structure, design, prior, **options)


__all__ = [
    "COMPOSED",
    "FUSED",
    "ChainDual",
    "ChainPasses",
    "ChainProblem",
    "ComposedProblem",
    "ScalingProblem",
    "SegmentProblem",
    "StateProblem",
    "build",
    "check_mask",
    "check_weights",
    "crew",
    "instruction_set",
    "offers",
    "release_memory",
    "with_crew",
]

"""What a training does for state spaces other than plain labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.models.training_settings import Settings
from fieldcraft.structures.constrained import local_space
from fieldcraft.structures.constraints import constraint_list
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.state_text import parse_states, states_from_text
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure

if TYPE_CHECKING:
    from fieldcraft.models.training import Training

SMALL = 0.1  # standard deviation of the initial weights of latent states


def natural_objective(settings: Settings) -> Settings:
    """The settings with the objective that latent states need, if none is given."""
    states = settings.states
    latent = not states.determined if isinstance(states, StateSpace) else False
    if isinstance(states, str):
        text = parse_states(states)
        latent = text.kind == "latent" and text.n > 1
    if settings.objective is not None or not latent:
        return settings
    return replace(settings, objective="marginal_likelihood")


def settled(training: Training, labels: list[Any]) -> Callable[[Sequence[str]], Structure]:
    """Labels -> structure, with what the training labels (``+observed``) and local constraints say.

    A model that grows keeps the states that it has.
    """
    text, constraints = training.settings.states, training.settings.constraints
    observed = isinstance(text, str) and parse_states(text).observed
    if training.grown is not None or not (observed or constraints is not None) or not training.classes:
        return training.structure_for
    space = states_from_text(text, training.classes, labels) if isinstance(text, str) else text
    if constraints is not None:
        space = local_space(space, constraint_list(constraints))
    return lambda _classes: LinearChain(space)


def small_weights(seed: Any, n: int) -> NDArray[np.float64]:
    """[n] initial weights for states of one label, which would stay equal if they started equal."""
    return np.random.default_rng(seed).normal(scale=SMALL, size=n)

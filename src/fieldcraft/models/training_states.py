"""What a training does for state spaces other than plain labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


def label_windows(states: Any, labels: Iterable[Sequence[Any]]) -> set[tuple[str, ...]] | None:
    """The distinct label windows that decide a state space of ``states``; None if labels do not decide it.

    As label sequences they give the same space as all of ``labels``; labels that are not known end a window.
    """
    text = parse_states(states) if isinstance(states, str) else None
    if text is None or not text.observed:
        return None
    found: set[tuple[str, ...]] = set()
    for row in labels:
        known = tuple(label if isinstance(label, str) else None for label in row)
        for end in range(1, len(known) + 1):
            window = known[max(0, end - text.n - 1) : end]
            gaps = [i for i, label in enumerate(window) if label is None]
            found.add(tuple(label for label in window[gaps[-1] + 1 if gaps else 0 :] if label is not None))
    return found


def small_weights(seed: Any, n: int) -> NDArray[np.float64]:
    """[n] initial weights for states of one label, which would stay equal if they started equal."""
    return np.random.default_rng(seed).normal(scale=SMALL, size=n)

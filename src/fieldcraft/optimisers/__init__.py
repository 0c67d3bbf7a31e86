"""Who minimises: chosen by object, by name, or from (objective, prior, size) by one table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.owlqn import OWLQN
from fieldcraft.priors import Prior

OPTIMISERS: dict[str, type[LBFGS] | type[OWLQN]] = {"lbfgs": LBFGS, "owlqn": OWLQN}

# (does the prior have an absolute-value part) -> optimiser
AUTO = {False: "lbfgs", True: "owlqn"}


def resolve_optimiser(given: Any, prior: Prior) -> LBFGS | OWLQN:
    """An optimiser from an object, a name or "auto", checked against the prior."""
    kinked = type(prior).l1 is not Prior.l1
    if given is None or given == "auto":
        return OPTIMISERS[AUTO[kinked]]()
    if isinstance(given, str) and given in OPTIMISERS:
        given = OPTIMISERS[given]()
    if not isinstance(given, (LBFGS, OWLQN)):
        names = ", ".join(OPTIMISERS)
        raise InputError(f"optimiser={given!r}; give 'auto', an optimiser object or one of {names}")
    _check_settings(given)
    if kinked and isinstance(given, LBFGS):
        raise InputError(
            f"{type(prior).__name__} has an absolute-value part, which L-BFGS cannot minimise; "
            "use optimiser='owlqn' or 'auto'"
        )
    return given


# setting -> the least that makes sense
LEAST = {"max_iterations": 0, "memory": 1, "period": 1, "max_trials": 1}


def _check_settings(optimiser: LBFGS | OWLQN) -> None:
    name = type(optimiser).__name__
    for setting, least in LEAST.items():
        value = getattr(optimiser, setting)
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{name}: {setting} is {value!r}; it must be a whole number >= {least}")
    for setting in ("tolerance", "objective_tolerance"):
        value = getattr(optimiser, setting)
        if not isinstance(value, (int, float, np.number)) or math.isnan(value):
            raise InputError(f"{name}: {setting} is {value!r}; it must be a number")


__all__ = ["AUTO", "LBFGS", "OPTIMISERS", "OWLQN", "resolve_optimiser"]

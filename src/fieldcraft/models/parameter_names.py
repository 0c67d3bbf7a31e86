"""Names of parameters that people try, and settings of parameters: `prior__variance`.

A parameter that does not exist is answered with the one that does the same here.
`optimiser__max_iterations=50` replaces the object (they are frozen) by one with that setting; a name such as
"gaussian" is first replaced by the named object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fieldcraft.errors import InputError, UnknownParameterError
from fieldcraft.spelling import closest

Spelling = Callable[[Any], str]


def _quotient(number: float, value: Any) -> str:
    """number / value, as far as value is a number."""
    return f"{number / value:g}" if isinstance(value, (int, float)) and value else f"{number:g} / {value!r}"


MEANT: dict[str, str | Spelling] = {
    "c1": lambda value: f"prior=fc.Laplacian(scale={_quotient(1, value)})",
    "c2": lambda value: f"prior=fc.Gaussian(variance={_quotient(0.5, value)})",
    "C": lambda value: f"prior=fc.Gaussian(variance={value!r})",
    "variance": lambda value: f"prior=fc.Gaussian(variance={value!r})",
    "max_iterations": lambda value: f"optimiser=fc.LBFGS(max_iterations={value!r})",
    "max_iter": lambda value: f"optimiser=fc.LBFGS(max_iterations={value!r})",
    "tol": lambda value: f"optimiser=fc.LBFGS(tolerance={value!r})",
    "tolerance": lambda value: f"optimiser=fc.LBFGS(tolerance={value!r})",
    "epsilon": lambda value: f"optimiser=fc.LBFGS(tolerance={value!r})",
    "algorithm": lambda value: f"optimiser={value!r}",
    "solver": lambda value: f"optimiser={value!r}",
    "all_possible_transitions": "features='all_transitions'",
    "all_possible_states": "features='all_states'",
    "min_freq": lambda value: f"min_count={value!r}",
    "loss": lambda value: f"objective={value!r}",
    "penalty": "prior=",
    "regularizer": "prior=",
    "regularization": "prior=",
    "seed": lambda value: f"random_state={value!r}",
    "jobs": lambda value: f"n_jobs={value!r}",
    "threads": lambda value: f"n_jobs={value!r}",
    "scoring": lambda value: f"metric={value!r}",
    "classes": lambda value: f"labels={value!r}",
}


def check_names(kind: str, given: Mapping[str, Any], known: list[str]) -> None:
    """UnknownParameterError, with the right spelling, for a name that is not known."""
    for name, value in given.items():
        if name in known:
            continue
        meant = _meant(name, value, given, known)
        hint = f"; write {meant}" if meant else ""
        raise UnknownParameterError(f"{kind} has no parameter {name!r}{hint}; it has {', '.join(known)}")


def _meant(name: str, value: Any, given: Mapping[str, Any], known: list[str]) -> str | None:
    if given.get("c1") and given.get("c2"):
        scale, variance = _quotient(1, given["c1"]), _quotient(0.5, given["c2"])
        return f"prior=fc.ElasticNet(scale={scale}, variance={variance})"
    if name in MEANT:
        spelled = MEANT[name]
        answer = spelled if isinstance(spelled, str) else spelled(value)
        return answer if answer.partition("=")[0] in known else None
    close = closest(name, known)
    return None if close is None else f"{close}={value!r}"


def with_setting(owner: Any, name: str, setting: str, value: Any, *, stacked: str) -> Any:
    """The value of the parameter ``name`` of ``owner`` with one of its settings replaced."""
    given = getattr(owner, name)
    holder = _object(given, name)
    if holder is None:
        example = {"prior": "fc.Gaussian()", "optimiser": "fc.LBFGS()"}.get(name, "an object")
        raise InputError(
            f"{stacked}={value!r}: {name} is {given!r}, which has no settings; pass {name}={example} first, "
            f"then {stacked}"
        )
    known = [field.name for field in fields(holder)]
    if setting not in known:
        raise InputError(f"{stacked}: {type(holder).__name__} has no {setting!r}; it has {', '.join(known)}")
    return replace(holder, **{setting: value})


def _object(given: Any, name: str) -> Any:
    """The object with settings that a parameter is or names; None if it is none."""
    from fieldcraft.objectives import OBJECTIVES
    from fieldcraft.optimisers import OPTIMISERS
    from fieldcraft.priors import PRIORS

    tables: dict[str, Mapping[str, Any]] = {"prior": PRIORS, "optimiser": OPTIMISERS, "objective": OBJECTIVES}
    if isinstance(given, str) and given in tables.get(name, {}):
        made = tables[name][given]
        given = made() if isinstance(made, type) else made
    return given if is_dataclass(given) and not isinstance(given, type) else None

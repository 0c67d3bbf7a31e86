"""CRFsuite's training algorithms and their parameters, in fieldcraft's terms.

    c1 sum |w| + c2 sum w^2  =  sum |w| / scale + w^2 / (2 variance)    scale = 1 / c1, variance = 1 / (2 c2)

One row of ALGORITHMS per algorithm: its parameters, and a function from their values to parameters of
ChainCRF.
Hazard: CRFsuite reads ``max_iterations=0`` as "no limit" and ``period=0`` as "no test of the objective".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from fieldcraft.errors import InputError
from fieldcraft.optimisers import AROW, LBFGS, OWLQN, SGD, AveragedPerceptron, PassiveAggressive
from fieldcraft.priors import ElasticNet, Gaussian, Laplacian, Prior

UNLIMITED = 2**31 - 1  # what CRFsuite shows for no limit
LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")
Settings = dict[str, Any]


class Parameter(NamedTuple):
    """Conversion of a parameter, its default value, and its meaning."""

    read: Callable[[Any], Any]
    default: Any
    help: str


class Algorithm(NamedTuple):
    """A row of the table: parameters by name; their values -> parameters of ChainCRF."""

    title: str
    parameters: Mapping[str, Parameter]
    settings: Callable[[Settings], Settings]


def _flag(value: Any) -> bool:
    return bool(int(value))


def _line_search(value: Any) -> str:
    if value not in LINE_SEARCHES:
        raise InputError(f"linesearch is {value!r}; it must be one of {', '.join(LINE_SEARCHES)}")
    return str(value)


def _lbfgs(values: Settings) -> Settings:
    """Penalised likelihood by L-BFGS, or by OWL-QN with a penalty on absolute weights.

    OWL-QN takes the steps of the original, so that the models after equally many iterations agree.
    """
    optimiser: Any = partial(OWLQN, as_published=True) if values["c1"] else LBFGS
    tested = values["period"] != 0
    return {
        "prior": _prior(values["c1"], values["c2"]),
        "optimiser": optimiser(
            max_iterations=values["max_iterations"] or UNLIMITED,
            memory=values["num_memories"],
            tolerance=values["epsilon"],
            objective_tolerance=values["delta"] if tested else -1.0,  # the objective never doubles
            period=values["period"] if tested else 1,
            max_trials=values["max_linesearch"],
        ),
    }


def _l2sgd(values: Settings) -> Settings:
    """Penalised likelihood by SGD, the best pass of it; the number of good candidates has no effect."""
    tested = values["period"] != 0
    return {
        "prior": _prior(0.0, values["c2"]),
        "optimiser": SGD(
            max_iterations=values["max_iterations"],
            objective_tolerance=values["delta"] if tested else -1.0,
            period=2 * values["period"] if tested else 1,  # the best pass stays the best for a while
            first_rate=values["calibration.eta"],
            factor=values["calibration.rate"],
            sample=max(1, int(values["calibration.samples"])),
            max_trials=values["calibration.max_trials"],
            best=True,
        ),
    }


def _ap(values: Settings) -> Settings:
    return {
        "prior": None,
        "optimiser": AveragedPerceptron(
            max_iterations=values["max_iterations"], least_loss=values["epsilon"]
        ),
    }


VARIANTS = {0: "PA", 1: "PA-I", 2: "PA-II"}


def _pa(values: Settings) -> Settings:
    if values["type"] not in VARIANTS:
        raise InputError(f"type is {values['type']}; it must be 0, 1 or 2")
    return {
        "prior": None,
        "optimiser": PassiveAggressive(
            max_iterations=values["max_iterations"],
            least_loss=values["epsilon"],
            variant=VARIANTS[values["type"]],
            c=values["c"],
            cost="root" if values["error_sensitive"] else "one",
            average="uniform" if values["averaging"] else None,
        ),
    }


def _arow(values: Settings) -> Settings:
    return {
        "prior": None,
        "optimiser": AROW(
            max_iterations=values["max_iterations"],
            least_loss=values["epsilon"],
            variance=values["variance"],
            gamma=values["gamma"],
            cost="hamming",
            average=None,
        ),
    }


def _prior(c1: float, c2: float) -> Prior | None:
    for name, value in (("c1", c1), ("c2", c2)):
        if not (value >= 0 and math.isfinite(value)):
            raise InputError(f"{name} is {value}; it must be a number, zero or greater")
    scale, variance = (1 / c1 if c1 else math.inf), (1 / (2 * c2) if c2 else math.inf)
    return {
        (False, False): None,
        (True, False): Laplacian(scale=scale),
        (False, True): Gaussian(variance=variance),
        (True, True): ElasticNet(scale=scale, variance=variance),
    }[bool(c1), bool(c2)]


_FEATURES = {
    "feature.minfreq": Parameter(float, 0.0, "Features seen less often get no weight."),
    "feature.possible_states": Parameter(_flag, False, "Give a weight to every attribute with every label."),
    "feature.possible_transitions": Parameter(_flag, False, "Give a weight to every pair of labels."),
}
_C2 = {"c2": Parameter(float, 1.0, "Strength of the penalty on squared weights (L2).")}
_PERIOD = {"period": Parameter(int, 10, "Over how many iterations delta is judged; 0 for no such test.")}
_DELTA = "Stop when the objective fell by less than this fraction over the last period."
_EPSILON = {"epsilon": Parameter(float, 0.0, "Stop when the mean loss of a pass is not greater than this.")}
_PASSES = {"max_iterations": Parameter(int, 100, "The greatest number of passes over the data.")}

ALGORITHMS: dict[str, Algorithm] = {
    "lbfgs": Algorithm(
        "L-BFGS",
        {
            **_FEATURES,
            "c1": Parameter(float, 0.0, "Strength of the penalty on absolute weights (L1); uses OWL-QN."),
            **_C2,
            "max_iterations": Parameter(int, UNLIMITED, "The greatest number of iterations; 0 for no limit."),
            "num_memories": Parameter(int, 6, "Remembered steps that stand in for the inverse Hessian."),
            "epsilon": Parameter(float, 1e-5, "Stop when |gradient| <= epsilon max(1, |weights|)."),
            **_PERIOD,
            "delta": Parameter(float, 1e-5, _DELTA),
            "linesearch": Parameter(_line_search, "MoreThuente", "Checked, but without effect."),
            "max_linesearch": Parameter(int, 20, "The greatest number of trials in a line search."),
        },
        _lbfgs,
    ),
    "l2sgd": Algorithm(
        "stochastic gradient descent",
        {
            **_FEATURES,
            **_C2,
            "max_iterations": Parameter(int, 1000, "The greatest number of passes over the data."),
            **_PERIOD,
            "delta": Parameter(float, 1e-6, _DELTA),
            "calibration.eta": Parameter(float, 0.1, "The learning rate that calibration starts from."),
            "calibration.rate": Parameter(float, 2.0, "Factor between the learning rates that are tried."),
            "calibration.samples": Parameter(float, 1000.0, "Sequences that calibration uses."),
            "calibration.candidates": Parameter(int, 10, "Checked, but without effect."),
            "calibration.max_trials": Parameter(int, 20, "Maximal number of learning rates to try."),
        },
        _l2sgd,
    ),
    "ap": Algorithm("averaged perceptron", {**_FEATURES, **_PASSES, **_EPSILON}, _ap),
    "pa": Algorithm(
        "passive-aggressive",
        {
            **_FEATURES,
            "type": Parameter(int, 1, "0 without slack, 1 linear slack (PA-I), 2 squared slack (PA-II)."),
            "c": Parameter(float, 1.0, "Limit of an update (PA-I and PA-II)."),
            "error_sensitive": Parameter(_flag, True, "Let the loss grow with the number of wrong labels."),
            "averaging": Parameter(_flag, True, "Average the weights of all updates."),
            **_PASSES,
            **_EPSILON,
        },
        _pa,
    ),
    "arow": Algorithm(
        "adaptive regularisation of weights",
        {
            **_FEATURES,
            "variance": Parameter(float, 1.0, "Variance of each weight at the start."),
            "gamma": Parameter(float, 1.0, "Weighs the loss against the change of the weights."),
            **_PASSES,
            **_EPSILON,
        },
        _arow,
    ),
}
ALIASES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}

# (all states, all transitions) -> the parameter ``features`` of ChainCRF
_RULES = {
    (False, False): "supported",
    (True, False): "all_states",
    (False, True): "all_transitions",
    (True, True): "all",
}


def resolve_algorithm(name: Any) -> str:
    """The name of an algorithm in the table."""
    key = ALIASES.get(str(name).lower(), str(name).lower())
    if key not in ALGORITHMS:
        raise InputError(f"algorithm={name!r} is not known; choose one of {', '.join(ALGORITHMS)}")
    return key


def find_parameter(algorithm: str, name: str) -> Parameter:
    """A parameter of an algorithm, by CRFsuite's name."""
    known = ALGORITHMS[algorithm].parameters
    if name not in known:
        raise InputError(f"{algorithm} has no parameter {name!r}; it has {', '.join(known)}")
    return known[name]


def read_value(algorithm: str, name: str, value: Any) -> Any:
    """The value of a parameter, from the value itself or from text."""
    parameter = find_parameter(algorithm, name)
    try:
        return parameter.read(value)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}; pass a number such as {parameter.default!r}") from None


def chain_settings(algorithm: str, values: Settings) -> Settings:
    """The parameters of ChainCRF that correspond to ``algorithm`` with the values of all its parameters."""
    row = ALGORITHMS[algorithm]
    least = values["feature.minfreq"]
    if not math.isfinite(least):
        raise InputError(f"feature.minfreq is {least}; it must be a finite number")
    # features that were not seen have the frequency 0, so that any cut-off above 0 removes them again
    rule = (values["feature.possible_states"], values["feature.possible_transitions"])
    features = "supported" if least > 0 else _RULES[rule]
    return {"features": features, "min_count": max(1, math.ceil(least)), **row.settings(values)}

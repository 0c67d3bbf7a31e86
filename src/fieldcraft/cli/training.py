"""The estimator that the options of `train` describe."""

from __future__ import annotations

import os
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fieldcraft.cli.train import Learns, Looks, Stops
from fieldcraft.errors import InputError
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers import handled_by, resolve
from fieldcraft.priors import PRIORS, Prior, resolve_prior


def make_model(looks: Looks, learns: Learns, stops: Stops, *, partial: bool, **settings: Any) -> ChainCRF:
    """A ChainCRF, not trained yet; ``partial`` labels ask for an objective that understands them."""
    prior = _prior(learns)
    wanted = "marginal_likelihood" if partial and learns.objective is None else learns.objective
    objective, optimiser, _ = resolve(wanted, learns.optimiser, prior)
    if stops.max_iterations is not None:
        optimiser = replace(optimiser, max_iterations=stops.max_iterations)
    elif learns.optimiser == "auto":
        optimiser = "auto"  # chosen when the size of the corpus is known
    return ChainCRF(
        prior=prior, optimiser=optimiser, objective=objective, **model_settings(looks), **settings
    )


def model_settings(looks: Looks) -> dict[str, Any]:
    """What the model looks at, as parameters of ChainCRF."""
    return {
        "templates": None if looks.templates == "none" else looks.templates,
        "features": looks.features,
        "min_count": looks.min_count,
        "gazetteers": [_gazetteer(given) for given in looks.gazetteer or ()] or None,
        **({} if looks.tokenizer is None else {"tokenizer": looks.tokenizer}),
    }


def writable(path: str) -> None:
    """Refuse a model file that could not be written before hours are spent on it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise InputError(f"{path}: the folder {folder} does not exist; make it first")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: a file cannot be written there; choose another place")


def _prior(learns: Learns) -> Prior:
    fallback = resolve_prior("auto", handled_by(learns.optimiser, learns.objective))
    kind: Any = type(fallback) if learns.prior == "auto" else PRIORS[learns.prior]
    names = ("variance", "scale", "positive", "negative")
    given = {name: getattr(learns, name) for name in names}
    chosen = {name: value for name, value in given.items() if value is not None}
    known = [field.name for field in fields(kind)] if is_dataclass(kind) else []
    told = next(name for name, prior in PRIORS.items() if prior is kind)
    for name in chosen:
        if name not in known:
            takes = " and ".join(f"--{n}" for n in known if n in given) or "neither"
            raise InputError(f"prior {told} has no {name}; it takes {takes}")
    return kind(**chosen)  # type: ignore[no-any-return]


def _gazetteer(given: str) -> Gazetteer:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise InputError(f"--gazetteer {given}: write NAME=FILE, e.g. cities=cities.txt")
    return Gazetteer(name, path)

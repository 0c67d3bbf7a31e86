"""The estimator that the options of `train` describe."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

from fieldcraft.cli.train import Learns, Looks, Stops
from fieldcraft.errors import InputError
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers import resolve
from fieldcraft.priors import PRIORS, Prior


def make_model(looks: Looks, learns: Learns, stops: Stops, **settings: Any) -> ChainCRF:
    """A ChainCRF, not trained yet."""
    prior = _prior(learns)
    objective, optimiser, _ = resolve(learns.objective, learns.optimiser, prior)
    if stops.max_iterations is not None:
        optimiser = replace(optimiser, max_iterations=stops.max_iterations)
    if looks.tokenizer is not None:
        settings["tokenizer"] = looks.tokenizer
    return ChainCRF(
        None if looks.templates == "none" else looks.templates,
        prior=prior,
        optimiser=optimiser,
        objective=objective,
        features=looks.features,
        min_count=looks.min_count,
        gazetteers=[_gazetteer(given) for given in looks.gazetteer or ()] or None,
        **settings,
    )


def writable(path: str) -> None:
    """Refuse a model file that could not be written before hours are spent on it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise InputError(f"{path}: the folder {folder} does not exist; make it first")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: a file cannot be written there; choose another place")


def _prior(learns: Learns) -> Prior:
    kind: Any = PRIORS[learns.prior]
    names = ("variance", "scale", "positive", "negative")
    given = {name: getattr(learns, name) for name in names}
    chosen = {name: value for name, value in given.items() if value is not None}
    known = [field.name for field in fields(kind)]
    for name in chosen:
        if name not in known:
            takes = " and ".join(f"--{n}" for n in known if n in given) or "neither"
            raise InputError(f"prior {learns.prior} has no {name}; it takes {takes}")
    return kind(**chosen)  # type: ignore[no-any-return]


def _gazetteer(given: str) -> Gazetteer:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise InputError(f"--gazetteer {given}: write NAME=FILE, e.g. cities=cities.txt")
    return Gazetteer(name, path)

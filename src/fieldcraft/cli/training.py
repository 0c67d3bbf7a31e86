"""The estimator that the options of `train` describe."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from fieldcraft.cli.train import Learns, Looks, Stops
from fieldcraft.errors import InputError
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers import handled_by, resolve
from fieldcraft.priors import PRIORS, Prior, resolve_prior
from fieldcraft.structures.state_text import parse_states


def make_model(looks: Looks, learns: Learns, stops: Stops, *, partial: bool, **settings: Any) -> ChainCRF:
    """A ChainCRF, not trained yet; ``partial`` labels need an objective that supports them."""
    prior = _prior(learns)
    latent = parse_states(settings.get("states", "labels"))
    unsure = partial or (latent.kind == "latent" and latent.n > 1)
    wanted = "marginal_likelihood" if unsure and learns.objective is None else learns.objective
    objective, optimiser, _ = resolve(wanted, learns.optimiser, prior)
    if stops.max_iterations is not None:
        optimiser = replace(optimiser, max_iterations=stops.max_iterations)
    elif learns.optimiser == "auto":
        optimiser = "auto"  # chosen when the size of the corpus is known
    return ChainCRF(
        prior=prior, optimiser=optimiser, objective=objective, **model_settings(looks), **settings
    )


def model_settings(looks: Looks) -> dict[str, Any]:
    """The parameters of ChainCRF about features."""
    return {
        "templates": None if looks.templates == "none" else looks.templates,
        "features": looks.features,
        "min_count": looks.min_count,
        "gazetteers": [_gazetteer(text) for text in looks.gazetteer or ()] or None,
        **({} if looks.tokenizer is None else {"tokenizer": looks.tokenizer}),
    }


def _prior(learns: Learns) -> Prior:
    fallback = resolve_prior("auto", handled_by(learns.optimiser, learns.objective))
    kind: Any = type(fallback) if learns.prior == "auto" else PRIORS[learns.prior]
    names = ("variance", "scale", "positive", "negative")
    values = {name: getattr(learns, name) for name in names}
    chosen = {name: value for name, value in values.items() if value is not None}
    known = [field.name for field in fields(kind)] if is_dataclass(kind) else []
    kind_name = next(name for name, prior in PRIORS.items() if prior is kind)
    for name in chosen:
        if name not in known:
            takes = " and ".join(f"--{n}" for n in known if n in values) or "none"
            raise InputError(f"prior {kind_name} has no {name}; it takes {takes}")
    return kind(**chosen)  # type: ignore[no-any-return]


def _gazetteer(text: str) -> Gazetteer:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise InputError(f"--gazetteer {text}: write NAME=FILE, e.g. cities=cities.txt")
    return Gazetteer(name, path)

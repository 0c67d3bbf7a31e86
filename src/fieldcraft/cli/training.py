"""The estimator that the options of `train` describe."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from fieldcraft.cli.train import Learns, Looks, Stops, Structures
from fieldcraft.errors import InputError
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.factorial import FactorialCRF
from fieldcraft.models.segments import SegmentCRF
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.models.skip_chain import SkipChainCRF
from fieldcraft.optimisers import handled_by, resolve
from fieldcraft.pools.coded import CodedCRF
from fieldcraft.priors import PRIORS, Prior, resolve_prior
from fieldcraft.structures.state_text import parse_states

CHAINS = {"states": "labels", "constraints": None, "beam": None}  # what chains alone take, with defaults
STRUCTURES: dict[str, type[SequenceModel]] = {
    "chain": ChainCRF,
    "segments": SegmentCRF,
    "skip-chain": SkipChainCRF,
    "factorial": FactorialCRF,
}
SKIPS = ("similarity", "max_pairs_per_word")  # options of skip chains


def make_model(
    looks: Looks,
    learns: Learns,
    stops: Stops,
    *,
    partial: bool,
    structures: Any = None,
    **settings: Any,
) -> Any:
    """A model, not trained yet; ``partial`` labels need an objective that supports them."""
    structures = structures or Structures()
    prior = _prior(learns)
    latent = parse_states(settings.get("states", "labels"))
    unsure = partial or (latent.kind == "latent" and latent.n > 1)
    wanted = "marginal_likelihood" if unsure and learns.objective is None else learns.objective
    objective, optimiser, _ = resolve(wanted, learns.optimiser, prior)
    if stops.max_iterations is not None:
        optimiser = replace(optimiser, max_iterations=stops.max_iterations)
    elif learns.optimiser == "auto":
        optimiser = "auto"  # chosen when the size of the corpus is known
    learning = {"prior": prior, "optimiser": optimiser, "objective": objective}
    kind = STRUCTURES[structures.structure] if structures.codes is None else CodedCRF
    if kind is not ChainCRF:
        settings = _without_chains(settings)
    described = model_settings(looks)
    if kind is FactorialCRF:
        _without_metric(settings, described)
    return kind(**learning, **described, **_structure_settings(structures), **settings)


def _without_metric(settings: dict[str, Any], described: dict[str, Any]) -> None:
    """Several label columns have neither a metric nor texts."""
    for name in ("metric", "tokenizer"):
        given = [source.pop(name) for source in (settings, described) if name in source]
        if given and given[0] not in (None, "auto"):
            raise InputError(f"--{name} is for one label column; leave it out with --structure factorial")


def _without_chains(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those of chains; InputError if some of these were asked for."""
    for name, absent in CHAINS.items():
        if settings.get(name, absent) != absent:
            raise InputError(f"--{name} is for chains; leave out --structure and --codes")
    return {name: value for name, value in settings.items() if name not in CHAINS}


def _structure_settings(structures: Structures) -> dict[str, Any]:
    """The parameters of SegmentCRF about segments, or of CodedCRF about its code; none for chains."""
    skips = {name: getattr(structures, name) for name in SKIPS if getattr(structures, name) is not None}
    if structures.structure == "skip-chain":
        return _skip_settings(structures, skips)
    if skips:
        name = next(iter(skips)).replace("_", "-")
        raise InputError(f"--{name} is for skip chains; add --structure skip-chain")
    given = {"max_length": structures.max_length, "segment_templates": structures.segment_templates}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if structures.structure != "segments":
        if chosen:
            name = next(iter(chosen)).replace("_", "-")
            raise InputError(f"--{name} is for segments; add --structure segments")
        return {} if structures.codes is None else {"bits": structures.codes}
    if structures.codes is not None:
        raise InputError("--codes is for chains; leave out --structure segments")
    if structures.max_length is not None:
        chosen["max_length"] = _lengths(structures.max_length)
    text = structures.segment_templates
    if text is not None and "\n" not in text and Path(text).is_file():
        chosen["segment_templates"] = Path(text).read_text(encoding="utf-8")
    return chosen


def _skip_settings(structures: Structures, skips: dict[str, Any]) -> dict[str, Any]:
    """The parameters of SkipChainCRF about pairs; a cap of 0 is none."""
    for name in ("max_length", "segment_templates", "codes"):
        if getattr(structures, name) is not None:
            option = name.replace("_", "-")
            raise InputError(f"--{option} is not for skip chains; leave out --structure skip-chain")
    if skips.get("max_pairs_per_word") == 0:
        skips["max_pairs_per_word"] = None
    return skips


def code_fitting(fitting: dict[str, Any], ranks: Any) -> dict[str, Any]:
    """The arguments of CodedCRF.fit among those of the others: none; InputError if some were asked for."""
    if ranks is not None:
        raise InputError("--codes trains in one process; leave out mpiexec")
    asked = {"X_dev": "dev", "patience": "patience", "score_every": "score-every", "snapshot": "snapshot"}
    for name, option in asked.items():
        if fitting[name] is not None:
            raise InputError(
                f"--{option} is not for --codes, which trains a model for each bit; leave it out"
            )
    return {}


def _lengths(text: str) -> Any:
    if text == "auto":
        return text
    try:
        if "=" not in text:
            return int(text)
        return {name: int(number) for name, _, number in (one.partition("=") for one in text.split(","))}
    except ValueError:
        raise InputError(f"--max-length {text}: write auto, a number, or PER=5,LOC=8") from None


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

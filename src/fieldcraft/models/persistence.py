"""Models to files and back. Every kind of model registers a name here.

The header tells in groups what the model is: ``labels``, ``encoder`` and ``index`` (with the arrays of the
same names), ``parameters``, ``prior`` and ``optimiser`` (how it was made, so that it can be trained again),
``training`` (how that went), ``source`` (how its corpus was read) and ``provenance``.
"""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus.tokenising import describe_tokenizer, restore_tokenizer
from fieldcraft.design import ENCODERS
from fieldcraft.errors import FieldcraftError, ModelFileError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.packed import PackedIndex
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.voting import Voters
from fieldcraft.objectives import OBJECTIVES
from fieldcraft.optimisers import OPTIMISERS
from fieldcraft.optimisers.loop import Record
from fieldcraft.priors import PRIORS, Prior
from fieldcraft.priors.settings import storable
from fieldcraft.store.files import name_of, read_arrays, write_arrays
from fieldcraft.store.upgrades import upgrade

Arrays = dict[str, NDArray[Any]]
KINDS: dict[str, type[ChainCRF]] = {"chain": ChainCRF}
PARAMETERS = ("features", "min_count", "decoding", "metric", "random_state")
LATER = ("labels", "label_weights")  # parameters that older files do not have; None is none
TRAINING = ("objective_value_", "stop_reason_", "converged_", "n_iter_")
FITTED = (*TRAINING, "training_log_", "optimiser_", "objective_", "prior_", "source_", "provenance_")
MOST_RECORDS = 2000  # of the training log
DAMAGE = (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RuntimeError)


def save(
    model: ChainCRF,
    path: str | os.PathLike[str],
    *,
    compact: bool = False,
    float32: bool = False,
    zeros: bool = False,
) -> None:
    """Write a fitted model to ``path``, whole or not at all."""
    model._require_fitted()
    whole = zeros or model.voters_ is not None  # a voter may have a weight where their mean has none
    parameters = model._parameters if whole else model._parameters.without_zeros()
    header, arrays = _pack(model, parameters, compact=compact)
    if float32:
        arrays["weights"] = arrays["weights"].astype(np.float32)
    write_arrays(path, header, arrays)


def load(path: str | os.PathLike[str] | bytes) -> ChainCRF:
    """The model in a file, which is mapped, not read: processes that load it share its pages.

    Bytes are taken for a file's content.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/model.fc"
    >>> ChainCRF().fit([[["a"], ["b"]]], [["X", "Y"]]).save(path)
    >>> load(path).predict([[["a"]]]).tolist()
    [['X']]
    """
    name = name_of(path)
    header, arrays = read_arrays(path)
    kind = KINDS.get(str(header.get("kind")))
    if kind is None:
        raise ModelFileError(f"{name} holds a {header.get('kind')!r}, not a model ({', '.join(KINDS)})")
    try:
        model = kind()
        _unpack(model, *upgrade(header, arrays))
    except FieldcraftError as error:
        raise ModelFileError(f"{name} is damaged: {error}") from None
    except DAMAGE as error:
        raise ModelFileError(f"{name} is damaged: {type(error).__name__}: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None
    return model


def freeze(model: ChainCRF) -> dict[str, Any]:
    """For pickling: parameters and, if fitted, what the file would hold."""
    state: dict[str, Any] = {"params": model.get_params()}
    if model.__sklearn_is_fitted__():
        state["header"], state["arrays"] = _pack(model, model._parameters, compact=False)
        state["fitted"] = {name: getattr(model, name) for name in FITTED if hasattr(model, name)}
    return state


def thaw(model: ChainCRF, state: dict[str, Any]) -> None:
    """Undo ``freeze``."""
    model.__init__(**state["params"])  # type: ignore[misc]
    if "header" in state:
        _unpack(model, state["header"], state["arrays"])
        model.__init__(**state["params"])  # type: ignore[misc]
        vars(model).update(state["fitted"])


def _pack(model: ChainCRF, parameters: Parameters, *, compact: bool) -> tuple[dict[str, Any], Arrays]:
    encoder = parameters.encoder
    settings, tables = encoder.state()
    arrays: Arrays = {"weights": parameters.placed}
    if model.voters_ is not None:
        arrays |= {"voters.votes": model.voters_.votes, "voters.weights": model.voters_.placed}
    arrays |= {f"index.{k}": v for k, v in parameters.packed.to_file(counts=not compact).items()}
    arrays |= {f"encoder.{k}": v for k, v in tables.items()}
    named = {name: getattr(model, name) for name in PARAMETERS}
    named["metric"] = model.metric if isinstance(model.metric, str) else "auto"
    named["tokenizer"] = describe_tokenizer(model.tokenizer)
    named |= {name: getattr(model, name) for name in LATER}
    header = {
        "kind": next(name for name, kind in KINDS.items() if isinstance(model, kind)),
        "labels": model.classes_.tolist(),
        "encoder": {"kind": next(k for k, v in ENCODERS.items() if isinstance(encoder, v)), **settings},
        "index": parameters.packed.numbers,
        "parameters": named,
        "objective": _objective(model),
        "prior": _prior(getattr(model, "prior_", None)),
        "optimiser": _settings(getattr(model, "optimiser_", None)),
        "training": _training(model),
        "source": getattr(model, "source_", None),
        "provenance": {**getattr(model, "provenance_", {}), "fieldcraft": version("fieldcraft")},
    }
    return header, arrays


def _unpack(model: ChainCRF, header: dict[str, Any], arrays: Arrays) -> None:
    labels = _labels(header["labels"])
    packed = PackedIndex.from_file(len(labels), header["index"], _under("index.", arrays))
    described = dict(header["encoder"])
    encoder = ENCODERS[described.pop("kind")].from_state(described, _under("encoder.", arrays))
    weights = arrays["weights"]
    if weights.dtype not in (np.float32, np.float64):
        raise ValueError(f"weights of type {weights.dtype}")
    for name in PARAMETERS:
        setattr(model, name, header["parameters"][name])
    for name in LATER:
        setattr(model, name, header["parameters"].get(name))
    model.tokenizer = restore_tokenizer(header["parameters"].get("tokenizer", "words"))
    _restore_settings(model, encoder, header)
    placed = weights.astype(np.float64, copy=False)
    parameters = Parameters(encoder, packed, placed, model.structure_for(labels))
    training = header.get("training") or {}
    if training:
        log = training.pop("training_log_")
        model.training_log_ = [Record(**dict(zip(log, row))) for row in zip(*log.values())]
        vars(model).update({name: training[name] for name in TRAINING})
    model.source_, model.provenance_ = header.get("source"), dict(header.get("provenance") or {})
    voting = _under("voters.", arrays)
    voters = Voters(parameters.scoring, voting["votes"], voting["weights"]) if voting else None
    model._settle(parameters, labels, voters)


def _labels(given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(label, str) for label in given):
        raise ValueError("the labels are no list of strings")
    if len(set(given)) != len(given):
        raise ValueError("a label occurs twice")
    return given


def _under(start: str, arrays: Arrays) -> Arrays:
    return {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}


def _training(model: ChainCRF) -> dict[str, Any] | None:
    if not hasattr(model, "training_log_"):
        return None
    every = -(-len(model.training_log_) // MOST_RECORDS) or 1  # long ones are thinned; the last one stays
    rows = [asdict(record) for record in model.training_log_[::-1][::every][::-1]]
    log = {f.name: [row[f.name] for row in rows] for f in fields(Record)}
    return {**{name: getattr(model, name) for name in TRAINING}, "training_log_": log}


def _prior(prior: Prior | None) -> dict[str, Any] | None:
    """Kind, numbers and rules of a prior; None where a setting is a vector over weights or a function."""
    kept = prior is not None and all(storable(value) for value in vars(prior).values())
    return prior.settings() if prior is not None and kept else None


def _settings(thing: Any) -> dict[str, Any] | None:
    """Kind and numbers of an optimiser; None where a setting is a vector over weights."""
    if thing is None or any(np.ndim(value) for value in vars(thing).values()):
        return None
    numbers = {name: np.asarray(value).item() for name, value in vars(thing).items()}
    return {"kind": type(thing).__name__, **numbers}


def _objective(model: ChainCRF) -> dict[str, Any] | None:
    """Name and settings of an objective; costs as a matrix."""
    objective = getattr(model, "objective_", None)
    if objective is None:
        return None
    costs = objective.costs(model.classes_.tolist())
    return {"name": objective.name, **({} if costs is None else {"cost": costs.tolist()})}


def _restore_settings(model: ChainCRF, encoder: Any, header: dict[str, Any]) -> None:
    """The constructor's parameters as the file tells them, so that a loaded model can be trained again."""
    described = dict(header.get("prior") or {})
    if described:
        priors = {kind.__name__: kind for kind in PRIORS.values()}
        model.prior = model.prior_ = priors[described.pop("kind")].from_settings(described)
    described = dict(header.get("optimiser") or {})
    if described:
        optimisers = {kind.__name__: kind for kind in OPTIMISERS.values()}
        model.optimiser = model.optimiser_ = optimisers[described.pop("kind")](**described)
    described = dict(header.get("objective") or {})
    if described:
        model.objective = OBJECTIVES[described.pop("name")](**described)
        model.objective_ = model.objective
    model.hash_size = encoder.hash_size
    if isinstance(encoder, TemplateFeatures):
        model.templates, model.gazetteers = encoder.templates, encoder.gazetteers or None
    else:
        model.edge_prefix = encoder.edge_prefix

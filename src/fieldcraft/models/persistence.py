"""Saving and loading of models, for every kind of model (models/kinds.py).

The header describes the model in groups: ``labels``, ``encoder`` and ``index`` (with the arrays of the same
names), ``parameters``, ``prior``, ``optimiser`` and ``objective`` (so that it can be trained again),
``training`` (its results), ``source`` (how its corpus was read) and ``provenance``. A state space other than
plain labels is stored as arrays ``states.*``.
"""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus.tokenising import describe_tokenizer, restore_tokenizer
from fieldcraft.design import ENCODERS
from fieldcraft.errors import FieldcraftError, InputError, ModelFileError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.functions import supply
from fieldcraft.features.packed import LAYOUTS
from fieldcraft.features.paired import PairFeatures
from fieldcraft.features.segmented import SegmentFeatures
from fieldcraft.features.several import parts_of
from fieldcraft.models.exchange import chain_of
from fieldcraft.models.kinds import KINDS, Storable, kind_of, resolve_kind
from fieldcraft.models.parameters import Calibration, Parameters, n_numbers
from fieldcraft.models.voting import Voters
from fieldcraft.objectives import OBJECTIVES
from fieldcraft.optimisers import OPTIMISERS
from fieldcraft.optimisers.loop import Record
from fieldcraft.priors import PRIORS, Prior
from fieldcraft.priors.settings import storable
from fieldcraft.store.files import FORMAT, is_plain, name_of, read_arrays, write_arrays
from fieldcraft.store.importers import read_foreign
from fieldcraft.store.state_spaces import pack_states, unpack_states
from fieldcraft.store.upgrades import upgrade
from fieldcraft.structures.constraints import constraint_list
from fieldcraft.structures.states import StateSpace

if TYPE_CHECKING:
    from fieldcraft.models.model import Model

Arrays = dict[str, NDArray[Any]]
# Parameters that the header stores in other groups, and those that belong to a session, not to a model.
GROUPED = {"templates", "gazetteers", "hash_size", "edge_prefix", "prior", "optimiser", "objective"}
GROUPED |= {"members", "cliques"}  # of pools and of graphs
SESSION = {"n_jobs", "verbose", "warm_start", "segment_features", "similarity", "functions"}
TRAINING = ("objective_value_", "stop_reason_", "converged_", "n_iter_")
FITTED = (*TRAINING, "training_log_", "optimiser_", "objective_", "prior_", "source_", "provenance_")
WEIGHTS = ("weights", "members.weights")
MOST_RECORDS = 2000  # of the training log
DAMAGE = (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RuntimeError)


def save(
    model: Storable,
    path: str | os.PathLike[str],
    *,
    compact: bool = False,
    float32: bool = False,
    zeros: bool = False,
    checksums: bool = True,
) -> None:
    """Write a fitted model to ``path``, completely or not at all."""
    model._require_fitted()
    kind = kind_of(model)
    whole = zeros or _voters(model) is not None  # a voter may have a weight where the mean is 0
    parameters = model._parameters if whole else _active(model._parameters)
    header, arrays = _pack(model, parameters, compact=compact)
    named, tables = _pack_parameters(model, resolve_kind(kind))
    if float32:
        arrays |= {k: v.astype(np.float32) for k, v in arrays.items() if k in WEIGHTS}
    write_arrays(
        path, {"kind": kind, **header, "parameters": named}, {**arrays, **tables}, checksums=checksums
    )


def load(
    path: str | os.PathLike[str] | bytes,
    *,
    mapped: bool = True,
    verify: bool | None = None,
    functions: Any = None,
    segment_features: Any = None,
) -> Model:
    """Load a model from a file; bytes are taken as the content of a file.

    The class of the model is that of the kind which the file names: a ``ChainCRF``, for example. Models of
    CRFsuite, CRF++ and Wapiti and pickles of sklearn-crfsuite are recognised by their content, and become a
    ``ChainCRF``.

    Parameters
    ----------
    path : file, or its content
    mapped : map the file into memory, so that processes that load it share its pages; it must then be
        replaced (as ``save`` does), never written into. False reads it into the memory of this process
    verify : compare all of the file with its checksums; None does so in files of up to 64 MB
    functions : name -> function, if the model was trained with ``functions``: their names are stored, they
        are not. Without them the model can be inspected; predictions are an InputError
    segment_features : the function of that name, if the model is a SegmentCRF that was trained with one

    >>> import tempfile
    >>> from fieldcraft import ChainCRF
    >>> path = tempfile.mkdtemp() + "/model.fc"
    >>> ChainCRF().fit([[["a"], ["b"]]], [["X", "Y"]]).save(path)
    >>> load(path).predict([[["a"]]]).tolist()
    [['X']]
    """
    name = name_of(path)
    foreign = read_foreign(path)
    if foreign is not None:
        return chain_of(foreign)
    header, arrays = read_arrays(path, mapped=mapped, verify=verify)
    kind = resolve_kind(header.get("kind"))
    if kind is None:
        raise ModelFileError(
            f"{name} holds a {header.get('kind')!r}, which is no known kind of model ({', '.join(KINDS)}); "
            "import the package that registers it first"
        )
    try:
        model: Model = kind()
        if segment_features is not None:
            _needs(model, segment_features)
        header, arrays = upgrade(header, arrays)
        _unpack_parameters(model, header, arrays)
        _unpack(model, header, arrays)
    except FieldcraftError as error:
        raise ModelFileError(f"{name} is damaged: {error}") from None
    except DAMAGE as error:
        raise ModelFileError(f"{name} is damaged: {type(error).__name__}: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None
    _supply(model, functions)
    return model


def _needs(model: Any, segment_features: Any) -> None:
    if not hasattr(model, "segment_features"):
        raise InputError(f"segment_features is for models of segments; the file has a {type(model).__name__}")
    model.segment_features = segment_features


def _supply(model: Any, functions: Any) -> None:
    """Put functions into a loaded model; its parameter has None for those that are missing."""
    named = supply(parts_of(model._parameters.encoder), functions)
    if named and "functions" in vars(model):
        model.functions = named


def freeze(model: Any) -> dict[str, Any]:
    """For pickling: parameters and, if fitted, the content of a model file."""
    state: dict[str, Any] = {"params": model.get_params()}
    if model.__sklearn_is_fitted__():
        header, state["arrays"] = _pack(model, model._parameters, compact=False)
        state["header"] = {"format": FORMAT, **header}
        state["fitted"] = {name: getattr(model, name) for name in FITTED if hasattr(model, name)}
        # what training found besides: the states that a text stood for, those of a pool's members
        state["found"] = {
            name: vars(model)[name]
            for name in ("states_", "states")
            if name in vars(model).keys() - state["params"]
        }
        state["functions"] = supply(parts_of(model._parameters.encoder), None)
    return state


def thaw(model: Any, state: dict[str, Any]) -> None:
    """Undo ``freeze``, also of an earlier version."""
    model.__init__(**state["params"])
    if "header" in state:
        found = state.get("found", {} if state.get("states") is None else {"states_": state["states"]})
        vars(model).update(found)
        _unpack(model, *upgrade({"format": 2, **state["header"]}, state["arrays"]))
        supply(parts_of(model._parameters.encoder), state.get("functions"))
        model.__init__(**state["params"])
        vars(model).update({**state["fitted"], **found})


# -- the trained model ----------------------------------------------------------------------------


def _pack(model: Storable, parameters: Parameters, *, compact: bool) -> tuple[dict[str, Any], Arrays]:
    encoder, voters = parameters.encoder, _voters(model)
    settings, tables = encoder.state()
    arrays: Arrays = {"weights": parameters.trained}
    if voters is not None:
        arrays |= {"voters.votes": voters.votes, "voters.weights": voters.placed}
    arrays |= {f"index.{k}": v for k, v in parameters.packed.to_file(counts=not compact).items()}
    arrays |= {f"encoder.{k}": v for k, v in tables.items()}
    more: dict[str, Any] = {}
    if hasattr(model, "_beside"):
        more, others = model._beside(parameters)
        arrays |= others
    header = {
        **more,
        **parameters.calibration.to_header(),
        "labels": _stored_labels(model),
        "encoder": {"kind": next(k for k, v in ENCODERS.items() if isinstance(encoder, v)), **settings},
        "index": {"layout": parameters.packed.layout, **parameters.packed.numbers},
        "objective": _objective(model),
        "prior": _prior(getattr(model, "prior_", None)),
        "optimiser": _settings(getattr(model, "optimiser_", None)),
        "training": _training(model),
        "source": getattr(model, "source_", None),
        "provenance": {**getattr(model, "provenance_", {}), "fieldcraft": _release()},
    }
    return header, arrays


def _release() -> str:
    """The version of fieldcraft; programs that are packed into one file may lack what tells it."""
    try:
        return version("fieldcraft")
    except PackageNotFoundError:
        return "unknown"


def _unpack(model: Any, header: dict[str, Any], arrays: Arrays) -> None:
    labels = _labels(header["labels"])
    described = dict(header["encoder"])
    encoder = ENCODERS[described.pop("kind")].from_state(described, _under("encoder.", arrays))
    _restore_settings(model, encoder, header)
    if hasattr(model, "_prepare"):
        model._prepare(header)
    structure = model.structure_for(labels)
    numbers = dict(header["index"])
    layout = LAYOUTS[numbers.pop("layout")]
    features = layout.from_file(n_numbers(structure), numbers, _under("index.", arrays))
    weights = arrays["weights"]
    if weights.dtype not in (np.float32, np.float64):
        raise ValueError(f"weights of type {weights.dtype}")
    trained = weights.astype(np.float64, copy=False)
    corrected = Calibration.from_header(header.get("calibration"), len(labels))
    parameters = Parameters(encoder, features, trained, structure, corrected)
    training = dict(header.get("training") or {})
    if training:
        log = training.pop("training_log_")
        model.training_log_ = [Record(**dict(zip(log, row))) for row in zip(*log.values())]
        vars(model).update({name: training[name] for name in TRAINING})
    model.source_, model.provenance_ = header.get("source"), dict(header.get("provenance") or {})
    voting = _under("voters.", arrays)
    voters = Voters(parameters.scoring, voting["votes"], voting["weights"]) if voting else None
    if hasattr(model, "_take"):
        model._take(parameters, header, arrays)
    model._settle(parameters, labels, voters)


def _active(parameters: Parameters) -> Parameters:
    """The features whose weight is not 0; what a damaged file left undetected may show here."""
    try:
        return parameters.without_zeros()
    except FieldcraftError:
        raise
    except (ValueError, IndexError) as error:
        raise ModelFileError(f"the features of the model are damaged: {error}; load an intact file") from None


def _stored_labels(model: Any) -> list[str]:
    """The labels of the structure, which are ``classes_`` unless a model has several label columns."""
    own = getattr(model, "_stored_labels", None)
    labels: list[str] = model.classes_.tolist() if own is None else own()
    return labels


def _voters(model: Any) -> Voters | None:
    return getattr(model, "voters_", None)


# -- parameters -----------------------------------------------------------------------------------


def _pack_parameters(model: Storable, kind: Any) -> tuple[dict[str, Any], Arrays]:
    """The parameters of the constructor; a state space becomes arrays."""
    values = model.get_params()
    named = {k: values[k] for k in kind().get_params() if k in values and k not in GROUPED | SESSION}
    tables: Arrays = {}
    states = getattr(model, "states", None)
    if isinstance(states, StateSpace):
        named.pop("states", None)
    elif isinstance(states, str):
        states = getattr(model, "states_", None)
    if isinstance(states, StateSpace) and not (states.is_plain and named.get("states", "labels") == "labels"):
        tables = {f"states.{k}": v for k, v in pack_states(states).items()}
    if named.get("constraints") is not None:
        named["constraints"] = [str(constraint) for constraint in constraint_list(named["constraints"])]
    if "metric" in named:
        named["metric"] = named["metric"] if isinstance(named["metric"], str) else "auto"
    if "tokenizer" in named:
        named["tokenizer"] = describe_tokenizer(named["tokenizer"])
    for name, value in named.items():
        named[name] = value.tolist() if isinstance(value, np.ndarray) else value
        if not is_plain(named[name]):
            raise InputError(
                f"{name}={value!r} of {type(model).__name__} cannot be stored in a file: its parameters must "
                "be texts, numbers, booleans, None, or lists and dicts of these"
            )
    return named, tables


def _unpack_parameters(model: Any, header: dict[str, Any], arrays: Arrays) -> None:
    known = set(vars(model))  # its parameters: constructors only store
    for name, value in header["parameters"].items():
        if name not in known or name in GROUPED | SESSION:
            raise ValueError(f"{type(model).__name__} has no parameter {name!r} to be set by a file")
        if name == "metric" and not isinstance(value, str):
            raise ValueError("the metric is no text")
        setattr(model, name, restore_tokenizer(value) if name == "tokenizer" else value)
    spaces = _under("states.", arrays)
    if spaces:
        if not hasattr(model, "states"):
            raise ValueError(f"{type(model).__name__} has no state space")
        space = unpack_states(spaces, _labels(header["labels"]))
        if "states" in header["parameters"]:  # a text: what it stood for in training
            model.states_ = space
        else:
            model.states = space


def _labels(labels: Any) -> list[str]:
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ValueError("the labels are no list of strings")
    if len(set(labels)) != len(labels):
        raise ValueError("a label occurs twice")
    return labels


def _under(start: str, arrays: Arrays) -> Arrays:
    return {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}


def _training(model: Any) -> dict[str, Any] | None:
    if not hasattr(model, "training_log_"):
        return None
    every = -(-len(model.training_log_) // MOST_RECORDS) or 1  # long logs are thinned; the last record stays
    rows = [asdict(record) for record in model.training_log_[::-1][::every][::-1]]
    log = {f.name: [row[f.name] for row in rows] for f in fields(Record)}
    return {**{name: getattr(model, name) for name in TRAINING}, "training_log_": log}


def _prior(prior: Prior | None) -> dict[str, Any] | None:
    """Kind and settings of a prior; None if a setting is a vector over weights or a function."""
    kept = prior is not None and all(storable(value) for value in vars(prior).values())
    return prior.settings() if prior is not None and kept else None


def _settings(thing: Any) -> dict[str, Any] | None:
    """Kind and settings of an optimiser; None if a setting is a vector over weights."""
    if thing is None or any(np.ndim(value) for value in vars(thing).values()):
        return None
    numbers = {name: np.asarray(value).item() for name, value in vars(thing).items()}
    return {"kind": type(thing).__name__, **numbers}


def _objective(model: Any) -> dict[str, Any] | None:
    """Name and settings of an objective; costs as a matrix."""
    objective = getattr(model, "objective_", None)
    if objective is None:
        return None
    costs = objective.costs(_stored_labels(model))
    others = {
        field.name: getattr(objective, field.name)
        for field in fields(objective)
        if field.name != "cost" and getattr(objective, field.name) != field.default
    }
    return {"name": objective.name, **others, **({} if costs is None else {"cost": costs.tolist()})}


def _restore_settings(model: Any, encoder: Any, header: dict[str, Any]) -> None:
    """Restore the parameters that the file stores in groups, so that a loaded model can be trained again."""
    values: dict[str, Any] = {"hash_size": encoder.hash_size}
    described = dict(header.get("prior") or {})
    if described:
        priors = {kind.__name__: kind for kind in PRIORS.values()}
        values["prior"] = model.prior_ = priors[described.pop("kind")].from_settings(described)
    described = dict(header.get("optimiser") or {})
    if described:
        optimisers = {kind.__name__: kind for kind in OPTIMISERS.values()}
        values["optimiser"] = model.optimiser_ = optimisers[described.pop("kind")](**described)
    described = dict(header.get("objective") or {})
    if described:
        values["objective"] = model.objective_ = OBJECTIVES[described.pop("name")](**described)
    if isinstance(encoder, (SegmentFeatures, PairFeatures)):
        named, encoder = encoder.gazetteers, encoder.tokens
        values["gazetteers"] = named or None
    encoder = parts_of(encoder)[0] if supply(parts_of(encoder), None) else encoder  # the templates
    if isinstance(encoder, TemplateFeatures):
        named = getattr(encoder, "gazetteers", {}) | (values.pop("gazetteers", None) or {})
        values |= {"templates": encoder.templates, "gazetteers": named or None}
    else:
        values["edge_prefix"] = encoder.edge_prefix
    vars(model).update({name: value for name, value in values.items() if name in vars(model)})

"""Models to files and back. Every kind of model registers a name here."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import ENCODERS
from fieldcraft.errors import ModelFileError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.index import COLUMNS, FeatureIndex
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers import OPTIMISERS
from fieldcraft.priors import PRIORS
from fieldcraft.store.files import read_arrays, write_arrays

KINDS: dict[str, type[ChainCRF]] = {"chain": ChainCRF}
NEEDED = ("attribute", "previous", "label")
FITTED = (
    "training_log_",
    "objective_value_",
    "stop_reason_",
    "converged_",
    "n_iter_",
    "optimiser_",
    "prior_",
)


def save(model: ChainCRF, path: str | os.PathLike[str], *, compact: bool = False) -> None:
    """Write a fitted model to ``path``."""
    model._require_fitted()
    header, arrays = _pack(model, compact=compact)
    write_arrays(path, {**header, "fieldcraft": version("fieldcraft")}, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/model.fc"
    >>> ChainCRF().fit([[["a"], ["b"]]], [["X", "Y"]]).save(path)
    >>> load(path).predict([[["a"]]]).tolist()
    [['X']]
    """
    header, arrays = read_arrays(path)
    try:
        kind = KINDS[header["kind"]]
        model = kind()
        _unpack(model, header, arrays)
    except ModelFileError:
        raise
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ModelFileError(f"{os.fspath(path)} does not hold a model: {error!r}") from None
    return model


def freeze(model: ChainCRF) -> dict[str, Any]:
    """For pickling: parameters and, if fitted, what the file would hold."""
    state: dict[str, Any] = {"params": model.get_params()}
    if hasattr(model, "weights_"):
        state["header"], state["arrays"] = _pack(model, compact=False)
        state["fitted"] = {name: getattr(model, name) for name in FITTED if hasattr(model, name)}
    return state


def thaw(model: ChainCRF, state: dict[str, Any]) -> None:
    """Undo ``freeze``."""
    model.__init__(**state["params"])  # type: ignore[misc]
    if "header" in state:
        _unpack(model, state["header"], state["arrays"])
        model.__init__(**state["params"])  # type: ignore[misc]
        vars(model).update(state["fitted"])


def _pack(model: ChainCRF, *, compact: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    encoder_kind = next(k for k, v in ENCODERS.items() if isinstance(model.encoder_, v))
    settings, tables = model.encoder_.state()
    index = model.features_
    header = {
        "kind": "chain",
        "labels": model.classes_.tolist(),
        "encoder": {"kind": encoder_kind, **settings},
        "n_attributes": index.n_attributes,
        "decoding": model.decoding,
        "metric": model.metric if isinstance(model.metric, str) else "auto",
        "features": model.features,
        "min_count": model.min_count,
        "random_state": model.random_state,
        "prior": _settings(getattr(model, "prior_", None)),
        "optimiser": _settings(getattr(model, "optimiser_", None)),
    }
    columns = NEEDED if compact else COLUMNS
    arrays = {f"index.{name}": getattr(index, name) for name in columns}
    arrays |= {"index.windows": index.windows, "weights": model.weights_}
    arrays |= {f"encoder.{name}": table for name, table in tables.items()}
    return header, arrays


def _unpack(model: ChainCRF, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    n = len(arrays["weights"])
    filler = {"template": np.full(n, -1, np.int32)}
    filler |= {"count": np.zeros(n, np.int32), "family": np.zeros(n, np.int32)}
    columns = {k: np.array(arrays.get(f"index.{k}", filler.get(k))) for k in COLUMNS}
    index = FeatureIndex(**columns, windows=arrays["index.windows"], n_attributes=int(header["n_attributes"]))
    described = dict(header["encoder"])
    start = "encoder."
    tables = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
    encoder = ENCODERS[described.pop("kind")].from_state(described, tables)
    if index.n_attributes != encoder.n_attributes:
        raise ValueError(
            f"{index.n_attributes} attributes in the header, {encoder.n_attributes} in the table"
        )
    for name in ("decoding", "metric", "features", "min_count", "random_state"):
        setattr(model, name, header[name])
    _restore_parameters(model, encoder, header)
    weights = np.ascontiguousarray(arrays["weights"], np.float64)
    model._settle(encoder, index, weights, [str(label) for label in header["labels"]])


def _settings(thing: Any) -> dict[str, Any] | None:
    """Kind and numbers of a prior or optimiser; None where a setting is a vector over weights."""
    if thing is None or any(np.ndim(value) for value in vars(thing).values()):
        return None
    numbers = {name: np.asarray(value).item() for name, value in vars(thing).items()}
    return {"kind": type(thing).__name__, **numbers}


def _restore_parameters(model: ChainCRF, encoder: Any, header: dict[str, Any]) -> None:
    """The constructor's parameters as the file tells them, so that a loaded model can be trained again."""
    for name, table in (("prior", PRIORS), ("optimiser", OPTIMISERS)):
        described = dict(header.get(name) or {})
        kinds = {kind.__name__: kind for kind in table.values()}
        if described:
            setattr(model, name, kinds[described.pop("kind")](**described))
            setattr(model, f"{name}_", getattr(model, name))
    model.hash_size = encoder.hash_size
    if isinstance(encoder, TemplateFeatures):
        model.templates, model.gazetteers = encoder.templates, encoder.gazetteers or None
    else:
        model.edge_prefix = encoder.edge_prefix

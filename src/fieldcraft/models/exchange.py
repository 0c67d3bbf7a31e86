"""Models of other toolkits as chains, and chains as models of CRFsuite."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.models.parameters import Parameters, is_native
from fieldcraft.store.importers.imported import Features, Imported
from fieldcraft.structures.states import StateSpace

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF
    from fieldcraft.models.local_chain import CMM

EXPORTS = ("crfsuite",)


def chain_of(found: Imported) -> ChainCRF | CMM:
    """The chain, or the chain of local models, with the labels, features and weights of another toolkit."""
    from fieldcraft.models.chain import ChainCRF
    from fieldcraft.models.local_chain import CMM

    model: Any = CMM() if found.local else ChainCRF()
    if isinstance(found.encoder, TemplateFeatures):
        model.templates = found.encoder.templates
    elif not found.local:
        model.edge_prefix = found.encoder.edge_prefix
    structure = model.structure_for(found.labels)
    parameters = Parameters.of(found.encoder, found.index, found.weights, structure)
    model.source_, model.provenance_ = found.source, {"imported from": found.toolkit}
    model._settle(parameters, found.labels)
    return model  # type: ignore[no-any-return]


def export(model: Any, path: str | os.PathLike[str], format: str) -> None:
    """Write a chain as a model of another toolkit, completely or not at all."""
    from fieldcraft.replacing import replacing
    from fieldcraft.store.importers import crfsuite

    if format not in EXPORTS:
        raise InputError(f"format={format!r} is not known; choose {' or '.join(EXPORTS)}")
    model._require_fitted()
    _refuse(model)
    labels = model.classes_.tolist()
    try:
        attributes, features = _named_features(model)
        _refuse_zeros("label", labels)
        _refuse_zeros("attribute", attributes)
        content = crfsuite.write(labels, attributes, features)
    except ValueError as error:
        raise InputError(f"the model cannot be a model of CRFsuite: {error}") from None
    with replacing(path) as file:
        file.write(content)


def _refuse(model: Any) -> None:
    """InputError if CRFsuite cannot express the model."""
    parameters, encoder = model._parameters, model._parameters.encoder
    index = parameters.index
    problems = {
        "it forbids transitions, starts or stops (-inf)": _forbids(parameters.structure),
        "its states are not its labels": not is_native(parameters.structure),
        "its attributes are hashed, so that their names are not known": encoder.hash_size is not None,
        "it has gazetteers": bool(getattr(encoder, "gazetteers", None)),
        "it has features of label pairs that look at the input": bool(
            np.any(index.is_edge & (index.attribute >= 0) & (parameters.weights != 0.0))
        ),
    }
    for problem, holds in problems.items():
        if holds:
            raise InputError(f"the model cannot be a model of CRFsuite: {problem}")


def _forbids(structure: Any) -> bool:
    """Whether the states of a chain are its labels, but not everything is allowed."""
    states = getattr(structure, "states", None)
    if not isinstance(states, StateSpace) or not np.array_equal(states.label_of, np.arange(states.n_states)):
        return False
    return not (states.is_complete and states.starts.all() and states.stops.all())


def _refuse_zeros(what: str, names: list[str]) -> None:
    """ValueError for a name that CRFsuite, whose strings end at a 0, would cut short."""
    for name in names:
        if "\0" in name:
            raise ValueError(f"the {what} {name!r} contains a 0 character, where its names end")


def _named_features(model: Any) -> tuple[list[str], Features]:
    """The names of the attributes that have a weight, and the features with numbers of these names."""
    parameters = model._parameters
    active = parameters.weights != 0.0
    index, weights = parameters.index.select(active), parameters.weights[active]
    used = np.unique(index.attribute[index.attribute >= 0])
    texts = parameters.encoder.attribute_text(used)
    number = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    of_attribute = np.full(index.n_attributes + 1, -1, np.int64)  # the last entry serves -1
    of_attribute[used] = [number[text] for text in texts]
    columns = np.stack([of_attribute[index.attribute], index.previous, index.label])
    if len(number) < len(texts):  # attributes of one text have the same weights if one tool made them
        columns, weights = _merged(columns, weights)
    attribute, previous, label = columns.astype(np.int64)
    return list(number), Features(attribute, previous, label, np.asarray(weights, np.float64))


def _merged(columns: Any, weights: Any) -> tuple[Any, Any]:
    rows, first, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    if np.any(weights[first][which.reshape(-1)] != weights):
        raise InputError(
            "the model cannot be a model of CRFsuite: two of its attributes have the same text and different "
            "weights"
        )
    return rows, weights[first]

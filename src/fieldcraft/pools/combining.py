"""Models side by side: one encoder, one feature index, and a vector of weights for each model.

    W [n, F]        W[i, f] = weight of feature f in model i, 0 where model i has no such feature

A logarithmic pool with the weights v is then the one model with the weights v W. The feature index is the
union of those of the models: where all have the same one it is that one, and the arrays have the shapes of
a single model. Attributes are matched as features/union.py describes: models with different templates stand
side by side. Labels are matched by name. Features that several models have are counted as in the first of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder, windows_of
from fieldcraft.errors import InputError, NotFittedError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.union import union
from fieldcraft.models.answers import Answers
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.parameters import Parameters, Scoring
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
SPACE = ("sources", "targets", "starts", "stops", "label_of", "node_class", "edge_class", "tuple_class")


@dataclass(frozen=True, eq=False)
class Combined:
    """Models side by side.

    Parameters
    ----------
    names : of the models
    classes : labels, in the order of the first model
    encoder : sequences -> attributes of all models
    index : the features of all models
    weights : [n, F]
    structure : the chain of all models
    """

    names: tuple[str, ...]
    classes: list[str]
    encoder: Encoder
    index: FeatureIndex
    weights: Floats
    structure: Structure

    def __len__(self) -> int:
        return len(self.names)

    def parameters(self, weights: Floats) -> Parameters:
        """The model with these weights [F]."""
        return Parameters.of(self.encoder, self.index, weights, self.structure)

    @cached_property
    def scoring(self) -> Scoring:
        """Makes scorers from weights [F]."""
        return Scoring.of(self.index, self.structure)

    @cached_property
    def scorers(self) -> list[Any]:
        """[n] a scorer of each model, with its own features alone."""
        return [model._parameters.scorer for model in self.models]

    @cached_property
    def models(self) -> list[ChainCRF]:
        """[n] each model by itself; all have the same encoder and feature index."""
        return [self._model(row) for row in self.weights]

    def _model(self, weights: Floats) -> ChainCRF:
        model = ChainCRF()
        if isinstance(self.structure, LinearChain) and not self.structure.is_plain:
            model.states = self.structure.states
        model._settle(self.parameters(weights), self.classes)
        return model

    def without_zeros(self) -> Combined:
        """The features that have a weight in some model, and their attributes."""
        used = np.asarray(self.weights.any(axis=0))  # [F]
        if used.all():
            return self
        kept = self.parameters(used.astype(np.float64)).without_zeros()
        return replace(self, encoder=kept.encoder, index=kept.index, weights=self.weights[:, used])


def combine(models: Sequence[Any], names: Sequence[str]) -> Combined:
    """Trained models side by side; InputError unless they are chains with the same labels."""
    for name, model in zip(names, models):
        _check(name, model)
    first = models[0]
    orders: list[Any] = [_label_order(names[0], first, *pair) for pair in zip(names, models)]
    if not _check_states(names, models):
        orders = [None] * len(orders)  # the same state space, whose classes have the same numbers
    one = union([model._parameters.encoder for model in models])
    encoder = one.encoder
    indices = [
        _renumbered(model._parameters.index, encoder, *numbers)
        for model, *numbers in zip(models, one.attributes, one.templates, orders)
    ]
    whole = indices[0]
    for index in indices[1:]:
        whole = whole if index.digest == whole.digest else whole.append(index)
    weights = np.zeros((len(models), len(whole)))
    for row, index, model in zip(weights, indices, models):
        own = slice(None) if index.digest == whole.digest else index.rows_in(whole)
        row[own] = model._parameters.weights
    return Combined(
        tuple(names), first.classes_.tolist(), encoder, whole, weights, first._parameters.structure
    )


def _check(name: str, model: Any) -> None:
    if not isinstance(model, Answers):
        raise InputError(f"member {name}: a {type(model).__name__} is no model; pass ChainCRFs or experts")
    if not model.__sklearn_is_fitted__():
        raise NotFittedError(f"member {name} is not trained yet; call fit of the pool, or of the member")
    if getattr(model, "voters_", None) is not None:
        raise InputError(
            f"member {name} is a voted perceptron, whose labels are elected, so that it has no distribution "
            "that could be pooled; train it with 'averaged_perceptron'"
        )
    parameters = model._parameters
    single = getattr(
        model, "_is_one_model", lambda: True
    )()  # not so are linear pools, and pools per position
    if not single or not isinstance(parameters.structure, LinearChain):
        raise InputError(
            f"member {name} ({type(model).__name__}) is not one chain with weights; pool its members"
        )
    if not parameters.structure.one_to_one:
        raise InputError(
            f"member {name} has several states for a label: the probability of a labelling is a sum over "
            "states, whose product with others is no chain; use members with states='labels'"
        )


def _label_order(first_name: str, first: Any, name: str, model: Any) -> NDArray[np.int32]:
    """[Y + 1] the number in the first model of each label of a model; the last is -1."""
    number = {label: i for i, label in enumerate(first.classes_.tolist())}
    own = model.classes_.tolist()
    if set(own) != set(number):
        mine, others = sorted(set(own) - set(number)), sorted(set(number) - set(own))
        facts = [f"only {name} has {', '.join(mine)}"] if mine else []
        facts += [f"only {first_name} has {', '.join(others)}"] if others else []
        raise InputError(
            f"members {first_name} and {name} have different labels ({'; '.join(facts)}); train them "
            "with the same labels="
        )
    return np.array([*(number[label] for label in own), -1], np.int32)


def _check_states(names: Sequence[str], models: Sequence[Any]) -> bool:
    """Whether states are labels; InputError if the models have different state spaces."""
    spaces = [model._parameters.structure.states for model in models]
    labels = [model.classes_.tolist() for model in models]
    if all(space.is_plain for space in spaces):
        return True
    for name, space, own in zip(names, spaces, labels):
        same = all(np.array_equal(getattr(space, part), getattr(spaces[0], part)) for part in SPACE)
        if not same or own != labels[0]:
            raise InputError(
                f"members {names[0]} and {name} have different state spaces; train them with the same states="
            )
    return False


def _renumbered(
    index: FeatureIndex, encoder: Any, attributes: Any, templates: Any, order: Any
) -> FeatureIndex:
    """An index in the attributes and templates of the union, and in the labels of the first model."""
    labels = (
        index.labels if order is None else order[index.labels.T].T
    )  # None: the numbers are those of classes
    template = np.append(templates, -1)[index.template].astype(np.int32)
    renamed = replace(index, labels=labels, template=template, windows=windows_of(encoder))
    return renamed.with_attributes(np.append(attributes, -1)[index.attribute], encoder.n_attributes)

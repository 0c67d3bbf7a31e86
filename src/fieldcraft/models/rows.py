"""Models of single rows, as chains of length one: what logistic regression and naive Bayes share.

    p(y | x) = exp(b_y + sum of x_f w_{f y}) / Z(x)

X has one row of features per example: a dict of numbers, a list of names, or a dict of texts. The weights are
a table [attributes, Y] in which the bias is an attribute of every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import windows_of
from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.models.model import Model
from fieldcraft.models.parameters import Parameters
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
BIAS = "(bias)"


class RowModel(Model):
    """What the two have in common: predictions for rows."""

    def predict(self, X: Any, *, constraints: Any = None) -> NDArray[np.object_]:
        """Labels: a one-dimensional array."""
        lists = super().predict(X, constraints=constraints)
        return np.array([*(labels[0] for labels in lists), None], object)[:-1]

    def predict_proba(self, X: Any, *, constraints: Any = None) -> Any:
        """Probabilities: an array [rows, Y] in the order of ``classes_``."""
        rows = super().predict_proba(X, constraints=constraints)
        return np.concatenate([np.zeros((0, len(self.classes_))), *rows])

    def log_probability(self, X: Any, y: Any = None) -> Floats:
        """log p(y | x) of each row."""
        return super().log_probability(X, [[label] for label in y])

    @property
    def _bias(self) -> int:
        """The attribute that every row has."""
        encoder = self._parameters.encoder
        return list(encoder.attribute_text(range(encoder.n_attributes))).index(BIAS)

    def _table(self) -> Floats:
        """[A, Y] the weights of attributes with labels; 0 where a feature is not in the model."""
        return table_of(self._parameters, len(self.classes_))

    def score(self, X: Any, y: Any = None) -> float:
        """The fraction of rows whose label is right."""
        return float(np.mean([a == b for a, b in zip(self.predict(X), y)]))

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """A chain over the labels, of which rows use one position."""
        return LinearChain(StateSpace.labels(labels))

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        return super()._scored(sequences_of_rows(X), *arguments, **options)


def sequences_of_rows(X: Iterable[Any]) -> list[list[Any]]:
    """Rows as sequences of length one, each with a feature that is always there."""
    out: list[list[Any]] = []
    for i, row in enumerate(X):
        if isinstance(row, dict):
            out.append([{**row, BIAS: 1.0}])
        elif isinstance(row, (list, tuple, set)):
            out.append([[*row, BIAS]])
        else:
            raise InputError(f"row {i} is a {type(row).__name__}; give a dict or a list of features")
    return out


def parameters_of(encoder: Any, table: Floats, structure: LinearChain) -> Parameters:
    """Weights [A, Y] of attributes with labels."""
    attribute, label = (part.astype(np.int32) for part in np.divmod(np.arange(table.size), table.shape[1]))
    blank = np.zeros(table.size, np.int32)
    labels = np.stack([np.full(table.size, -1, np.int32), label]).T
    template = encoder.attribute_template[attribute]
    index = FeatureIndex(attribute, labels, template, blank, blank, windows_of(encoder), encoder.n_attributes)
    return Parameters.of(encoder, index, table.ravel(), structure)


def table_of(parameters: Parameters, n_labels: int) -> Floats:
    """The weights [A, Y] of a model of rows."""
    index = parameters.index
    table = np.zeros((parameters.encoder.n_attributes, n_labels))
    mine = (index.attribute >= 0) & (index.labels[:, 0] < 0)  # not those of label pairs, which rows lack
    table[index.attribute[mine], index.label[mine]] = parameters.weights[mine]
    return table

"""Clique templates and the graphs that they are laid over.

A clique template says how the factors of one kind share weights. A factor of it has observations x (a row of
features) and scores the states of its variables by

    table[cell] = sum over features f of x_f * weight[f, class(cell)]

``tying`` maps the cells of a table to classes: every cell its own ("full"), all states equal or not
("same"), one class for each state that all variables agree on ("agreement"; other cells score 0), or a map of
one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError

Ints = NDArray[np.int32]
TYINGS = ("full", "same", "agreement")


@dataclass(frozen=True, eq=False)
class Clique:
    """A clique template: factors of one kind, which share their weights.

    Parameters
    ----------
    name : under which instances list the factors
    tying : "full", "same", "agreement", or an integer array of the shape of a table with the class of each
        cell: cells of one class share weights, and those of class -1 have none and score 0
    attractive : of "same" and "agreement": equal labels never score less than different ones, so that minimum
        cuts find the best labelling (associative networks); observations must not be negative, and training
        is that of the margin by Frank-Wolfe

    >>> Clique("pair", "agreement").classes((2, 2)).tolist()
    [0, -1, -1, 1]
    """

    name: str
    tying: Any = "full"
    attractive: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name == "node":
            raise InputError(f"Clique: name={self.name!r}; give a text that is not empty and not 'node'")
        if self.attractive and not (isinstance(self.tying, str) and self.tying in ("same", "agreement")):
            raise InputError(f"clique {self.name!r}: attractive=True needs tying='same' or 'agreement'")
        if isinstance(self.tying, str):
            if self.tying not in TYINGS:
                raise InputError(
                    f"clique {self.name!r}: tying={self.tying!r}; give {', '.join(TYINGS)} or an array"
                )
            return
        table = np.asarray(self.tying)
        if table.dtype.kind not in "iu" or table.ndim == 0 or table.min(initial=-1) < -1:
            raise InputError(f"clique {self.name!r}: a map must have whole numbers >= -1, one for each cell")

    def __repr__(self) -> str:
        tying = self.tying if isinstance(self.tying, str) else np.asarray(self.tying).tolist()
        return f"Clique({self.name!r}, {tying!r}{', attractive=True' if self.attractive else ''})"

    def signs(self, classes: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper bounds of weights of these classes."""
        lower, upper = np.full(len(classes), -np.inf), np.full(len(classes), np.inf)
        if self.attractive:
            apart = (np.asarray(classes) == 1) & (self.tying == "same")
            lower[~apart], upper[apart] = 0.0, 0.0
        return lower, upper

    def classes(self, shape: tuple[int, ...]) -> Ints:
        """[cells] the class of each cell of a table of this shape, -1 for none."""
        if not isinstance(self.tying, str):
            table = np.asarray(self.tying, np.int32)
            if table.shape != shape:
                raise InputError(
                    f"clique {self.name!r}: its map has shape {table.shape}, its tables have {shape}"
                )
            return table.reshape(-1)
        cells = np.arange(int(np.prod(shape)), dtype=np.int32)
        if self.tying == "full":
            return cells
        states = np.stack(np.unravel_index(cells, shape))
        equal = (states == states[0]).all(axis=0)
        if self.tying == "same":
            return np.where(equal, 0, 1).astype(np.int32)
        return np.where(equal, states[0], -1).astype(np.int32)


class GraphInstance:
    """A graph to label: variables, the factors of each clique template, and what is known of the labels.

    Parameters
    ----------
    cardinalities : how many variables there are, all over the labels of the model; or [n] the number of
        states of each variable, which are the first labels of the model
    cliques : for each template ``(scope, observations)``: scope [K, arity] the variables of each factor, and
        a row of features for each of them [K, A], a SciPy sparse matrix or an array; None for no features
    labels : [n] names of labels, or numbers of states; None or -1 where unknown

    >>> chain = GraphInstance(3, {"edge": ([[0, 1], [1, 2]], None)}, ["a", None, "b"])
    >>> chain
    GraphInstance(3 variables, 2 edge, 2 of 3 labels known)
    """

    def __init__(
        self, cardinalities: Any, cliques: Mapping[str, tuple[Any, Any]], labels: Any = None
    ) -> None:
        self.cardinalities: Ints | None = None
        if np.ndim(cardinalities) == 0:
            self.n_variables = whole_number(cardinalities, "cardinalities", 0)
        else:
            self.cardinalities = np.asarray(cardinalities, np.int32)
            self.n_variables = len(self.cardinalities)
            if self.cardinalities.ndim != 1 or self.cardinalities.min(initial=1) < 1:
                raise InputError("cardinalities must be a list of whole numbers >= 1")
        self.cliques = {
            name: _checked(name, scope, rows, self.n_variables) for name, (scope, rows) in cliques.items()
        }
        self.labels = None if labels is None else _known(labels, self.n_variables)

    def sizes(self, n_labels: int) -> Ints:
        """[n] the number of states of each variable in a model of so many labels."""
        if self.cardinalities is None:
            return np.full(self.n_variables, n_labels, np.int32)
        if self.cardinalities.max(initial=0) > n_labels:
            v = int(self.cardinalities.argmax())
            raise InputError(f"variable {v} has {self.cardinalities[v]} states, the model {n_labels} labels")
        return self.cardinalities

    def __repr__(self) -> str:
        listed = [f"{len(scope):,} {name}" for name, (scope, _) in self.cliques.items()]
        known = sum(label is not None for label in self.labels or ())
        listed.append(f"{known:,} of {self.n_variables:,} labels known")
        return f"GraphInstance({self.n_variables:,} variables, {', '.join(listed)})"


def _checked(name: str, scope: Any, rows: Any, n: int) -> tuple[Ints, Any]:
    """Scope [K, arity] and observations (CSR [K, A] or None) of a template."""
    given = np.asarray(scope)
    if given.size == 0:
        given = given.reshape(0, given.shape[1] if given.ndim == 2 and given.shape[1] else 1).astype(np.int32)
    if given.ndim == 1:
        given = given[:, None]
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise InputError(f"clique {name!r}: scope must be whole numbers [K, arity], got shape {given.shape}")
    wrong = ((given < 0) | (given >= n)).any(axis=1)
    if wrong.any():
        k = int(np.argmax(wrong))
        v = int(given[k][(given[k] < 0) | (given[k] >= n)][0])
        raise InputError(
            f"clique {name!r}, factor {k}: variable {v} does not exist; the instance has {n}, numbered from 0"
        )
    if rows is None:
        return np.ascontiguousarray(given, np.int32), None
    from scipy import sparse

    matrix = sparse.csr_array(rows, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != len(given):
        raise InputError(
            f"clique {name!r}: {len(given)} factors, observations of shape {matrix.shape}; "
            "one row per factor is needed"
        )
    if not np.isfinite(matrix.data).all():
        raise InputError(f"clique {name!r}: an observation is nan or infinite")
    return np.ascontiguousarray(given, np.int32), matrix


def _known(labels: Any, n: int) -> list[Any]:
    """[n] labels, with None where nothing is known."""
    given = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(given) != n:
        raise InputError(f"{len(given)} labels for {n} variables; give one for each, None where unknown")
    for v, label in enumerate(given):
        if not (label is None or isinstance(label, (str, int, np.integer))) or isinstance(label, bool):
            raise InputError(f"variable {v}: label {label!r} is neither a name, a number of a state nor None")
    return [
        None if label is None or (not isinstance(label, str) and label == -1) else label for label in given
    ]

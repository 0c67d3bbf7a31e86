"""Features that functions of the user make from the columns of a sequence.

A function is called with the columns of one sequence, ``{"word": ["in", "Rome"], …}``, and returns for each
token what X may hold: a string, a list of strings, a dict, or a number. It may also return an array or a
sparse matrix [T, n]. Attributes are shown as ``name:attribute``; a number is the value of the attribute
``name``.

A model file stores the names of functions only. ``supply`` puts functions into a loaded encoder; one whose
function is missing raises an InputError when it encodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.terms import Template, Term
from fieldcraft.features.user_features import FreeFeatures, is_matrix

Function = Callable[[dict[str, list[str]]], Any]
ALONE = ""  # the attribute of a number, whose text is the name of the function


class FunctionFeatures:
    """Encoder of the features of one function.

    Parameters
    ----------
    name : of the function, as the model file stores it
    function : columns of a sequence -> one item per token; None if it is missing
    columns : names of the columns of tokens that are tuples or strings, in order; empty if they are numbered
    hash_size : as for FreeFeatures

    >>> ends = FunctionFeatures("ends", lambda columns: [word[-1] for word in columns["word"]], ["word"])
    >>> ends.attribute_text(ends.encode([["the", "cat"]], grow=True).attributes)
    ['ends:e', 'ends:t']
    """

    kind = "templates"  # it takes the sequences that templates take
    edge_bias = False
    edge_prefix = None

    def __init__(
        self, name: str, function: Function | None, columns: Iterable[str], *, hash_size: int | None = None
    ) -> None:
        self.name, self.function, self.columns = name, function, tuple(columns)
        self.table = FreeFeatures(hash_size=hash_size)

    @property
    def templates(self) -> list[Template]:
        return [Template((Term("constant"),), "node", ("", ""), self.name)]

    @property
    def hash_size(self) -> int | None:
        return self.table.hash_size

    @property
    def n_attributes(self) -> int:
        return self.table.n_attributes

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        return np.zeros(self.n_attributes, np.int32)

    def attribute_text(self, ids: Iterable[int]) -> list[str]:
        """The names of attributes: ``name:attribute``."""
        return [
            f"{self.name}:{text}" if text != ALONE else self.name for text in self.table.attribute_text(ids)
        ]

    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded:
        """Attribute ids of all tokens; unknown attributes are added (grow) or left out."""
        if self.function is None:
            raise missing_function(self.name, f"functions={{{self.name!r}: function}}")
        items = [self._items(sequence, i) for i, sequence in enumerate(X)]
        try:
            return self.table.encode(items, grow=grow, n_threads=n_threads)
        except InputError as error:
            raise InputError(f"function {self.name!r}: {error}") from None

    def _items(self, sequence: Any, i: int) -> Any:
        """What the function returns for a sequence, in the form that free features take."""
        columns = columns_of(sequence, self.columns)
        length = len(next(iter(columns.values()), ()))
        given = self.function(columns)  # type: ignore[misc]
        if not is_matrix(given) and (
            isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__")
        ):
            raise InputError(
                f"sequence {i}: function {self.name!r} returned a {type(given).__name__}; it must return a "
                "list with an item for each token"
            )
        flat = is_matrix(given) and given.ndim == 1
        items = given if is_matrix(given) and not flat else [_item(item) for item in given]
        count = len(items) if isinstance(items, list) else items.shape[0]
        if count != length:
            raise InputError(
                f"sequence {i}: function {self.name!r} returned {count} items for {length} tokens; it must "
                "return one for each"
            )
        return items

    def empty(self) -> FunctionFeatures:
        """The same function without attributes."""
        return FunctionFeatures(self.name, self.function, self.columns)

    def keep(self, ids: NDArray[np.int64]) -> FunctionFeatures:
        """An encoder with only these attributes, renumbered in this order."""
        return self.with_table(self.table.keep(ids))

    def with_table(self, table: FreeFeatures) -> FunctionFeatures:
        """The same function with other attributes."""
        made = self.empty()
        made.table = table
        return made

    def contents(self) -> list[NDArray[Any]]:
        """Arrays that identify it, for a digest."""
        return [np.frombuffer(self.name.encode("utf-8", "surrogatepass"), np.uint8), *self.table.contents()]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The content of a model file, without the function."""
        described, arrays = self.table.state()
        return {"function": self.name, "columns": list(self.columns), "table": described}, arrays

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FunctionFeatures:
        """The encoder from the output of ``state``; its function is missing."""
        name, columns = settings["function"], settings["columns"]
        if not isinstance(name, str) or not all(isinstance(column, str) for column in columns):
            raise ValueError("the name of a function is damaged")
        made = cls(name, None, columns)
        made.table = FreeFeatures.from_state(settings["table"], arrays)
        return made


def missing_function(name: str, argument: str) -> InputError:
    """The error of a model that needs a function which its file does not contain."""
    return InputError(
        f"the model was trained with a function {name}, which is not stored with it; pass it again: "
        f"fc.load(path, {argument})"
    )


def check_functions(functions: Any) -> dict[str, Any]:
    """The argument ``functions``: a dict of names and functions."""
    if functions is None:
        return {}
    if not isinstance(functions, Mapping):
        raise InputError(
            f"functions is a {type(functions).__name__}; give a dict: functions={{'name': function}}"
        )
    for name, function in functions.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"functions has the name {name!r}; give each function a name, a str")
        if function is not None and not callable(function):
            raise InputError(
                f"functions[{name!r}] is a {type(function).__name__}; give a function of a sequence's columns"
            )
    return dict(functions)


def supply(parts: Iterable[Any], functions: Any) -> dict[str, Any]:
    """Put functions into encoders that lack them; returns those of all encoders by name, None if missing."""
    mine = [part for part in parts if isinstance(part, FunctionFeatures)]
    given = check_functions(functions)
    names = [part.name for part in mine]
    strange = [name for name in given if name not in names]
    if strange:
        known = f"its functions are {', '.join(names)}" if names else "it was trained without any"
        raise InputError(f"the model has no function {strange[0]!r}; {known}")
    for part in mine:
        part.function = given.get(part.name, part.function)
    return {part.name: part.function for part in mine}


def columns_of(sequence: Any, names: Sequence[str]) -> dict[str, list[str]]:
    """The columns of one sequence, in any form that templates take; without names they are "0", "1" ….

    >>> columns_of([("in", "IN"), ("Rome", "NNP")], ["word", "pos"])
    {'word': ['in', 'Rome'], 'pos': ['IN', 'NNP']}
    """
    named = getattr(sequence, "columns", sequence)
    if isinstance(named, Mapping):
        return dict(named)
    tokens = list(sequence)
    if not tokens:
        return {name: [] for name in names or ["0"]}
    if isinstance(tokens[0], str):
        return {names[0] if names else "0": tokens}
    if isinstance(tokens[0], Mapping):
        shared = [key for key in tokens[0] if all(key in token for token in tokens)]
        return {key: [token[key] for token in tokens] for key in shared}
    return {name: list(column) for name, column in zip(names or map(str, count()), zip(*tokens))}


def _item(item: Any) -> Any:
    """An item of free features; a number or a boolean is the value of one attribute."""
    if isinstance(item, (bool, np.bool_)):
        return {ALONE: bool(item)}
    return {ALONE: float(item)} if isinstance(item, (int, float, np.number)) else item

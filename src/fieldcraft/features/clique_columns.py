"""Observations of cliques: the columns of their sparse matrices become attributes.

Layout: attribute a is the column ``column[a]`` of the matrix of template ``template[a]``. Templates without
matrix have none: their features hold for every factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded

Ints = NDArray[np.int32]


class CliqueTemplate(NamedTuple):
    """A template as priors and inspection see it."""

    name: str
    part: str = ""
    window: tuple[int, int] = (0, 0)


class EncodedCliques(Encoded):
    """Graphs as attribute ids: positions are variables, and each template has rows of its own."""

    parts: Mapping[str, Encoded]

    @classmethod
    def of(cls, offsets: NDArray[np.int64], parts: Mapping[str, Encoded]) -> EncodedCliques:
        """Variables by graph ``offsets``, and the factors of each template."""
        made = cls(offsets, np.zeros(int(offsets[-1]) + 1, np.int64), np.zeros(0, np.int32), None)
        made.parts = parts
        return made

    def take(self, sequences: NDArray[np.integer[Any]]) -> EncodedCliques:
        variables = Encoded(*self).take(sequences)
        return EncodedCliques.of(
            variables.offsets, {name: part.take(sequences) for name, part in self.parts.items()}
        )

    def for_part(self, part: str) -> Encoded:
        return self.parts[part]

    def arrays(self) -> list[NDArray[Any] | None]:
        return [self.offsets, *(array for part in self.parts.values() for array in part)]


class CliqueColumns:
    """Encoder of graphs.

    Parameters
    ----------
    names : of the templates
    widths : columns that the matrix of each template has, -1 for templates without
    template, column : [A] what each attribute is; None for all columns
    """

    kind = "cliques"
    hash_size = None
    edge_prefix = None
    edge_bias = False

    def __init__(
        self,
        names: Sequence[str],
        widths: Sequence[int],
        template: Ints | None = None,
        column: Ints | None = None,
    ) -> None:
        self.names, self.widths = tuple(names), tuple(widths)
        sizes = [max(0, width) for width in self.widths]
        every = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
        columns = np.concatenate([np.zeros(0, np.int32), *(np.arange(n, dtype=np.int32) for n in sizes)])
        self.attribute_template: Ints = every if template is None else template
        self.column: Ints = columns if column is None else column

    @classmethod
    def learn(cls, names: Sequence[str], instances: Iterable[Any]) -> CliqueColumns:
        """From training instances, whose matrices must agree in their columns."""
        widths: dict[str, int] = {}
        for i, instance in enumerate(instances):
            for name, (_, matrix) in instance.cliques.items():
                width = -1 if matrix is None else int(matrix.shape[1])
                if widths.setdefault(name, width) != width:
                    raise _other_width(i, name, width, widths[name])
        return cls(names, [widths.get(name, -1) for name in names])

    @property
    def templates(self) -> list[Any]:
        return [CliqueTemplate(name, name) for name in self.names]

    @property
    def n_attributes(self) -> int:
        return len(self.column)

    def attribute_text(self, ids: Iterable[int]) -> list[str]:
        """Attributes as template:column."""
        return [f"{self.names[self.attribute_template[i]]}:{self.column[i]}" for i in ids]

    def encode(self, X: Any, *, grow: bool = False, n_threads: int = 1) -> EncodedCliques:
        """Attribute ids of the factors of each template."""
        del grow, n_threads
        offsets = np.cumsum([0, *(instance.n_variables for instance in X)], dtype=np.int64)
        return EncodedCliques.of(offsets, {name: self._part(t, X) for t, name in enumerate(self.names)})

    def _part(self, t: int, X: Any) -> Encoded:
        name, width = self.names[t], self.widths[t]
        rows = [instance.cliques.get(name, ((), None)) for instance in X]
        offsets = np.cumsum([0, *(len(scope) for scope, _ in rows)], dtype=np.int64)
        at = np.full(max(0, width), -1, np.int32)  # column -> attribute; -1 for those without weight
        mine = np.flatnonzero(self.attribute_template == t)
        at[self.column[mine]] = mine
        lengths, attributes, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
        for i, (scope, matrix) in enumerate(rows):
            own = -1 if matrix is None else int(matrix.shape[1])
            if own != width and len(scope):
                raise _other_width(i, name, own, width)
            if matrix is None or not len(scope):
                lengths.append(np.zeros(len(scope), np.int64))
                continue
            ids = at[matrix.indices]
            kept = ids >= 0
            of = np.repeat(np.arange(len(scope)), np.diff(matrix.indptr))[kept]
            lengths.append(np.bincount(of, minlength=len(scope)))
            attributes.append(ids[kept])
            values.append(matrix.data[kept])
        ptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        return Encoded(offsets, ptr, np.concatenate(attributes), np.concatenate(values))

    def keep(self, kept: NDArray[np.int64]) -> CliqueColumns:
        """Some of the attributes alone."""
        return CliqueColumns(self.names, self.widths, self.attribute_template[kept], self.column[kept])

    def contents(self) -> list[NDArray[Any]]:
        """What a digest of training data takes in."""
        return [np.frombuffer("\0".join(self.names).encode(), np.uint8), self.column]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """For a model file."""
        arrays = {"template": self.attribute_template, "column": self.column}
        return {"names": list(self.names), "widths": list(self.widths)}, arrays

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> CliqueColumns:
        """Undo ``state``; ValueError where the numbers do not fit."""
        names, widths = settings["names"], settings["widths"]
        template, column = (np.asarray(arrays[name], np.int32) for name in ("template", "column"))
        if len(names) != len(widths) or not all(type(width) is int for width in widths):
            raise ValueError("the widths of the observations are damaged")
        if template.shape != column.shape or template.ndim != 1:
            raise ValueError("the attributes of the cliques are damaged")
        if np.any((template < 0) | (template >= len(names))):
            raise ValueError("an attribute belongs to a template that does not exist")
        if np.any((column < 0) | (column >= np.array([*widths, 0])[template])):
            raise ValueError("an attribute is a column that does not exist")
        return cls(names, widths, template, column)


def _other_width(i: int, name: str, width: int, known: int) -> InputError:
    text = ["none" if n < 0 else f"{n} columns" for n in (width, known)]
    return InputError(
        f"instance {i}, clique {name!r}: observations have {text[0]}, in training {text[1]}; "
        "give the same features"
    )

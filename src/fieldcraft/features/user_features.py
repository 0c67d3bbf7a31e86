"""Features that users compute themselves: strings, dicts, matrices -> attribute ids.

An item (token) is a str, a list or set of str, or a dict of name -> str | bool | number | list | dict;
``{"k": "v"}`` is the attribute ``k:v``. A sequence may also be a NumPy array or SciPy sparse matrix
[T, n]: column j is the attribute ``j`` with the cell as its value. Ids follow first appearance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.sparse_matrices import own_csr
from fieldcraft.features.stored import as_stored
from fieldcraft.features.terms import Template, Term
from fieldcraft.memory import check_memory

_ARRAYS = {"names": np.uint8, "starts": np.uint32, "slots": np.uint32}


# The feature index needs templates: one for node features, one for edge features.
NAMES = {"features": "node", "edges": "edge"}
TEMPLATES = [Template((Term("constant"),), part, ("", ""), name) for name, part in NAMES.items()]


class FreeFeatures:
    """Encoder of features that users compute.

    Parameters
    ----------
    hash_size : attributes are hashed into this many ids instead of being stored in a table; None for a table
    edge_prefix : attributes whose name begins with it are combined with pairs of labels
    """

    kind = "free"
    edge_bias = True
    templates = TEMPLATES

    def __init__(self, *, hash_size: int | None = None, edge_prefix: str | None = None) -> None:
        whole = hash_size is None or isinstance(hash_size, (int, np.integer))
        if not whole or (hash_size is not None and not 1 <= hash_size < 2**31 - 1):
            raise InputError(f"hash_size is {hash_size!r}; it must be a whole number between 1 and 2^31 - 2")
        if edge_prefix is not None and not isinstance(edge_prefix, str):
            raise InputError(f"edge_prefix is {edge_prefix!r}; it must be a str")
        if hash_size is not None and edge_prefix is not None:
            raise InputError("edge_prefix needs the attributes' names, which hashing forgets; drop one")
        self.hash_size = hash_size
        self.edge_prefix = edge_prefix
        self._table = _core.AttributeTable(hash_size or 0)

    @property
    def n_attributes(self) -> int:
        return len(self._table)

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        """[A] 0 for attributes of nodes, 1 for those of edges."""
        if self.edge_prefix is None:
            return np.zeros(self.n_attributes, np.int32)
        names = (self._table.name(i) for i in range(self.n_attributes))
        return np.array([name.startswith(self.edge_prefix) for name in names], np.int32)

    def attribute_text(self, ids: Iterable[int]) -> list[str]:
        """The names of attributes."""
        return [self._table.name(int(i)) for i in ids]

    def ids(self, names: Iterable[str]) -> NDArray[np.int32]:
        """The ids of attributes; -1 where a name is unknown."""
        found: NDArray[np.int32] = self._table.ids(list(names), False)
        return found

    def add(self, names: Iterable[str]) -> NDArray[np.int32]:
        """The ids of attributes; unknown names are added."""
        ids: NDArray[np.int32] = self._table.ids(list(names), True)
        return ids

    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded:
        """Attribute ids of all tokens; unknown attributes are added (grow) or left out."""
        if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__iter__") or getattr(X, "ndim", 1) == 0:
            raise InputError(
                f"X is a {type(X).__name__}; it must be a list of sequences, each a list of items"
            )
        sequences = X if isinstance(X, list) else list(X)
        if sequences and is_matrix(sequences[0]):
            return self._encode_matrices(sequences, grow=grow)
        try:
            return Encoded(*self._table.encode(sequences, grow, n_threads))
        except ValueError as error:
            raise InputError(str(error)) from None

    def _encode_matrices(self, matrices: list[Any], *, grow: bool) -> Encoded:
        rows = [_nonzeros(m, i) for i, m in enumerate(matrices)]
        widths = {m.shape[1] for m in matrices}
        if len(widths) > 1:
            raise InputError(f"matrices of different widths {sorted(widths)}; all need one width")
        width = max(widths)
        check_memory(100 * width, f"a matrix of {width:,} columns", "drop the columns without any entry")
        names = [str(j) for j in range(width)]
        ids = self._table.ids(names, grow)  # [columns] -1 where unknown
        per_token = np.concatenate([counts for counts, _, _ in rows])
        columns = np.concatenate([c for _, c, _ in rows])
        values = np.concatenate([v for _, _, v in rows])
        token_of = np.repeat(np.arange(len(per_token)), per_token)
        known = ids[columns] >= 0
        kept = np.bincount(token_of[known], minlength=len(per_token))
        offsets = np.concatenate([[0], np.cumsum([m.shape[0] for m in matrices])])
        token_ptr = np.concatenate([[0], np.cumsum(kept)])
        plain = bool(np.all(values[known] == 1.0))
        return Encoded(
            offsets.astype(np.int64),
            token_ptr.astype(np.int64),
            ids[columns[known]].astype(np.int32),
            None if plain else np.ascontiguousarray(values[known]),
        )

    def keep(self, ids: NDArray[np.int64]) -> FreeFeatures:
        """An encoder with only these attributes, renumbered in this order."""
        kept = FreeFeatures(hash_size=self.hash_size, edge_prefix=self.edge_prefix)
        kept._table = self._table.keep(ids)
        return kept

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The content of a model file: settings and arrays."""
        names, starts, slots = self._table.state()
        header = {"hash_size": self.hash_size, "edge_prefix": self.edge_prefix}
        return header, {"names": names, "starts": starts, "slots": slots}

    def contents(self) -> list[NDArray[Any]]:
        """Arrays that identify it, for a digest that is made at once: they are views of its table."""
        return list(self._table.views())

    def __reduce__(self) -> Any:
        return type(self).from_state, self.state()

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FreeFeatures:
        """The encoder from the output of ``state``."""
        encoder = cls(hash_size=header["hash_size"], edge_prefix=header["edge_prefix"])
        names, starts, slots = (as_stored(arrays, name, kind) for name, kind in _ARRAYS.items())
        encoder._table = _core.AttributeTable.restore(names, starts, slots, header["hash_size"] or 0)
        return encoder


def is_matrix(sequence: Any) -> bool:
    """Whether a sequence is an array of numbers or a sparse matrix."""
    return (isinstance(sequence, np.ndarray) and sequence.dtype != object) or hasattr(sequence, "tocsr")


Triple = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _nonzeros(matrix: Any, index: int) -> Triple:
    """Non-zero cells of one sequence, row by row: how many per row, their columns, their values."""
    if not is_matrix(matrix):
        raise InputError(f"sequence {index}: {type(matrix).__name__} among matrices; give all as matrices")
    if matrix.ndim != 2:
        raise InputError(
            f"sequence {index}: an array of {matrix.ndim} dimensions; expected 2: tokens, features"
        )
    if matrix.dtype.kind not in "buif":
        raise InputError(f"sequence {index}: a matrix of type {matrix.dtype}; its cells must be real numbers")
    if hasattr(matrix, "tocsr"):
        csr = own_csr(matrix, index)
        counts, columns, values = np.diff(csr.indptr), csr.indices, csr.data.astype(np.float64)
    else:
        dense = np.asarray(matrix, dtype=np.float64)
        tokens, columns = np.nonzero(dense)
        counts, values = np.bincount(tokens, minlength=len(dense)), dense[tokens, columns]
    if not np.all(np.isfinite(values)):
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        token = int(np.searchsorted(np.cumsum(counts), at, side="right"))
        raise InputError(
            f"sequence {index}, token {token}: column {int(columns[at])} is {values[at]}; "
            "values must be finite"
        )
    return counts.astype(np.int64), columns.astype(np.int64), values

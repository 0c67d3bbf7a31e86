"""Skip chains shortened to the positions that have a skip edge; all others are summed out exactly.

    edge'[k] = log sum over the labels between ends k - 1 and k of exp(their scores)

A tenth of the positions of a document have skip edges, and inference passes over its chain many times: on the
short chain it does so in a tenth of the time, and with the same results (native/skip_contraction.hpp). Bounds
on log Z become tighter: fewer variables are left to bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.potentials import Parts
from fieldcraft.structures.skip_graphs import Pairs, SkipParts

Floats = NDArray[np.float64]


class Contracted(NamedTuple):
    """Short chains, and what is needed to lead their marginals back."""

    parts: SkipParts
    rest: Floats  # [N] what is to be added to log Z
    given: dict[str, Any]  # arrays of the long chains, as the core takes them


class Contraction:
    """Which positions stay: the ends of the pairs.

    Parameters
    ----------
    offsets : [N + 1] positions of each sequence
    pairs : their skip edges
    """

    def __init__(self, offsets: NDArray[np.int64], pairs: Pairs) -> None:
        self.ends, back = np.unique(pairs.scope, return_inverse=True)
        self.ends = self.ends.astype(np.int32)
        self.rows: NDArray[np.int64] = np.searchsorted(self.ends, offsets).astype(np.int64)
        self.pairs = Pairs(back.reshape(-1, 2).astype(np.int32), pairs.rows)

    def contract(self, potentials: Parts, n_jobs: int) -> Contracted | None:
        """The short chains; None where scores differ by more than scaled sums can hold."""
        given: dict[str, Any] = {
            "node": np.ascontiguousarray(potentials["node"], np.float64),
            "edge": np.ascontiguousarray(np.atleast_2d(potentials["edge"]), np.float64),
            "offsets": potentials.offsets,
            "ends": self.ends,
            "rows": self.rows,
        }
        found = _core.skip_contract(**given, n_jobs=n_jobs)
        if found["lost"].any():
            return None
        arrays = {"node": found["node"], "edge": found["edge"], "skip": potentials["skip"]}
        return Contracted(SkipParts(arrays, self.rows, self.pairs), found["rest"], given)

    def expand(self, contracted: Contracted, found: dict[str, Any], n_jobs: int) -> dict[str, Any]:
        """The numbers of the long chains, from those of the short ones."""
        short = {f"short_{name}": np.ascontiguousarray(found[name]) for name in ("node", "edge")}
        node, edge = _core.skip_expand(**contracted.given, **short, n_jobs=n_jobs)
        return {
            **found,
            "log_partition": found["log_partition"] + contracted.rest,
            "node": node,
            "edge": edge,
        }

"""What inference and decoding return, the same for every structure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray


class Inference(NamedTuple):
    """The distribution that potentials define.

    log_partition : [N] log Z of each sequence; a number for a graph
    marginals : gradient of log Z, in the layout of the potentials
    bound : what log_partition is: "exact", an "upper" or "lower" bound, or an "estimate"
    residual : how far an iterative method was from its fixed point when it stopped
    diagnostics : what only some methods know, by name: standard errors, effective sample sizes
    """

    log_partition: NDArray[np.float64]
    marginals: Any
    bound: str = "exact"
    converged: bool = True
    iterations: int = 0
    residual: float = 0.0
    method: str = ""
    why: str = ""
    diagnostics: Mapping[str, Any] = MappingProxyType({})

    @property
    def exact(self) -> bool:
        """Whether log_partition and the marginals are exact."""
        return self.bound == "exact"

    @property
    def variables(self) -> list[NDArray[np.float64]]:
        """Marginals of a graph's variables, a vector each."""
        return cast("list[NDArray[np.float64]]", self.marginals.variables)

    @property
    def factors(self) -> list[NDArray[np.float64]]:
        """Marginals of a graph's factors, an array for each group in the shape of its tables."""
        return cast("list[NDArray[np.float64]]", self.marginals.factors)


class GraphMarginals(NamedTuple):
    """Probabilities of the states of each variable, and of the entries of each group's tables."""

    variables: list[NDArray[np.float64]]
    factors: list[NDArray[np.float64]]


class Decoding(NamedTuple):
    """A labelling, its value, and whether it is known to be the best.

    An estimator returns one per sequence, with the names of the labels and a log-probability; a structure
    one for a batch, with states [tokens] and scores [N]; a graph one with a state per variable in
    ``assignment`` [n] and the sum of its log-potentials as value.

    gap : a proved upper bound on the best value, less the value
    """

    labels: Any
    value: Any
    optimal: bool = True
    gap: float = 0.0
    method: str = ""
    why: str = ""
    assignment: Any = None
    converged: bool = True
    iterations: int = 0
    diagnostics: Mapping[str, Any] = MappingProxyType({})

"""What inference and decoding return, the same for every structure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Inference(NamedTuple):
    """The distribution that potentials define.

    log_partition : [N] log Z of each sequence
    marginals : gradient of log Z, in the layout of the potentials
    bound : what log_partition is: "exact", an "upper" or "lower" bound, or an "estimate"
    residual : how far an iterative method was from its fixed point when it stopped
    """

    log_partition: NDArray[np.float64]
    marginals: Any
    bound: str = "exact"
    converged: bool = True
    iterations: int = 0
    residual: float = 0.0
    method: str = ""
    why: str = ""


class Decoding(NamedTuple):
    """A labelling, its value, and whether it is known to be the best.

    An estimator returns one per sequence, with the names of the labels and a log-probability; a structure
    one for a batch, with states [tokens] and scores [N].
    """

    labels: Any
    value: Any
    optimal: bool = True
    gap: float = 0.0
    method: str = ""
    why: str = ""

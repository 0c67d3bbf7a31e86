"""What an optimiser may ask of a training problem, one protocol for each way of asking.

    Gradient      value and gradient of the smooth part, strengths of absolute values and bounds beside it
    Expectation   a Gradient whose unknown labels can be replaced by their expected counts
    Passes        a Gradient whose sequences can be visited one by one
    Dual          a Gradient that has a dual, with a distribution over labellings for each sequence
    Scaling       a Gradient with expected counts by total feature value

An optimiser names the protocol that it needs; ``build`` (problems/__init__.py) makes such a problem for a
structure. Optimisers see nothing else of the data.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]


class Gradient(Protocol):
    """f(w) and its gradient; the objective is F(w) = f(w) + sum above max(w, 0) + below max(-w, 0).

    n_variables : how many weights there are
    n_jobs : threads that vector operations may use
    mask : [F] True where a weight may differ from zero; None for all
    l1 : strengths (above, below) of the absolute-value part, each [1] or [F]; None without
    bounds : (lower, upper), each [1] or [F]; None without
    """

    n_variables: int
    n_jobs: int
    mask: NDArray[np.bool_] | None = None
    l1: Pair | None = None
    bounds: Pair | None = None

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        """f(w); its gradient is written into ``gradient``."""

    def l1_value(self, weights: Floats) -> float:
        """The absolute-value part of the objective."""
        del weights
        return 0.0

    def curvatures(self) -> Floats | None:
        """[F] about the diagonal of f's Hessian at zero weights; None where it was not asked for."""
        return None

    def scales(self) -> Floats | None:
        """[F] the size of the feature values that each weight is multiplied by; None if all are about 1."""
        return None

    def shared(self, start: Floats) -> tuple[Shared, Floats] | None:
        """The problem with one variable for all weights that act as one (shared_weights.py), and its start.

        ``start`` [F] are the weights that the optimiser begins from. Its steps must be combinations of
        gradients, with coefficients that follow from inner products. None where no weights act as one.
        """
        del start
        return None

    def first_step(self, gradient: Floats, out: Floats) -> bool:
        """Write a first step of about the right length into ``out``; False where curvatures are unknown."""
        del gradient, out
        return False


class Shared(Gradient, Protocol):
    """A problem whose variables may stand for several weights each.

    members : [n_variables] for how many; so often a variable counts in inner products
    """

    members: NDArray[np.uint8]

    def weights(self, variables: Floats) -> Floats:
        """[F] the weights that the variables stand for."""


class Expectation(Gradient, Protocol):
    """A problem with partial labels, as EM needs it."""

    def expect(self, weights: Floats) -> float:
        """Replace unknown labels by their expected counts at ``weights``; returns loss - f there."""


class Passes(Gradient, Protocol):
    """A problem whose sequences can be visited one by one.

    n_sequences : how many there are
    quadratic : (mean, precision) of the quadratic penalty, each [1] or [F]; zeros without
    convex : is the loss convex in the weights
    """

    n_sequences: int
    quadratic: Pair
    convex: bool

    def passes(self) -> Any:
        """The handle that the core's update rules run over: one sequence's loss and sparse gradient."""

    def penalty(self, weights: Floats) -> float:
        """The prior's part of the objective."""

    def remembered_bytes(self) -> int:
        """Bytes of one gradient of every sequence in potential space; InputError where it cannot be kept."""


class Dual(Gradient, Protocol):
    """A loss with a Gaussian prior and its dual.

    mean, precision : [F] of the prior; the precision is infinite where a weight is masked
    constant : the penalty that the mask leaves out
    gaussian : (mean, precision) as the primal sees them
    costs : [S, S] of the margin by gold label and label; None for the likelihood
    sizes : (tokens, sequences, states)
    crowd : features that fire at a token, on average, times its weight
    sharing : part of a token's features that another token has too, on average
    n_entries : occurrences of features of label pairs that look at the input
    by_planes : sequences are asked for planes (``plane``, ``plane_sizes``); the core has no dual of them
    """

    mean: Floats
    precision: Floats
    crowd: float
    sharing: float
    n_entries: int
    constant: float
    gaussian: Pair
    costs: Floats | None
    sizes: tuple[int, int, int]
    n_sequences: int
    by_planes: bool

    def plane(self, i: int, weights: Floats) -> tuple[NDArray[np.int64], Floats, float]:
        """Weights, slopes and level of a plane below the loss of sequence i, which it touches here."""

    def plane_sizes(self) -> NDArray[np.int64]:
        """[N] how many weights the planes of each sequence touch."""

    def loss(self, weights: Floats, gradient: Floats) -> float:
        """The loss without penalty, with a subgradient."""

    def value(self, weights: Floats) -> float:
        """f(w) without its gradient."""

    def pieces(self, optimiser: str) -> tuple[Any, Any, Floats, Floats]:
        """Arguments of the core's dual methods."""


class Scaling(Gradient, Protocol):
    """A likelihood with features that are nowhere negative, in parts of similar total feature value.

    quadratic : (mean, precision) of the quadratic penalty, each [1] or [F]; zeros without
    totals : [B] largest sum of features of a sequence, by part
    empirical : [F] counts of the gold labelling
    expected : [B, F] counts expected at the weights evaluated last, by part
    """

    quadratic: Pair
    totals: Floats
    empirical: Floats
    expected: Floats

"""Penalties on weights, chosen by object or by name.

See ``prior.py`` for what a prior is; a new one is a file and a row in PRIORS.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.priors import groups as groups
from fieldcraft.priors.block_gaussian import BlockGaussian as BlockGaussian
from fieldcraft.priors.elastic_net import ElasticNet as ElasticNet
from fieldcraft.priors.gaussian import Gaussian as Gaussian
from fieldcraft.priors.hyperbolic import Hyperbolic as Hyperbolic
from fieldcraft.priors.inequality import Inequality as Inequality
from fieldcraft.priors.laplacian import Laplacian as Laplacian
from fieldcraft.priors.prior import NoPrior as NoPrior
from fieldcraft.priors.prior import Prior as Prior
from fieldcraft.priors.settings import Names as Names

PRIORS: dict[str, type[Prior]] = {
    "gaussian": Gaussian,
    "block_gaussian": BlockGaussian,
    "laplacian": Laplacian,
    "elastic_net": ElasticNet,
    "hyperbolic": Hyperbolic,
    "inequality": Inequality,
    "none": NoPrior,
}


def resolve_prior(given: Any, handled: Collection[str] = ("quadratic",)) -> Prior:
    """A prior from an object, a name or None, its settings looked at as far as they can be.

    "auto" is the Gaussian, or none for optimisers that do not handle its quadratic part.
    """
    if isinstance(given, str) and given == "auto":
        given = "gaussian" if "quadratic" in handled else None
    if given is None:
        return NoPrior()
    if isinstance(given, Prior):
        given.check()
        return given
    if isinstance(given, str) and given in PRIORS:
        return PRIORS[given]()
    raise InputError(f"prior={given!r}; give 'auto', None, a prior object or one of {', '.join(PRIORS)}")

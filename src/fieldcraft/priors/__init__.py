"""Penalties on weights, chosen by object or by name.

See ``prior.py`` for the interface of a prior; a new one is a file and a row in PRIORS.
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
from fieldcraft.spelling import suggestion

PRIORS: dict[str, type[Prior]] = {
    "gaussian": Gaussian,
    "block_gaussian": BlockGaussian,
    "laplacian": Laplacian,
    "elastic_net": ElasticNet,
    "hyperbolic": Hyperbolic,
    "inequality": Inequality,
    "none": NoPrior,
}


def resolve_prior(prior: Any, handled: Collection[str] = ("quadratic",)) -> Prior:
    """The prior of an argument: an object, whose settings are checked, a name or None.

    "auto" is the Gaussian, or none for optimisers that do not handle its quadratic part.
    """
    if isinstance(prior, str) and prior == "auto":
        prior = "gaussian" if "quadratic" in handled else None
    if prior is None:
        return NoPrior()
    if isinstance(prior, Prior):
        prior.check()
        return prior
    if isinstance(prior, str) and prior in PRIORS:
        return PRIORS[prior]()
    names = f"{', '.join(PRIORS)}{suggestion(prior, PRIORS)}"
    raise InputError(f"prior={prior!r}; give 'auto', None, a prior object or one of {names}")

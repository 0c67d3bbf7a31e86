"""Penalties on weights, chosen by object or by name.

See ``prior.py`` for what a prior is; a new one is a file and a row in PRIORS.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.priors.elastic_net import ElasticNet
from fieldcraft.priors.gaussian import Gaussian
from fieldcraft.priors.laplacian import Laplacian
from fieldcraft.priors.prior import NoPrior, Prior

PRIORS: dict[str, type[Prior]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "elastic_net": ElasticNet,
    "none": NoPrior,
}


def resolve_prior(given: Any, handled: Collection[str] = ("quadratic",)) -> Prior:
    """A prior from an object, a name or None.

    "auto" is the Gaussian, or none for optimisers that do not handle its quadratic part.
    """
    if isinstance(given, str) and given == "auto":
        given = "gaussian" if "quadratic" in handled else None
    if given is None:
        return NoPrior()
    if isinstance(given, Prior):
        return given
    if isinstance(given, str) and given in PRIORS:
        return PRIORS[given]()
    raise InputError(f"prior={given!r}; give 'auto', None, a prior object or one of {', '.join(PRIORS)}")


__all__ = ["PRIORS", "ElasticNet", "Gaussian", "Laplacian", "NoPrior", "Prior", "resolve_prior"]

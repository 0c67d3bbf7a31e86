"""One model of a table: what it looks at, its prior, and between which settings development data chooses.

A configuration is plain data, so that equal ones in several tables are one training and a result can be
found again by its key. Priors are named; PRIORS has them, in the thesis' own numbers: sigma is the root of
a variance, a Laplacian's beta a scale, a hyperbolic prior's beta a strength. The likelihood is summed over
sequences, for which these numbers are meant.

    grid    settings to choose from, strongest penalty first: each training starts from the weights of
            the one before it
    given   another configuration, whose chosen settings follow those of the grid, and whose weights are
            where training begins: a mean is tried with the variance that was best without one
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from fieldcraft.priors import Gaussian, Hyperbolic, Inequality, Laplacian, NoPrior, Prior, groups

Setting = tuple[float, ...]
LATER = ("mask", "bag")  # settings that came after the first results, whose keys stay
Grid = tuple[Setting, ...]


def _dependency(transitions: float, emissions: float) -> Prior:
    return Gaussian(groups.by_dependency(transitions=transitions**2, emissions=emissions**2))


def _gazetteers(members: float, others: float) -> Prior:
    return Gaussian(groups.by_template({"in(*": members**2}, otherwise=others**2))


def _cutoff(threshold: float, sigma: float) -> Prior:
    return Gaussian(groups.by_count_cutoff(int(threshold), rare=sigma**2, frequent=math.inf))


def _bins(few: float, some: float) -> Prior:
    return Gaussian(groups.by_count_bins({(1, 3): few**2, (4, 10): some**2}, otherwise=math.inf))


PRIORS: dict[str, Callable[..., Prior]] = {
    "none": NoPrior,
    "gaussian": lambda sigma: Gaussian(sigma**2),
    "shifted": lambda mean, sigma: Gaussian(sigma**2, mean),
    "laplacian": lambda beta: Laplacian(beta),
    "hyperbolic": lambda beta: Hyperbolic(1 / beta),
    "cutoff": _cutoff,
    "bins": _bins,
    "dependency": _dependency,
    "dependency ratios": lambda t, e, sigma: _dependency(t * sigma, e * sigma),
    "gazetteers printed": lambda g, o, sigma: _gazetteers(g, o),  # noqa: ARG005 (it only says where to begin)
    "gazetteers ratios": lambda g, o, sigma: _gazetteers(g * sigma, o * sigma),
    "count": lambda sigma: Gaussian(groups.times_count(sigma**2)),
    "reliability": lambda sigma: Gaussian(groups.by_reliability(sigma**2)),
    "window": lambda a: Inequality(a),
    "windows": lambda a, b: Inequality(a, b),
    "windows ratio": lambda ratio, a: Inequality(a, ratio * a),
    "window, quadratic": lambda c, a: Inequality(a, quadratic=c),
}


@dataclass(frozen=True)
class Configuration:
    """A model of a table.

    Parameters
    ----------
    task, templates : rows of corpora.TASKS and of its template sets
    prior, grid, given : see above
    min_count : features seen less often are left out
    optimiser : a name
    follow : score development data after each iteration; the weights that did best there are the model,
        and those at the end are scored beside them
    reads_test : is the test set looked at
    mask : the part of the features that may have weights, as masks.py names it; "" for all
    bag : number of a bootstrap sample of the sentences, with the features that it supports; 0 for all
    """

    task: str
    templates: str = "standard"
    prior: str = "none"
    grid: Grid = ((),)
    given: Configuration | None = None
    min_count: int = 1
    optimiser: str = "lbfgs"
    follow: bool = False
    reads_test: bool = True
    mask: str = ""
    bag: int = 0

    @property
    def key(self) -> str:
        """Tells it from any other."""
        return hashlib.sha256(json.dumps(self.plain()).encode()).hexdigest()[:16]

    def plain(self) -> dict[str, Any]:
        """Everything that it differs in from others; without mask and bag as before there were any."""
        told = asdict(self)
        told["given"] = None if self.given is None else self.given.plain()
        return {name: value for name, value in told.items() if name not in LATER or value}

    def make_prior(self, setting: Setting, given: Setting = ()) -> Prior:
        """The prior with a setting of the grid, followed by what was given."""
        return PRIORS[self.prior](*setting, *given)

    def thinned(self, points: int) -> Configuration:
        """With so many settings at most, spread over the grid."""
        step = max(1, math.ceil(len(self.grid) / points))
        given = None if self.given is None else self.given.thinned(points)
        return replace(self, grid=self.grid[::step], given=given)

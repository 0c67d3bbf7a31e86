"""Who minimises: chosen by object, by name, or from (objective, prior, size) by one table."""

from __future__ import annotations

from fieldcraft.optimisers.bounded_lbfgs import BoundedLBFGS
from fieldcraft.optimisers.conjugate_gradient import ConjugateGradient
from fieldcraft.optimisers.em import EM
from fieldcraft.optimisers.iterative_scaling import GIS, IIS
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.owlqn import OWLQN
from fieldcraft.optimisers.run import Optimiser
from fieldcraft.optimisers.table import TABLE, Choice, Row, Size, resolve

OPTIMISERS: dict[str, type[Optimiser]] = {name: row.optimiser for name, row in TABLE.items()}

__all__ = [
    "EM",
    "GIS",
    "IIS",
    "LBFGS",
    "OPTIMISERS",
    "OWLQN",
    "TABLE",
    "BoundedLBFGS",
    "Choice",
    "ConjugateGradient",
    "Optimiser",
    "Row",
    "Size",
    "resolve",
]

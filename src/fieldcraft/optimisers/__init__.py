"""Who minimises: chosen by object, by name, or from (objective, prior, size) by one table."""

from __future__ import annotations

from fieldcraft.optimisers.adagrad import Adagrad
from fieldcraft.optimisers.arow import AROW
from fieldcraft.optimisers.bounded_lbfgs import BoundedLBFGS
from fieldcraft.optimisers.conjugate_gradient import ConjugateGradient
from fieldcraft.optimisers.cutting_plane import CuttingPlane
from fieldcraft.optimisers.dual_ascent import DualAscent
from fieldcraft.optimisers.em import EM
from fieldcraft.optimisers.exponentiated_gradient import ExponentiatedGradient
from fieldcraft.optimisers.frank_wolfe import FrankWolfe
from fieldcraft.optimisers.iterative_scaling import GIS, IIS
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.owlqn import OWLQN
from fieldcraft.optimisers.passive_aggressive import PassiveAggressive
from fieldcraft.optimisers.perceptron import AveragedPerceptron, Perceptron, VotedPerceptron
from fieldcraft.optimisers.run import Optimiser
from fieldcraft.optimisers.sag import SAG
from fieldcraft.optimisers.sgd import SGD
from fieldcraft.optimisers.smo import SMO
from fieldcraft.optimisers.subgradient import Subgradient
from fieldcraft.optimisers.table import TABLE, Choice, Row, Size, handled_by, passed_over, resolve

OPTIMISERS: dict[str, type[Optimiser]] = {name: row.optimiser for name, row in TABLE.items()}

__all__ = [
    "AROW",
    "EM",
    "GIS",
    "IIS",
    "LBFGS",
    "OPTIMISERS",
    "OWLQN",
    "SAG",
    "SGD",
    "SMO",
    "TABLE",
    "Adagrad",
    "AveragedPerceptron",
    "BoundedLBFGS",
    "Choice",
    "ConjugateGradient",
    "CuttingPlane",
    "DualAscent",
    "ExponentiatedGradient",
    "FrankWolfe",
    "Optimiser",
    "PassiveAggressive",
    "Perceptron",
    "Row",
    "Size",
    "Subgradient",
    "VotedPerceptron",
    "handled_by",
    "passed_over",
    "resolve",
]

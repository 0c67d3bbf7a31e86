"""fieldcraft: conditional random fields that learn, label, and say how sure they are.

Names are loaded on first use (PEP 562), so that ``import fieldcraft`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "ChainCRF": "fieldcraft.models.chain",
    "load": "fieldcraft.models.persistence",
    "Corpus": "fieldcraft.corpus",
    "Sequence": "fieldcraft.corpus",
    "Span": "fieldcraft.corpus",
    "read": "fieldcraft.corpus",
    "write": "fieldcraft.corpus",
    "Token": "fieldcraft.corpus.tokenising",
    "Tokenizer": "fieldcraft.corpus.tokenising",
    "tokenize": "fieldcraft.corpus.tokenising",
    "TextSpan": "fieldcraft.models.text",
    "Gazetteer": "fieldcraft.features.gazetteers",
    "Templates": "fieldcraft.features.templates",
    "Gaussian": "fieldcraft.priors",
    "BlockGaussian": "fieldcraft.priors",
    "Laplacian": "fieldcraft.priors",
    "ElasticNet": "fieldcraft.priors",
    "Hyperbolic": "fieldcraft.priors",
    "Inequality": "fieldcraft.priors",
    "EM": "fieldcraft.optimisers",
    "LBFGS": "fieldcraft.optimisers",
    "OWLQN": "fieldcraft.optimisers",
    "BoundedLBFGS": "fieldcraft.optimisers",
    "ConjugateGradient": "fieldcraft.optimisers",
    "GIS": "fieldcraft.optimisers",
    "IIS": "fieldcraft.optimisers",
    "AROW": "fieldcraft.optimisers",
    "Adagrad": "fieldcraft.optimisers",
    "AveragedPerceptron": "fieldcraft.optimisers",
    "PassiveAggressive": "fieldcraft.optimisers",
    "Perceptron": "fieldcraft.optimisers",
    "SAG": "fieldcraft.optimisers",
    "SGD": "fieldcraft.optimisers",
    "Subgradient": "fieldcraft.optimisers",
    "CuttingPlane": "fieldcraft.optimisers",
    "DualAscent": "fieldcraft.optimisers",
    "ExponentiatedGradient": "fieldcraft.optimisers",
    "FrankWolfe": "fieldcraft.optimisers",
    "SMO": "fieldcraft.optimisers",
    "VotedPerceptron": "fieldcraft.optimisers",
    "StateSpace": "fieldcraft.structures.states",
    "Comparison": "fieldcraft.evaluation.significance",
    "compare": "fieldcraft.evaluation.significance",
    "BakeOff": "fieldcraft.tuning.results",
    "Entry": "fieldcraft.tuning.bake_off_entry",
    "bake_off": "fieldcraft.tuning.bake_off",
    "Between": "fieldcraft.tuning.space",
    "Tuning": "fieldcraft.tuning.tuned",
    "tune": "fieldcraft.tuning.search",
    "Evidence": "fieldcraft.tuning.evidence_result",
    "empirical_bayes": "fieldcraft.tuning.evidence",
    "Inspection": "fieldcraft.inspection",
    "Explanation": "fieldcraft.inspection",
    "FieldcraftError": "fieldcraft.errors",
}
_MODULES = {
    "compat": "fieldcraft.compat",
    "datasets": "fieldcraft.corpus.datasets",
    "groups": "fieldcraft.priors.groups",
    "metrics": "fieldcraft.evaluation.metrics",
    "objectives": "fieldcraft.objectives",
    "schemes": "fieldcraft.corpus.schemes",
    "structures": "fieldcraft.structures",
}

__all__ = sorted([*_HOMES, *_MODULES])

if TYPE_CHECKING:
    from fieldcraft.corpus import Corpus, Sequence, Span, read, write
    from fieldcraft.corpus.tokenising import Token, Tokenizer, tokenize
    from fieldcraft.errors import FieldcraftError
    from fieldcraft.evaluation.significance import Comparison, compare
    from fieldcraft.features.gazetteers import Gazetteer
    from fieldcraft.features.templates import Templates
    from fieldcraft.inspection import Explanation, Inspection
    from fieldcraft.models.chain import ChainCRF
    from fieldcraft.models.persistence import load
    from fieldcraft.models.text import TextSpan
    from fieldcraft.optimisers import (
        AROW,
        EM,
        GIS,
        IIS,
        LBFGS,
        OWLQN,
        SAG,
        SGD,
        SMO,
        Adagrad,
        AveragedPerceptron,
        BoundedLBFGS,
        ConjugateGradient,
        CuttingPlane,
        DualAscent,
        ExponentiatedGradient,
        FrankWolfe,
        PassiveAggressive,
        Perceptron,
        Subgradient,
        VotedPerceptron,
    )
    from fieldcraft.priors import BlockGaussian, ElasticNet, Gaussian, Hyperbolic, Inequality, Laplacian
    from fieldcraft.structures.states import StateSpace
    from fieldcraft.tuning.bake_off import bake_off
    from fieldcraft.tuning.bake_off_entry import Entry
    from fieldcraft.tuning.evidence import empirical_bayes
    from fieldcraft.tuning.evidence_result import Evidence
    from fieldcraft.tuning.results import BakeOff
    from fieldcraft.tuning.search import tune
    from fieldcraft.tuning.space import Between
    from fieldcraft.tuning.tuned import Tuning
else:

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name in _MODULES:
            value = import_module(_MODULES[name])
        else:
            raise AttributeError(f"module 'fieldcraft' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

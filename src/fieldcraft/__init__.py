"""fieldcraft: conditional random fields that learn, label, and say how sure they are.

Names are loaded on first use (PEP 562), so that ``import fieldcraft`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_NAMES = {
    "fieldcraft.models.chain": "ChainCRF",
    "fieldcraft.models.graph": "GraphCRF",
    "fieldcraft.models.collective": "CollectiveClassifier",
    "fieldcraft.models.multi_label": "MultiLabelCRF",
    "fieldcraft.models.factorial": "FactorialCRF",
    "fieldcraft.models.grid": "GridCRF",
    "fieldcraft.models.hidden": "HiddenCRF",
    "fieldcraft.models.segments": "SegmentCRF",
    "fieldcraft.models.skip_chain": "SkipChainCRF",
    "fieldcraft.models.hmm": "HMM",
    "fieldcraft.models.local_chain": "CMM MEMM",
    "fieldcraft.models.logistic": "LogisticRegression",
    "fieldcraft.models.naive_bayes": "NaiveBayes",
    "fieldcraft.models.calibration": "calibrate",
    "fieldcraft.models.persistence": "load",
    "fieldcraft.pools.logarithmic": "LogOpinionPool",
    "fieldcraft.pools.linear": "LinearOpinionPool",
    "fieldcraft.pools.cooperative": "CooperativePool CooperativeRecord",
    "fieldcraft.pools.ambiguity_penalties": "PreferredDiversity",
    "fieldcraft.pools.coded": "CodedCRF",
    "fieldcraft.pools.expert": "Expert",
    "fieldcraft.pools.diversity": "Diversity diversity",
    "fieldcraft.pools.cross_validation": "CrossValidationEnsemble cross_validation_ensemble",
    "fieldcraft.pools.quarantine": "quarantine",
    "fieldcraft.corpus": "Corpus Sequence Span read write",
    "fieldcraft.corpus.tokenising": "Token Tokenizer tokenize",
    "fieldcraft.models.text": "TextSpan",
    "fieldcraft.features.gazetteers": "Gazetteer",
    "fieldcraft.features.templates": "Templates",
    "fieldcraft.features.relations": "links pairs",
    "fieldcraft.features.votes": "document_votes",
    "fieldcraft.priors": "Gaussian BlockGaussian Laplacian ElasticNet Hyperbolic Inequality",
    "fieldcraft.optimisers": (
        "EM LBFGS OWLQN BoundedLBFGS ConjugateGradient GIS IIS AROW Adagrad AveragedPerceptron "
        "PassiveAggressive Perceptron SAG SGD Subgradient CuttingPlane DualAscent ExponentiatedGradient "
        "FrankWolfe SMO VotedPerceptron"
    ),
    "fieldcraft.structures.states": "StateSpace",
    "fieldcraft.structures.cliques": "Clique GraphInstance",
    "fieldcraft.structures.graph": "FactorGraph",
    "fieldcraft.structures.graphs.batch": "GraphBatch",
    "fieldcraft.structures.graphs.methods": "decode infer",
    "fieldcraft.structures.answers": "Decoding",
    "fieldcraft.structures.constraints": (
        "forced allowed forbidden followed_by at_least at_most exactly implies excludes linear"
    ),
    "fieldcraft.evaluation.significance": "Comparison compare",
    "fieldcraft.pools.sites": "Site Sites sites",
    "fieldcraft.tuning.results": "BakeOff",
    "fieldcraft.tuning.bake_off_entry": "Entry",
    "fieldcraft.tuning.bake_off": "bake_off",
    "fieldcraft.tuning.simplex": "Simplex",
    "fieldcraft.tuning.space": "Between",
    "fieldcraft.tuning.tuned": "Tuning",
    "fieldcraft.tuning.search": "tune",
    "fieldcraft.tuning.evidence_result": "Evidence",
    "fieldcraft.tuning.evidence": "empirical_bayes",
    "fieldcraft.tuning.folds": "cross_val_predict",
    "fieldcraft.inspection": "Inspection Explanation",
    "fieldcraft.errors": "FieldcraftError",
    "fieldcraft.distributed": "Ranks",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = {
    "compat": "fieldcraft.compat",
    "datasets": "fieldcraft.corpus.datasets",
    "discriminative": "fieldcraft.pools.discriminative",
    "experts": "fieldcraft.pools.experts",
    "groups": "fieldcraft.priors.groups",
    "metrics": "fieldcraft.evaluation.metrics",
    "objectives": "fieldcraft.objectives",
    "plots": "fieldcraft.plots",
    "schemes": "fieldcraft.corpus.schemes",
    "structures": "fieldcraft.structures",
}

__all__ = sorted([*_HOMES, *_MODULES])

if TYPE_CHECKING:  # `as` says that a name is for users, which checkers ask for
    from fieldcraft import (
        compat as compat,
        objectives as objectives,
        plots as plots,
        structures as structures,
    )
    from fieldcraft.corpus import (
        Corpus as Corpus,
        Sequence as Sequence,
        Span as Span,
        datasets as datasets,
        read as read,
        schemes as schemes,
        write as write,
    )
    from fieldcraft.corpus.tokenising import Token as Token, Tokenizer as Tokenizer, tokenize as tokenize
    from fieldcraft.distributed import Ranks as Ranks
    from fieldcraft.errors import FieldcraftError as FieldcraftError
    from fieldcraft.evaluation import metrics as metrics
    from fieldcraft.evaluation.significance import Comparison as Comparison, compare as compare
    from fieldcraft.features.gazetteers import Gazetteer as Gazetteer
    from fieldcraft.features.relations import links as links, pairs as pairs
    from fieldcraft.features.templates import Templates as Templates
    from fieldcraft.features.votes import document_votes as document_votes
    from fieldcraft.inspection import Explanation as Explanation, Inspection as Inspection
    from fieldcraft.models.calibration import calibrate as calibrate
    from fieldcraft.models.chain import ChainCRF as ChainCRF
    from fieldcraft.models.segments import SegmentCRF as SegmentCRF
    from fieldcraft.models.skip_chain import SkipChainCRF as SkipChainCRF
    from fieldcraft.models.collective import CollectiveClassifier as CollectiveClassifier
    from fieldcraft.models.graph import GraphCRF as GraphCRF
    from fieldcraft.models.factorial import FactorialCRF as FactorialCRF
    from fieldcraft.models.grid import GridCRF as GridCRF
    from fieldcraft.models.hidden import HiddenCRF as HiddenCRF
    from fieldcraft.models.multi_label import MultiLabelCRF as MultiLabelCRF
    from fieldcraft.models.hmm import HMM as HMM
    from fieldcraft.models.local_chain import CMM as CMM, MEMM as MEMM
    from fieldcraft.models.persistence import load as load
    from fieldcraft.models.logistic import LogisticRegression as LogisticRegression
    from fieldcraft.models.naive_bayes import NaiveBayes as NaiveBayes
    from fieldcraft.models.text import TextSpan as TextSpan
    from fieldcraft.optimisers import (
        AROW as AROW,
        EM as EM,
        GIS as GIS,
        IIS as IIS,
        LBFGS as LBFGS,
        OWLQN as OWLQN,
        SAG as SAG,
        SGD as SGD,
        SMO as SMO,
        Adagrad as Adagrad,
        AveragedPerceptron as AveragedPerceptron,
        BoundedLBFGS as BoundedLBFGS,
        ConjugateGradient as ConjugateGradient,
        CuttingPlane as CuttingPlane,
        DualAscent as DualAscent,
        ExponentiatedGradient as ExponentiatedGradient,
        FrankWolfe as FrankWolfe,
        PassiveAggressive as PassiveAggressive,
        Perceptron as Perceptron,
        Subgradient as Subgradient,
        VotedPerceptron as VotedPerceptron,
    )
    from fieldcraft.pools import discriminative as discriminative, experts as experts
    from fieldcraft.pools.ambiguity_penalties import PreferredDiversity as PreferredDiversity
    from fieldcraft.pools.cooperative import (
        CooperativePool as CooperativePool,
        CooperativeRecord as CooperativeRecord,
    )
    from fieldcraft.pools.cross_validation import (
        CrossValidationEnsemble as CrossValidationEnsemble,
        cross_validation_ensemble as cross_validation_ensemble,
    )
    from fieldcraft.pools.diversity import Diversity as Diversity, diversity as diversity
    from fieldcraft.pools.expert import Expert as Expert
    from fieldcraft.pools.linear import LinearOpinionPool as LinearOpinionPool
    from fieldcraft.pools.coded import CodedCRF as CodedCRF
    from fieldcraft.pools.logarithmic import LogOpinionPool as LogOpinionPool
    from fieldcraft.pools.quarantine import quarantine as quarantine
    from fieldcraft.pools.sites import Site as Site, Sites as Sites, sites as sites
    from fieldcraft.priors import (
        BlockGaussian as BlockGaussian,
        ElasticNet as ElasticNet,
        Gaussian as Gaussian,
        Hyperbolic as Hyperbolic,
        Inequality as Inequality,
        Laplacian as Laplacian,
        groups as groups,
    )
    from fieldcraft.structures.cliques import Clique as Clique
    from fieldcraft.structures.cliques import GraphInstance as GraphInstance
    from fieldcraft.structures.graph import FactorGraph as FactorGraph
    from fieldcraft.structures.graphs.batch import GraphBatch as GraphBatch
    from fieldcraft.structures.graphs.methods import decode as decode, infer as infer
    from fieldcraft.structures.answers import Decoding as Decoding
    from fieldcraft.structures.constraints import (
        allowed as allowed,
        at_least as at_least,
        at_most as at_most,
        exactly as exactly,
        excludes as excludes,
        followed_by as followed_by,
        forbidden as forbidden,
        forced as forced,
        implies as implies,
        linear as linear,
    )
    from fieldcraft.structures.states import StateSpace as StateSpace
    from fieldcraft.tuning.bake_off import bake_off as bake_off
    from fieldcraft.tuning.bake_off_entry import Entry as Entry
    from fieldcraft.tuning.evidence import empirical_bayes as empirical_bayes
    from fieldcraft.tuning.evidence_result import Evidence as Evidence
    from fieldcraft.tuning.folds import cross_val_predict as cross_val_predict
    from fieldcraft.tuning.results import BakeOff as BakeOff
    from fieldcraft.tuning.search import tune as tune
    from fieldcraft.tuning.simplex import Simplex as Simplex
    from fieldcraft.tuning.space import Between as Between
    from fieldcraft.tuning.tuned import Tuning as Tuning
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

"""The training of SkipChainCRF: that of other models, on chains with pairs, from the weights of the chain."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.paired import PairFeatures
from fieldcraft.features.word_pairs import RELATIONS, WordPairs
from fieldcraft.labels import encode_labels
from fieldcraft.models.inputs import EncodedSequences
from fieldcraft.models.remarks import tell
from fieldcraft.models.skip_design import with_pairs
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Known, Settings, Trained
from fieldcraft.objectives.likelihood import Likelihood
from fieldcraft.optimisers import Optimiser, Size
from fieldcraft.optimisers.loop import Control
from fieldcraft.priors import Gaussian, Prior
from fieldcraft.priors.groups import by_part
from fieldcraft.problems import build
from fieldcraft.problems.skip_chain import SkipProblem
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.skip_chain import UNSUMMED, Method, SkipChain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
CHAIN_VARIANCE = 10.0  # that of the Gaussian by default
CHAIN_ITERATIONS = 500  # of the linear chain that training starts from
SKIP_VARIANCE = 0.1  # of the automatic prior: strong skip edges profit by errors of the estimated log Z
NO_PAIRS = (
    "no two tokens of a sequence are similar: there are no skip edges, and the model is a linear chain; "
    "read whole documents (documents=True), or choose another similarity="
)


class SkipTraining(Training):
    """One training of skip chains.

    Parameters
    ----------
    settings, known : as for Training
    rule, observed, column, tying : which tokens form pairs, what these look at, how their weights are tied
    inference, decoding : names of methods with their options
    chain_first : start from the weights of the linear chain
    two_stage : keep these weights, and train those of skip edges alone
    phrases : skip edges look at how the phrases around both ends lie to each other
    """

    def __init__(
        self,
        settings: Settings,
        known: Known | None,
        *,
        rule: WordPairs,
        observed: str,
        column: str,
        tying: str,
        inference: Method,
        decoding: Method,
        chain_first: bool,
        two_stage: bool = False,
        phrases: bool = False,
    ) -> None:
        self.rule, self.observed, self.column, self.tying = rule.checked(), observed, column, tying
        self.inference, self.search, self.phrases = inference, decoding, phrases
        self.chain_first, self.two_stage = chain_first or two_stage, two_stage
        for name, absent in (("states", "labels"), ("constraints", None), ("beam", None)):
            if getattr(settings, name) != absent:
                raise InputError(f"{name}={getattr(settings, name)!r} is for linear chains; leave it out")
        if inference[0] in UNSUMMED:
            raise InputError(
                f"inference={inference[0]!r} has no log Z that training could use; use 'propagation', "
                "'junction_tree', 'tree_reweighted' or 'mean_field'"
            )
        super().__init__(settings, self._skip_chain, known)

    def _skip_chain(self, labels: Sequence[str]) -> SkipChain:
        return SkipChain(labels, self.tying, self.inference, self.search)

    def run(self, X: Any, y: Any, **options: Any) -> Trained:
        if isinstance(X, EncodedSequences):
            raise InputError("SkipChainCRF looks at the words themselves; pass X, not EncodedSequences")
        if self.objective.partial:
            raise InputError(f"{self.objective.name} is not for skip chains, which need all labels")
        return super().run(X, y, **options)

    def _encoder(self) -> Any:
        relations = RELATIONS if self.phrases else ()
        return PairFeatures(super()._encoder(), self.rule, self.observed, self.column, relations)

    def _design(self, encoder: Any, encoded: Any, labels: list[Any], **options: Any) -> design_.Design:
        del options
        s = self.settings
        gold = encode_labels(labels, self.classes, encoded.offsets)
        chain = design_.build_design(
            encoder.tokens,
            encoded,
            gold,
            len(self.classes),
            features=s.features,
            min_count=s.min_count,
            n_jobs=self.n_jobs,
        )
        self._chain = replace(chain, encoded=Encoded(*encoded))
        self.n_pairs = len(encoded.scope)
        if self.n_pairs == 0:
            warnings.warn(NO_PAIRS, stacklevel=8)
        elif s.prior == "auto" and isinstance(self.prior, Gaussian):
            self.prior = Gaussian(by_part({"skip": SKIP_VARIANCE}, otherwise=CHAIN_VARIANCE))
        structure = self._skip_chain(self.classes)
        design = with_pairs(chain, encoder, structure, features=s.features, min_count=s.min_count)
        if len(design.index) == 0:
            raise InputError("no feature is left to learn; lower min_count or add attributes to the tokens")
        return design

    def _provenance(self, design: design_.Design, encoder: Any) -> dict[str, Any]:
        return {**super()._provenance(design, encoder), "pairs": self.n_pairs}

    def _start(self, encoder: Any, index: FeatureIndex) -> Floats:
        """The weights of the linear chain, trained to its end: training itself would only creep there."""
        weights = super()._start(encoder, index)
        if self._continues() or not self.chain_first or not isinstance(self.objective, Likelihood):
            return weights
        if self.n_pairs == 0 or self.optimiser.needs != "gradient":
            return weights
        n = len(self._chain.index)
        chain = LinearChain(StateSpace.labels(self.classes)).using(self.n_jobs)
        prior = _of_first(self._penalty(encoder, index), n, len(index))
        loss = {"objective": self.objective, "costs": None, "label_weights": None}
        optimiser = _longer(self.optimiser)
        options = {**optimiser.requests(), **loss, "n_jobs": self.n_jobs}
        problem = build(chain, "gradient", self._chain, prior, **options)
        problem.prepare()
        run = optimiser.start(problem, np.zeros(n))
        weights[:n] = self._minimise(run, Control(), None).weights
        return weights

    def _problem(self, optimiser: Optimiser, design: design_.Design, prior: Prior, **options: Any) -> Any:
        if optimiser.needs not in ("gradient", "passes"):
            raise InputError(
                f"{optimiser.name} needs a problem that skip chains do not have ({optimiser.needs}); use "
                "'lbfgs', 'owlqn', 'sgd', 'averaged_perceptron' or 'subgradient'"
            )
        if self.two_stage and (optimiser.needs != "gradient" or not isinstance(self.objective, Likelihood)):
            raise InputError(
                "two_stage=True trains the chain by its likelihood first, with an optimiser such as 'lbfgs'; "
                f"{self.objective.name} by {optimiser.name} is not for it"
            )
        fixed = ~design.index.belongs_to("skip") if self.two_stage and self.n_pairs else None
        structure: Any = self._structure()
        return SkipProblem(structure, design, prior, fixed=fixed, **{**optimiser.requests(), **options})

    def _announce(self, rules: Control, encoder: Any, index: FeatureIndex, size: Size) -> None:
        super()._announce(rules, encoder, index, size)
        n = int(index.belongs_to("skip").sum())
        remark = f"{self.n_pairs:,} pairs of similar words (skip edges), {n:,} features of pairs"
        tell(rules.callbacks, "tell", remark)


def _longer(optimiser: Any) -> Any:
    """An optimiser with the iterations that a linear chain may need, which are cheap beside the others."""
    given = getattr(optimiser, "max_iterations", None)
    if given is None or given >= CHAIN_ITERATIONS:
        return optimiser
    return replace(optimiser, max_iterations=CHAIN_ITERATIONS)


def _of_first(prior: Prior, n: int, whole: int) -> Prior:
    """A resolved prior of the first n weights."""
    settings = {name: value for name, value in vars(prior).items() if np.shape(value) == (whole,)}
    if not settings:
        return prior
    cut: Prior = replace(prior, **{name: np.asarray(v)[:n] for name, v in settings.items()})
    return cut

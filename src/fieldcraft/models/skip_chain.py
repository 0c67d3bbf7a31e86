"""SkipChainCRF: a linear chain with skip edges between similar words of a document.

p(y | x) = exp(sum of weights of the features of tokens, of neighbours and of pairs) / Z(x)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fieldcraft.errors import InputError
from fieldcraft.features.paired import NONE, SAME, PairFeatures, forgotten
from fieldcraft.features.word_pairs import WordPairs
from fieldcraft.models.graph import method_of
from fieldcraft.models.parameters import UNCALIBRATED, Parameters
from fieldcraft.models.scored import Scored
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.models.skip_training import SkipTraining
from fieldcraft.models.training_settings import Known, Settings, Trained
from fieldcraft.models.voting import Voters
from fieldcraft.structures.cliques import TYINGS
from fieldcraft.structures.graphs.methods import DECODINGS, INFERENCES
from fieldcraft.structures.skip_chain import Method, SkipChain
from fieldcraft.structures.skip_inference import checked_options

T = TypeVar("T")


@dataclass(repr=False, eq=False)
class SkipChainCRF(SequenceModel):
    """Conditional random field over a chain with skip edges.

    Similar words of a document (the same capitalised word, by default) are joined by an edge, so that clear
    evidence at one mention of a name decides about the others. A sequence should be a whole document:
    ``fc.read(…, documents=True)``.

    Parameters
    ----------
    similarity : which capitalised words are joined: "same" (equal ones), "stem", "edit" (one letter differs),
        or a function (word, word) -> bool, which is not stored with the model
    max_pairs_per_word : with how many of the nearest similar words before it a word is joined; None for all
    capitalised : False joins words that do not begin with a capital letter, too
    skip_templates : what skip edges look at: "same" (the attributes of both ends, or-ed), "none", or
        templates of their own
    phrases : skip edges also look at how the phrases (runs of capitalised words) around both words lie:
        equal, one inside the other ("China", "The China Daily"), or neither
    skip_tying : weights of a skip edge: "full" (one for each pair of labels), "agreement" (one for each label
        that both ends have) or "same" (labels equal, or not)
    inference : "auto", exact sums where the junction tree is narrow (4 MB) and tree-reweighted upper bounds
        elsewhere; "propagation" along the chain, which is quicker; or another inference on factor graphs:
        "junction_tree", "mean_field" …; a dict adds options: ``{"method": "auto", "memory": "16MiB"}``;
        ``"wide": "propagation"`` has estimates of log Z instead of upper bounds where it is not exact
    search : how ``predict`` finds labels: "auto" (exactly where the junction tree is narrow, else by
        max-product), or a decoding on factor graphs
    chain_first : start from the weights of the linear chain
    two_stage : train the linear chain first and keep its weights; then those of the skip edges alone
    prior : "auto" is a Gaussian of variance 10, and 0.1 for the weights of skip edges
    word_column : the column whose words are compared
    others : see ChainCRF

    Examples
    --------
    >>> X = [["Dr", "Green", "speaks", ".", "Green", "is", "new"], ["a", "Green", "car"]]
    >>> y = [["O", "N", "O", "O", "N", "O", "O"], ["O", "O", "O"]]
    >>> crf = SkipChainCRF("word[-1..0]").fit(X, y)
    >>> crf.predict(X).tolist() == y
    True
    >>> crf.n_pairs_
    1
    """

    similarity: Any = "same"
    max_pairs_per_word: int | None = 10
    capitalised: bool = True
    skip_templates: str = "same"
    phrases: bool = False
    skip_tying: str = "full"
    inference: Any = "auto"
    search: Any = "auto"
    chain_first: bool = True
    two_stage: bool = False
    word_column: str = "word"

    @property
    def n_pairs_(self) -> int:
        """How many pairs (skip edges) the training sequences had."""
        self._require_fitted()
        return int(self._n_pairs)

    def pairs(self, X: Any) -> list[list[tuple[int, int]]]:
        """The skip edges of each sequence: pairs of positions."""
        self._require_fitted()
        self._remember()
        encoded: Any = self._parameters.encoder.encode(X, grow=False)
        found = []
        for i, first in enumerate(encoded.offsets[:-1]):
            rows = slice(encoded.pairs.offsets[i], encoded.pairs.offsets[i + 1])
            found.append([(int(u - first), int(v - first)) for u, v in encoded.scope[rows]])
        return found

    def partial_fit(self, *args: Any, **options: Any) -> SkipChainCRF:
        """Not for skip chains: raises an InputError."""
        del args, options
        raise InputError("partial_fit is for chains; fit SkipChainCRF on all sequences, with warm_start=True")

    def structure_for(self, labels: Sequence[str]) -> SkipChain:
        """The structure of a model with these labels."""
        return SkipChain(labels, self._tying(), *self._methods())

    def _tying(self) -> str:
        if self.skip_tying not in TYINGS:
            raise InputError(f"skip_tying={self.skip_tying!r}; give one of {', '.join(TYINGS)}")
        return self.skip_tying

    def _methods(self) -> tuple[Method, Method]:
        inference = method_of("inference", self.inference, INFERENCES)
        if inference[0] in ("propagation", "auto"):
            inference = inference[0], checked_options(inference[1], exact=inference[0] == "auto")
        return inference, method_of("search", self.search, DECODINGS)

    def _rule(self) -> WordPairs:
        return WordPairs(self.similarity, self.max_pairs_per_word, bool(self.capitalised))

    def _training(self, *, growing: bool = False, ranks: Any = None) -> SkipTraining:
        del growing
        if ranks is not None:
            raise InputError("SkipChainCRF is trained by one process; leave out ranks, or train a ChainCRF")
        known = None
        if self.__sklearn_is_fitted__():
            known = Known(
                self._parameters.calibrated(UNCALIBRATED),
                self.classes_.tolist(),
                getattr(self, "provenance_", {}),
            )
        if not isinstance(self.skip_templates, str):
            raise InputError(
                f"skip_templates={self.skip_templates!r}; give {SAME!r}, {NONE!r} or template text"
            )
        inference, search = self._methods()
        return SkipTraining(
            Settings.of(self),
            known,
            rule=self._rule(),
            observed=self.skip_templates,
            column=self.word_column,
            tying=self._tying(),
            inference=inference,
            decoding=search,
            chain_first=self.chain_first,
            two_stage=self.two_stage,
            phrases=self.phrases,
        )

    def _store(self, trained: Trained) -> Any:
        self._n_pairs = trained.provenance.get("pairs", 0)
        return super()._store(trained)

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        if not isinstance(parameters.encoder, PairFeatures):
            raise ValueError("the features are not those of a skip chain")
        super()._settle(parameters, classes, voters)

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
        del parameters
        return {"pairs": self._n_pairs}, {}

    def _prepare(self, header: dict[str, Any]) -> None:
        if type(header["pairs"]) is not int or header["pairs"] < 0:
            raise ValueError(f"{header['pairs']!r} pairs")
        self._n_pairs = header["pairs"]
        self.similarity = header["encoder"]["similarity"]  # None for a function, which files do not have

    def _remember(self) -> None:
        """Use a similarity that was set after loading."""
        encoder = self._parameters.encoder
        assert isinstance(encoder, PairFeatures)
        if encoder.rule.similarity is forgotten and callable(self.similarity):
            encoder.rule = replace(encoder.rule, similarity=self.similarity)

    def _ask(self, X: Any, question: Callable[[Scored], T]) -> T:
        structure: Any = self._predictor().structure
        before = structure.unconverged
        answer = super()._ask(X, question)
        if failed := structure.unconverged - before:
            warnings.warn(
                f"belief propagation did not converge on {failed} sequences; their probabilities are rough: "
                "raise max_iterations or damping of inference=, or penalise skip edges more strongly",
                stacklevel=3,
            )
        return answer

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        self._require_fitted()
        self._remember()
        return super()._scored(X, *arguments, **options)

"""HiddenCRF: one label for a whole sequence, by hidden states.

    p(y | x) = sum over hidden states h of exp(sum over t of <x_t, weights of y and h_t>
                                               + sum over edges of the weight of y, h_parent and h_t) / Z(x)

A label has ``n_states`` hidden states of its own. All positions of a sequence are in states of one label, so
that the model is a chain (or tree) over labels times states, without transitions between labels; training
maximises the likelihood of the label. With one state for each label it is logistic regression over the summed
features of the positions and, for each label, their number less one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.models.hidden_training import HiddenTraining, Trees, class_probabilities, lengths_of
from fieldcraft.models.inputs import corpus_of, encode
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.models.training_settings import Settings
from fieldcraft.problems import crew
from fieldcraft.structures.latent_trees import LatentTrees, checked_parents
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]
STRUCTURES: dict[str, Callable[[StateSpace], LinearChain]] = {"chain": LinearChain, "tree": LatentTrees}


class HiddenCRF(SequenceModel):
    """Labels whole sequences.

    Parameters
    ----------
    templates : as for ChainCRF
    n_states : hidden states of each label
    structure : "chain", or "tree": a position depends on its parent, which ``parents`` names
    features : "all" (every feature with every state) or "supported" (with the labels it occurs with)
    labels, prior, min_count, gazetteers, hash_size, n_jobs, verbose : as for ChainCRF
    optimiser : "auto" or "lbfgs", "conjugate_gradient", "em" …
    random_state : seed of the initial weights: the loss has several minima

    Examples
    --------
    >>> X = [[["up"], ["down"]], [["down"], ["up"]], [["up"], ["up"]], [["down"], ["down"]]]
    >>> model = HiddenCRF(n_states=2, prior=None).fit(X, ["mixed", "mixed", "equal", "equal"])
    >>> model.predict(X).tolist()
    ['mixed', 'mixed', 'equal', 'equal']
    """

    objective = "marginal_likelihood"

    def __init__(
        self,
        templates: Any = None,
        *,
        n_states: int = 3,
        structure: str = "chain",
        features: str = "all",
        labels: Any = None,
        min_count: int = 1,
        prior: Any = "auto",
        optimiser: Any = "auto",
        gazetteers: Any = None,
        hash_size: int | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.templates, self.n_states, self.structure = templates, n_states, structure
        self.features, self.labels, self.min_count = features, labels, min_count
        self.prior, self.optimiser, self.gazetteers = prior, optimiser, gazetteers
        self.hash_size, self.n_jobs = hash_size, n_jobs
        self.random_state, self.verbose = random_state, verbose

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, *, parents: Any = None, parents_dev: Any = None, **options: Any
    ) -> HiddenCRF:
        """Train on sequences with one label each.

        Parameters
        ----------
        X, y : sequences, and [N] labels
        parents : for trees: for each sequence the position of each token's parent, -1 for the root
        parents_dev : those of ``X_dev``
        options : those of ``ChainCRF.fit``; ``X_dev, y_dev`` are held-out sequences and labels, whose score
            is the share of right ones
        """
        X = corpus_of(X)
        self._trees: Trees = (self._parents(X, parents), None)
        if options.get("X_dev") is not None:
            self._trees = self._trees[0], self._parents(options["X_dev"], parents_dev)
            options["y_dev"] = repeated(options["X_dev"], options.get("y_dev"))
        try:
            super().fit(X, repeated(X, y), **options)
        finally:
            del self._trees
        return self

    def predict(self, X: Any, *, parents: Any = None) -> NDArray[np.object_]:  # type: ignore[override]
        """[N] the most probable label of each sequence."""
        best = self.predict_proba(X, parents=parents).argmax(axis=1)
        labels: NDArray[np.object_] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any, *, parents: Any = None) -> Floats:  # type: ignore[override]
        """[N, Y] the probability of each label, in the order of ``classes_``."""
        self._require_fitted()
        X = corpus_of(X)
        lengths_of(X)
        n_jobs = resolve_jobs(self.n_jobs)
        structure, parameters = self._parameters.structure.using(n_jobs), self._parameters
        trees = self._parents(X, parents)
        encoded = encode(X, parameters.encoder, grow=False, n_threads=n_jobs)
        with crew(n_jobs):
            bound = (
                structure.of(trees) if isinstance(structure, LatentTrees) and trees is not None else structure
            )
            return class_probabilities(bound, parameters.scorer.potentials(encoded), encoded.offsets)

    def log_probability(self, X: Any, y: Any = None, *, parents: Any = None) -> Floats:
        """[N] log p(y | x)."""
        p, names = self.predict_proba(X, parents=parents), self.classes_.tolist()
        unknown = [label for label in y if label not in names]
        if unknown:
            raise InputError(f"label {unknown[0]!r} was not seen in training; there are {', '.join(names)}")
        at = np.array([names.index(label) for label in y], np.int64)
        with np.errstate(divide="ignore"):
            return np.log(p[np.arange(len(p)), at])

    def score(self, X: Any, y: Any = None, *, parents: Any = None) -> float:
        """The share of sequences whose label is predicted."""
        return float(np.mean([a == b for a, b in zip(self.predict(X, parents=parents), y, strict=True)]))

    def partial_fit(self, *args: Any, **options: Any) -> HiddenCRF:
        """Not for hidden states: raises an InputError."""
        del args, options
        raise InputError("partial_fit is for chains; fit HiddenCRF on all sequences")

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """Chains or trees over the hidden states of all labels."""
        if not isinstance(self.structure, str) or self.structure not in STRUCTURES:
            raise InputError(f"structure={self.structure!r}; give one of {', '.join(STRUCTURES)}")
        n = whole_number(self.n_states, "n_states", 1)
        space = StateSpace.latent(labels, n, observed=[[label, label] for label in labels])
        return STRUCTURES[self.structure](space)

    def _training(self, *, growing: bool = False, ranks: Any = None) -> HiddenTraining:
        del growing
        if ranks is not None:
            raise InputError("HiddenCRF is trained by one process; leave out ranks")
        return HiddenTraining(Settings.of(self), self.structure_for, None, trees=self._trees)

    def _parents(self, X: Any, parents: Any) -> list[Any] | None:
        """The trees of sequences, checked; None for chains."""
        if self.structure != "tree":
            if parents is not None:
                raise InputError("parents are for structure='tree'; leave them out, or choose it")
            return None
        lengths = lengths_of(X)
        if parents is None or len(parents) != len(lengths):
            given = "none" if parents is None else str(len(parents))
            raise InputError(
                f"{len(lengths)} sequences, parents of {given}; structure='tree' needs them for each"
            )
        return [checked_parents(one, i, n) for i, (one, n) in enumerate(zip(parents, lengths))]

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        del X, arguments, options
        raise InputError(
            "this question is for models with a label per token; ask a HiddenCRF for predict, predict_proba, "
            "log_probability or score"
        )


def repeated(X: Any, y: Any) -> list[list[Any]]:
    """The label of each sequence, once for each of its tokens."""
    if y is None or isinstance(y, str):
        raise InputError("y is missing; give one label for each sequence")
    lengths, labels = lengths_of(X), list(y)
    if len(labels) != len(lengths):
        raise InputError(f"{len(lengths)} sequences, {len(labels)} labels; give one for each sequence")
    for i, label in enumerate(labels):
        if not isinstance(label, (str, np.str_)):
            raise InputError(f"sequence {i}: label {label!r} is no text; give one label for each sequence")
    return [[str(label)] * n for label, n in zip(labels, lengths)]

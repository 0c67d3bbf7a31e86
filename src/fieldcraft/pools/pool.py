"""What logarithmic and linear pools share: members, their weights, training, files.

A pool whose members are trained models is ready at once: the members are put side by side (combining.py) when
something is asked first. Members that are not trained yet (models or experts) are trained by ``fit``, on one
shared design (training.py).

File: that of any model, with the members' weights [n, F] beside the pool's own (``members.weights``), which
predictions never read, and the names and weights of the members in the header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError, NotFittedError
from fieldcraft.models.answers import Answers
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.model import Model
from fieldcraft.models.parameters import Parameters
from fieldcraft.optimisers.loop import Record
from fieldcraft.pools.combining import Combined, combine
from fieldcraft.pools.expert import EveryLabel
from fieldcraft.pools.weights import HELD_OUT, LIKELIHOOD, best_scored, given_weights
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure

if TYPE_CHECKING:
    from fieldcraft.pools.training import Data

Self = TypeVar("Self", bound="Pool")
Floats = NDArray[np.float64]
MADE = ("_parameters", "classes_", "voters_", "_combined", "pool_weights_", "member_names_")
PER = ("sequence", "position")
CRITERIA = {"likelihood": LIKELIHOOD, "metric": HELD_OUT, HELD_OUT: HELD_OUT}


class Pool(Model):
    """Base class of opinion pools; see LogOpinionPool and LinearOpinionPool."""

    members: Any
    weights: Any
    per: str
    product = False
    unconstrained = False
    pool_weights_: Floats
    member_names_: tuple[str, ...]
    provenance_: dict[str, Any]
    source_: dict[str, Any] | None
    _combined: Combined | None
    _stored: NDArray[Any] | None = (
        None  # [n, F] members' weights of a loaded file, which stay in it until asked for
    )

    # -- members ------------------------------------------------------------------------------------

    @property
    def members_(self) -> list[ChainCRF]:
        """The trained members; InputError if the pool's file was saved without them."""
        self._require_fitted()
        return self._side_by_side().models

    def __getattr__(self, name: str) -> Any:
        """A pool of trained members becomes fitted when something is asked first."""
        if name in MADE and "members" in vars(self) and self._ready():
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _ready(self) -> bool:
        if "_parameters" in vars(self) or not self._all_trained():
            return "_parameters" in vars(self)
        weights = self._given(len(self.members))
        if weights is None:
            return False
        names, members = zip(*self._named())
        self._become(combine(members, names), weights)
        return True

    def _all_trained(self) -> bool:
        members = [member for _, member in self._named()]
        return bool(members) and all(isinstance(m, Answers) and m.__sklearn_is_fitted__() for m in members)

    def _named(self) -> list[tuple[str, Any]]:
        """The members with their names: those of a dict, of experts, or their numbers."""
        if isinstance(self.members, Mapping):
            return [(str(name), member) for name, member in self.members.items()]
        return [(getattr(member, "name", str(i)), member) for i, member in enumerate(self.members or ())]

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            learnt = self._all_trained()
            why = f"fit finds its weights={self.weights!r}" if learnt else "pass trained members, or call fit"
            raise NotFittedError(f"this {type(self).__name__} is not trained yet; {why}")

    def _side_by_side(self) -> Combined:
        if self._combined is None:
            if self._stored is None:
                raise InputError(
                    "the members are not known: the file was saved with compact=True, which leaves them out; "
                    "save the pool without it"
                )
            of, weights = self._parameters, np.asarray(self._stored, np.float64)
            facts = self.member_names_, self.classes_.tolist(), of.encoder, of.index
            self._combined = Combined(*facts, of.packed.features(weights), of.structure)
        return self._combined

    def _has_members(self) -> bool:
        return self._combined is not None or self._stored is not None

    def _become(self, combined: Combined, weights: Floats) -> None:
        """Become fitted, with these members and weights."""
        self._check_per()
        self._combined, self.member_names_, self.pool_weights_ = combined, combined.names, weights
        if isinstance(combined.structure, LinearChain) and not combined.structure.is_plain:
            self.states = combined.structure.states
        self._settle(combined.parameters(weights @ combined.weights), combined.classes)

    def _given(self, n: int) -> Floats | None:
        return given_weights(self.weights, n, product=self.product, unconstrained=self.unconstrained)

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters; other weights of a trained pool take effect at once."""
        super().set_params(**params)
        if "members" in params:
            for name in (*MADE, "_stored"):
                vars(self).pop(name, None)
        elif "_parameters" in vars(self) and self._has_members():
            combined = self._side_by_side()
            weights = self._given(len(combined))
            self._become(combined, self.pool_weights_ if weights is None else weights)
        return self

    # -- training -----------------------------------------------------------------------------------

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        score_every: int | None = None,
        patience: int | None = None,
        keep_best: bool = False,
        max_seconds: float | None = None,
        callbacks: Iterable[Callable[[Record], Any]] = (),
        parallel: bool = False,
    ) -> Self:
        """Train the members that are not trained yet, then find the weights.

        Weights by likelihood are those of X_dev if it is given, else of X. Ctrl-C ends the training and
        leaves the pool as it was.

        Parameters
        ----------
        X, y : sequences and label lists; or a labelled Corpus and no y. Encoded once for all members
        sample_weight : [N] weight of each sequence
        X_dev, y_dev : held-out data: scored as training goes on, and for weights="held_out"
        score_every, patience, keep_best, max_seconds, callbacks : for each member, as in ChainCRF.fit;
            ``keep_best`` keeps its weights of the iteration with the best held-out score
        parallel : train the members through ``joblib.Parallel``, in the workers and with the backend that
            ``joblib.parallel_config`` sets; the members are the same as one after the other
        """
        from fieldcraft.pools.training import Data

        control = {
            "score_every": score_every,
            "patience": patience,
            "keep_best": keep_best,
            "max_seconds": max_seconds,
            "callbacks": tuple(callbacks),
        }
        dev = None if X_dev is None else (X_dev, y_dev)
        self._check_before(dev)
        return self._fit(Data(X, y, sample_weight, dev), control, parallel=parallel)

    def _fit(self: Self, data: Data, control: dict[str, Any], *, parallel: bool) -> Self:
        """Train, with what ``fit`` was given."""
        from fieldcraft.pools.training import train_members

        names, trained = train_members(self, *data, control, parallel=parallel)
        self._learn_weights(combine(trained, names), data[:2] if data.dev is None else data.dev)
        self.source_ = None
        self.provenance_ = dict(getattr(trained[0], "provenance_", {}))
        return self

    def _check_before(self, dev: Any) -> None:
        """Raise errors before any work."""
        if not self.members:
            raise InputError("a pool without members; pass trained models or experts")
        self._check_per()
        if not any(isinstance(member, EveryLabel) for _, member in self._named()):
            self._given(len(self.members))
        if isinstance(self.weights, str) and self.weights == HELD_OUT and dev is None:
            raise InputError("weights='held_out' are chosen by a score on held-out data; pass X_dev")

    def _check_per(self) -> None:
        if self.per not in PER:
            raise InputError(f"per={self.per!r}; choose one of {', '.join(PER)}")

    def _learn_weights(self, combined: Combined, data: tuple[Any, Any]) -> None:
        weights = self._given(len(combined))
        if weights is None:
            weights = self._found(combined, *data, self.weights)
        self._become(combined, weights)

    def weigh(self: Self, X: Any, y: Any = None, *, by: str = "likelihood") -> Self:
        """Find other weights for the same members.

        Parameters
        ----------
        X, y : labelled sequences that the members were not trained on
        by : "likelihood", or "metric" for a search for the best ``metric``
        """
        self._require_fitted()
        if by not in CRITERIA:
            raise InputError(f"by={by!r}; choose one of {', '.join(dict.fromkeys(CRITERIA))}")
        if self.product:
            raise InputError("the weights of a product are all 1; use a pool without product=True")
        combined = self._side_by_side()
        return self._with_weights(self._found(combined, X, y, CRITERIA[by]))

    def _with_weights(self: Self, weights: Floats) -> Self:
        """The same pool with other weights of its members."""
        self._become(self._side_by_side(), weights)
        self.weights = weights.tolist()
        return self

    def _found(self, combined: Combined, X: Any, y: Any, criterion: str) -> Floats:
        held_out = self._held_out(combined, X, y)
        if criterion == LIKELIHOOD:
            return self._most_likely(combined, held_out)
        labels = self._labels_by_weights(combined, held_out)
        return best_scored(lambda weights: held_out.score(labels(weights)), len(combined))

    def _held_out(self, combined: Combined, X: Any, y: Any) -> HeldOut:
        chain = combined.structure.using(self._threads())
        scorer = combined.scoring.scorer_of
        settings = {"metric": self.metric, "decoding": self.decoding}
        return HeldOut(combined.encoder, chain, scorer, X, y, **settings)

    def _threads(self) -> int:
        from fieldcraft.threads import resolve_jobs

        return resolve_jobs(self.n_jobs)

    def _most_likely(self, combined: Combined, data: HeldOut) -> Floats:
        raise NotImplementedError

    def _labels_by_weights(self, combined: Combined, data: HeldOut) -> Callable[[Floats], Any]:
        """weights [n] -> the labels [tokens] that the pool predicts with them."""
        raise NotImplementedError

    # -- answers that need one weight for each feature ----------------------------------------------

    @property
    def weights_(self) -> Floats:
        """[F] one weight per feature, read-only."""
        self._refuse_without_weights("weights_")
        return super().weights_

    def explain(self, sequence: Any, **options: Any) -> Any:
        """Explain the labels of one sequence, as ChainCRF.explain does."""
        self._refuse_without_weights("explain")
        return super().explain(sequence, **options)

    def inspect(self, **options: Any) -> Any:
        """Summary of the pool as one model, as ChainCRF.inspect does."""
        self._refuse_without_weights("inspect")
        return super().inspect(**options)

    def _refuse_without_weights(self, what: str) -> None:
        self._require_fitted()
        if not self._is_one_model():
            raise InputError(
                f"{what}: this pool is not one model with a weight for each feature; ask its members "
                "(members_), or use a LogOpinionPool per sequence"
            )

    # -- files --------------------------------------------------------------------------------------

    def structure_for(self, labels: Sequence[str]) -> Structure:
        """A chain over the labels, or over the members' state space."""
        states = self.states if isinstance(self.states, StateSpace) else StateSpace.labels(labels)
        return LinearChain(states)

    def save(
        self,
        path: Any,
        *,
        compact: bool = False,
        float32: bool = False,
        zeros: bool = False,
        checksums: bool = True,
    ) -> None:
        """Write the pool to one file, whole or not at all.

        Parameters
        ----------
        compact : omit what only inspection needs: the counts of the features and the members, where the
            pool does without them (a LogOpinionPool per sequence)
        float32, zeros, checksums : as in ChainCRF.save
        """
        from fieldcraft.models.persistence import save

        self._require_fitted()
        kept = self._to_store(compact=compact, zeros=zeros)
        settings = {"compact": compact, "float32": float32, "checksums": checksums}
        save(kept, path, zeros=zeros or kept._has_members(), **settings)

    def _to_store(self: Self, *, compact: bool, zeros: bool) -> Self:
        """A copy with what the file keeps."""
        kept = type(self)()
        vars(kept).update(vars(self))
        kept.weights = self.weights if isinstance(self.weights, str) else self.pool_weights_.tolist()
        if compact and self._is_one_model():
            kept._combined = kept._stored = None
        elif self._has_members() and not zeros:
            kept._become(self._side_by_side().without_zeros(), self.pool_weights_)
        return kept

    def _is_one_model(self) -> bool:
        return False

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {"pool": {"names": list(self.member_names_), "weights": self.pool_weights_.tolist()}}
        if not self._has_members():
            return header, {}
        order = parameters.packed.order
        weights = self._side_by_side().weights
        return header, {"members.weights": weights if order is None else weights[:, order]}

    def _take(self, parameters: Parameters, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        names, weights = header["pool"]["names"], np.array(header["pool"]["weights"], np.float64)
        if weights.ndim != 1 or not all(isinstance(n, str) for n in names) or len(names) != len(weights):
            raise ValueError("the members of the pool have no names or no weights")
        self.member_names_, self.pool_weights_ = tuple(names), weights
        self._combined, self._stored = None, arrays.get("members.weights")
        if self._stored is None:
            return
        if self._stored.shape != (len(names), len(parameters.placed)) or self._stored.dtype.kind != "f":
            raise ValueError(f"the weights of the members have the shape {self._stored.shape}")

"""CooperativePool: a logarithmic pool whose members are trained together, to be good and to differ.

Members are trained by themselves first (or given, or begin at small random weights), then together:
cooperative_problem.py has the objective. Every member keeps its own features and its own prior; all of them
see all sequences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.distributed import Ranks
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.labels import encode_labels
from fieldcraft.models.answers import Answers
from fieldcraft.models.held_out import HeldOut, score_interval
from fieldcraft.models.inputs import encode, labels_of, weights_of
from fieldcraft.models.remarks import tell
from fieldcraft.optimisers import resolve
from fieldcraft.optimisers.loop import Control, Loop, Outcome, Record
from fieldcraft.pools.ambiguity_penalties import resolve_penalty
from fieldcraft.pools.combining import Combined, combine
from fieldcraft.pools.cooperative_problem import Cooperative, PlainSum, WeightedSum
from fieldcraft.pools.dealt import Dealt, InOneProcess, by_rank_0, dealt, described, guarded
from fieldcraft.pools.expert import EveryLabel
from fieldcraft.pools.joint import Rows
from fieldcraft.pools.logarithmic import LogOpinionPool
from fieldcraft.pools.pool import MADE
from fieldcraft.pools.restriction import restricted
from fieldcraft.pools.training import Data, perturbed_members, train_members
from fieldcraft.priors import Prior, resolve_prior
from fieldcraft.problems import build, check_weights, crew
from fieldcraft.structures.structure import Structure

Self = TypeVar("Self", bound="CooperativePool")
Floats = NDArray[np.float64]
OWN = "own"
LEAST = 1e-10  # ambiguity relative to the members' error: below it, members are equal up to rounding
KEPT = ("_stored", "source_", "provenance_", "states")


@dataclass(frozen=True)
class CooperativeRecord(Record):
    """A record with each member's mean log-likelihood, the ambiguity A and the pool's weights."""

    likelihoods: tuple[float, ...] = ()
    ambiguity: float | None = None
    pool_weights: tuple[float, ...] = ()

    def details(self) -> list[str]:
        """For the progress line."""
        each = " ".join(f"{value:.4f}" for value in self.likelihoods)
        return [f"likelihoods {each}", *([] if self.ambiguity is None else [f"A {self.ambiguity:.4f}"])]


class CooperativePool(LogOpinionPool):
    """Logarithmic opinion pool whose members are trained together, with a penalty on being alike.

    Maximises the sum of the members' log-likelihoods minus gamma f(A), where A is the ambiguity of the pool
    (``fc.diversity``), both averaged over sequences. The pool itself is a LogOpinionPool, and is saved as
    one. After ``fit``, ``training_log_`` has each member's likelihood, A and the pool's held-out score by
    iteration.

    Parameters
    ----------
    members : two or more, as in LogOpinionPool. Trained ones are where training begins: they must have the
        same feature index, or come from one; a feature whose weight is zero stays so
    gamma : how much diversity counts; 0 trains every member by itself
    penalty : f: "inverse" (1 / A), "inverse_square" (1 / A^2), ``fc.PreferredDiversity``, or an object with
        the methods value(A) and derivative(A)
    weights : of the members in the pool, as in LogOpinionPool; "likelihood" and "held_out" are found before
        the members are trained together
    weighted : count each likelihood with the member's weight in the pool; or an object with the methods
        value(likelihoods, weights) and derivatives(likelihoods, weights), a function that replaces the sum
    train_weights : train the members' weights, too, starting from ``weights``
    prime : train members by themselves first; without, untrained ones begin at small random weights
    prior : "own" for that of each member, a prior for all of them, or None
    optimiser : "auto", or an optimiser that needs gradients alone
    max_iterations : of the common training; None for those of the optimiser
    unconstrained, dirichlet, decoding, metric, tokenizer, n_jobs, random_state : see LogOpinionPool

    Examples
    --------
    >>> from fieldcraft import ChainCRF, datasets, experts
    >>> train = datasets.addresses(n=60)  # synthetic
    >>> crf = ChainCRF("edge\\nword[-1..1]\\nshape(word)", n_jobs=1)
    >>> pool = CooperativePool(experts.simple(crf), gamma=0.1).fit(train)
    >>> first, last = pool.training_log_[0], pool.training_log_[-1]
    >>> first.objective > last.objective, last.ambiguity > 0
    (True, True)
    """

    _ranks: Ranks | None = None  # while fit runs

    def __init__(
        self,
        members: Any = (),
        *,
        gamma: float = 1.0,
        penalty: Any = "inverse",
        weights: Any = "uniform",
        weighted: Any = False,
        train_weights: bool = False,
        prime: bool = True,
        prior: Any = OWN,
        optimiser: Any = "auto",
        max_iterations: int | None = None,
        dirichlet: Any = None,
        decoding: str = "viterbi",
        metric: Any = "auto",
        tokenizer: Any = "words",
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            members, weights=weights, dirichlet=dirichlet, decoding=decoding, metric=metric,
            tokenizer=tokenizer, n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip
        self.gamma, self.penalty, self.weighted = gamma, penalty, weighted
        self.train_weights, self.prime = train_weights, prime
        self.prior, self.optimiser, self.max_iterations = prior, optimiser, max_iterations

    def fit(self: Self, X: Any, y: Any = None, *, ranks: Ranks | None = None, **settings: Any) -> Self:
        """Train the members by themselves, then together.

        Parameters
        ----------
        X, y : as in ``LogOpinionPool.fit``
        ranks : the processes of an MPI job, which all pass the same data: rank 0 trains the members by
            themselves, and their evaluations in the common training are dealt to all
        settings : sample_weight, X_dev, y_dev, score_every, patience, keep_best, max_seconds, callbacks and
            parallel, as in ``LogOpinionPool.fit``; those that control a training apply to the members' own
            ones and to the common one
        """
        with guarded(ranks):
            self._ranks = ranks
            try:
                return super().fit(X, y, **settings)
            finally:
                self._ranks = None

    def _fit(self: Self, data: Data, control: dict[str, Any], *, parallel: bool) -> Self:
        X, y, sample_weight, dev = data
        ranks = self._ranks
        names, start = by_rank_0(ranks, lambda: self._starting(data, control, parallel=parallel))
        trained = combine(start, names)
        _refuse_strangers(trained, start)
        weights = self._given(len(trained))
        if weights is None:
            held = (X, y) if dev is None else dev
            weights = by_rank_0(ranks, lambda: self._found(trained, *held, self.weights))
        design = self._design(trained, X, y)
        counts = weights_of(X) if sample_weight is None else sample_weight
        problem = self._problem(trained, design, start, weights, counts, ranks, control["callbacks"])
        if ranks is not None:
            control = {**control, "ranks": ranks}
        outcome = self._together(problem, design, trained, weights, dev, control)
        vectors = problem.placed(outcome.weights)
        self._become(replace(trained, weights=vectors), problem.pool_weights(outcome.weights))
        self.source_, self.provenance_ = None, dict(getattr(start[0], "provenance_", {}))
        self.training_log_, self.objective_value_ = outcome.records, outcome.objective
        self.stop_reason_, self.converged_ = outcome.reason, outcome.converged
        self.n_iter_ = len(outcome.records)
        return self

    def _ready(self) -> bool:
        return "_parameters" in vars(self)  # trained members are only where training begins

    def _check_before(self, dev: Any) -> None:
        super()._check_before(dev)
        if len(self.members) < 2 and not any(isinstance(m, EveryLabel) for _, m in self._named()):
            raise InputError(
                "co-operative training needs two members or more; one has nothing to differ from"
            )
        number = isinstance(self.gamma, (int, float, np.number)) and math.isfinite(self.gamma)
        if not number or self.gamma < 0:
            raise InputError(f"gamma={self.gamma!r}; give a finite number, zero or greater")
        resolve_penalty(self.penalty)
        _function(self.weighted)

    def _starting(
        self, data: Data, control: dict[str, Any], *, parallel: bool
    ) -> tuple[list[str], list[Any]]:
        """The members' names, and the members as training begins."""
        if self.prime:
            return train_members(self, *data, control, parallel=parallel)
        return perturbed_members(self, data, np.random.default_rng(self.random_state))

    def _design(self, combined: Combined, X: Any, y: Any) -> Design:
        """All sequences with the features of all members."""
        encoded = encode(X, combined.encoder, grow=False, n_threads=self._threads())
        return Design(
            encoded, encode_labels(labels_of(X, y), combined.classes, encoded.offsets), combined.index
        )

    def _problem(
        self,
        combined: Combined,
        design: Design,
        start: list[Any],
        weights: Floats,
        sample_weight: Any,
        ranks: Ranks | None = None,
        callbacks: Any = (),
    ) -> Cooperative:
        counts = check_weights(sample_weight, design.n_sequences)
        structure = combined.structure.using(self._threads())
        rows = [_own(combined, i, model, self._was_trained(i, combined)) for i, model in enumerate(start)]
        built = partial(_built, structure, design, rows, counts)
        evaluate: InOneProcess | Dealt
        if ranks is None:
            evaluate = InOneProcess([built(i) for i in range(len(rows) + 1)])
        else:
            layout = dealt([*map(len, rows), len(combined.index)], ranks.size)
            tell(callbacks, "tell", described(layout, combined.names))
            evaluate = Dealt(ranks, layout, np.diff(design.encoded.offsets).tolist(), built)
        return Cooperative(
            evaluate,
            rows,
            self._priors(combined, start, rows),
            n_features=len(combined.index),
            n_jobs=structure.n_jobs,
            total=float(design.n_sequences if counts is None else counts.sum()),
            pool_weights=None if self.train_weights else weights,
            gamma=float(self.gamma),
            penalty=resolve_penalty(self.penalty),
            likelihoods=_function(self.weighted),
        )

    def _was_trained(self, i: int, combined: Combined) -> bool:
        """Was the member trained before, so that only its weights say which features are its own."""
        member = dict(self._named()).get(combined.names[i])
        return isinstance(member, Answers) and bool(member.__sklearn_is_fitted__())

    def _priors(self, combined: Combined, start: list[Any], rows: list[Rows]) -> list[Prior]:
        priors = []
        for model, own in zip(start, rows):
            training = model._training()
            if not (isinstance(self.prior, str) and self.prior == OWN):
                training.prior = resolve_prior(self.prior)
            training.classes = combined.classes
            priors.append(training._penalty(combined.encoder, combined.index.take(own)))
        return priors

    def _together(
        self,
        problem: Cooperative,
        design: Design,
        combined: Combined,
        weights: Floats,
        dev: Any,
        control: dict[str, Any],
    ) -> Outcome:
        start = np.zeros(problem.n_variables)
        for i, (own, part) in enumerate(zip(problem.rows, problem.slices)):
            start[part] = combined.weights[i, own]
        if self.train_weights:
            start[problem.others] = np.log(np.maximum(weights, 1e-6))
        self._refuse_equal(problem, start)
        tell(control["callbacks"], "tell", "all members together:")
        held_out, every = None, None
        if dev is not None:
            scored: HeldOut = self._held_out(combined, *dev)
            every = score_interval(len(design.gold), scored.n_tokens)
            held_out = lambda variables: scored(problem.collapsed(variables))  # noqa: E731
        rules = Control(held_out=held_out, **control)
        rules.score_every = rules.score_every or every
        with crew(problem.n_jobs):
            return CooperativeLoop(self._optimiser(problem).start(problem, start), rules).go(None)

    def _optimiser(self, problem: Cooperative) -> Any:
        """By the penalties of all members, where it is not given."""
        name = self.optimiser
        if isinstance(name, str) and name == "auto":
            kinds = {"bounded_lbfgs": problem.bounds, "owlqn": problem.l1}
            name = next((kind for kind, needed in kinds.items() if needed is not None), "lbfgs")
        chosen = resolve("likelihood", name, resolve_prior(None)).optimiser
        if chosen.needs != "gradient":
            raise InputError(
                f"co-operative training needs an optimiser for gradients, not {chosen.name}; use 'lbfgs'"
            )
        limit = self.max_iterations
        return chosen if limit is None else replace(chosen, max_iterations=limit)

    def _refuse_equal(self, problem: Cooperative, start: Floats) -> None:
        """A penalty that grows without bound where members are equal cannot begin there."""
        if problem.gamma == 0 or math.isfinite(problem.penalty.value(0.0)):
            return
        problem.value_and_gradient(start, np.empty(problem.n_variables))
        ambiguity = problem.facts.ambiguity
        assert ambiguity is not None
        if ambiguity <= LEAST * max(1.0, float(np.abs(problem.facts.likelihoods).max())):
            raise FieldcraftError(
                f"the members are equal (their ambiguity is {ambiguity:.3g}), where gamma / A has no value; "
                "pass members with different features or data, or untrained ones with prime=False"
            )

    def _to_store(self, *, compact: bool, zeros: bool) -> Any:
        """The pool as any other; how it was trained is not part of its file."""
        plain = LogOpinionPool(**{name: getattr(self, name) for name in LogOpinionPool().get_params()})
        made = {name: value for name, value in vars(self).items() if name in (*MADE, *KEPT)}
        vars(plain).update(made)
        return plain._to_store(compact=compact, zeros=zeros)


class CooperativeLoop(Loop):
    """The loop with records that know the members."""

    def _record(self) -> CooperativeRecord:
        facts = self.run.problem.facts
        return CooperativeRecord(
            **vars(super()._record()),
            likelihoods=tuple(facts.likelihoods.tolist()),
            ambiguity=facts.ambiguity,
            pool_weights=tuple(facts.weights.tolist()),
        )


def _function(weighted: Any) -> Any:
    if isinstance(weighted, (bool, np.bool_)):
        return WeightedSum() if weighted else PlainSum()
    if not all(callable(getattr(weighted, name, None)) for name in ("value", "derivatives")):
        raise InputError(
            f"weighted={weighted!r}; give True, False, or an object with value(likelihoods, weights) and "
            "derivatives(likelihoods, weights)"
        )
    return weighted


def _built(
    structure: Structure,
    design: Design,
    rows: list[Rows],
    counts: Floats | None,
    i: int,
    sequences: Rows | None = None,
    ranks: Ranks | None = None,
) -> Any:
    """The problem of member i, or of the pool where there is no such member, on all sequences or some."""
    mask = np.full(len(design.index), i == len(rows))
    if i < len(rows):
        mask[rows[i]] = True
    own = counts if counts is None or sequences is None else counts[sequences]
    part = restricted(design, mask, sequences)
    options: dict[str, Any] = {"sequence_weights": own, "n_jobs": structure.n_jobs, "reduce": ranks}
    return build(structure, "gradient", part, resolve_prior(None), **options)


def _own(combined: Combined, i: int, model: Any, was_trained: bool) -> Rows:
    """The features of a member in the common index."""
    if was_trained:
        return np.flatnonzero(combined.weights[i])
    index = model._parameters.index
    same = index.digest == combined.index.digest
    return np.arange(len(index)) if same else np.sort(index.rows_in(combined.index)).astype(np.int64)


def _refuse_strangers(combined: Combined, members: list[Any]) -> None:
    """Members must come from one design: the encoder of each must number attributes as the union does."""
    for name, model in zip(combined.names, members):
        rows = model._parameters.index.rows_in(combined.index)
        if model._parameters.encoder.n_attributes != combined.encoder.n_attributes or np.any(rows < 0):
            raise InputError(
                f"member {name} has a feature index of its own; members that are trained together need one: "
                "pass experts of one model, or untrained models with the same templates"
            )

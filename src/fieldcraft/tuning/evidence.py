"""Empirical Bayes: the variances of a Gaussian prior from the training data alone.

The evidence, p(labels | variances) with the weights integrated out by Laplace's approximation, is stationary
where for each group of weights

    variance = sum of (w - mean)^2 / gamma,    gamma = sum of (1 - S_kk / variance)

with w the penalised optimum and S the inverse of H + 1 / variance, H the loss's Hessian there. gamma counts
the weights that the data determine (MacKay, 1992). A round trains, measures gamma, and sets the variances.

The trace of S in a group is z' S z with random signs z, restricted to the group: unbiased, with an error of
about sqrt(F) for F weights; few weights take several z, very few all unit vectors, which is exact. S z comes
from conjugate gradients, H p from the difference of two gradients.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.inputs import weights_of
from fieldcraft.models.training_settings import SharedDesign
from fieldcraft.optimisers.loop import Interrupts
from fieldcraft.priors import Gaussian, Names, NoPrior
from fieldcraft.priors.groups import Grouped
from fieldcraft.problems import build, check_weights
from fieldcraft.problems.protocols import Gradient
from fieldcraft.terminal import visible_lines
from fieldcraft.tuning.evidence_result import Evidence, Round
from fieldcraft.tuning.path import restartable

Floats = NDArray[np.float64]
DIFFERENCE = 1e-3  # the largest change of a weight when gradients are compared
EXACTNESS = 1e-3  # of z' S z, where conjugate gradients end
MOST_STEPS = 100
FEW, MANY = 300, 20_000  # weights: up to FEW all unit vectors are tried, from MANY one vector of signs
LARGEST_CHANGE = 100.0  # of a variance in a round


def empirical_bayes(
    crf: ChainCRF,
    X: Any,
    y: Any = None,
    *,
    X_dev: Any = None,
    y_dev: Any = None,
    rounds: int = 20,
    tolerance: float = 0.02,
    sample_weight: Any = None,
) -> Evidence:
    """Find the variances of a Gaussian prior without held-out data.

    Parameters
    ----------
    crf : all parameters; its Gaussian prior has the groups and the initial variances: one number, or a
        rule such as ``fc.groups.by_template``, whose groups get a variance each. It is not changed
    X, y : sequences and label lists; or a labelled Corpus and no y
    X_dev, y_dev : scored after each round, optional; the result does not depend on it
    rounds : maximal number of trainings
    tolerance : stop when no variance changes by a larger fraction
    sample_weight : [N] weight of each sequence

    Returns
    -------
    Evidence: the rounds, and the last model. Ctrl-C stops after the finished rounds.

    >>> from fieldcraft import Gaussian
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]] * 20
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]] * 20
    >>> evidence = empirical_bayes(ChainCRF(prior=Gaussian(variance=1.0)), X, y)
    >>> evidence.converged, evidence.variance == evidence.model.prior.variance
    (True, True)
    """
    if not isinstance(rounds, (int, np.integer)) or isinstance(rounds, bool) or rounds < 1:
        raise InputError(f"rounds is {rounds!r}; it must be a whole number, at least 1")
    if not 0.0 < tolerance < math.inf:
        raise InputError(f"tolerance is {tolerance!r}; it must be greater than 0 and finite")
    search = _Search(crf, X, y, sample_weight)
    held_out = None if X_dev is None else search.held_out(X_dev, y_dev)
    done: list[Round] = []
    with Interrupts() as interrupts:
        while len(done) < rounds:
            latest = search.round(held_out, lambda: interrupts.seen)
            if latest is None:
                break
            done.append(latest)
            if crf.verbose:
                print(visible_lines(str(latest)), file=sys.stderr)
            if interrupts.seen or search.settled(tolerance):
                break
    model = search.model()
    converged = bool(done) and search.settled(tolerance)
    return Evidence(tuple(done), model, converged, interrupted=interrupts.seen)


class _Search:
    """Rounds of training and measuring."""

    def __init__(self, crf: ChainCRF, X: Any, y: Any, sample_weight: Any) -> None:
        training = crf._training()
        objective, prior = training.objective, training.prior
        if not isinstance(prior, Gaussian):
            raise InputError(f"empirical Bayes sets a Gaussian's variance; the prior is {prior!r}")
        if objective.name != "likelihood":
            raise InputError(f"empirical Bayes needs objective='likelihood'; it is {objective.name!r}")
        if not isinstance(prior.variance, Grouped) and (callable(prior.variance) or np.ndim(prior.variance)):
            raise InputError(
                "empirical Bayes sets one variance or one per group; pass a number or a rule in groups, "
                "e.g. fc.groups.by_template({'word*': 10.0}, otherwise=10.0)"
            )
        if training.rules.likely is not None:
            raise InputError("empirical Bayes does not support features='selected'; use 'supported' or 'all'")
        self.crf, self.X, self.prior = crf, X, prior
        self.sample_weight = weights_of(X) if sample_weight is None else sample_weight
        training = self._estimator()._training()
        self.data: SharedDesign = training.share(X, y)
        self._training = training
        self._names = Names(training.classes, [t.name for t in self.data.encoder.templates])
        check_weights(self.sample_weight, self.data.design.n_sequences)
        self._owner = self._groups()
        self._weights: Floats | None = None
        self._trained: ChainCRF | None = None
        self._change = math.inf

    def held_out(self, X: Any, y: Any) -> HeldOut:
        """A function that scores weights on held-out data."""
        return self._training.held_out(self.data.encoder, self.data.design.index, X, y)

    def settled(self, tolerance: float) -> bool:
        """Whether no variance changed by more in the last round."""
        return self._change <= math.log1p(tolerance)

    def model(self) -> ChainCRF | None:
        """The last trained model."""
        if self._trained is None:
            return None
        return self._trained.set_params(optimiser=self.crf.optimiser, verbose=self.crf.verbose)

    def round(self, held_out: HeldOut | None, stopped: Callable[[], bool]) -> Round | None:
        """Train with the current variances, then update them; None if training was interrupted."""
        begun = time.perf_counter()
        crf = self._estimator()
        control = {"callbacks": (lambda _: stopped(),)}
        options: Any = {"shared": self.data, "start": self._weights, "sample_weight": self.sample_weight}
        crf._store(crf._training().run(self.X, None, control=control, **options))
        if stopped() and not crf.converged_:
            return None
        self._weights, self._trained = np.array(crf.weights_), crf
        before = self._variances()
        determined = self._set(before)
        return Round(
            tuple(before.tolist()),
            tuple(determined.tolist()),
            float(crf.objective_value_),
            None if held_out is None else held_out(crf.weights_),
            crf.n_iter_,
            round(time.perf_counter() - begun, 3),
        )

    def _estimator(self) -> ChainCRF:
        return restartable(type(self.crf)(**self.crf.get_params()).set_params(prior=self.prior))

    def _groups(self) -> NDArray[np.int64]:
        """[F] the group of each weight."""
        index, rule = self.data.design.index, self.prior.variance
        if not isinstance(rule, Grouped):
            return np.zeros(len(index), np.int64)
        return rule.owners(index, self._names)

    def _variances(self) -> Floats:
        """[K] of the groups."""
        rule = self.prior.variance
        numbers = rule.numbers() if isinstance(rule, Grouped) else [rule]
        return np.asarray(numbers, np.float64)

    def _set(self, before: Floats) -> Floats:
        """Update the variances; returns gamma [K]. An infinite one stays: its weights have no penalty."""
        assert self._weights is not None
        n_groups = len(before)
        prior = self.prior.resolved(self.data.design.index, self._names)
        mean = np.broadcast_to(prior.vector("mean", len(self._weights)), self._weights.shape)
        squares = np.bincount(self._owner, (self._weights - mean) ** 2, n_groups)
        sizes = np.bincount(self._owner, minlength=n_groups).astype(np.float64)
        traces = self._traces(before)
        with np.errstate(invalid="ignore", divide="ignore"):
            gamma = np.clip(sizes - traces / before, 0.0, sizes)
            by_evidence, by_expectation = squares / gamma, (squares + np.maximum(traces, 0.0)) / sizes
        after = np.where(gamma > 1e-3 * np.sqrt(sizes), by_evidence, by_expectation)
        after = np.clip(after, before / LARGEST_CHANGE, before * LARGEST_CHANGE)
        finite = np.isfinite(before) & (sizes > 0)
        after = np.where(finite, after, before)
        self._change = float(np.max(np.abs(np.log(after[finite] / before[finite])), initial=0.0))
        self.prior = replace(self.prior, variance=_with(self.prior.variance, after))
        return gamma

    def _traces(self, variances: Floats) -> Floats:
        """[K] of S in each group."""
        assert self._weights is not None
        training = self._training
        weights = check_weights(self.sample_weight, self.data.design.n_sequences)
        problem = build(
            self.crf.structure_for(training.classes),
            "gradient",
            self.data.design,
            NoPrior(),
            sequence_weights=weights,
            n_jobs=training.n_jobs,
        )
        times = _curvature(problem, self._weights, 1.0 / variances[self._owner])
        traces = np.zeros(len(variances))
        for probe, share in _probes(len(self._weights), self.crf.random_state):
            traces += share * np.bincount(self._owner, probe * _solve(times, probe), len(variances))
        return traces


def _probes(n: int, seed: int) -> Iterator[tuple[Floats, float]]:
    """Vectors z whose z' S z, times the share, add up to the trace."""
    if n <= FEW:
        yield from ((unit, 1.0) for unit in np.eye(n))
        return
    rng, probes = np.random.default_rng(seed), -(-MANY // n)
    for _ in range(probes):
        yield rng.choice([-1.0, 1.0], n), 1.0 / probes


def _with(variance: Any, numbers: Floats) -> Any:
    """The variance setting with other numbers."""
    if not isinstance(variance, Grouped):
        return float(numbers[0])
    keys = [key for key, _ in variance.groups]
    rest = None if variance.otherwise is None else float(numbers[-1])
    return replace(variance, groups=tuple(zip(keys, numbers.tolist())), otherwise=rest)


def _curvature(problem: Gradient, weights: Floats, precision: Floats) -> Callable[[Floats], Floats]:
    """p -> (H + precision) p, H at the weights."""
    above, below = np.empty_like(weights), np.empty_like(weights)

    def times(p: Floats) -> Floats:
        step = DIFFERENCE / max(float(np.abs(p).max()), 1e-300)
        problem.value_and_gradient(weights + step * p, above)
        problem.value_and_gradient(weights - step * p, below)
        return (above - below) / (2.0 * step) + precision * p

    return times


def _solve(times: Callable[[Floats], Floats], right: Floats) -> Floats:
    """x with times(x) = right, by conjugate gradients until right' x changes by little."""
    x, rest = np.zeros_like(right), right.copy()
    towards, square = rest.copy(), float(rest @ rest)
    recent: list[float] = []
    for _ in range(MOST_STEPS):
        image = times(towards)
        step = square / float(towards @ image)
        if not 0.0 < step < math.inf:
            break
        x += step * towards
        rest -= step * image
        recent.append(float(right @ x))
        if len(recent) > 5 and abs(recent[-1] - recent[-6]) <= EXACTNESS * abs(recent[-1]):
            break
        square, older = float(rest @ rest), square
        if square == 0.0:
            break
        towards = rest + (square / older) * towards
    return x

"""Calibration: correct the probabilities of a trained model on data that it was not trained on.

    p_T(y | x) = exp(score(y | x) / T) / Z_T(x)          one temperature T divides all potentials

All labellings keep their order, so that the best labels do not change (they are found with the undivided
potentials, since rounding could decide ties anew), and marginals, spans, k best, log-probability and entropy
stay those of one distribution. T maximises the sum of log p_T(y | x) over the calibration data: a concave
function of 1 / T where every label has one state. Its derivative in log T is taken by central differences of
the fourth order, so that the same few lines serve every kind of model, and T is the root of it.

    q(y_t) is proportional to p(y_t | x) ** a_y          per="label": an exponent for each label

corrects the node marginals alone: what ``predict_proba`` and ``predict_marginals`` return. They are then no
longer the marginals of the labellings.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.labels import encode_labels
from fieldcraft.models.answers import Answers
from fieldcraft.models.inputs import EncodedSequences, labels_of
from fieldcraft.models.local_chain import LocalWeights
from fieldcraft.models.parameters import Calibration
from fieldcraft.models.rows import RowModel

Floats = NDArray[np.float64]
M = TypeVar("M", bound=Answers)
PER = ("model", "label")
FARTHEST = 64.0  # temperatures are looked for between 1 / 64 and 64
STEP = 1e-3  # of the differences, in log T
_EMPTY = "it has no sequences"
_PERFECT = (
    "the model makes no mistake on the calibration data, so that every smaller temperature looks better; use "
    "data that it was not trained on, and more of it"
)
LEAST_POWER, MOST_POWER = 1e-3, 1e3


def calibrate(model: M, X: Any, y: Any = None, *, per: str = "model") -> M:
    """A new model with the same best labels, whose probabilities fit held-out data.

    Parameters
    ----------
    model : a trained model; it is not changed. The new one has its weights, divided by ``temperature_``
    X, y : sequences and label lists that the model was not trained on; or a labelled Corpus and no y
    per : "model": one temperature divides all potentials, and all predictions stay those of one
        distribution; "label": an exponent per label corrects ``predict_proba`` and ``predict_marginals`` only

    Returns
    -------
    A model of the same class; ``temperature_`` is above 1 where the model was too sure of itself. A model
    that was calibrated before is calibrated anew. ``fit`` and ``partial_fit`` drop the calibration.

    Examples
    --------
    >>> from fieldcraft import ChainCRF, Gaussian
    >>> X, y = [[["w=a"], ["w=b"]]] * 4, [["A", "B"], ["A", "B"], ["A", "B"], ["B", "B"]]
    >>> crf = ChainCRF(prior=Gaussian(variance=0.1)).fit(X, y)
    >>> calibrated = calibrate(crf, X, y)
    >>> bool(calibrated.log_probability(X, y).sum() > crf.log_probability(X, y).sum())
    True
    >>> calibrated.predict(X[:1]).tolist() == crf.predict(X[:1]).tolist()
    True
    """
    if per not in PER:
        raise InputError(f"per={per!r}; choose one of {', '.join(PER)}")
    _check(model)
    if per == "label":
        return with_calibration(model, Calibration(model.temperature_, _powers(model, X, y)))
    return with_calibration(model, Calibration(_temperature(model, X, y)))


def with_calibration(model: M, calibration: Calibration) -> M:
    """A copy of a model, which shares its weights, with this calibration."""
    made = object.__new__(type(model))
    vars(made).update(vars(model))
    made._parameters = model._parameters.calibrated(calibration)
    return made


def _check(model: Any) -> None:
    if not isinstance(model, Answers):
        raise InputError(f"a {type(model).__name__} cannot be calibrated; pass a model of sequences")
    scorer = model._predictor().scorer  # a NotFittedError where there is nothing to calibrate
    one = getattr(model, "_is_one_model", lambda: True)()
    if not one or not (scorer is model._parameters.scorer or isinstance(scorer, LocalWeights)):
        raise InputError(
            f"this {type(model).__name__} is not one distribution with potentials to divide; calibrate its "
            "members, or a LogOpinionPool(per='sequence')"
        )


def _temperature(model: Answers, X: Any, y: Any) -> float:
    from scipy.optimize import brentq

    data = X if isinstance(model, RowModel) else EncodedSequences(model.encoder_, model._scored(X).encoded)
    gold = labels_of(X, y) if not isinstance(model, RowModel) else y
    plain = with_calibration(model, Calibration())
    known = plain.log_probability(data, gold)
    if not known.any():
        raise InputError(
            f"nothing can be learnt from the calibration data: {_PERFECT if len(known) else _EMPTY}"
        )
    impossible = np.flatnonzero(np.isneginf(known))
    if len(impossible):
        raise InputError(
            f"sequence {impossible[0]}: the model gives its labels the probability 0 at every temperature; "
            "leave it out, or train with all pairs of labels (features='all')"
        )

    def likelihood(log_t: float) -> float:
        at = with_calibration(model, Calibration(float(np.exp(log_t))))
        return float(at.log_probability(data, gold).sum())

    def slope(log_t: float) -> float:
        near = likelihood(log_t + STEP) - likelihood(log_t - STEP)
        far = likelihood(log_t + 2 * STEP) - likelihood(log_t - 2 * STEP)
        return (8 * near - far) / (12 * STEP)

    low, high = _bracket(slope)
    return 1.0 if low == high else float(np.exp(brentq(slope, low, high, xtol=1e-9, rtol=1e-9)))


def _bracket(slope: Any) -> tuple[float, float]:
    """Two values of log T between which the slope changes its sign; equal where it is 0 everywhere."""
    at, value = 0.0, slope(0.0)
    if value == 0.0:
        return 0.0, 0.0
    step = np.log(2.0) if value > 0 else -np.log(2.0)
    while abs(at) < np.log(FARTHEST):
        at, before = at + step, at
        if slope(at) * value < 0:
            return before, at
    if value < 0:
        raise InputError(_PERFECT)
    raise InputError(
        "the model does worse than chance on the calibration data, so that every larger temperature looks "
        "better; check that the labels belong to these sequences"
    )


def _powers(model: Answers, X: Any, y: Any) -> tuple[float, ...]:
    """[Y] exponents a > 0 that maximise the sum of log q(gold label) over tokens: concave in a."""
    from scipy.optimize import minimize

    if isinstance(model, RowModel):
        raise InputError(f"per='label' is for models of sequences; leave it out for {type(model).__name__}")
    plain = with_calibration(model, Calibration(model.temperature_))
    gold = labels_of(X, y)
    tables = plain.predict_proba(X)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in gold])]).astype(np.int64)
    label = encode_labels(gold, model.classes_.tolist(), offsets)
    p = np.concatenate([np.zeros((0, len(model.classes_))), *tables])
    logs = np.log(np.maximum(p, 1e-300))  # [tokens, Y]

    def loss(a: Floats) -> tuple[float, Floats]:
        scores = logs * a
        top = scores.max(axis=1, keepdims=True)
        shares = np.exp(scores - top)
        total = shares.sum(axis=1, keepdims=True)
        own = scores[np.arange(len(label)), label]
        value = float((np.log(total) + top).sum() - own.sum())
        gradient = (shares / total * logs).sum(axis=0)
        gradient -= np.bincount(label, logs[np.arange(len(label)), label], len(a))
        return value, gradient

    n = len(model.classes_)
    found = minimize(
        loss,
        np.ones(n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST_POWER, MOST_POWER)] * n,
        options={"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-8},
    )
    return tuple(float(power) for power in found.x)

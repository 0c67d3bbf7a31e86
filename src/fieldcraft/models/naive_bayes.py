"""Naive Bayes: the generative model of rows, by counts, by conditional likelihood, or between the two.

    joint         p(x, y) = p(y) * product over features of p(f | y) ** x_f          counts, smoothed
    conditional   the same weights by p(y | x): logistic regression
    hybrid        p(x; u) p(y | x; w): the weights u are those of counts, w maximise the conditional
                  likelihood less sum of (w - u)^2 / (2 coupling)

A small coupling makes w = u (naive Bayes), a large one leaves w free (logistic regression without a penalty).
The hybrid is described by Sutton and McCallum (An introduction to conditional random fields for relational
learning, equation 4.12, after Minka), who leave u and w independent; the Gaussian between them is a choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import build_design, make_encoder
from fieldcraft.errors import InputError
from fieldcraft.labels import declared_labels, encode_labels
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.rows import BIAS, Floats, RowModel, parameters_of, sequences_of_rows, table_of
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Settings, SharedDesign
from fieldcraft.priors import Gaussian

if TYPE_CHECKING:
    from fieldcraft.models.logistic import LogisticRegression

OBJECTIVES = ("joint", "conditional", "hybrid")


class NaiveBayes(RowModel):
    """Multinomial naive Bayes: p(x, y) = p(y) * product over features of p(f | y) ** x_f.

    Parameters
    ----------
    smoothing : what is added to the count of every feature with every label
    objective : "joint" (counts), "conditional" (the same weights by conditional likelihood, which is logistic
        regression), or "hybrid" (between the two)
    coupling : of "hybrid": the variance of the conditional weights around those of the counts
    prior : of "conditional": penalty on the weights, as for LogisticRegression
    labels : names of the labels, in order; None for those that occur, sorted
    n_jobs, random_state : as for ChainCRF

    Examples
    --------
    >>> model = NaiveBayes().fit([["warm"], ["cold"], ["warm", "wet"]], ["sun", "rain", "sun"])
    >>> model.predict([["cold"]]).tolist()
    ['rain']
    """

    def __init__(
        self,
        smoothing: float = 1.0,
        objective: str = "joint",
        *,
        coupling: float = 1.0,
        prior: Any = "auto",
        labels: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.smoothing, self.objective, self.coupling = smoothing, objective, coupling
        self.prior, self.labels = prior, labels
        self.n_jobs, self.random_state = n_jobs, random_state

    joint_: Floats | None = None  # [A, Y] the generative weights of a hybrid

    def fit(self, X: Any, y: Any) -> NaiveBayes:
        """Learn from rows with their labels y, one per row; the numbers of features must not be negative."""
        self._check()
        given = [[label] for label in y]
        encoder = make_encoder(None)
        encoded = encoder.encode(sequences_of_rows(X), grow=True)
        if not given or len(encoded.token_ptr) < 2:
            raise InputError("there is nothing to learn from: X has no rows")
        if len(encoded.token_ptr) - 1 != len(given):
            raise InputError(f"{len(given)} labels for {len(encoded.token_ptr) - 1} rows; give one for each")
        names = declared_labels(self.labels, given)
        gold = encode_labels(given, names, encoded.offsets)
        values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
        if values.min(initial=0.0) < 0:
            raise InputError("naive Bayes counts features: their numbers must not be negative")
        counted = _counted(encoder, encoded, values, gold, len(names), float(self.smoothing))
        table = counted
        self.joint_ = None
        if self.objective != "joint":
            table = self._conditional(encoder, encoded, gold, names, counted)
            self.joint_ = counted if self.objective == "hybrid" else None
        self._settle(parameters_of(encoder, table, self.structure_for(names)), names)
        return self

    def log_likelihood(self, X: Any) -> Floats:
        """log p(x) of each row, without the number of orders in which its features may come.

        It is that of the counts; a model that was trained by conditional likelihood has none.
        """
        self._require_fitted()
        if self.objective == "conditional":
            raise InputError(
                "log_likelihood: a conditional model has no p(x); use objective='joint' or 'hybrid'"
            )
        if self.joint_ is None:
            return self.log_partition(X)
        generative = NaiveBayes(n_jobs=self.n_jobs)
        own = parameters_of(self._parameters.encoder, self.joint_, self.structure_for(self.classes_.tolist()))
        generative._settle(own, self.classes_.tolist())
        return generative.log_partition(X)

    def to_logistic(self) -> LogisticRegression:
        """The logistic regression with the same weights, and so the same posterior."""
        from fieldcraft.models.logistic import LogisticRegression

        self._require_fitted()
        model = LogisticRegression(labels=self.labels, n_jobs=self.n_jobs, random_state=self.random_state)
        model._settle(self._parameters, self.classes_.tolist())
        return model

    def _check(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(f"objective={self.objective!r}; choose one of {', '.join(OBJECTIVES)}")
        if not float(self.smoothing) >= 0.0:
            raise InputError(f"smoothing={self.smoothing!r}; it must not be negative")
        if self.objective == "hybrid" and not float(self.smoothing) > 0.0:
            raise InputError("a hybrid needs smoothing above 0: its weights lie around finite ones")
        if self.objective == "hybrid" and not 0.0 < float(self.coupling) < float("inf"):
            raise InputError(f"coupling={self.coupling!r}; it must be a positive number")

    def _conditional(
        self, encoder: Any, encoded: Any, gold: Any, names: list[str], counted: Floats
    ) -> Floats:
        """[A, Y] weights by conditional likelihood, free or near those of the counts."""
        design = build_design(encoder, encoded, gold, len(names), features="all")
        prior = self.prior
        if self.objective == "hybrid":
            index = design.index
            mine = index.attribute >= 0
            mean = np.where(mine, counted[index.attribute, index.label], 0.0)
            prior = Gaussian(variance=float(self.coupling), mean=mean)
        settings = Settings(prior=prior, labels=names, features="all", n_jobs=self.n_jobs)
        data = SharedDesign(encoder, design, [[names[k]] for k in gold.tolist()], {})
        trained = Training(settings, self.structure_for).run(None, None, control={}, shared=data)
        self.objective_value_ = trained.outcome.objective
        return table_of(trained.parameters, len(names))

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return super()._beside(parameters) if self.joint_ is None else ({}, {"joint": self.joint_})

    def _take(self, parameters: Parameters, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._take(parameters, header, arrays)
        joint = arrays.get("joint")
        expected = (parameters.encoder.n_attributes, len(header["labels"]))
        if joint is not None and (joint.shape != expected or joint.dtype != np.float64):
            raise ValueError(f"generative weights of shape {joint.shape} for {expected}")
        self.joint_ = joint


def _counted(
    encoder: Any, encoded: Any, values: Floats, gold: Any, n_labels: int, smoothing: float
) -> Floats:
    """[A, Y] log p(f | y); the row of the bias has log p(y)."""
    counts = np.zeros((encoder.n_attributes, n_labels))
    np.add.at(counts, (encoded.attributes, np.repeat(gold, np.diff(encoded.token_ptr))), values)
    bias = list(encoder.attribute_text(range(encoder.n_attributes))).index(BIAS)
    rows = np.arange(encoder.n_attributes) != bias
    counts[rows] += smoothing
    total = counts[rows].sum(axis=0)
    uniform = np.full_like(counts[rows], 1.0 / max(len(counts) - 1, 1))  # a label without any count
    with np.errstate(divide="ignore"):
        counts[rows] = np.log(np.divide(counts[rows], total, out=uniform, where=total > 0))
        counts[bias] = np.log(np.bincount(gold, minlength=n_labels) / len(gold))
    return counts

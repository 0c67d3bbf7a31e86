"""GraphCRF: conditional random fields over any graphs, with clique templates that tie their weights.

p(y | x) = exp(sum over templates, their factors and features of x_f * weight[f, class of y]) / Z(x)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.clique_columns import EncodedCliques
from fieldcraft.models.graph_answers import GraphAnswers
from fieldcraft.models.graph_training import GraphTraining, Method, checked_cliques, checked_instances
from fieldcraft.models.learner import Learner
from fieldcraft.models.model import Model
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.training_settings import Known, Settings
from fieldcraft.problems import crew
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.clique_graphs import CliqueGraphs
from fieldcraft.structures.cliques import Clique
from fieldcraft.structures.graphs.methods import DECODINGS, INFERENCES
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]
T = TypeVar("T")


class GraphCRF(Learner, Model):
    """Conditional random field over graphs.

    Parameters
    ----------
    cliques : the clique templates: ``fc.Clique`` objects, or names for those with full tables
    labels : names of the labels, in order; None for those that occur, sorted
    inference : name of an inference on factor graphs (see ``fc.FactorGraph.infer``), or a dict with its
        options: ``{"method": "propagation", "damping": 0.5}``
    decoding : name of a decoding, or a dict with its options
    objective : "likelihood" (the default where all labels are known), "marginal_likelihood" (where some are
        missing), "pseudo_likelihood", "perceptron", "margin", "softmax_margin" …
    prior, optimiser : as for ChainCRF
    warm_start, n_jobs, random_state, verbose : as for ChainCRF

    Examples
    --------
    >>> import fieldcraft as fc
    >>> observed = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> cliques = {"word": ([0, 1, 2], observed), "pair": ([[0, 1], [1, 2]], None)}
    >>> X = [fc.GraphInstance(3, cliques, ["a", "b", "b"])]
    >>> crf = fc.GraphCRF(["word", fc.Clique("pair", "same")]).fit(X)
    >>> crf.predict(X).tolist()
    [['a', 'b', 'b']]
    """

    cliques: Any
    inference: Any

    def __init__(
        self,
        cliques: Any = (),
        *,
        labels: Any = None,
        inference: Any = "auto",
        decoding: Any = "auto",
        objective: Any = None,
        prior: Any = "auto",
        optimiser: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self._keep(locals())

    @property
    def cliques_(self) -> list[Clique]:
        """The clique templates."""
        self._require_fitted()
        return list(self._graphs().cliques)

    def predict(self, X: Any, *, clamp: bool = False, constraints: Any = None) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists.

        ``clamp`` keeps the labels that instances have, and predicts the others.
        """
        _refuse(constraints)
        found = self._ask_graphs(X, lambda of, w: of.best(w), clamp=clamp)
        names = self.classes_
        return np.array([*(names[states].tolist() for states in found), None], object)[:-1]

    def predict_proba(self, X: Any, *, clamp: bool = False, constraints: Any = None) -> Any:
        """Marginal probabilities: an object array with a list of vectors per instance, one per variable."""
        _refuse(constraints)
        found = self.infer(X, clamp=clamp)
        out = np.empty(len(found), object)
        for i, one in enumerate(found):
            out[i] = one.variables
        return out

    def infer(self, X: Any, *, clamp: bool = False) -> list[Inference]:
        """log Z and marginals of each instance; ``factors`` has an array for each template it uses."""
        return self._ask_graphs(X, lambda of, w: of.inferences(w), clamp=clamp)

    def decode(
        self, X: Any, *, clamp: bool = False, constraints: Any = None, rounded: bool = False
    ) -> list[Decoding]:
        """Labels with their log-probability, and whether they are proved to be the best."""
        _refuse(constraints or rounded or None)
        return self._ask_graphs(X, lambda of, w: of.decodings(w), clamp=clamp)

    def log_partition(self, X: Any) -> Floats:
        """log Z of each instance [N]."""
        return np.array([float(one.log_partition) for one in self.infer(X)])

    def log_probability(self, X: Any, y: Any = None) -> Floats:
        """log p(known labels | x) of each instance [N]."""
        _refuse(y)
        return self._ask_graphs(X, lambda of, w: of.log_probability(w))

    def score(self, X: Any, y: Any = None) -> float:
        """The share of known labels that are predicted."""
        _refuse(y)
        return self._ask_graphs(X, lambda of, w: of.accuracy(w))

    def partial_fit(self, *args: Any, **options: Any) -> GraphCRF:
        """Not for graphs: raises an InputError."""
        del args, options
        raise InputError("partial_fit is for chains; fit GraphCRF on all instances, with warm_start=True")

    def structure_for(self, labels: Sequence[str]) -> CliqueGraphs:
        """The structure of a fitted model."""
        return CliqueGraphs(labels, checked_cliques(self.cliques), self._shapes, *self._methods())

    def _graphs(self) -> CliqueGraphs:
        structure: CliqueGraphs = self._parameters.structure  # type: ignore[assignment]
        return structure

    def _methods(self) -> tuple[Method, Method]:
        return (
            method_of("inference", self.inference, INFERENCES),
            method_of("decoding", self.decoding, DECODINGS),
        )

    def _training(self, *, growing: bool = False, ranks: Any = None) -> GraphTraining:
        del growing
        if ranks is not None:
            raise InputError("GraphCRF is trained by one process; leave out ranks")
        settings = Settings.of(self)
        settings.decoding = "viterbi"
        inference, decoding = self._methods()
        known = None
        if self.warm_start and self.__sklearn_is_fitted__():
            known = Known(self._parameters, self.classes_.tolist(), {})
        return GraphTraining(settings, known, cliques=self.cliques, inference=inference, decoding=decoding)

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Any = None) -> None:
        if voters is not None:
            raise InputError("votes are for chains; use the averaged perceptron")
        structure: CliqueGraphs = parameters.structure  # type: ignore[assignment]
        self._shapes = structure.shapes
        super()._settle(parameters, classes)

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        structure: CliqueGraphs = parameters.structure  # type: ignore[assignment]
        described = [
            {
                "name": clique.name,
                "tying": clique.tying if isinstance(clique.tying, str) else np.asarray(clique.tying).tolist(),
                "shape": list(structure.shapes[clique.name]),
                **({"attractive": True} if clique.attractive else {}),
            }
            for clique in structure.cliques
        ]
        return {"cliques": described}, {}

    def _prepare(self, header: dict[str, Any]) -> None:
        described = header["cliques"]
        for one in described:
            shape = one["shape"]
            if (
                not all(type(n) is int and 0 < n < 1 << 20 for n in shape)
                or np.prod(shape, dtype=float) > 1e8
            ):
                raise ValueError(f"a clique of shape {shape}")
        self.cliques = [
            Clique(one["name"], one["tying"], one.get("attractive", False) is True) for one in described
        ]
        self._shapes = {one["name"]: tuple(one["shape"]) for one in described}

    def _ask_graphs(self, X: Any, question: Callable[[GraphAnswers, Floats], T], *, clamp: bool = False) -> T:
        self._require_fitted()
        instances = checked_instances(X, self._graphs().cliques)
        n_jobs = resolve_jobs(self.n_jobs)
        structure = CliqueGraphs(
            self.classes_.tolist(), self._graphs().cliques, self._shapes, *self._methods(), n_jobs=n_jobs
        )
        parameters = self._parameters
        encoded = parameters.encoder.encode(instances, grow=False)
        assert isinstance(encoded, EncodedCliques)
        with crew(n_jobs):
            answers = GraphAnswers(
                structure.of(instances), parameters.scoring.table, encoded, instances, clamp=clamp
            )
            return question(answers, parameters.weights)

    def inspect(self, **options: Any) -> Any:
        """Not for graphs: raises an InputError."""
        del options
        raise InputError("inspect is for sequences; look at weights_ and features_ (a row per weight)")

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        del X, arguments, options
        raise InputError(
            "this question is for sequences; ask a GraphCRF for predict, predict_proba, infer, decode, "
            "log_partition, log_probability or score"
        )


def method_of(kind: str, given: Any, table: Iterable[str]) -> Method:
    """Name and options of a method."""
    options = dict(given) if isinstance(given, Mapping) else {"method": given}
    name = options.pop("method", "auto")
    if not isinstance(name, str) or name not in table:
        raise InputError(
            f"{kind}={given!r}; give one of {', '.join(table)}, or a dict with method and options"
        )
    return name, options


def check_width(model: Any, clique: str, given: int, copies: int = 1, *, constants: int = 0) -> None:
    """InputError if features have another number of columns than in training.

    A template has ``copies`` of the features and of so many constants as its columns.
    """
    model._require_fitted()
    encoder = model._parameters.encoder
    known = encoder.widths[encoder.names.index(clique)] // copies - constants
    if given != known:
        raise InputError(f"features have {given} columns, in training {known}; give the same features")


def _refuse(given: Any) -> None:
    if given is not None:
        raise InputError("labels of graphs stand in their GraphInstances; y and constraints are not used")

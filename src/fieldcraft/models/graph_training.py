"""The training of GraphCRF: that of other models, on graphs whose clique templates have the features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.features.clique_columns import CliqueColumns, EncodedCliques
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import declared_labels, encode_labels, encode_partial
from fieldcraft.models.missing_labels import sum_over_missing
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Known, Settings, SharedDesign, Trained
from fieldcraft.optimisers import Optimiser
from fieldcraft.priors import Prior
from fieldcraft.problems.graph import GraphDual, GraphProblem
from fieldcraft.structures.clique_graphs import BoundGraphs, CliqueGraphs, Shape
from fieldcraft.structures.cliques import Clique, GraphInstance

Floats = NDArray[np.float64]
Method = tuple[str, Mapping[str, Any]]
SUMS = {"likelihood", "softmax_margin", "exponential", "marginal_likelihood"}  # objectives that need log Z
PROBLEMS: dict[str, type[GraphProblem]] = {
    "gradient": GraphProblem,
    "expectation": GraphProblem,
    "passes": GraphProblem,
    "dual": GraphDual,
}
BY_PLANES = ("frank_wolfe", "cutting_plane")  # optimisers that need no native dual
UNSUMMED = ("gibbs", "importance_sampling")  # inferences whose log Z is unknown or random


class GraphTraining(Training):
    """One training of graphs.

    Parameters
    ----------
    settings, known : as for Training
    cliques, inference, decoding : parameters of GraphCRF
    """

    names: list[str]
    shapes: dict[str, Shape]

    def __init__(
        self,
        settings: Settings,
        known: Known | None,
        *,
        cliques: Sequence[Clique],
        inference: Method,
        decoding: Method,
    ) -> None:
        self.cliques, self.inference, self.decoding = checked_cliques(cliques), inference, decoding
        super().__init__(settings, self._graphs, known)

    def _graphs(self, labels: Sequence[str]) -> CliqueGraphs:
        return CliqueGraphs(labels, self.cliques, self.shapes, self.inference, self.decoding)

    def run(self, X: Any, y: Any, *, dev: Any = None, **options: Any) -> Trained:
        if y is not None:
            raise InputError("y is not used: the labels of a graph stand in its GraphInstance")
        self.instances = checked_instances(X, self.cliques)
        known = [label for x in self.instances for label in x.labels or () if label is not None]
        if not known:
            raise InputError("no instance has a known label; there is nothing to learn from")
        missing = len(known) < sum(x.n_variables for x in self.instances)
        if missing:
            sum_over_missing(self)
        if self.objective.name in SUMS and self.inference[0] in UNSUMMED:
            raise InputError(
                f"inference={self.inference[0]!r} has no log Z that {self.objective.name} could be computed "
                "from; use 'auto', 'propagation', 'tree_reweighted' or 'mean_field'"
            )
        self.names = self._names(known)
        self.shapes = self._shapes()
        labels = [named(x, i, self.names) for i, x in enumerate(self.instances)]
        scored = None if dev is None else self._held_out(dev)
        return super().run(self.instances, labels, dev=scored, **options)

    def _names(self, known: list[Any]) -> list[str]:
        """The labels: those declared, those that occur, or as many as there are states."""
        texts = [label for label in known if isinstance(label, str)]
        numbers = [int(label) for label in known if not isinstance(label, str)]
        sizes = [int(x.cardinalities.max(initial=0)) for x in self.instances if x.cardinalities is not None]
        if self.settings.labels is not None:
            return declared_labels(self.settings.labels, [])
        if texts and not numbers:
            return declared_labels(None, [texts])
        if texts:
            raise InputError("some labels are names and some are numbers; pass labels= or use one of both")
        return [str(number) for number in range(max([max(numbers) + 1, *sizes]))]

    def _shapes(self) -> dict[str, Shape]:
        """Of the tables of each template, as the first instance that has one says."""
        shapes: dict[str, Shape] = {}
        for x in self.instances:
            sizes = x.sizes(len(self.names))
            for name, (scope, _) in x.cliques.items():
                if len(scope):
                    shapes.setdefault(name, tuple(sizes[scope[0]].tolist()))
        for clique in self.cliques:
            if clique.name not in shapes:
                raise InputError(f"clique {clique.name!r}: no instance has a factor of this template")
        return {clique.name: shapes[clique.name] for clique in self.cliques}

    def _labels(self, labels: list[Any], classes: Iterable[str]) -> list[str]:
        del labels, classes
        return self.names

    def _encoded(self, X: Any, labels: list[Any]) -> SharedDesign:
        del X
        encoder = CliqueColumns.learn([clique.name for clique in self.cliques], self.instances)
        encoded = encoder.encode(self.instances)
        partial, gold = None, np.zeros(int(encoded.offsets[-1]), np.int32)
        if self.objective.partial:
            partial = encode_partial(labels, self.names, encoded.offsets)
            gold = partial.any()
        else:
            gold = encode_labels(labels, self.names, encoded.offsets)
        bound = self._graphs(self.names).of(self.instances)
        for i, x in enumerate(self.instances):
            check_states(i, x, gold[encoded.offsets[i] : encoded.offsets[i + 1]], len(self.names))
        design = Design(encoded, gold, clique_index(encoder, encoded, bound, gold), partial)
        self._learnt = encoder
        return SharedDesign(encoder, design, labels, self._provenance(design, encoder))

    def _start(self, encoder: Any, index: FeatureIndex) -> Floats:
        """Zero, or the weights of an earlier training for templates with the same labels and classes."""
        weights = np.zeros(len(index))
        if self.known is None:
            return weights
        before, now = self.known.parameters, self._graphs(self.names)
        old: CliqueGraphs = before.structure  # type: ignore[assignment]
        if old.labels != now.labels:
            return weights
        same = {
            name
            for name, table in now.classes.items()
            if name in old.classes and np.array_equal(table, old.classes[name])
        }
        known = dict(zip(_keys(before.encoder, before.index), before.weights))
        for f, key in enumerate(_keys(encoder, index)):
            if key[0] in same:
                weights[f] = known.get(key, 0.0)
        return weights

    def _problem(self, optimiser: Optimiser, design: Design, prior: Prior, **options: Any) -> Any:
        refused = optimiser.needs == "dual" and optimiser.name not in BY_PLANES
        if optimiser.needs not in PROBLEMS or refused:
            raise InputError(
                f"{optimiser.name} needs a problem that graphs do not have ({optimiser.needs}); use 'lbfgs', "
                "'owlqn', 'sgd', 'averaged_perceptron', 'subgradient', 'frank_wolfe' or 'cutting_plane'"
            )
        structure = self._graphs(self.names).using(self.n_jobs)
        options = {**optimiser.requests(), **options, **self._signs(optimiser, design.index)}
        return PROBLEMS[optimiser.needs](structure, design, prior, instances=self.instances, **options)

    def _signs(self, optimiser: Optimiser, index: FeatureIndex) -> dict[str, Any]:
        """Bounds of the weights where a template is attractive, as an option of the problem."""
        attractive = {clique.name: clique for clique in self.cliques if clique.attractive}
        if not attractive:
            return {}
        if optimiser.name != "frank_wolfe":
            raise InputError(
                f"{optimiser.name} does not keep the signs of attractive templates; use objective='margin' "
                "and optimiser='frank_wolfe', or attractive=False"
            )
        for i, x in enumerate(self.instances):
            for name in attractive:
                matrix = x.cliques.get(name, (None, None))[1]
                if matrix is not None and matrix.data.min(initial=0.0) < 0:
                    raise InputError(
                        f"instance {i}, clique {name!r}: an observation is negative; attractive templates "
                        "need numbers >= 0"
                    )
        lower, upper = np.full(len(index), -np.inf), np.full(len(index), np.inf)
        parts = np.array([index.parts[part] for part in index.part], object)
        for name, clique in attractive.items():
            mine = np.flatnonzero(parts == name)
            lower[mine], upper[mine] = clique.signs(index.label[mine])
        return {"bounds": (lower, upper)}

    def _held_out(self, dev: tuple[Any, Any]) -> Callable[[Floats], float]:
        """weights -> accuracy on the known labels of held-out graphs."""
        from fieldcraft.models.graph_answers import GraphAnswers
        from fieldcraft.potentials import FeatureTable

        instances = checked_instances(dev[0], self.cliques)
        structure = self._graphs(self.names)
        made: list[GraphAnswers] = []

        def score(weights: Floats) -> float:
            if not made:
                encoder = self._learnt
                index = clique_index(encoder, None, structure, None)
                table = FeatureTable(index, structure.configurations())
                made.append(
                    GraphAnswers(structure.of(instances), table, encoder.encode(instances), instances)
                )
            return made[0].accuracy(weights)

        return score


def _keys(encoder: Any, index: FeatureIndex) -> list[tuple[str, int, int]]:
    """Template, column (-1 for none) and class of each feature."""
    columns = np.append(encoder.column, np.int32(-1))[index.attribute].tolist()
    return list(zip((index.parts[part] for part in index.part), columns, index.label.tolist()))


def clique_index(
    encoder: CliqueColumns,
    encoded: EncodedCliques | None,
    structure: CliqueGraphs,
    gold: NDArray[np.int32] | None,
) -> FeatureIndex:
    """Every attribute of a template with every class of it; those without attributes once.

    ``count`` is how often gold labels have the feature, ``family`` how often its attribute occurs.
    """
    attribute, label, count, family, codes = [], [], [], [], []
    classes = structure.configurations()
    for t, name in enumerate(encoder.names):
        mine, n = np.flatnonzero(encoder.attribute_template == t), len(classes[name])
        ids = mine if encoder.widths[t] >= 0 else np.array([-1])
        attribute.append(np.repeat(ids, n))
        label.append(np.tile(np.arange(n), len(ids)))
        codes.append(np.full(len(ids) * n, t))
        seen = np.zeros((len(ids), n), np.int64)
        total = np.zeros(len(ids), np.int64)
        if encoded is not None and gold is not None and isinstance(structure, BoundGraphs):
            seen, total = _occurrences(encoded.for_part(name), structure.gold_classes(name, gold), ids, n)
        count.append(seen.reshape(-1))
        family.append(np.repeat(total, n))
    columns = [np.concatenate(c).astype(np.int32) for c in (attribute, label, count, family)]
    code = np.concatenate(codes).astype(np.uint8)
    template = np.where(columns[0] >= 0, code.astype(np.int32), -1).astype(np.int32)
    windows = np.zeros((len(encoder.names), 2), np.int32)
    labels = columns[1][:, None]
    return FeatureIndex(
        columns[0],
        labels,
        template,
        columns[2],
        columns[3],
        windows,
        encoder.n_attributes,
        encoder.names,
        code,
    )


def _occurrences(
    rows: Any, classes: NDArray[Any], ids: NDArray[Any], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[ids, classes] how often each attribute meets each class, and [ids] how often it occurs."""
    seen, total = np.zeros((len(ids), n), np.int64), np.zeros(len(ids), np.int64)
    if len(ids) and ids[0] < 0:
        np.add.at(seen[0], classes[classes >= 0], 1)
        return seen, np.array([len(classes)])
    of = np.repeat(classes, np.diff(rows.token_ptr))
    at = rows.attributes - (ids[0] if len(ids) else 0)
    np.add.at(seen, (at[of >= 0], of[of >= 0]), 1)
    np.add.at(total, at, 1)
    return seen, total


def checked_cliques(cliques: Any) -> list[Clique]:
    """The templates of a model, or an InputError."""
    given = list(cliques) if isinstance(cliques, (list, tuple)) else [cliques]
    made = [Clique(one) if isinstance(one, str) else one for one in given]
    if not made or not all(isinstance(one, Clique) for one in made):
        raise InputError(f"cliques={cliques!r}; give a list of fc.Clique objects or names")
    names = [clique.name for clique in made]
    if len(set(names)) < len(names):
        raise InputError(f"cliques: a name occurs twice among {', '.join(names)}")
    if len(names) > 255:
        raise InputError(f"{len(names)} clique templates; at most 255 are possible")
    return made


def checked_instances(X: Any, cliques: Sequence[Clique]) -> list[GraphInstance]:
    """A list of instances whose cliques the model has."""
    if isinstance(X, GraphInstance):
        raise InputError("X is one GraphInstance; give a list of them")
    instances = list(X)
    names = {clique.name for clique in cliques}
    for i, x in enumerate(instances):
        if not isinstance(x, GraphInstance):
            raise InputError(f"X[{i}] is a {type(x).__name__}; give fc.GraphInstance objects")
        for name in x.cliques:
            if name not in names:
                raise InputError(
                    f"instance {i} has factors of the clique {name!r}; "
                    f"the model has {', '.join(sorted(names))}"
                )
    return instances


def named(x: GraphInstance, i: int, names: Sequence[str]) -> list[str | None]:
    """The labels of an instance by name, None where unknown."""
    out: list[str | None] = []
    for v, label in enumerate(x.labels or [None] * x.n_variables):
        if label is None or isinstance(label, str):
            if label is not None and label not in names:
                raise InputError(f"instance {i}, variable {v}: label {label!r} is none of {', '.join(names)}")
            out.append(label)
        elif 0 <= label < len(names):
            out.append(names[label])
        else:
            raise InputError(f"instance {i}, variable {v}: state {label}; there are {len(names)} labels")
    return out


def check_states(i: int, x: GraphInstance, states: NDArray[Any], n_labels: int) -> None:
    """InputError where a variable has a label beyond its number of states."""
    wrong = states >= x.sizes(n_labels)
    if wrong.any():
        v = int(np.argmax(wrong))
        raise InputError(
            f"instance {i}, variable {v}: state {states[v]}; it has {x.sizes(n_labels)[v]} states"
        )

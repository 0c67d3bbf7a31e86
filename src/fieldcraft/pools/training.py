"""Training of a pool's members on one shared design.

The corpus is encoded once. An expert's design is that design without the features that are not its own and
without attributes that have none left, so that it costs what its own features cost; ids stay those of the
shared encoder. Members are independent of one another (but for boosting), so that they are trained in any
order and any number of processes with the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design, build_design
from fieldcraft.errors import InputError
from fieldcraft.features.classes import with_labels
from fieldcraft.features.encoded import Encoded
from fieldcraft.labels import label_names
from fieldcraft.models.answers import Answers
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.inputs import EncodedSequences, encode, labels_of, weights_of
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.remarks import tell
from fieldcraft.models.scored import Scored
from fieldcraft.models.training_settings import SharedDesign, Trained
from fieldcraft.pools.expert import EveryLabel, Expert, Mask, View
from fieldcraft.pools.parallel import joblib
from fieldcraft.pools.restriction import restricted, with_features
from fieldcraft.pools.samples import Boost, reweighted
from fieldcraft.problems import check_weights

Floats = NDArray[np.float64]
INTERRUPTED = "interrupted"
PERTURBATION = 0.1  # standard deviation of weights that stand for those of members that are not trained
ENCODING = (
    "templates",
    "gazetteers",
    "functions",
    "hash_size",
    "edge_prefix",
    "features",
    "min_count",
    "labels",
    "states",
)


class Data(NamedTuple):
    """What a pool is trained on: sequences and labels, their weights, held-out data."""

    X: Any
    y: Any
    sample_weight: Any
    dev: tuple[Any, Any] | None


@dataclass(frozen=True, eq=False)
class Shared:
    """The design that several members share.

    Parameters
    ----------
    data : sequences with their labels, encoded
    view : the feature index with names
    weights : [N] of the sequences; None if all are 1
    dev : held-out sequences with their labels, encoded; None without
    """

    data: SharedDesign
    view: View
    weights: Floats | None
    dev: tuple[Encoded, list[Any]] | None

    @classmethod
    def of(cls, crf: ChainCRF, data: Data) -> Shared:
        """Encode for models with the features of ``crf``."""
        training = crf._training()
        if training.rules.likely is not None:
            raise InputError(
                "pools do not support features='selected': every expert would select others; use "
                "'supported' or 'all'"
            )
        shared = training.share(data.X, data.y)
        index = with_labels(shared.design.index, crf.structure_for(training.classes))
        view = View(index, training.classes, shared.encoder, shared.design)
        given = weights_of(data.X) if data.sample_weight is None else data.sample_weight
        weights = check_weights(given, shared.design.n_sequences)
        dev = None
        if data.dev is not None:
            X, y = data.dev
            encoded = encode(X, shared.encoder, grow=False, n_threads=training.n_jobs)
            dev = encoded, labels_of(X, y)
        return cls(shared, view, weights, dev)


class Task(NamedTuple):
    """One member's training; can be sent to another process."""

    name: str
    model: ChainCRF
    shared: SharedDesign
    weights: Floats | None
    dev: tuple[Any, Any] | None
    control: dict[str, Any]


def train_members(
    pool: Any, X: Any, y: Any, sample_weight: Any, dev: Any, control: dict[str, Any], *, parallel: bool
) -> tuple[list[str], list[Any]]:
    """The names of a pool's members, and the members, trained."""
    listed = _expanded(pool._named(), X, y)
    members = [_expert(name, member) for name, member in listed]
    ready = [isinstance(m, Answers) and bool(m.__sklearn_is_fitted__()) for _, m in listed]
    names = [member.name for member in members]
    if len(set(names)) < len(names):
        raise InputError(f"two members have the same name: {', '.join(names)}; name them apart")
    experts = [expert for expert, done in zip(members, ready) if not done]
    groups = shared_designs([expert.model for expert in experts], Data(X, y, sample_weight, dev))
    if pool.product and experts:
        from fieldcraft.pools.product import train_product

        if len(experts) < len(members) or any(group is not groups[0] for group in groups):
            raise InputError(
                "product=True trains all members together: pass members that are not trained yet and have "
                "the same templates and features"
            )
        return names, train_product(experts, groups[0], control)
    trained = iter(train_experts(experts, groups, control, parallel=parallel))
    return names, [m.model if done else next(trained) for m, done in zip(members, ready)]


def perturbed_members(pool: Any, data: Data, rng: np.random.Generator) -> tuple[list[str], list[Any]]:
    """The names of a pool's members, and the members; untrained ones get small random weights."""
    members = [_expert(name, member) for name, member in _expanded(pool._named(), data.X, data.y)]
    untrained = [m for m in members if not m.model.__sklearn_is_fitted__()]
    groups = iter(shared_designs([expert.model for expert in untrained], data))
    models = []
    for expert in members:
        if expert not in untrained:
            models.append(expert.model)
            continue
        shared = next(groups)
        task = _task(expert, shared, {})
        index, structure = task.shared.design.index, task.model.structure_for(shared.view.labels)
        weights = rng.normal(scale=PERTURBATION, size=len(index))
        task.model._settle(Parameters.of(task.shared.encoder, index, weights, structure), shared.view.labels)
        task.model.provenance_ = task.shared.provenance
        models.append(task.model)
    return [member.name for member in members], models


def train_experts(
    experts: Sequence[Expert], groups: Sequence[Shared], control: dict[str, Any], *, parallel: bool = False
) -> list[ChainCRF]:
    """The trained model of each expert; ``groups`` has the design of each."""
    pairs = list(zip(experts, groups))
    free = [i for i, expert in enumerate(experts) if not isinstance(expert.data, Boost)]
    tasks = [_task(*pairs[i], control) for i in free]
    done = run_tasks(tasks, parallel=parallel)
    models: dict[int, ChainCRF] = {i: _finished(t, d) for i, t, d in zip(free, tasks, done)}
    rounds: dict[str, tuple[Floats, ChainCRF]] = {}
    for i in sorted(set(range(len(experts))) - set(free), key=lambda i: experts[i].data.round):
        models[i] = _boosted(*pairs[i], control, rounds)
    return [models[i] for i in range(len(experts))]


def run_tasks(tasks: Sequence[Task], *, parallel: bool) -> list[Trained]:
    """Train, one after the other or in the workers of joblib."""
    if not parallel:
        return [run_task(task) for task in tasks]
    package = joblib()
    return list(package.Parallel()(package.delayed(_remote)(task) for task in tasks))


def run_task(task: Task) -> Trained:
    """Train one member."""
    tell(task.control.get("callbacks", ()), "tell", f"member {task.name}:")
    dev = None
    if task.dev is not None:
        dev = EncodedSequences(task.shared.encoder, task.dev[0]), task.dev[1]
    trained = task.model._training().run(
        None, None, shared=task.shared, sample_weight=task.weights, dev=dev, control=task.control
    )
    if trained.outcome.reason == INTERRUPTED:  # the members after this one would be missing
        raise KeyboardInterrupt
    return trained


def _remote(task: Task) -> Trained:
    """The same without what the caller can make again."""
    return run_task(task)._replace(parameters=None)  # type: ignore[arg-type]


def shared_designs(models: Sequence[ChainCRF], data: Data) -> list[Shared]:
    """For each model the design that it shares with those that have the same features."""
    made: list[tuple[ChainCRF, Shared]] = []
    designs = []
    for model in models:
        same = (shared for other, shared in made if _encodes_alike(model, other))
        shared = next(same, None)
        if shared is None:
            shared = Shared.of(model, data)
            made.append((model, shared))
        designs.append(shared)
    return designs


def _task(expert: Expert, shared: Shared, control: dict[str, Any], weights: Floats | None = None) -> Task:
    mask, design, weights = expert.mask(shared.view), shared.data.design, _times(shared.weights, weights)
    sequences = None
    if expert.data is not None and not isinstance(expert.data, Boost):
        weights, sequences, mask = _sampled(expert, shared, mask)
    own = restricted(design, mask, sequences)
    dev = None
    if shared.dev is not None:
        dev = (
            shared.dev
            if own.index is design.index
            else (with_features(shared.dev[0], own.index), shared.dev[1])
        )
    return Task(
        expert.name, _untrained(expert.model), shared.data._replace(design=own), weights, dev, control
    )


def _sampled(expert: Expert, shared: Shared, mask: Mask | None) -> tuple[Floats, NDArray[np.int64], Mask]:
    """Weights and numbers of the sequences of a sample, and the expert's features that occur in it."""
    design = shared.data.design
    _refuse_partial(expert, design)
    counts = expert.data.counts(design.n_sequences)
    weights = _times(shared.weights, counts)
    assert weights is not None
    sequences = np.flatnonzero(weights > 0)
    if not len(sequences):
        raise InputError(f"the expert {expert.name} has no sequences; make fewer experts")
    sample = restricted(design, None, sequences)
    model, encoder = expert.model, shared.data.encoder
    structure = model.structure_for(shared.view.labels)
    rules: dict[str, Any] = {"features": model.features, "min_count": model.min_count, "structure": structure}
    seen = build_design(encoder, sample.encoded, sample.gold, len(shared.view.labels), **rules).index
    rows = seen.rows_in(design.index)
    supported = np.zeros(len(design.index), bool)
    supported[rows[rows >= 0]] = True
    return weights[sequences], sequences, supported if mask is None else supported & mask


def _boosted(
    expert: Expert, shared: Shared, control: dict[str, Any], rounds: dict[str, tuple[Floats, ChainCRF]]
) -> ChainCRF:
    """Train with the weights that the round before leaves."""
    design = shared.data.design
    _refuse_partial(expert, design)
    weights = np.ones(design.n_sequences)
    if expert.data.chain in rounds:
        before, model = rounds[expert.data.chain]
        weights = reweighted(before, _losses(model, design))
    task = _task(expert, shared, control, weights)
    trained = _finished(task, run_task(task))
    rounds[expert.data.chain] = weights, trained
    return trained


def _losses(model: ChainCRF, design: Design) -> Floats:
    """[N] the share of the tokens of each sequence that are labelled wrongly."""
    labels = Scored(model._predictor(), None, design.encoded, keep=False).label_numbers()
    wrong = np.concatenate([[0], np.cumsum(labels != design.gold)])
    offsets = design.encoded.offsets
    return np.diff(wrong[offsets]) / np.maximum(np.diff(offsets), 1)


def _finished(task: Task, trained: Trained) -> ChainCRF:
    """The trained model of a task, with the shared encoder."""
    if trained.parameters is None:
        structure = task.model.structure_for(trained.classes)
        features = task.shared.encoder, task.shared.design.index
        made = Parameters.of(*features, trained.outcome.weights, structure)
        trained = trained._replace(parameters=made)
    return task.model._store(trained)


def _refuse_partial(expert: Expert, design: Design) -> None:
    if design.partial is not None:
        raise InputError(
            f"the expert {expert.name} learns from samples, which need labels that are all known"
        )


def _expanded(members: Sequence[tuple[str, Any]], X: Any, y: Any) -> list[tuple[str, Any]]:
    """The members, with an expert for each label of the data in place of those that wait for the labels."""
    if not any(isinstance(member, EveryLabel) for _, member in members):
        return list(members)
    labels = label_names(labels_of(X, y))
    pieces = [
        [(expert.name, expert) for expert in m.expanded(labels)] if isinstance(m, EveryLabel) else [(name, m)]
        for name, m in members
    ]
    return [pair for piece in pieces for pair in piece]


def _expert(name: str, member: Any) -> Expert:
    if isinstance(member, Expert):
        return replace(member, name=name)
    if not isinstance(member, Answers):
        raise InputError(f"member {name} is a {type(member).__name__}; pass models or experts")
    if not (isinstance(member, ChainCRF) or member.__sklearn_is_fitted__()):
        raise InputError(f"member {name}, a {type(member).__name__}, is not trained; fit it first")
    return Expert(name, member)  # type: ignore[arg-type]


def _untrained(model: ChainCRF) -> ChainCRF:
    return type(model)(**model.get_params())


def _times(a: Floats | None, b: Floats | None) -> Floats | None:
    return b if a is None else a if b is None else a * b


def _encodes_alike(a: ChainCRF, b: ChainCRF) -> bool:
    mine, others = a.get_params(), b.get_params()
    partial = [model._training().objective.partial for model in (a, b)]
    return partial[0] == partial[1] and all(_same(mine[name], others[name]) for name in ENCODING)


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, (str, int, float, list, tuple)) and type(a) is type(b) and bool(a == b))

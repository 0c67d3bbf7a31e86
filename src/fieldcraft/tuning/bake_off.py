"""The bake-off: several ways to train on the same data, side by side.

The corpus is encoded once. Each entry trains in a separate process that shares the encoding (processes.py),
one after the other, so that each has all cores and its memory can be measured. The best held-out score is
compared with each of the others by the matched-pairs test on the same held-out sequences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.evaluation import matched_pairs
from fieldcraft.evaluation.bootstrap import errors_by_sequence
from fieldcraft.evaluation.labellings import Encoded
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.inputs import labels_of
from fieldcraft.objectives import OBJECTIVES
from fieldcraft.optimisers import OPTIMISERS
from fieldcraft.optimisers.loop import Control, Interrupts
from fieldcraft.priors import PRIORS, resolve_prior
from fieldcraft.problems import check_weights
from fieldcraft.tuning.bake_off_entry import PARTIAL, Entry, default_entries, read_entry, spelling
from fieldcraft.tuning.processes import WorkError, run_work
from fieldcraft.tuning.progress import TrialsProgress
from fieldcraft.tuning.results import BakeOff, Result
from fieldcraft.tuning.trial import Finish, Task, run_trial


def bake_off(
    crf: ChainCRF,
    X: Any,
    y: Any = None,
    *,
    X_dev: Any,
    y_dev: Any = None,
    entries: Iterable[str | Entry] | None = None,
    epochs: int | None = None,
    max_seconds: float | None = 900.0,
    sample_weight: Any = None,
) -> BakeOff:
    """Train in several ways on the same data and compare the models on held-out data.

    Parameters
    ----------
    crf : the common parameters: templates, features, metric, threads …; its prior is used by entries that
        name none, its ``random_state`` seeds the optimisers, ``verbose`` shows progress. It is not changed
    X, y : sequences and label lists; or a labelled Corpus and no y
    X_dev, y_dev : held-out data
    entries : spellings such as "lbfgs", "margin/frank_wolfe" or "sgd/laplacian:scale=1", or Entry objects;
        None for every optimiser with its default objective
    epochs : maximal number of iterations, for entries that do not set it
    max_seconds : time limit of training per entry, checked after each iteration
    sample_weight : [N] weight of each sequence

    Returns
    -------
    The rows, best first. Ctrl-C stops the current entry and omits the later ones.

    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> result = bake_off(ChainCRF(), X, y, X_dev=X, y_dev=y, entries=["lbfgs", "averaged_perceptron"])
    >>> [(row.entry, row.score) for row in result.results]
    [('lbfgs', 1.0), ('averaged_perceptron', 1.0)]
    """
    Control(max_seconds=max_seconds)  # raises errors before any work
    unknown = _is_partial(labels_of(X, y, partial=True))
    chosen = _entries(crf, entries, unknown, epochs)
    base = type(crf)(**crf.get_params()).set_params(objective=PARTIAL if unknown else None, optimiser="auto")
    training = base._training()
    data = training.share(X, y)
    check_weights(sample_weight, data.design.n_sequences)
    held_out = training.held_out(data.encoder, data.design.index, X_dev, y_dev)
    task = Task(crf, X, data, held_out, sample_weight, max_seconds)
    progress = TrialsProgress([entry.name for entry in chosen], shown=crf.verbose)
    finishes: list[tuple[Result, NDArray[np.int32] | None]] = []
    with Interrupts() as interrupts, progress:
        for entry in chosen:
            if interrupts.seen:
                break
            progress.begin(entry.name)
            finishes.append(_result(entry, task, progress, lambda: interrupts.seen))
            progress.finish(finishes[-1][0])
    results = tuple(_ranked(finishes, held_out))
    sizes = data.design.n_sequences, len(data.design.gold)
    return BakeOff(held_out.metric, *sizes, results, interrupted=interrupts.seen)


def _is_partial(labels: list[Any]) -> bool:
    return any(not isinstance(label, str) for sequence in labels for label in sequence)


def _entries(
    crf: ChainCRF, entries: Iterable[str | Entry] | None, unknown: bool, epochs: int | None
) -> list[Entry]:
    """The entries; those that cannot be trained raise an InputError before any work."""
    prior = resolve_prior(crf.prior)
    settings: dict[str, Any] = {"partial": unknown, "max_iterations": epochs, "seed": crf.random_state}
    if entries is None:
        chosen = list(default_entries(prior=prior, **settings))
    else:
        chosen = [e if isinstance(e, Entry) else read_entry(e, prior=prior, **settings) for e in entries]
    if not chosen:
        raise InputError("there is no entry to train; name one, e.g. entries=['lbfgs']")
    names = [entry.name for entry in chosen]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"entry {twice!r} is there twice; leave one out, or rename it")
    for entry in chosen:
        objective, _, _ = entry.parts()
        if unknown and not objective.partial:
            raise InputError(f"entry {entry.name!r}: labels are partly unknown; use the objective {PARTIAL}")
    return chosen


def _result(
    entry: Entry, task: Task, progress: TrialsProgress, stopped: Any
) -> tuple[Result, NDArray[np.int32] | None]:
    """The row of the entry without its p, and its predictions on the held-out data."""
    objective, optimiser, prior = entry.parts()
    row = Result(
        entry.name, spelling(OBJECTIVES, objective), spelling(OPTIMISERS, optimiser), spelling(PRIORS, prior)
    )
    try:
        finish: Finish = run_work(
            lambda tell, ended: run_trial(entry, task, tell, ended),
            partial(progress.tell, entry.name),
            stopped,
        )
    except WorkError as error:
        return replace(row, error=str(error)), None
    last = finish.points[-1] if finish.points else None
    facts = {k: v for k, v in finish._asdict().items() if k not in ("points", "predicted")}
    gap = last.gap if last else None
    points = tuple(finish.points)
    return replace(row, **facts, gap=gap, points=points, iterations=len(points)), finish.predicted


def _ranked(finishes: list[tuple[Result, Any]], held_out: HeldOut) -> Iterable[Result]:
    """Best first, each with its p against the best."""
    ranked = sorted(finishes, key=lambda pair: -1.0 if pair[0].score is None else pair[0].score, reverse=True)
    best = None
    for row, predicted in ranked:
        if predicted is None:
            yield row
            continue
        errors = errors_by_sequence(
            Encoded(held_out.names, held_out.gold, predicted, held_out.encoded.offsets)
        )
        p = None if best is None else matched_pairs.by_sequence(best, errors).two_sided
        best = errors if best is None else best
        yield replace(row, p_value=p)

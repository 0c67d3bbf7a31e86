"""Trainer: sequences are appended one by one, ``train`` trains on them and writes a model file.

Events go to ``message`` as text, in this order: start, featgen_end, prepared, iteration (each),
optimization_end, end. A verbose trainer passes them to its hooks ``on_start`` … ``on_end``, which print.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldcraft.compat.algorithms import (
    ALGORITHMS,
    chain_settings,
    find_parameter,
    read_value,
    resolve_algorithm,
)
from fieldcraft.compat.pycrfsuite.items import list_of_items, zero_support
from fieldcraft.compat.pycrfsuite.log import TrainingLog, held_out_scores, iteration_text
from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import check_labels
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers.loop import Record


class Instance(NamedTuple):
    """A sequence with its labels and the group that it belongs to."""

    items: list[Any]
    labels: list[str]
    group: int


class Trainer:
    """Collects sequences and trains a chain on them.

    Parameters
    ----------
    algorithm : "lbfgs" (default), "l2sgd", "ap", "pa" or "arow"
    params : training parameters, see ``params`` and ``help``
    verbose : call the hooks, which print

    Examples
    --------
    >>> trainer = Trainer(verbose=False)
    >>> trainer.append([{"w": "the"}, {"w": "dog"}], ["DET", "NOUN"])
    >>> trainer.set_params({"c1": 0.1, "c2": 0.01, "max_iterations": 20})
    >>> trainer.train("")
    >>> trainer.crf_.predict([[{"w": "dog"}]]).tolist()
    [['NOUN']]
    """

    crf_: ChainCRF
    logparser: TrainingLog | None = None

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True
    ) -> None:
        self.verbose = verbose
        self._instances: list[Instance] = []
        self._values: dict[str, Any] = {}
        self.select(algorithm or "lbfgs")
        self.set_params(params or {})

    # -- data -------------------------------------------------------------------------------------

    def append(self, xseq: Iterable[Any], yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence of items with its labels; ``train`` can hold out a ``group``."""
        labels = check_labels(1, [yseq])[0]
        items = list_of_items(xseq)
        if len(items) != len(labels):
            raise InputError(
                f"sequence {len(self._instances)}: {len(labels)} labels for {len(items)} items; "
                "each item needs one label"
            )
        self._instances.append(Instance(items, list(labels), int(group)))

    def clear(self) -> None:
        """Remove all sequences."""
        self._instances = []

    # -- parameters -------------------------------------------------------------------------------

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm and reset the parameters to its defaults."""
        if type != "crf1d":
            raise InputError(f"type={type!r}; the only model is 'crf1d', the chain")
        self.algorithm = resolve_algorithm(algorithm)
        self._values = {}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(ALGORITHMS[self.algorithm].parameters)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._values[name] = read_value(self.algorithm, name, value)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self._values.get(name, find_parameter(self.algorithm, name).default)

    def get_params(self) -> dict[str, Any]:
        """The values of all parameters."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """The meaning of a parameter."""
        return find_parameter(self.algorithm, name).help

    # -- training ---------------------------------------------------------------------------------

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on the sequences and write the model to a file.

        Parameters
        ----------
        model : path of the model file; "" writes none (the model is ``crf_``)
        holdout : group of sequences to score after each iteration instead of training on them
        """
        crf = ChainCRF(**chain_settings(self.algorithm, self.get_params()))
        self.logparser = log = TrainingLog()
        self._emit("start", f"Feature generation\n{self._shown('feature.')}")
        self._begun = time.perf_counter()
        self._fit(crf, holdout)
        log.training_seconds = time.perf_counter() - self._begun - (log.featgen_seconds or 0.0)
        self._emit("optimization_end", f"{crf.stop_reason_}\nTotal seconds: {log.training_seconds:.3f}\n\n")
        self.crf_ = crf
        begun = time.perf_counter()
        if os.fspath(model):
            crf.save(model)
        log.storing_seconds = time.perf_counter() - begun
        self._emit("end", f"Storing the model\nSeconds required: {log.storing_seconds:.3f}\n\n")

    def _fit(self, crf: ChainCRF, holdout: int) -> None:
        X, y = _columns(i for i in self._instances if i.group != holdout or holdout < 0)
        X_dev, y_dev = _columns(i for i in self._instances if i.group == holdout >= 0)
        if holdout >= 0 and not X_dev:
            raise InputError(f"holdout={holdout}, but no sequence has that group; pass group= to append")
        extra: tuple[list[Any], list[Any]] = ([], [])
        if self.get("feature.minfreq") <= 0 and not self.get("feature.possible_states"):
            extra = zero_support(X, y)
        held_out = HeldOut(y, y_dev)
        crf.metric = held_out.score  # for the log; not a setting of the model

        def iteration(record: Record) -> None:
            assert self.logparser is not None
            info = self.logparser.add(record, held_out.latest)
            self._emit("iteration", iteration_text(info))

        crf.fit(
            X + extra[0],
            y + extra[1],
            sample_weight=np.repeat([1.0, 0.0], [len(X), len(extra[0])]),
            X_dev=X_dev or None,
            y_dev=y_dev or None,
            feature_mask=self._note_features,
            callbacks=[iteration],
        )
        crf.metric = "auto"

    def _note_features(self, index: FeatureIndex) -> None:
        """Called with the feature index; masks nothing."""
        assert self.logparser is not None
        log = self.logparser
        log.featgen_num_features, log.featgen_percent = len(index), 100
        log.featgen_seconds = time.perf_counter() - self._begun
        text = f"Number of features: {len(index)}\nSeconds required: {log.featgen_seconds:.3f}\n\n"
        self._emit("featgen_end", text)
        self._emit("prepared", f"{ALGORITHMS[self.algorithm].title}\n{self._shown('')}\n")

    def _shown(self, prefix: str) -> str:
        """Values of the parameters of features, or of all others for ''."""
        chosen = [n for n in self.params() if n.startswith("feature.") == bool(prefix)]
        return "".join(f"{name}: {self.get(name)}\n" for name in chosen)

    # -- events -----------------------------------------------------------------------------------

    def _emit(self, event: str, text: str) -> None:
        assert self.logparser is not None
        self.logparser.note(event, text)
        self.message(text)

    def message(self, message: str) -> None:
        """Receives the text of every event; a verbose trainer passes it to the hook of the event."""
        if not self.verbose or self.logparser is None:
            return
        event = self.logparser.events[-1][0]
        more = (self.logparser.last_iteration,) if event == "iteration" else ()
        getattr(self, f"on_{event}")(message, *more)

    def on_start(self, log: str) -> None:
        """Training starts."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Never called: features are generated in one step."""

    def on_featgen_end(self, log: str) -> None:
        """The features are generated."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The optimiser is about to start."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Never called: errors are raised."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:  # noqa: ARG002
        """An iteration ended; ``info`` is its entry in ``logparser.iterations``."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """The optimiser stopped."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")


class HeldOut:
    """Scores predictions on held-out data and stores the latest scores."""

    def __init__(self, y: Sequence[Sequence[str]], y_dev: Sequence[Sequence[str]]) -> None:
        self._names = dict.fromkeys(label for labels in [*y, *y_dev] for label in labels)
        self.latest: dict[str, Any] = {}

    def score(self, gold: Any, predicted: Any) -> float:
        """Token accuracy; all scores are in ``latest``."""
        self.latest = held_out_scores(self._names, gold, predicted)
        return float(self.latest["item_accuracy_float"])


def _columns(instances: Iterable[Instance]) -> tuple[list[Any], list[list[str]]]:
    pairs = [(instance.items, instance.labels) for instance in instances]
    return [items for items, _ in pairs], [labels for _, labels in pairs]

"""Trainer: reads what training writes, line by line, and calls a hook at the end of each event.

Events, in this order: start, featgen_end, prepared, iteration (each), optimization_end, end.
"""

from __future__ import annotations

from typing import Any

from fieldcraft.compat.pycrfsuite.base_trainer import BaseTrainer
from fieldcraft.compat.pycrfsuite.log import TrainingLog


class Trainer(BaseTrainer):
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

    logparser: TrainingLog | None = None

    def _before_train(self) -> None:
        self.logparser = TrainingLog()

    def _expect(self, info: dict[str, Any]) -> None:
        if self.logparser is not None:
            self.logparser.exact = info

    def message(self, message: str) -> None:
        """Receives every line; at the end of an event a verbose trainer calls its hook."""
        log = self.logparser
        event = None if log is None else log.feed(message)
        if log is None or event is None or not self.verbose:
            return
        more = {"iteration": (log.last_iteration,), "featgen_progress": (log.featgen_percent,)}
        getattr(self, f"on_{event}")(log.last_log, *more.get(event, ()))

    def on_start(self, log: str) -> None:
        """Training starts."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Features are generated in one step: training never calls it."""

    def on_featgen_end(self, log: str) -> None:
        """The features are generated."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The optimiser starts."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Errors are raised: training never calls it."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:  # noqa: ARG002
        """An iteration ended; ``info`` is its entry in ``logparser.iterations``."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """The optimiser stopped."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")

"""BaseTrainer: sequences are appended one by one, ``train`` trains on them and writes a model file.

It writes lines in CRFsuite's format to ``message``, which prints them; ``Trainer`` reads them, for hooks.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from fieldcraft.compat.algorithms import (
    ALGORITHMS,
    chain_settings,
    find_parameter,
    read_value,
    resolve_algorithm,
)
from fieldcraft.compat.pycrfsuite.errors import CRFSuiteError
from fieldcraft.compat.pycrfsuite.instances import Instances
from fieldcraft.compat.pycrfsuite.log_text import HeldOut, IterationNumbers, iteration_text, settings_text
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers.loop import Record

Self = TypeVar("Self", bound="BaseTrainer")


class BaseTrainer:
    """Collects sequences and trains a chain on them; see Trainer.

    Parameters
    ----------
    algorithm : "lbfgs" (default), "l2sgd", "ap", "pa" or "arow"
    params : training parameters, see ``params`` and ``help``
    verbose : print what training says
    """

    algorithm: str = "lbfgs"
    verbose: bool = False
    crf_: ChainCRF
    _values: dict[str, Any]
    _instances: Instances
    _numbers: IterationNumbers
    _begun: float

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        """Subclasses need not call ``__init__``: this makes a trainer that is ready, and silent."""
        del args, kwargs
        self = super().__new__(cls)
        self._values, self._instances = {}, Instances()
        return self

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # -- data -------------------------------------------------------------------------------------

    def append(self, xseq: Iterable[Any], yseq: Iterable[Any], group: int = 0) -> None:
        """Add a sequence of items with its labels; ``train`` can hold out a ``group``.

        Both are read at once: what happens to them afterwards makes no difference.
        """
        self._instances.append(xseq, yseq, int(group))

    def clear(self) -> None:
        """Remove all sequences."""
        self._instances = Instances()

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
        """Train on the sequences and write the model to a file; a CRFSuiteError if that is impossible.

        Parameters
        ----------
        model : path of the model file; "" writes none (the model is ``crf_``)
        holdout : group of sequences to score after each iteration instead of training on them
        """
        crf = ChainCRF(**chain_settings(self.algorithm, self.get_params()))
        self._before_train()
        if holdout >= 0:
            self._say(f"Holdout group: {holdout}\n\n")
        self._say(f"Feature generation\ntype: CRF1d\n{self._settings(of_features=True)}")
        self._begun = time.perf_counter()
        try:
            self._fit(crf, holdout)
        except FieldcraftError as error:
            raise CRFSuiteError(str(error)) from error
        self.crf_ = crf
        seconds, title = time.perf_counter() - self._begun, ALGORITHMS[self.algorithm].title
        self._say(f"{title} terminated: {crf.stop_reason_}\n")
        self._say(f"Total seconds required for training: {seconds:.3f}\n\nStoring the model\n")
        begun = time.perf_counter()
        if os.fspath(model):
            crf.save(model)
        self._say(f"Seconds required: {time.perf_counter() - begun:.3f}\n\n")

    def _fit(self, crf: ChainCRF, holdout: int) -> None:
        zeros = self.get("feature.minfreq") <= 0 and not self.get("feature.possible_states")
        data = self._instances.split(holdout, zeros=zeros)
        if holdout >= 0 and data.X_dev is None:
            raise InputError(f"holdout={holdout}, but no sequence has that group; pass group= to append")
        held_out = HeldOut(data.y, data.y_dev)
        crf.metric = held_out.score  # for the log; not a setting of the model

        def iteration(record: Record) -> None:
            info = self._numbers.entry(record, held_out.latest)
            self._expect(info)
            self._say(iteration_text(info))

        crf.fit(
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            X_dev=data.X_dev,
            y_dev=data.y_dev or None,
            score_every=None if data.X_dev is None else 1,  # the log has scores for each iteration
            feature_mask=self._note_features,
            callbacks=[iteration],
        )
        crf.metric = "auto"

    def _note_features(self, index: FeatureIndex) -> None:
        """Called with the feature index; masks nothing."""
        now = time.perf_counter()
        self._numbers = IterationNumbers(len(index))
        self._say(f"Number of features: {len(index)}\nSeconds required: {now - self._begun:.3f}\n\n")
        self._say(f"{ALGORITHMS[self.algorithm].title}\n{self._settings(of_features=False)}\n")
        self._begun = time.perf_counter()

    def _settings(self, *, of_features: bool) -> str:
        """Values of the parameters that choose features, or of all others."""
        chosen = [name for name in self.params() if name.startswith("feature.") == of_features]
        return settings_text({name: self.get(name) for name in chosen})

    # -- messages ---------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        for line in re.findall(r"[^\n]*\n", text):
            self.message(line)

    def message(self, message: str) -> None:
        """Receives every line that training writes; prints it if the trainer is verbose."""
        if self.verbose:
            print(message, end="")

    def _before_train(self) -> None:
        """Called when training starts."""

    def _expect(self, info: dict[str, Any]) -> None:
        """Called with the numbers of an iteration before its lines are written."""

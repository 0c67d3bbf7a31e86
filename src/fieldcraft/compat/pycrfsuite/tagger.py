"""Tagger: opens a model file and answers for one sequence at a time."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.compat.pycrfsuite.dump import ParsedDump, describe
from fieldcraft.compat.pycrfsuite.items import list_of_items
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.persistence import load
from fieldcraft.replacing import replace_text


class Tagger:
    """Labels sequences with a trained model.

    >>> import tempfile
    >>> from fieldcraft.compat.pycrfsuite import Trainer
    >>> path = tempfile.mkdtemp() + "/model.fc"
    >>> trainer = Trainer(verbose=False)
    >>> trainer.append([["w=the"], ["w=dog"]], ["DET", "NOUN"])
    >>> trainer.train(path)
    >>> tagger = Tagger()
    >>> with tagger.open(path):
    ...     tagger.tag([["w=the"], ["w=dog"]])
    ['DET', 'NOUN']
    """

    def __init__(self, crf: ChainCRF | None = None) -> None:
        self._crf = crf
        self._items: list[Any] = []
        self._marginals: NDArray[np.float64] | None = None  # [T, Y] of the current sequence
        self._info: ParsedDump | None = None

    def __reduce__(self) -> tuple[type[Tagger], tuple[ChainCRF | None]]:
        """A copy has the model, but no current sequence."""
        return Tagger, (self._crf,)

    # -- models -----------------------------------------------------------------------------------

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes the tagger when used in a ``with``."""
        return self._take(load(name), os.fspath(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of its file."""
        return self._take(load(bytes(value)), "the model in memory")

    def _take(self, model: Any, where: str) -> contextlib.closing[Tagger]:
        if not isinstance(model, ChainCRF):
            raise ModelFileError(f"{where} has a {type(model).__name__}; a chain is needed")
        self.close()
        self._crf = model
        return contextlib.closing(self)

    def close(self) -> None:
        """Release the model."""
        self._crf = self._info = None
        self.set([])

    @property
    def crf_(self) -> ChainCRF:
        """The ChainCRF."""
        if self._crf is None:
            raise InputError("the tagger has no model; call open(path) first")
        return self._crf

    # -- predictions ------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """The labels of the model, sorted."""
        return [str(name) for name in self.crf_.classes_]

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the current sequence, which ``tag``, ``probability`` and ``marginal`` refer to."""
        self._items, self._marginals = list_of_items(xseq), None

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """The best labels of a sequence, which becomes the current one; without it, of the current one."""
        crf = self.crf_
        if xseq is not None:
            self.set(xseq)
        return list(crf.predict([self._items])[0])

    def probability(self, yseq: Iterable[str]) -> float:
        """p(y | x) of labels for the current sequence."""
        return math.exp(self.crf_.log_probability([self._items], [list(yseq)])[0])

    def marginal(self, y: str, pos: int) -> float:
        """Probability of the label ``y`` at a position of the current sequence."""
        names = self.labels()
        if y not in names:
            raise InputError(f"label {y!r} is unknown to the model; it has {', '.join(names)}")
        if not 0 <= pos < len(self._items):
            raise InputError(f"position {pos} in a sequence of {len(self._items)}; positions start at 0")
        if self._marginals is None:
            self._marginals = self.crf_.predict_proba([self._items])[0]
        return float(self._marginals[pos, names.index(y)])

    # -- content ----------------------------------------------------------------------------------

    def info(self) -> ParsedDump:
        """Labels, attributes and weights as dicts."""
        if self._info is None:
            self._info = describe(self.crf_)
        return self._info

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write ``info`` as text to a file, or to standard output."""
        text = self.info().text()
        if filename is None:
            sys.stdout.write(text)
        else:
            replace_text(filename, text)

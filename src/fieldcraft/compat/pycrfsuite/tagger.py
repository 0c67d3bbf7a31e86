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
from fieldcraft.compat.pycrfsuite.errors import ClosedTaggerError
from fieldcraft.compat.pycrfsuite.items import label_list, list_of_items, with_plain_items
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.persistence import load
from fieldcraft.models.scored import Scored
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

    _crf: ChainCRF | None = None
    _current: Scored | None = None  # the current sequence; None is an empty one
    _marginals: tuple[Scored, NDArray[np.float64]] | None = None  # a sequence with its marginals [T, Y]
    _info: ParsedDump | None = None

    def __init__(self, crf: ChainCRF | None = None) -> None:
        self._crf = crf

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
        self._crf = self._info = self._current = self._marginals = None

    @property
    def crf_(self) -> ChainCRF:
        """The ChainCRF."""
        if self._crf is None:
            raise ClosedTaggerError("the tagger has no model; call open(path) first")
        return self._crf

    # -- predictions ------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """The labels of the model, sorted."""
        return [str(name) for name in self.crf_.classes_]

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the current sequence, for ``tag``, ``probability`` and ``marginal``; it is read at once."""
        self.scored(xseq)

    def scored(self, xseq: Iterable[Any] | None = None) -> Scored:
        """All predictions for a sequence, which becomes the current one; without it, for the current one.

        It is scored once, for all questions that are asked about it.
        """
        crf, current = self.crf_, self._current
        if xseq is None and current is not None:
            return current
        items = [] if xseq is None else list_of_items(xseq)
        read, _ = with_plain_items(crf.scored, [items])
        self._current = read
        return read

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """The best labels of a sequence, which becomes the current one; without it, of the current one."""
        return list(self.scored(xseq).predict()[0])

    def probability(self, yseq: Iterable[Any]) -> float:
        """p(y | x) of labels for the current sequence."""
        return math.exp(self.scored().log_probability([label_list(yseq)])[0])

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Probability of the label ``y`` at a position of the current sequence."""
        (label,), names, current = label_list([y]), self.labels(), self.scored()
        if label not in names:
            raise InputError(f"label {label!r} is unknown to the model; it has {', '.join(names)}")
        (length,) = current.lengths()
        if not 0 <= pos < length:
            raise InputError(f"position {pos} in a sequence of {length}; positions start at 0")
        known = self._marginals
        if known is None or known[0] is not current:
            self._marginals = known = (current, current.predict_proba()[0])
        return float(known[1][pos, names.index(label)])

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

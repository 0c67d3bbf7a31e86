"""The file of an estimator's model: the one that the user named, or a temporary one."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from typing import Any

from fieldcraft.models.chain import ChainCRF


class ModelFile:
    """Where the model is stored.

    Models live in memory. Without a file name the model is written to a temporary file when ``name`` is asked
    for the first time; the file is removed with this object unless ``keep_tempfiles`` is set.

    Parameters
    ----------
    filename : the user's file, or None
    chain : the model, or None before training
    keep_tempfiles : do not remove the temporary file
    """

    def __init__(
        self, filename: str | None, chain: ChainCRF | None = None, *, keep_tempfiles: bool | None = False
    ) -> None:
        self.auto = filename is None
        self.keep_tempfiles = bool(keep_tempfiles)
        self._chain = chain
        self._name = filename

    @property
    def name(self) -> str | None:
        """The path of the file; None before training if the user named none."""
        if self._name is None and self._chain is not None:
            handle, path = tempfile.mkstemp(prefix="model", suffix=".fc")
            os.close(handle)
            self._name = path
            if not self.keep_tempfiles:
                weakref.finalize(self, _remove, path, os.getpid())
            self._chain.save(path)
        return self._name

    def __getstate__(self) -> dict[str, Any]:
        """A copy writes a temporary file of its own."""
        return {**vars(self), "_name": None if self.auto else self._name}

    def __repr__(self) -> str:
        return f"<ModelFile {self._name or 'in memory'}>"


def _remove(path: str, process: int) -> None:
    """Remove a file, but not in a forked process: the file belongs to the parent."""
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            os.unlink(path)

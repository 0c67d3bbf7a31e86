"""Errors with python-crfsuite's names and types; all of them are InputErrors, and so ValueErrors."""

from __future__ import annotations

from fieldcraft.errors import InputError

UNKNOWN = -(2**31)  # CRFsuite's number for an error without a closer description


class CRFSuiteError(InputError):
    """A training failed; ``code`` is CRFsuite's number for an unknown error."""

    def __init__(self, message: str, code: int = UNKNOWN) -> None:
        super().__init__(message)
        self.code = code


class ClosedTaggerError(InputError, RuntimeError):
    """A tagger was asked before a model was opened; python-crfsuite raises either type, by method."""

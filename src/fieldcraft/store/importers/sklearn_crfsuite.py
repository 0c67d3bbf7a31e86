"""Pickles of sklearn-crfsuite's ``CRF``, which contain a model of CRFsuite.

The unpickler knows that class, its file and its log, and no other: a pickle that names anything else, a
function for instance, is an error, and nothing of it is called. Neither toolkit needs to be installed.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

from fieldcraft.store.importers import crfsuite
from fieldcraft.store.importers.imported import Imported

CONTENT = "__FILE_RESOURCE_DATA__"
UNUSED = {"BYTEARRAY8", "NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID"}


class Stored:
    """An object of the pickle: its attributes, none of its methods."""

    def __new__(cls, *_: Any, **__: Any) -> Stored:  # constructors of all protocols
        return super().__new__(cls)

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        self.attributes = {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}


class Estimator(Stored):
    """sklearn_crfsuite.CRF."""


class FileResource(Stored):
    """Its model file."""


def _reconstructed(kind: Any, *_: Any) -> Stored:
    """The constructor of protocols 0 and 1."""
    if not (isinstance(kind, type) and issubclass(kind, Stored)):
        raise pickle.UnpicklingError("it constructs an object that a CRF does not have")
    return kind()


def _as_bytes(text: Any, encoding: Any = "latin1") -> bytes:
    """How protocol 2 writes bytes."""
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError("it has bytes in an unknown encoding")
    return text.encode("latin1")


NAMES: dict[tuple[str, str], Any] = {
    ("sklearn_crfsuite.estimator", "CRF"): Estimator,
    ("sklearn_crfsuite._fileresource", "FileResource"): FileResource,
    ("sklearn_crfsuite.trainer", "LinePerIterationTrainer"): Stored,
    ("pycrfsuite._logparser", "TrainLogParser"): Stored,
    ("pycrfsuite._logparser", "LabelScore"): Stored,
    ("fractions", "Fraction"): Stored,
    ("copyreg", "_reconstructor"): _reconstructed,
    ("copy_reg", "_reconstructor"): _reconstructed,
    ("_codecs", "encode"): _as_bytes,
    ("builtins", "object"): Stored,
    ("builtins", "tuple"): Stored,
    ("__builtin__", "object"): Stored,
    ("collections", "OrderedDict"): dict,
}


class Unpickler(pickle.Unpickler):
    """Knows the names above alone."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in NAMES:
            raise pickle.UnpicklingError(
                f"it names {module}.{name}; only a CRF of sklearn-crfsuite is read from a pickle"
            )
        return NAMES[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError(f"it refers to another object, {pid!r}")


def check_opcodes(content: bytes) -> None:
    """ValueError if a pickle asks for memory that its content does not need."""
    n = 0
    for n, (opcode, argument, _) in enumerate(pickletools.genops(content), 1):
        if opcode.name in UNUSED:
            raise ValueError(f"its pickle has the opcode {opcode.name}, which no CRF needs")
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and (argument or 0) > n:
            raise ValueError("its pickle numbers more objects than it has")


def read(content: bytes) -> Imported:
    """The model in a pickle; ValueError if there is none."""
    check_opcodes(content)
    try:
        estimator = Unpickler(io.BytesIO(content)).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, RecursionError) as error:
        raise ValueError(f"its pickle cannot be read: {error}") from None
    if not isinstance(estimator, Estimator) or not hasattr(estimator, "attributes"):
        raise ValueError("the pickle has no CRF of sklearn-crfsuite")
    file = estimator.attributes.get("modelfile")
    attributes = getattr(file, "attributes", {})
    model = attributes.get(CONTENT)
    if not isinstance(model, bytes):
        where = attributes.get("name")
        known = f"its model is in the file {where!r}; load that" if where else "it is not fitted"
        raise ValueError(f"the pickled CRF has no model: {known}")
    if model[:4] != b"lCRF":
        raise ValueError("the model in the pickle is not one of CRFsuite")
    return crfsuite.read(model)

"""Models of other toolkits, recognised by their content.

``read_foreign`` reads one; each toolkit has a file here, which is imported when it is needed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from importlib import import_module

from fieldcraft.errors import FieldcraftError, ModelFileError
from fieldcraft.store.files import name_of
from fieldcraft.store.importers.imported import Imported

__all__ = ["Imported", "is_model", "read_foreign", "toolkit_of"]

DAMAGE = (KeyError, ValueError, TypeError, IndexError, OverflowError, struct.error)
HEAD = 64  # bytes that are enough to recognise a model
PICKLES = {bytes([0x80, protocol]) for protocol in range(2, 6)}


def _is_crfsuite(head: bytes) -> bool:
    return head[:4] == b"lCRF"


def _is_pickle(head: bytes) -> bool:
    return head[:2] in PICKLES or head[:9] in (b"ccopy_reg", b"ccopyreg\n")


def _is_crfpp_text(head: bytes) -> bool:
    return head.startswith(b"version: ") and b"\ncost-factor: " in head


def _is_crfpp_binary(head: bytes) -> bool:
    if len(head) < 32:
        return False
    version, kind, cost, _, n_columns, _, _ = struct.unpack("<IidIIII", head[:32])
    return bool(version == 100 and kind == 0 and 0 < cost < 1e30 and n_columns < 1 << 16)


def _is_wapiti(head: bytes) -> bool:
    return head.startswith(b"#mdl#")


TOOLKITS = {
    "crfsuite": "CRFsuite",
    "sklearn_crfsuite": "sklearn-crfsuite",
    "crfpp_text": "CRF++",
    "crfpp": "CRF++",
    "wapiti": "Wapiti",
}
# what recognises a model, and the module that reads it
RECOGNISED: list[tuple[Callable[[bytes], bool], str]] = [
    (_is_crfsuite, "crfsuite"),
    (_is_pickle, "sklearn_crfsuite"),
    (_is_crfpp_text, "crfpp_text"),
    (_is_crfpp_binary, "crfpp"),
    (_is_wapiti, "wapiti"),
]


def read_foreign(source: str | os.PathLike[str] | bytes) -> Imported | None:
    """A model of another toolkit from its file, or from the content of one; None if it is none."""
    module = _module_of(_head(source))
    if module is None:
        return None
    name = name_of(source)
    try:
        read: Callable[[bytes], Imported] = import_module(f"{__name__}.{module}").read
        if isinstance(source, bytes):
            return read(source)
        with open(source, "rb") as file:
            return read(file.read())
    except (*DAMAGE, FieldcraftError) as error:
        raise ModelFileError(f"{name} looks like a model of {TOOLKITS[module]}, but {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a model, of fieldcraft or of another toolkit, judged by its first bytes."""
    head = _head(path)
    return _is_own(head) or _module_of(head) is not None


def toolkit_of(source: str | os.PathLike[str] | bytes) -> str | None:
    """The name of the toolkit that wrote a model, judged by its first bytes; None if it is not known."""
    module = _module_of(_head(source))
    return None if module is None else TOOLKITS[module]


def _head(source: str | os.PathLike[str] | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:HEAD]
    if not os.path.isfile(source):  # a pipe would lose what is read
        return b""
    with open(source, "rb") as file:
        return file.read(HEAD)


def _is_own(head: bytes) -> bool:
    """Whether it is fieldcraft's: the length of a directory in JSON, then its beginning."""
    return head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < 1 << 32


def _module_of(head: bytes) -> str | None:
    if _is_own(head):  # whose length may begin like a pickle
        return None
    return next((module for recognises, module in RECOGNISED if recognises(head)), None)

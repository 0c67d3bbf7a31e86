"""Lines that open a document in column files and CoNLL-U."""

from __future__ import annotations

import re

_OPENS = re.compile(r"-DOCSTART-|# ?(newdoc|doc)\b")


def opens_document(line: str) -> bool:
    """Whether a line opens a document.

    >>> [opens_document(line) for line in ("-DOCSTART- -X- O", "# newdoc id = a", "# doc ca01", "# text = x")]
    [True, True, True, False]
    """
    return _OPENS.match(line) is not None

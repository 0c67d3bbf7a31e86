"""The name that someone meant: other spellings, other toolkits' words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def closest(given: object, names: Iterable[str], *, cutoff: float = 0.7) -> str | None:
    """The name that is spelled almost like what was given; None if there is none.

    >>> closest("L-BFGS", ["lbfgs", "owlqn"]), closest("lbgfs", ["lbfgs", "owlqn"]), closest("x", ["lbfgs"])
    ('lbfgs', 'lbfgs', None)
    """
    plain = {_plain(name): name for name in names}
    if not isinstance(given, str):
        return None
    found = get_close_matches(_plain(given), plain, n=1, cutoff=cutoff)
    return plain[found[0]] if found else None


def suggestion(given: object, names: Iterable[str]) -> str:
    """A question that ends a message, with a leading blank; empty where no name is close.

    >>> suggestion("gausian", ["gaussian", "laplacian"])
    " (did you mean 'gaussian'?)"
    """
    name = closest(given, names)
    return "" if name is None else f" (did you mean {name!r}?)"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

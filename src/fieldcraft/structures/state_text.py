"""State spaces as text: ``states="kind[:n][+observed][+SCHEME]"``.

labels   labels+observed   ngrams:2   ngrams:2+observed   ngrams:2+iob2   latent:3   iob2
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fieldcraft.corpus import schemes
from fieldcraft.errors import InputError
from fieldcraft.structures.states import StateSpace

KINDS = ("labels", "ngrams", "latent")
FORM = (
    "write labels, ngrams:2 or latent:3, each with +observed and +iob2 (or another scheme) if wanted, a "
    "scheme alone, or give a StateSpace"
)


class StateText(NamedTuple):
    """The parts of a text."""

    kind: str
    n: int
    observed: bool
    scheme: str | None


def parse_states(text: Any) -> StateText:
    """The parts of a text; InputError if it is none.

    >>> parse_states("ngrams:2+observed+iob2")
    StateText(kind='ngrams', n=2, observed=True, scheme='iob2')
    """
    if not isinstance(text, str):
        raise InputError(f"states={text!r}; {FORM}")
    first, *options = text.split("+")
    kind, colon, number = first.partition(":")
    observed = "observed" in options
    wanted = [option for option in options if option != "observed"]
    if kind.lower() in (*schemes.SCHEMES, *schemes.ALIASES):
        wanted, kind = [kind, *wanted], "labels"
    fits = kind in KINDS and len(wanted) <= 1 and options.count("observed") <= 1
    fits = fits and bool(colon) == (kind != "labels") and (not colon or number.isdecimal())
    fits = fits and all(name.lower() in (*schemes.SCHEMES, *schemes.ALIASES) for name in wanted)
    n = int(number) if fits and colon else 1
    if not fits or not 1 <= n <= 1000:
        raise InputError(f"states={text!r}; {FORM}")
    return StateText(kind, n, observed, wanted[0].lower() if wanted else None)


def states_from_text(
    text: Any, names: Sequence[str], labels: Iterable[Sequence[Any]] | None = None
) -> StateSpace:
    """The state space of a text over labels; ``labels`` are those of the training data, for ``observed``."""
    kind, n, observed, scheme = parse_states(text)
    if observed and labels is None:
        raise InputError(f"states={text!r} is known once the model is trained; call fit first")
    if kind == "latent" and n > 1:
        return StateSpace.latent(names, n, observed=labels if observed else None, scheme=scheme)
    if kind == "ngrams" or observed:
        return StateSpace.ngrams(names, n, observed=labels if observed else None, scheme=scheme)
    return StateSpace.labels(names) if scheme is None else StateSpace.scheme(names, scheme)

"""Ways to train, and how they are spelled.

    [objective/]optimiser[/prior]        each with settings where wanted: name:setting=value,setting=value

    lbfgs                                its default objective, and the common prior
    margin/frank_wolfe                   another objective
    sgd/laplacian:scale=1                another prior
    likelihood/lbfgs:memory=3/none       all three

Hazard: perceptron is an objective and an optimiser. If there are two parts and the second names an optimiser,
the first is an objective; else the first is the optimiser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.objectives import OBJECTIVES
from fieldcraft.optimisers import OPTIMISERS, TABLE, handled_by, resolve
from fieldcraft.optimisers.table import penalties_of
from fieldcraft.priors import PRIORS, NoPrior, Prior, resolve_prior

PARTIAL = "marginal_likelihood"  # what is minimised where labels are not all known


@dataclass(frozen=True)
class Entry:
    """One way to train.

    Parameters
    ----------
    name : its name in tables
    optimiser : a name or an object
    objective : a name or an object; None for the optimiser's default
    prior : a name, an object or None, as in ChainCRF

    >>> Entry("mine", "lbfgs").objective
    """

    name: str
    optimiser: Any
    objective: Any = None
    prior: Any = "auto"

    def parts(self) -> tuple[Any, Any, Prior]:
        """Objective, optimiser and prior as objects, or an InputError if they do not fit together."""
        prior = resolve_prior(self.prior, handled_by(self.optimiser, self.objective))
        objective, optimiser, _ = resolve(self.objective, self.optimiser, prior)
        return objective, optimiser, prior


def read_entry(text: str, *, prior: Prior, partial: bool = False, **settings: Any) -> Entry:
    """An entry from its spelling; ``settings`` are defaults for optimisers that have them.

    Without a prior in the text it is ``prior``, or none if the optimiser has no penalties.

    >>> read_entry("sgd:seed=3/laplacian:scale=2", prior=NoPrior()).prior
    Laplacian(scale=2)
    """
    objective, named, chosen = _cut(text)
    optimiser = _made(OPTIMISERS, named, text, **settings)
    row = TABLE[type(optimiser).name]
    if chosen is not None:
        prior = _made(PRIORS, chosen, text)
    elif not row.penalties:
        prior = NoPrior()
    default = PARTIAL if partial and PARTIAL in row.objectives else None
    return Entry(text, optimiser, default if objective is None else _made(OBJECTIVES, objective, text), prior)


def read_prior(text: str) -> Prior:
    """A prior from its spelling, as in entries: ``gaussian:variance=0.5``."""
    prior: Prior = _made(PRIORS, text, text)
    return prior


def default_entries(*, prior: Prior, partial: bool = False, **settings: Any) -> Iterator[Entry]:
    """Every optimiser with its default objective, if it takes the penalty and the kind of labels."""
    for name, row in TABLE.items():
        natural = PARTIAL if partial else row.objectives[0]
        fits = natural in row.objectives and (partial or natural != PARTIAL)
        if fits and (not row.penalties or penalties_of(prior) <= set(row.penalties)):
            yield read_entry(name, prior=prior, partial=partial, **settings)


def spelling(table: Mapping[str, type[Any]], thing: Any) -> str:
    """The spelling of an object of one of the table's classes, with the settings that are not defaults."""
    name = next((name for name, kind in table.items() if type(thing) is kind), type(thing).__name__)
    first = isinstance(thing, Prior)  # the strength of a penalty is always shown
    shown = [
        f"{field.name}={_shown(getattr(thing, field.name))}"
        for i, field in enumerate(fields(thing))
        if (first and i == 0) or _differs(field.default, getattr(thing, field.name))
    ]
    return name + (":" + ",".join(shown) if shown else "")


def _cut(text: str) -> tuple[str | None, str, str | None]:
    """The texts of objective, optimiser and prior."""
    parts = text.split("/")
    if len(parts) == 1:
        return None, parts[0], None
    if len(parts) == 2:
        is_optimiser = parts[1].partition(":")[0] in OPTIMISERS
        return (parts[0], parts[1], None) if is_optimiser else (None, parts[0], parts[1])
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    raise InputError(f"entry {text!r}: {len(parts)} parts; write [objective/]optimiser[/prior]")


def _made(table: Mapping[str, type[Any]], text: str, entry: str, **defaults: Any) -> Any:
    name, colon, settings = text.partition(":")
    if name not in table:
        raise InputError(f"entry {entry!r}: {name!r} is not one of {', '.join(table)}")
    known = [field.name for field in fields(table[name]) if field.init]
    chosen = {key: value for key, value in defaults.items() if key in known and value is not None}
    for part in settings.split(",") if colon else ():
        key, equals, value = part.partition("=")
        if not equals or key not in known:
            has = ", ".join(known) or "none"
            raise InputError(f"entry {entry!r}: {part!r} is no setting=value of {name}, which has {has}")
        chosen[key] = read_value(value)
    return table[name](**chosen)


def read_value(text: str) -> Any:
    """A number, true, false, none, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_WORDS = {"true": True, "false": False, "none": None}


def _differs(default: Any, value: Any) -> bool:
    return np.ndim(value) > 0 or bool(value != default)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) if np.ndim(value) == 0 else "vector"

"""What the label columns of a FactorialCRF look at: all attributes of a token, or those of some templates.

A column may also have *scores*: a function whose attributes are the labels of the column, with a number each,
for example the log-probabilities of another model. Each label then has one weight, that of its own score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.priors.groups import matches

Columns = Mapping[str, Sequence[str]]


class Views(NamedTuple):
    """The parameters of the model.

    looks : column -> names of templates and functions, with ``*`` and ``?`` as wildcards; None for all
    scores : column -> the name of a function
    """

    looks: Any = None
    scores: Any = None

    def looks_of(self, columns: Columns, encoder: Any) -> dict[str, NDArray[np.bool_]]:
        """For each column [templates] whether it looks at their attributes."""
        names = [template.name for template in encoder.templates]
        scored = self._scored(columns, names)
        out = {name: ~np.isin(names, list(scored.values())) for name in columns}
        for name, patterns in self._checked("looks", columns).items():
            out[name] = np.zeros(len(names), bool)
            for pattern in [patterns] if isinstance(patterns, str) else patterns:
                found = np.array(matches(pattern, names), bool)
                if not found.any():
                    raise InputError(
                        f"looks: column {name!r} is to look at {pattern!r}, which is no template and no "
                        f"function; there are {', '.join(names)}"
                    )
                out[name] |= found
        for name, function in scored.items():
            out[name][names.index(function)] = True
        return out

    def owners(self, columns: Columns, encoder: Any) -> NDArray[np.int64]:
        """[A] the label whose score an attribute is, -1 for attributes that are no scores."""
        names = [template.name for template in encoder.templates]
        own = np.full(encoder.n_attributes, -1, np.int64)
        for column, function in self._scored(columns, names).items():
            mine = np.flatnonzero(encoder.attribute_template == names.index(function))
            number = {f"{function}:{label}": y for y, label in enumerate(columns[column])}
            texts = encoder.attribute_text(mine.tolist())
            own[mine] = [number.get(text, len(number)) for text in texts]  # beyond all labels: no label's
            if not any(text in number for text in texts):
                raise InputError(
                    f"scores: no attribute of {function!r} is a label of the column {column!r}; the function "
                    "returns a dict label -> score for each token"
                )
        return own

    def _scored(self, columns: Columns, names: Sequence[str]) -> dict[str, str]:
        given = self._checked("scores", columns)
        for column, function in given.items():
            if function not in names:
                raise InputError(
                    f"scores: column {column!r} has those of {function!r}, which is no function; pass "
                    f"functions={{{function!r}: …}} too"
                )
        if len(set(given.values())) < len(given):
            raise InputError("scores: two columns have the same function; give each one of its own")
        return given

    def _checked(self, parameter: str, columns: Columns) -> dict[str, Any]:
        given = getattr(self, parameter)
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"{parameter} is a {type(given).__name__}; give a dict by label column")
        for name in given or ():
            if name not in columns:
                raise InputError(f"{parameter}: {name!r} is no label column; there are {', '.join(columns)}")
        return dict(given or {})

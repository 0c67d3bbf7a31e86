"""How much each label counts: a number per label, in the order of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.objectives.objective import Objective

Floats = NDArray[np.float64]


def resolve_label_weights(
    given: Any, objective: Objective, names: Sequence[str], y: Sequence[Sequence[str]]
) -> Floats | None:
    """[Y] from None, "balanced" or a mapping label -> weight; labels not named weigh 1.

    "balanced" is tokens / (labels * tokens of the label): each label counts the same in all.

    >>> from fieldcraft.objectives import Pointwise
    >>> resolve_label_weights("balanced", Pointwise(), ["a", "b"], [["a", "a"], ["a", "b"]])
    array([0.66666667, 2.        ])
    """
    if given is None:
        return None
    if not objective.weighs_labels:
        raise objective.refuse_label_weights()
    if isinstance(given, str) and given == "balanced":
        counts = Counter(chain.from_iterable(y))
        n_tokens = sum(counts.values())
        return np.array([n_tokens / (len(names) * counts[name]) if counts[name] else 1.0 for name in names])
    if not isinstance(given, Mapping):
        raise InputError(f"label_weights={given!r}; give None, 'balanced' or a dict from label to number")
    weights = np.ones(len(names))
    for name, value in given.items():
        if name not in names:
            raise InputError(f"label_weights names {name!r}, which is no label; they are {', '.join(names)}")
        if not isinstance(value, (int, float, np.number)) or not np.isfinite(value) or value < 0:
            raise InputError(
                f"label_weights[{name!r}] is {value!r}; weights are finite numbers, not negative"
            )
        weights[names.index(name)] = value
    return weights

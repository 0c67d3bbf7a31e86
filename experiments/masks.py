"""Parts of a model's features by name: what a member of a pool looks at.

Every member is a mask over the features of one template set, so that members of a pool add up to one vector.

    simple                    the templates of SIMPLE
    s1g, s2ng, standard …     the union of the subsets of the thesis' table 8.8
    positional: behind …      an expert of fc.experts: label, positional, random (4 parts)
    loners:500 and s1         what a detector finds (fieldcraft.pools.discriminative), and S1
    all but loners:500        everything else
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder
from fieldcraft.features.templates import Templates
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.training_settings import SharedDesign
from fieldcraft.pools import experts
from fieldcraft.pools.discriminative import detect
from fieldcraft.pools.expert import Expert, View

Mask = NDArray[np.bool_]
SUBSETS = {
    "simple": ("simple",),
    "s1g": ("entities-s1", "entities-g"),
    "s2g": ("entities-s2", "entities-g"),
    "s2ng": ("entities-s2", "entities-n", "entities-g"),
    "s2nog": ("entities-s2", "entities-n", "entities-o", "entities-g"),
    "s2noag": ("entities-gazetteers",),
    "standard": ("entities",),
}
STRUCTURE, REST = " and s1", "all but "
RANDOM = 4  # parts, as in the thesis
EXPERTS: dict[str, Callable[[ChainCRF, list[str]], list[Expert]]] = {
    "label": lambda crf, labels: experts.label(crf, labels, full=False),
    "positional": lambda crf, labels: experts.positional(crf, full=False),  # noqa: ARG005
    "random": lambda crf, labels: experts.random(crf, RANDOM, full=False),  # noqa: ARG005
}


def mask_of(name: str, data: SharedDesign, labels: Sequence[str]) -> Mask:
    """[F] the features that a name means."""
    if name in SUBSETS:
        return _subset(name, data)
    family, colon, expert = name.partition(": ")
    if colon:
        return _expert(family, expert, data, list(labels))
    n_labels = len(labels)
    if name.startswith(REST):
        return ~detect(name.removeprefix(REST), data.encoder, data.design, n_labels)
    if name.endswith(STRUCTURE):
        found = detect(name.removesuffix(STRUCTURE), data.encoder, data.design, n_labels)
        return found | _subset("simple", data)
    raise ValueError(f"no part of the features is called {name!r}")


def _expert(family: str, name: str, data: SharedDesign, labels: list[str]) -> Mask:
    made = {expert.name: expert for expert in EXPERTS[family](ChainCRF(random_state=0), labels)}
    if name not in made:
        raise ValueError(f"{family} has the experts {', '.join(made)}, not {name!r}")
    mask = made[name].mask(View(data.design.index, labels, data.encoder, data.design))
    assert mask is not None
    return mask


def _subset(name: str, data: SharedDesign) -> Mask:
    sets = [Templates.named(part) for part in SUBSETS[name]]
    wanted = {template.name for templates in sets for template in templates}
    taken = [template in wanted for template in _names(data.encoder)]
    pairs = any(templates.edge_bias for templates in sets)
    mask: Mask = np.array([*taken, pairs])[data.design.index.template]  # -1, the label pairs, is the last one
    return mask


def _names(encoder: Encoder) -> list[str]:
    return [template.name for template in encoder.templates]

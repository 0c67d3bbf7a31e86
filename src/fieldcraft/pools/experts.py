"""Sets of experts: members of a pool that see different features or different sequences.

    fc.LogOpinionPool(fc.experts.positional(crf)).fit(X, y)

Each function takes a model, whose parameters all experts share, and returns a list of experts. Feature
experts come with the full model unless ``full=False``. All have the label pairs, and the features of first
and last tokens. Data experts (bagged, partitioned, boosted) come without the full model; instead of a model
they also take a list of experts, each of which they then train on every sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.pools.expert import (
    WAITING,
    EveryLabel,
    Expert,
    Given,
    OfTemplates,
    Rule,
    Share,
    Side,
    Words,
)
from fieldcraft.pools.samples import Bag, Boost, Part

SIDES = {"behind": -1, "at": 0, "ahead": 1}


def label(crf: ChainCRF, labels: Iterable[str] | None = None, *, full: bool = True) -> list[Expert]:
    """One expert per label: the features that involve it at the current or the previous position.

    In a scheme (B-PER, I-PER …) all labels of one type belong to one expert. The experts overlap in features
    of two labels.

    Parameters
    ----------
    crf : the parameters of every expert
    labels : names of the labels; None for ``crf.labels``, or else those that fit finds in the data
    full : also the model with all features
    """
    names = crf.labels if labels is None else list(labels)
    waiting = EveryLabel(WAITING, crf)
    experts: list[Expert] = waiting.expanded(names) if names else [waiting]
    return [*_set(crf, {}, full=full), *experts]


def positional(crf: ChainCRF, *, transitions: str = "window", full: bool = True) -> list[Expert]:
    """Three experts: what templates see behind, at and ahead of the position.

    A template is behind if all its offsets are negative, ahead if all are positive; if its window contains
    the position, alone or with others, it is at the position.

    Parameters
    ----------
    crf : the parameters of every expert
    transitions : where templates of label pairs (``edge: word``) belong: "window" for the same rule, "all"
        for every expert, which is nearer to Smith (2007) and makes the set half as expensive again
    full : also the model with all features
    """
    if transitions not in ("window", "all"):
        raise InputError(f"transitions={transitions!r}; choose 'window' or 'all'")
    rules = {name: Side(side, transitions == "all") for name, side in SIDES.items()}
    return _set(crf, rules, full=full)


def simple(crf: ChainCRF, *, full: bool = True) -> list[Expert]:
    """One expert that sees the word alone, beside the full model."""
    return _set(crf, {"simple": Words()}, full=full)


def random(crf: ChainCRF, k: int, *, full: bool = True) -> list[Expert]:
    """k experts with k parts of the features, drawn with the model's ``random_state``."""
    k = whole_number(k, "k", 1, "the number of experts")
    rules = {f"random{i + 1}": Share(i, k, crf.random_state) for i in range(k)}
    return _set(crf, rules, full=full)


def by_template(crf: ChainCRF, groups: Mapping[str, Iterable[str]], *, full: bool = True) -> list[Expert]:
    """One expert per group of templates; ``groups`` has names or patterns (``*``) of templates by expert."""
    return _set(crf, {name: OfTemplates(_patterns(listed)) for name, listed in groups.items()}, full=full)


def masked(crf: ChainCRF, masks: Mapping[str, Any], *, full: bool = True) -> list[Expert]:
    """One expert per mask: booleans [F], or a function of the feature index that returns them."""
    return _set(crf, {name: Given(mask) for name, mask in masks.items()}, full=full)


def bagged(crf: ChainCRF | Iterable[Expert], n: int) -> list[Expert]:
    """n experts that learn from bootstrap samples of the sequences, with the features of the sample.

    A sequence counts as often as it is drawn; no data is copied.
    """
    n = whole_number(n, "n", 1, "the number of samples")
    return [_on(expert, f"bag{i + 1}", Bag(i, _seed(expert))) for i in range(n) for expert in _listed(crf)]


def partitioned(crf: ChainCRF | Iterable[Expert], n: int) -> list[Expert]:
    """n experts that learn from n parts of the sequences, with the features of their part."""
    n = whole_number(n, "n", 2, "the number of parts")
    return [_on(e, f"part{i + 1}", Part(i, n, _seed(e))) for i in range(n) for e in _listed(crf)]


def boosted(crf: ChainCRF | Iterable[Expert], n: int) -> list[Expert]:
    """n experts that are trained one after the other on reweighted sequences (AdaBoost).

    The loss of a sequence is the share of its tokens that the expert before labelled wrongly, e the weighted
    mean of the losses; its weight is multiplied by (e / (1 - e))^(1 - loss). If e is 0 or above one half, the
    weights stay.
    """
    n = whole_number(n, "n", 1, "the number of rounds")
    return [_on(e, f"round{i + 1}", Boost(i, e.name)) for i in range(n) for e in _listed(crf)]


SETS: dict[str, Any] = {
    "label": label,
    "positional": positional,
    "simple": simple,
    "random": random,
    "bagged": bagged,
    "partitioned": partitioned,
    "boosted": boosted,
}
COUNTED = ("random", "bagged", "partitioned", "boosted")


def by_name(crf: ChainCRF, text: str) -> list[Expert]:
    """The experts of a name, as the command line spells it: ``positional``, ``random:4`` …

    >>> [expert.name for expert in by_name(ChainCRF(), "bagged:2")]
    ['bag1', 'bag2']
    """
    name, colon, number = text.partition(":")
    if name not in SETS or bool(colon) != (name in COUNTED) or (colon and not number.isdigit()):
        spelled = ", ".join(f"{known}:K" if known in COUNTED else known for known in SETS)
        raise InputError(f"experts {text!r}; choose one of {spelled}, K being how many")
    return list(SETS[name](crf, int(number)) if colon else SETS[name](crf))


def _set(crf: ChainCRF, rules: Mapping[str, Rule], *, full: bool) -> list[Expert]:
    if not isinstance(crf, ChainCRF):
        raise InputError(f"experts share the parameters of a ChainCRF; a {type(crf).__name__} was given")
    experts = [Expert(name, crf, rule) for name, rule in rules.items()]
    return [Expert("full", crf), *experts] if full else experts


def _patterns(listed: Iterable[str]) -> tuple[str, ...]:
    return (listed,) if isinstance(listed, str) else tuple(listed)


def _listed(crf: ChainCRF | Iterable[Expert]) -> list[Expert]:
    return [Expert("", crf)] if isinstance(crf, ChainCRF) else list(crf)


def _seed(expert: Expert) -> int:
    return expert.model.random_state


def _on(expert: Expert, name: str, data: Any) -> Expert:
    """An expert on a sample."""
    return replace(expert, name=f"{expert.name} {name}".strip(), data=data)

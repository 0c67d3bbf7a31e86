"""An expert: a model with a share of the features, or of the sequences, of a shared design.

A rule says which features of the shared index are an expert's own. Label pairs, and what only says whether a
token is the first or the last of its sequence, belong to every expert.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus.schemes import is_tag_set
from fieldcraft.design import Design, Encoder
from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.terms import Template
from fieldcraft.models.chain import ChainCRF

Mask = NDArray[np.bool_]
ENDS = ("first", "last")
WAITING = "labels"  # name of the experts of labels that are not known yet


@dataclass(frozen=True)
class View:
    """A feature index with names: what a rule looks at.

    Parameters
    ----------
    index : one row per weight; its numbers of labels are those of ``labels``
    labels : names
    encoder : sequences -> attributes
    design : the data, encoded
    """

    index: FeatureIndex
    labels: Sequence[str]
    encoder: Encoder
    design: Design

    @property
    def templates(self) -> list[Template]:
        """In the order of their numbers."""
        return list(cast("Iterable[Template]", self.encoder.templates))  # pools have no graphs

    def of_templates(self, chosen: Callable[[Template], bool]) -> Mask:
        """[F] whether the template of each feature is chosen; False for label pairs."""
        table = np.array([*(chosen(template) for template in self.templates), False])
        return np.asarray(table[self.index.template])

    def of_labels(self, chosen: Callable[[str], bool]) -> Mask:
        """[F] whether one of the labels of each feature is chosen."""
        table = np.array([*(chosen(label) for label in self.labels), False])
        return np.asarray(table[self.index.labels].any(axis=1))

    def shared(self) -> Mask:
        """[F] the features of every expert: label pairs, first and last."""
        ends = self.of_templates(lambda template: all(term.source in ENDS for term in template.terms))
        return np.asarray((self.index.attribute < 0) | ends)


Rule = Callable[[View], Mask]


@dataclass(frozen=True, eq=False)
class Expert:
    """A member of a pool that is trained on its share of a shared design.

    Parameters
    ----------
    name : of the member
    model : its parameters
    rule : the features that are its own; None for all
    data : the sequences that it learns from (samples.py); None for all
    """

    name: str
    model: ChainCRF
    rule: Rule | None = field(default=None)
    data: Any = field(default=None)

    def mask(self, view: View) -> Mask | None:
        """[F] its features; None for all of them."""
        if self.rule is None:
            return None
        own = np.asarray(self.rule(view), bool)
        if not np.any(own):
            raise InputError(
                f"the expert {self.name} has no features: none of the {len(view.index):,} features of the "
                "design matches its rule; choose other experts or templates"
            )
        return own | view.shared()


@dataclass(frozen=True, eq=False)
class EveryLabel(Expert):
    """Stands for one expert per label, until the labels are known."""

    def expanded(self, labels: Iterable[str]) -> list[Expert]:
        """An expert per label; labels of one type in a scheme (B-PER, I-PER) have one expert."""
        names, groups = list(labels), dict[str, list[str]]()
        for name in names:
            kind = name.partition("-")[2] if is_tag_set(names) else ""
            groups.setdefault(kind or name, []).append(name)
        sample = self.name.removeprefix(WAITING)
        return [
            Expert(kind + sample, self.model, OfLabels(frozenset(listed)), self.data)
            for kind, listed in groups.items()
        ]


@dataclass(frozen=True)
class Side:
    """Features whose window lies behind (-1), at (0) or ahead (1) of the position.

    A window that contains the position, alone or together with others, is at it. With ``transitions`` all
    features of label pairs are there too, wherever their window is.
    """

    side: int
    transitions: bool = False

    def __call__(self, view: View) -> Mask:
        def sided(template: Template) -> bool:
            first, last = template.window
            return (last < 0) - (first > 0) == -self.side

        own = view.of_templates(sided) & ~view.shared()
        return own | view.index.is_edge if self.transitions and own.any() else own


@dataclass(frozen=True)
class OfLabels:
    """Features that involve one of these labels, at the position or before it."""

    labels: frozenset[str]

    def __call__(self, view: View) -> Mask:
        return view.of_labels(self.labels.__contains__)


@dataclass(frozen=True)
class OfTemplates:
    """Features of templates that have one of these names, or match one of these patterns."""

    patterns: tuple[str, ...]

    def __call__(self, view: View) -> Mask:
        names = [template.name for template in view.templates]
        for pattern in self.patterns:
            if not any(_matches(name, pattern) for name in names):
                raise InputError(f"no template matches {pattern!r}; there are {', '.join(names)}")
        return view.of_templates(lambda t: any(_matches(t.name, pattern) for pattern in self.patterns))


@dataclass(frozen=True)
class Words:
    """Features of the word alone: the column "word", or else the first, at the position."""

    def __call__(self, view: View) -> Mask:
        columns = [term.column for template in view.templates for term in template.terms if term.column]
        word = "word" if "word" in columns else next(iter(columns), None)

        def plain(template: Template) -> bool:
            term = template.terms[0]
            at = len(template.terms) == 1 and template.part == "node" and not (term.steps or term.offset)
            return at and not term.absolute and term.source == "column" and term.column == word

        return view.of_templates(plain)


@dataclass(frozen=True)
class Share:
    """One of n parts of the features, drawn at random."""

    number: int
    n: int
    seed: int

    def __call__(self, view: View) -> Mask:
        own = np.flatnonzero(~view.shared())
        order = np.random.default_rng([self.seed, self.n]).permutation(len(own))
        mask = np.zeros(len(view.index), bool)
        mask[own[order % self.n == self.number]] = True
        return mask


@dataclass(frozen=True, eq=False)
class Given:
    """A mask [F], or a function of the feature index that returns one."""

    mask: Any

    def __call__(self, view: View) -> Mask:
        mask = np.asarray(self.mask(view.index) if callable(self.mask) else self.mask)
        if mask.shape != (len(view.index),) or mask.dtype != bool:
            raise InputError(
                f"a mask of shape {mask.shape} and type {mask.dtype}; give booleans, one for each of the "
                f"{len(view.index)} features of the design"
            )
        return np.asarray(mask)


@dataclass(frozen=True, eq=False)
class Without:
    """All features that another rule leaves."""

    rule: Rule

    def __call__(self, view: View) -> Mask:
        return ~np.asarray(self.rule(view))


@dataclass(frozen=True, eq=False)
class Either:
    """Features of one rule or of another."""

    rules: tuple[Rule, ...]

    def __call__(self, view: View) -> Mask:
        return np.asarray(np.any([rule(view) for rule in self.rules], axis=0))


@dataclass(frozen=True)
class OfNames:
    """Features whose template or attribute has one of these names, or matches one of these patterns."""

    patterns: tuple[str, ...]

    def __call__(self, view: View) -> Mask:
        texts = view.encoder.attribute_text(range(view.index.n_attributes))
        mask = np.zeros(len(view.index), bool)
        for pattern in self.patterns:
            match = re.compile(translate(pattern.replace("[", "[[]"))).match
            named = np.array([text == pattern or bool(match(text)) for text in texts] + [False])
            own = named[view.index.attribute] | view.of_templates(lambda t, p=pattern: _matches(t.name, p))  # type: ignore[misc]
            if not own.any():
                raise InputError(
                    f"no template and no attribute matches {pattern!r}; pass other names or a mask"
                )
            mask |= own
        return mask


def _matches(name: str, pattern: str) -> bool:
    """A template's name is the pattern, or matches it; a bracket in a name is no pattern."""
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))

"""Attributes and templates by name: exact, with ``*`` and ``?``, or a substring.

Brackets are plain characters here, since attributes are full of them (`word[-1]=the`). If a
name is equal to the pattern, nothing else matches.

Computing the texts of all attributes is slow. A pattern with a fixed prefix is therefore compared only
with the attributes of templates with a matching prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.terms import Template
from fieldcraft.inspection.weights import Rows, WeightTable

WILD = re.compile(r"[*?]")


def matching(pattern: str, names: Sequence[str]) -> list[int]:
    """Positions of the names that match: the equal ones, else by wildcards, else by containment."""
    equal = [i for i, name in enumerate(names) if name == pattern]
    if equal:
        return equal
    if not WILD.search(pattern):
        return [i for i, name in enumerate(names) if pattern in name]
    regex = re.compile(_regex(pattern), re.DOTALL)
    return [i for i, name in enumerate(names) if regex.fullmatch(name)]


def _regex(pattern: str) -> str:
    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(c) or re.escape(c) for c in pattern)


def template_numbers(pattern: str, table: WeightTable) -> list[int]:
    """Numbers of the templates that match; none is an error."""
    numbers = matching(pattern, table.template_names)
    if not numbers:
        known = ", ".join(dict.fromkeys(table.template_names))
        raise InputError(f"template={pattern!r} matches none of the model's: {known}")
    return numbers


def attribute_ids(pattern: str, table: WeightTable) -> Rows:
    """Ids of the attributes with weights whose text matches; there may be none."""
    present = np.zeros(table.index.n_attributes, bool)
    present[table.index.attribute[table.index.attribute >= 0]] = True
    ids = np.flatnonzero(present)
    near = ids[_begin_alike(pattern, table, ids)]
    texts = table.encoder.attribute_text(near)
    if pattern in texts or WILD.search(pattern):
        return near[matching(pattern, texts)]
    return ids[matching(pattern, table.encoder.attribute_text(ids))]


def _begin_alike(pattern: str, table: WeightTable, ids: Rows) -> NDArray[np.bool_]:
    """[ids] whether the text of an attribute may start with the prefix of the pattern."""
    fixed = WILD.split(pattern)[0]
    heads = [_head(template) for template in table.encoder.templates]
    alike = np.array([head.startswith(fixed) or fixed.startswith(head) for head in heads], bool)
    if table.hashed or alike.all():
        return np.ones(len(ids), bool)
    return alike[table.encoder.attribute_template[ids]]


def _head(template: Template) -> str:
    """The common prefix of the texts of a template's attributes."""
    return template.pieces()[0][0]

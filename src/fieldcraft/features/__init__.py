"""Features: templates over columns, word predicates, gazetteers, the feature index.

The names here build templates in Python; see terms.py and docs/templates.md.
"""

from fieldcraft.features.terms import (
    Template,
    apply,
    bias,
    col,
    collins,
    edge,
    first,
    gazetteer,
    last,
    length,
    lower,
    matches,
    prefix,
    shape,
    suffix,
)

__all__ = [
    "Template",
    "apply",
    "bias",
    "col",
    "collins",
    "edge",
    "first",
    "gazetteer",
    "last",
    "length",
    "lower",
    "matches",
    "prefix",
    "shape",
    "suffix",
]

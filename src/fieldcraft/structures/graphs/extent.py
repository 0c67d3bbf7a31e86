"""How wide a graph is."""

from __future__ import annotations

from typing import NamedTuple


class Width(NamedTuple):
    """The size of a graph's junction tree.

    variables : of its largest clique
    bytes : of the tables of all cliques
    forest : whether the graph has no cycle
    complete : False where it is so wide that the triangulation was given up: lower bounds
    """

    variables: int
    bytes: float
    forest: bool
    complete: bool

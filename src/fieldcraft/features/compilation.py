"""Compiles templates to the plan of the native extraction (see native/extraction.hpp).

Each distinct (column, functions) becomes a *stream* of values; each conjunction a chain of *pairs*,
its terms sorted by offset, so that templates which differ by a shift or begin alike share a node.
A template is then (node, offset).

Outside the sequence a column, and what is derived from it, has a boundary value (one per side and
distance); tests, gazetteers, ``first`` and ``last`` are false there. ``bias`` is true everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fieldcraft.errors import TemplateError
from fieldcraft.features.patterns import WAPITI_CLIP
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import Step, Template, Term

if TYPE_CHECKING:
    from fieldcraft.features.gazetteers import Gazetteer

MAX_REACH = 1000
MOST_TERMS = 100  # of a conjunction
MOST_OUTSIDE = 1 << 19  # templates times positions outside: each has an entry in a table


def boundary_names(format: str, reach: int) -> list[str]:
    """The texts shown for positions outside: left at distance 1 .. reach, then right."""
    before, after = {"fieldcraft": ("<s", ">"), "crfpp": ("_B", ""), "wapiti": ("_x", "")}[format]
    clip = WAPITI_CLIP if format == "wapiti" else reach + 1
    distances = [str(d) if d < clip else "#" for d in range(1, reach + 1)]
    return [before + sign + d + after for sign in "-+" for d in distances]


class Compilation:
    """A plan under construction.

    ``orders[k][i]`` is the position of term i of template k in its chain, ``chains[k]`` the nodes of that
    chain: the stream of its first term, then a pair for each further one.
    """

    def __init__(self, templates: Templates, gazetteers: Mapping[str, Gazetteer]) -> None:
        self.templates = templates
        self.gazetteers = gazetteers
        self.columns = templates.named_columns
        self.streams: dict[Term, int] = {}
        self.pairs: dict[tuple[int, int, int], int] = {}
        self.reads: list[tuple[int, int]] = []
        self.orders: list[list[int]] = []
        self.chains: list[list[int]] = []

    def plan(self) -> dict[str, Any]:
        for template in self.templates:
            for term in template.terms:
                self._stream(term)
        for template in self.templates:
            self._chain(template)
        ranges = self._ranges()
        reach = self._reach(ranges)
        n = len(self.streams)
        return {
            "n_columns": len(self.columns),
            "reach": reach,
            "clip": WAPITI_CLIP if self.templates.format == "wapiti" else 0,
            "boundary_names": boundary_names(self.templates.format, reach),
            "streams": [self._stream_plan(term, reach) for term in self.streams],
            "pairs": [[*key, *ranges[n + i]] for key, i in self.pairs.items()],
            "templates": [
                [node, offset, int(t.part == "edge"), table]
                for (node, offset), t, table in zip(self.reads, self.templates, self._tables())
            ],
        }

    def _stream(self, term: Term) -> int:
        """The stream of a term: the term at offset 0, unless its position is absolute."""
        key = term if term.absolute else _at_zero(term)
        return self.streams.setdefault(key, len(self.streams))

    def _chain(self, template: Template) -> None:
        if len(template.terms) > MOST_TERMS:
            raise TemplateError(
                f"a template joins {len(template.terms)} terms; at most {MOST_TERMS} are allowed"
            )
        positions = [(0 if t.absolute else t.offset, self._stream(t)) for t in template.terms]
        order = sorted(range(len(positions)), key=lambda i: positions[i])
        start, node = positions[order[0]]
        chain = [node]
        for i in order[1:]:
            offset, stream = positions[i]
            known = self.pairs.setdefault((node, stream, offset - start), len(self.pairs))
            node = len(self.streams) + known
            chain.append(node)
        self.reads.append((node, start))
        self.chains.append(chain)
        self.orders.append([order.index(i) for i in range(len(order))])

    def _tables(self) -> list[int]:
        """The first template with the text of each: CRF++ and Wapiti identify attributes by their text."""
        tables: list[int] = []
        firsts: dict[tuple[str, tuple[str, ...]], int] = {}
        for k, t in enumerate(self.templates):
            first = k if t.pattern is None else firsts.setdefault((t.part, t.pattern), k)
            if (self.reads[first][0], self.orders[first]) != (self.reads[k][0], self.orders[k]):
                raise TemplateError(
                    f"{t.name!r} and {self.templates[first].name!r} would share their attributes "
                    "but look at different columns or distances; name them apart (U01:, U02:)"
                )
            tables.append(first)
        return tables

    def _ranges(self) -> list[tuple[int, int]]:
        """Per node the offsets (lowest, highest) at which it is read."""
        read: list[list[int]] = [[] for _ in range(len(self.streams) + len(self.pairs))]
        for node, offset in self.reads:
            read[node].append(offset)
        for (left, right, delta), i in reversed(self.pairs.items()):
            mine = read[len(self.streams) + i]
            low, high = min(mine), max(mine)
            read[left] += [low, high]
            read[right] += [low + delta, high + delta]
        return [(min(r), max(r)) for r in read]

    def _reach(self, ranges: list[tuple[int, int]]) -> int:
        reach = max((max(-low, high, 0) for low, high in ranges), default=0)
        if reach > MAX_REACH:
            raise TemplateError(f"a template looks {reach} tokens away; at most {MAX_REACH} are allowed")
        if 2 * reach * len(self.reads) > MOST_OUTSIDE:
            raise TemplateError(
                f"{len(self.reads)} templates look up to {reach} tokens away; write fewer or narrower ones"
            )
        absolute = any(term.absolute for term in self.streams)
        return max(reach, WAPITI_CLIP) if absolute else reach

    def _stream_plan(self, term: Term, reach: int) -> dict[str, Any]:
        plan: dict[str, Any] = {
            "source": term.source,
            "column": self.columns.index(term.column) if term.column else -1,
            "steps": [_native_step(step) for step in term.steps],
            "absolute": term.offset if term.absolute else None,
            "outside": "nothing" if term.test or term.source != "column" else "boundary",
            "given": [],
        }
        if self.templates.format == "wapiti" and term.steps:
            names = boundary_names("wapiti", reach)
            plan |= {"outside": "given", "given": [term.evaluate(name) or "" for name in names]}
        if term.source == "gazetteer":
            plan |= self._gazetteer_plan(term)
        return plan

    def _gazetteer_plan(self, term: Term) -> dict[str, Any]:
        if term.gazetteer not in self.gazetteers:
            known = ", ".join(self.gazetteers) or "none"
            raise TemplateError(
                f"{term}: no gazetteer is called {term.gazetteer!r}; pass it in gazetteers= (given: {known})"
            )
        names = self.gazetteers[term.gazetteer]
        steps = [("lower", 0)] if names.case == "insensitive" else []
        return {"gazetteer": names.table, "rule": names.match, "positions": term.positions, "steps": steps}


def _at_zero(term: Term) -> Term:
    return Term(term.source, term.column, term.steps, term.gazetteer, term.positions)


def _native_step(step: Step) -> tuple[str, int]:
    """Native functions are applied to words of ASCII alone."""
    name = "lower" if step.name == "lower_ascii" else step.name
    return name, step.argument if isinstance(step.argument, int) else 0

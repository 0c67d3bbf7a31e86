"""Inference on skip chains: by the name of a method, on chains shortened to the ends of skip edges.

``auto`` is exact where the junction tree of a sequence is narrow and leaves the others to ``wide``. What the
skip edges determine (which positions stay, junction trees, messages to begin with) is kept from call to call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures.graphs.sizes import budget
from fieldcraft.structures.skip_contraction import Contraction
from fieldcraft.structures.skip_graphs import Pairs, SkipGraphs, SkipParts

Found = dict[str, Any]  # log_partition, converged, iterations, residual [N]; node, edge, skip by row
PROPAGATION: dict[str, Any] = {"max_iterations": 100, "tolerance": 1e-6, "damping": 0.0}
WIDE = ("tree_reweighted", "propagation", "mean_field")  # for sequences whose junction tree is wider
REWEIGHTED: dict[str, Any] = {"max_iterations": 500, "tolerance": 1e-4, "damping": 0.0}
CONTINUED = 50  # iterations at most of bounds that begin with the messages of the last call
NARROW_SUMS = "4MiB"  # the most that a junction tree may take where sums are exact
PARTS = ("node", "edge", "skip")


class SkipInference:
    """Inference on sequences with given skip edges.

    Parameters
    ----------
    offsets : [N + 1] positions of each sequence
    pairs : their skip edges
    n : number of labels
    method, options : what is asked
    remembers : whether to begin with the messages of the last call
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        pairs: Pairs,
        n: int,
        method: str,
        options: Mapping[str, Any],
        *,
        remembers: bool = False,
    ) -> None:
        self.pairs, self.n, self.method, self.options = pairs, n, method, options
        self.remembers = remembers
        self._contraction = Contraction(offsets, pairs)
        self._messages: dict[str, Any] = {}
        self._exact: SkipGraphs | None = None
        self._wide: SkipGraphs | None = None

    def infer(self, potentials: Parts, n_jobs: int) -> Found:
        """log Z and marginals of each sequence."""
        short = self._contraction.contract(potentials, n_jobs)
        if short is None:  # in logarithms, position by position
            plain = SkipParts(dict(potentials.arrays), potentials.offsets, self.pairs)
            return self._asked(plain, n_jobs, {})
        return self._contraction.expand(short, self._asked(short.parts, n_jobs, self._messages), n_jobs)

    def _asked(self, parts: SkipParts, n_jobs: int, messages: dict[str, Any]) -> Found:
        if self.method == "auto":
            return self._automatic(parts, n_jobs, messages)
        if self.method == "propagation":
            return self._propagated(parts, self.options, n_jobs, messages)
        return self.by_graphs(parts, self.method, self.options, n_jobs)

    # -- methods ------------------------------------------------------------------------------------

    def _propagated(
        self,
        parts: SkipParts,
        options: Mapping[str, Any],
        n_jobs: int,
        messages: dict[str, Any],
        chosen: NDArray[np.int64] | None = None,
    ) -> Found:
        """Belief propagation along the whole chain at once (native/skip_chain.hpp)."""
        settings = {**PROPAGATION, **options}
        given = {**self._given(parts, chosen), **settings, **messages}
        found: Found = _core.skip_chain(**given, n_jobs=n_jobs)
        if self.remembers:
            messages.update(start=found["messages"], level=found["level"])
        return self._completed(found, parts, "propagation", settings, n_jobs)

    def _reweighted(self, parts: SkipParts, wide: SkipGraphs, n_jobs: int, messages: dict[str, Any]) -> Found:
        """Tree-reweighted bounds of some sequences (native/skip_reweighted.hpp)."""
        steps, pairs = wide.shares(parts.n_positions, len(parts.pairs.scope), n_jobs)
        settings = dict(REWEIGHTED)
        if self.remembers:
            settings["max_iterations"] = min(CONTINUED, settings["max_iterations"])
        given = {**self._given(parts, wide.chosen), **settings, **messages}
        found: Found = _core.skip_reweighted(**given, step_share=steps, pair_share=pairs, n_jobs=n_jobs)
        if self.remembers:
            messages.update(start=found["messages"])
        return self._completed(found, parts, "tree_reweighted", settings, n_jobs)

    def _given(self, parts: SkipParts, chosen: NDArray[np.int64] | None) -> dict[str, Any]:
        """What the kernels take: the chains, and which of them are asked for."""
        mine = None if chosen is None else np.isin(np.arange(parts.n_sequences), chosen).astype(np.uint8)
        return {
            "node": np.ascontiguousarray(parts["node"], np.float64),
            "edge": np.ascontiguousarray(np.atleast_2d(parts["edge"]), np.float64),
            "offsets": parts.offsets,
            "scope": np.ascontiguousarray(parts.pairs.scope),
            "rows": parts.pairs.rows,
            "skip": np.ascontiguousarray(self._rows(parts, "skip"), np.float64),
            "chosen": mine,
        }

    def _completed(
        self, found: Found, parts: SkipParts, method: str, settings: Mapping[str, Any], n_jobs: int
    ) -> Found:
        """What the core returned, and from the graphs what its scaled sums could not hold."""
        found["converged"] = found["converged"].astype(bool)
        lost = np.flatnonzero(found["lost"])
        if len(lost):
            _put(found, self._answers(self._graphs(parts, lost), parts, method, settings, n_jobs))
        return found

    def _automatic(self, parts: SkipParts, n_jobs: int, messages: dict[str, Any]) -> Found:
        """Exact numbers where the junction tree is narrow, those of the method ``wide`` elsewhere."""
        exact, wide = self._divided(parts, n_jobs)
        method = self.options.get("wide", WIDE[0])
        if method == "propagation":
            rest = {name: value for name, value in self.options.items() if name in PROPAGATION}
            found = self._propagated(parts, rest, n_jobs, messages, wide.chosen)
        elif method == "tree_reweighted":
            found = self._reweighted(parts, wide, n_jobs, messages)
        else:
            found = self._nothing(parts)
            _put(found, self._answers(wide, parts, method, {}, n_jobs))
        if len(exact.chosen):
            log_z, arrays = exact.exact(self._arrays(parts), n_jobs)
            _put(found, {"chosen": exact.chosen, "rows": exact.rows, "parts": arrays, "log_partition": log_z})
        return found

    def _divided(self, parts: SkipParts, n_jobs: int) -> tuple[SkipGraphs, SkipGraphs]:
        """The graphs with narrow junction trees and the others, compiled once."""
        if self._exact is None or self._wide is None or parts.offsets is not self._contraction.rows:
            memory = budget(self.options.get("memory", NARROW_SUMS))
            every = self._graphs(parts, np.flatnonzero(np.diff(parts.offsets)))
            narrow = every.narrow(memory, n_jobs)
            graphs = self._graphs(parts, narrow), self._graphs(parts, np.setdiff1d(every.chosen, narrow))
            if parts.offsets is not self._contraction.rows:
                return graphs
            self._exact, self._wide = graphs
        return self._exact, self._wide

    def by_graphs(self, parts: SkipParts, method: str, options: Mapping[str, Any], n_jobs: int) -> Found:
        """Numbers of all sequences by a method of graphs/."""
        graphs = self._graphs(parts, np.flatnonzero(np.diff(parts.offsets)))
        found = self._nothing(parts)
        _put(found, self._answers(graphs, parts, method, options, n_jobs))
        return found

    def _answers(
        self, graphs: SkipGraphs, parts: SkipParts, method: str, options: Mapping[str, Any], n_jobs: int
    ) -> Found:
        """Numbers of some sequences, by inference on their factor graphs; first rows of steps are 0."""
        answers, arrays = graphs.infer(self._arrays(parts), method, n_jobs, options)
        found: Found = {"chosen": graphs.chosen, "rows": graphs.rows, "parts": arrays}
        for name in ("log_partition", "residual"):
            found[name] = np.array([float(getattr(one, name)) for one in answers])
        found["converged"] = np.array([one.converged for one in answers], bool)
        found["iterations"] = np.array([one.iterations for one in answers], np.int64)
        return found

    def _nothing(self, parts: SkipParts) -> Found:
        """Numbers of sequences without positions, for all."""
        n, N = self.n, len(parts.offsets) - 1
        return {
            "node": np.zeros((parts.n_positions, n)),
            "edge": np.zeros((parts.n_positions, n * n)),
            "skip": np.zeros((len(parts.pairs.scope), n * n)),
            "log_partition": np.zeros(N),
            "residual": np.zeros(N),
            "converged": np.ones(N, bool),
            "iterations": np.zeros(N, np.int64),
        }

    def _graphs(self, parts: SkipParts, chosen: Any) -> SkipGraphs:
        return SkipGraphs(parts.offsets, parts.pairs.scope, parts.pairs.rows, self.n, chosen)

    def _arrays(self, parts: SkipParts) -> dict[str, Any]:
        return {name: self._rows(parts, name) for name in PARTS}

    def _rows(self, parts: SkipParts, name: str) -> NDArray[np.float64]:
        n = len(parts.pairs.scope) if name == "skip" else parts.n_positions
        return np.broadcast_to(parts[name], (n, parts[name].shape[-1]))


def _put(found: Found, others: Found) -> None:
    """The numbers of some sequences into those of all; exact ones have no iterations."""
    absent = {"converged": True, "iterations": 0, "residual": 0.0}
    for name in ("log_partition", *absent):
        found[name][others["chosen"]] = others[name] if name in others else absent[name]
    for name, rows in others["rows"].items():
        found[name][rows] = others["parts"][name]


def checked_options(options: Mapping[str, Any], *, exact: bool = False) -> dict[str, Any]:
    """The options of belief propagation along the chain, or an InputError."""
    from fieldcraft.structures.graphs.propagation import checked

    more = {name: options[name] for name in ("memory", "wide") if exact and name in options}
    budget(more.get("memory", NARROW_SUMS))  # raises errors
    if more.get("wide", WIDE[0]) not in WIDE:
        raise InputError(f"wide={more['wide']!r}; give one of {', '.join(WIDE)}")
    unknown = [name for name in options if name not in (*PROPAGATION, *more)]
    if unknown:
        raise InputError(
            f"propagation along a chain has no option {unknown[0]!r}; it has {', '.join(PROPAGATION)}"
        )
    chosen = {**PROPAGATION, **{name: value for name, value in options.items() if name not in more}}
    _, most, tolerance, damping = checked("tree", *chosen.values())
    whole_number(most, "max_iterations", 1)
    return {"max_iterations": most, "tolerance": tolerance, "damping": damping, **more}

"""The tables of methods: which names ``infer`` and ``decode`` know, and the choice by name.

A method takes a batch, ``n_jobs`` and its own options, and returns one answer per graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.threads import resolve_jobs

if TYPE_CHECKING:
    from fieldcraft.structures.graph import FactorGraph

HERE = "fieldcraft.structures.graphs."
INFERENCES = {  # name: module and function
    "auto": "automatic.infer",
    "quick": "quick.infer",
    "brute_force": "brute_force.infer",
    "forest": "junction_tree.infer_forest",
    "junction_tree": "junction_tree.infer",
    "propagation": "propagation.infer",
    "tree_reweighted": "propagation.infer_reweighted",
    "mean_field": "mean_field.infer",
    "gibbs": "gibbs.infer",
    "importance_sampling": "importance_sampling.infer",
}
DECODINGS = {
    "auto": "automatic.decode",
    "quick": "quick.decode",
    "brute_force": "brute_force.decode",
    "forest": "junction_tree.decode_forest",
    "junction_tree": "junction_tree.decode",
    "propagation": "propagation.decode",
    "icm": "icm.decode",
    "linear_programme": "linear_programme.decode",
    "ilp": "linear_programme.decode_integer",
    "dual_decomposition": "dual_decomposition.decode",
    "cuts": "cuts.decode",
}


def infer(
    graphs: GraphBatch | Sequence[FactorGraph],
    method: str = "auto",
    *,
    n_jobs: int | None = None,
    **options: Any,
) -> list[Inference]:
    """log Z and marginals of many graphs, threads over graphs.

    Parameters
    ----------
    graphs : a list of graphs, or a ``GraphBatch``, which is compiled once for many calls
    method, options : those of ``FactorGraph.infer``
    """
    return _batch_of(graphs).infer(method, n_jobs=n_jobs, **options)


def decode(
    graphs: GraphBatch | Sequence[FactorGraph],
    method: str = "auto",
    *,
    n_jobs: int | None = None,
    **options: Any,
) -> list[Decoding]:
    """A best assignment of each of many graphs, threads over graphs.

    Parameters
    ----------
    graphs : a list of graphs, or a ``GraphBatch``, which is compiled once for many calls
    method, options : those of ``FactorGraph.decode``
    """
    return _batch_of(graphs).decode(method, n_jobs=n_jobs, **options)


def _batch_of(graphs: Any) -> GraphBatch:
    return graphs if isinstance(graphs, GraphBatch) else GraphBatch(graphs)


def infer_batch(
    batch: GraphBatch, method: str, n_jobs: int | None, options: dict[str, Any]
) -> list[Inference]:
    """Answers of the inference with that name."""
    function = _chosen(INFERENCES, "inference", method, options)
    found: list[Inference] = function(batch, n_jobs=resolve_jobs(n_jobs), **options)
    return found


def decode_batch(
    batch: GraphBatch, method: str, n_jobs: int | None, options: dict[str, Any]
) -> list[Decoding]:
    """Answers of the decoding with that name."""
    function = _chosen(DECODINGS, "decoding", method, options)
    found: list[Decoding] = function(batch, n_jobs=resolve_jobs(n_jobs), **options)
    return found


def option_names(kind: str, method: str) -> list[str]:
    """The options of a method; ``kind`` is "infer" or "decode"."""
    tables = {"infer": INFERENCES, "decode": DECODINGS}
    return _option_names(_function(tables[kind], kind, method))


def choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    """An option that is one of a few names."""
    if value not in known:
        raise InputError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
    return str(value)


def _function(table: dict[str, str], kind: str, method: Any) -> Callable[..., Any]:
    if method not in table:
        raise InputError(f"{kind} method {method!r} is not known; there are {', '.join(table)}")
    module, _, name = table[method].rpartition(".")
    function: Callable[..., Any] = getattr(import_module(HERE + module), name)
    return function


def _option_names(function: Callable[..., Any]) -> list[str]:
    return [key for key in inspect.signature(function).parameters if key not in ("batch", "n_jobs")]


def _chosen(table: dict[str, str], kind: str, method: Any, options: dict[str, Any]) -> Callable[..., Any]:
    function = _function(table, kind, method)
    known = _option_names(function)
    unknown = [key for key in options if key not in known]
    if unknown:
        listed = ", ".join(known) or "none"
        raise InputError(f"{method} has no option {unknown[0]!r}; its options are: {listed}")
    return function

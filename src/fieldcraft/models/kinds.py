"""Kinds of models: the class that a model file needs.

A file names its kind, never a module. ``KINDS`` maps the name to a class, or to "module:name" of a class
that is imported when a file needs it. ``register_kind`` adds models that are defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError

if TYPE_CHECKING:
    from fieldcraft.models.model import Model
    from fieldcraft.models.parameters import Parameters
    from fieldcraft.models.voting import Voters
    from fieldcraft.structures.structure import Structure

KINDS: dict[str, str | type[Model]] = {
    "chain": "fieldcraft.models.chain:ChainCRF",
    "segments": "fieldcraft.models.segments:SegmentCRF",
    "skip_chain": "fieldcraft.models.skip_chain:SkipChainCRF",
    "graph": "fieldcraft.models.graph:GraphCRF",
    "collective": "fieldcraft.models.collective:CollectiveClassifier",
    "multi_label": "fieldcraft.models.multi_label:MultiLabelCRF",
    "grid": "fieldcraft.models.grid:GridCRF",
    "factorial": "fieldcraft.models.factorial:FactorialCRF",
    "hidden": "fieldcraft.models.hidden:HiddenCRF",
    "hmm": "fieldcraft.models.hmm:HMM",
    "memm": "fieldcraft.models.local_chain:MEMM",
    "cmm": "fieldcraft.models.local_chain:CMM",
    "logistic": "fieldcraft.models.logistic:LogisticRegression",
    "naive_bayes": "fieldcraft.models.naive_bayes:NaiveBayes",
    "log_pool": "fieldcraft.pools.logarithmic:LogOpinionPool",
    "linear_pool": "fieldcraft.pools.linear:LinearOpinionPool",
    "coded": "fieldcraft.pools.coded:CodedCRF",
}
NEEDED = ("get_params", "structure_for", "_settle")


class Storable(Protocol):
    """Methods that saving, loading and pickling call.

    Its class must be callable without arguments. The constructor's parameters are stored under their names;
    those of the training (templates, prior, optimiser, objective …) are stored with the training.
    """

    classes_: NDArray[np.object_]
    _parameters: Parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor with their current values."""

    def structure_for(self, labels: Sequence[str]) -> Structure:
        """The structure of a model with these labels, according to its parameters."""

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        """Become fitted."""

    def _require_fitted(self) -> None: ...


def register_kind(name: str, kind: type[Model]) -> None:
    """Register a class so that ``save`` and ``fc.load`` can store its models.

    Parameters
    ----------
    name : the kind that the file names
    kind : a subclass of ``Model`` (the type that ``fc.load`` declares), for example of ``ChainCRF``;
        at run time any class with the methods of ``Storable`` is accepted

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> class Tagger(ChainCRF):
    ...     "A chain with other defaults."
    >>> register_kind("tagger", Tagger)
    >>> kind_of(Tagger())
    'tagger'
    """
    if not isinstance(name, str) or not name:
        raise InputError(f"kind {name!r}; give a name")
    known = KINDS.get(name)
    if known is not None and _path(known) != _path(kind):
        raise InputError(
            f"the kind {name!r} is {_path(known)} already; choose another name for {_path(kind)}"
        )
    missing = [method for method in NEEDED if not callable(getattr(kind, method, None))]
    if missing:
        raise InputError(f"{kind.__name__} has no method {', '.join(missing)}, which saving and loading need")
    KINDS[name] = kind


def kind_of(model: Any) -> str:
    """The name under which a model is stored: that of its class, or of the nearest class it inherits from."""
    paths = {_path(kind): name for name, kind in KINDS.items()}
    for kind in type(model).__mro__:
        if _path(kind) in paths:
            return paths[_path(kind)]
    name = type(model).__name__
    raise InputError(f"{name} has no kind to be stored under; call register_kind(name, {name}) once")


def resolve_kind(name: Any) -> type[Model] | None:
    """The class of a kind, imported on demand; None if the name is unknown."""
    kind = KINDS.get(name) if isinstance(name, str) else None
    if isinstance(kind, str):
        module, _, attribute = kind.partition(":")
        kind = getattr(import_module(module), attribute)
    return kind


def _path(kind: str | type[object]) -> str:
    return kind if isinstance(kind, str) else f"{kind.__module__}:{kind.__qualname__}"

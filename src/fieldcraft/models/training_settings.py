"""What a training needs to know of an estimator, as plain values; and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from fieldcraft import design as design_
from fieldcraft.models.parameters import Parameters
from fieldcraft.objectives import Objective
from fieldcraft.optimisers import Optimiser
from fieldcraft.optimisers.loop import Outcome
from fieldcraft.priors import Prior
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class Settings:
    """Settings of a training: parameters of an estimator of the same names, as far as it has them.

    ``structure_for`` makes the structure of a model over given labels.
    """

    structure_for: Callable[[Sequence[str]], Structure]
    templates: Any = None
    prior: Any = "auto"
    optimiser: Any = "auto"
    objective: Any = None
    labels: Any = None
    label_weights: Any = None
    features: str = "supported"
    min_count: int = 1
    decoding: str = "viterbi"
    metric: Any = "auto"
    gazetteers: Any = None
    hash_size: int | None = None
    edge_prefix: str | None = None
    tokenizer: Any = "words"
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: bool = False

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Those of an estimator."""
        named = {f.name: getattr(estimator, f.name) for f in fields(cls) if hasattr(estimator, f.name)}
        return cls(**named)


class Known(NamedTuple):
    """What a trained model knows, for trainings that go on from it."""

    parameters: Parameters
    classes: list[str]
    provenance: dict[str, Any]


class SharedDesign(NamedTuple):
    """Sequences with their labels as training reads them."""

    encoder: design_.Encoder
    design: design_.Design
    labels: list[Any]
    provenance: dict[str, Any]


class Trained(NamedTuple):
    """The result of a training: what an estimator stores."""

    parameters: Parameters
    classes: list[str]
    outcome: Outcome
    objective: Objective
    optimiser: Optimiser
    prior: Prior
    provenance: dict[str, Any]

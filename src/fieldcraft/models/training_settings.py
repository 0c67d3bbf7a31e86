"""The parameters of models of sequences, what a training reads besides them, and what it returns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from fieldcraft import design as design_
from fieldcraft.models.parameters import Parameters
from fieldcraft.objectives import Objective
from fieldcraft.optimisers import Optimiser
from fieldcraft.optimisers.loop import Outcome
from fieldcraft.priors import Prior
from fieldcraft.problems.curvatures import largest_value
from fieldcraft.problems.dual import edge_entries


@dataclass(repr=False, eq=False)
class Settings:
    """The parameters of models of sequences, which inherit them; a plain copy is what a training reads.

    A subclass whose constructor takes fewer has the others as class attributes, with these values.
    """

    templates: Any = None
    _: KW_ONLY
    prior: Any = "auto"
    optimiser: Any = "auto"
    objective: Any = None
    labels: Any = None
    label_weights: Any = None
    features: str = "supported"
    min_count: int = 1
    states: Any = "labels"
    constraints: Any = None
    beam: Any = None
    decoding: str = "viterbi"
    metric: Any = "auto"
    gazetteers: Any = None
    functions: Any = None
    hash_size: int | None = None
    edge_prefix: str | None = None
    tokenizer: Any = "words"
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: int = 0
    verbose: bool = False

    @classmethod
    def of(cls, model: Settings) -> Settings:
        """A copy of the parameters of a model."""
        return cls(**{field.name: getattr(model, field.name) for field in fields(cls)})


class Known(NamedTuple):
    """A trained model, for trainings that continue from it."""

    parameters: Parameters
    classes: list[str]
    provenance: dict[str, Any]


class Facts(NamedTuple):
    """Numbers of a training corpus.

    largest : the attribute with the largest value, and that value
    negative : are some values negative
    edge_entries : how often features of label pairs that look at the input occur
    """

    sequences: int
    tokens: int
    largest: tuple[int, float]
    negative: bool
    edge_entries: int

    @classmethod
    def of(cls, design: design_.Design) -> Facts:
        """Those of a design."""
        values = design.encoded.values
        negative = values is not None and bool(np.any(values < 0))
        numbers = design.n_sequences, len(design.gold), largest_value(design)
        return cls(*numbers, negative, edge_entries(design))


class SharedDesign(NamedTuple):
    """Sequences with their labels, encoded for training."""

    encoder: design_.Encoder
    design: design_.Design
    labels: list[Any]
    provenance: dict[str, Any]


class Trained(NamedTuple):
    """The result of a training, which the estimator stores."""

    parameters: Parameters
    classes: list[str]
    outcome: Outcome
    objective: Objective
    optimiser: Optimiser
    prior: Prior
    provenance: dict[str, Any]

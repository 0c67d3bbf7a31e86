"""The content of a trained model: encoder, features, weights and structure.

Features are stored in the layout used for scoring; the full index, one row per weight, is built on demand.
The arrays of a loaded model are mapped from its file: loading takes milliseconds, and processes share pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder, windows_of
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.packed import PackedIndex, laid_out
from fieldcraft.features.stored import StoredIndex
from fieldcraft.potentials import ChainWeights, FeatureTable, StateWeights, TableWeights
from fieldcraft.store.files import NEWEST
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """How the probabilities of a model are corrected (calibration.py).

    Parameters
    ----------
    temperature : divides all potentials
    powers : [Y] exponents of the node marginals p(y_t | x), which are normalised again; None for all 1
    """

    temperature: float = 1.0
    powers: tuple[float, ...] | None = None

    def node(self, marginals: Floats) -> Floats:
        """[positions, Y] the corrected node marginals."""
        if self.powers is None:
            return marginals
        with np.errstate(divide="ignore"):
            logs = np.log(marginals) * np.array(self.powers)
        logs -= logs.max(axis=1, keepdims=True)
        shares: Floats = np.exp(logs)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def to_header(self) -> dict[str, Any]:
        """Entries of a model file; an earlier version, which would ignore them, refuses the file."""
        if self == UNCALIBRATED:
            return {}
        powers = None if self.powers is None else [*self.powers]
        described = {"temperature": self.temperature, "powers": powers}
        return {"format": NEWEST, "requires": ["calibration"], "calibration": described}

    @classmethod
    def from_header(cls, described: Any, n_labels: int) -> Calibration:
        """Undo ``to_header``; ValueError where the numbers make no sense."""
        if described is None:
            return UNCALIBRATED
        temperature, powers = float(described["temperature"]), described["powers"]
        numbers = [temperature, *map(float, powers or ())]
        if not all(0 < number < np.inf for number in numbers) or len(numbers) not in (1, 1 + n_labels):
            raise ValueError(f"a calibration {described!r} for {n_labels} labels")
        return cls(temperature, tuple(numbers[1:]) or None)


UNCALIBRATED = Calibration()


class Scoring:
    """Features of a structure: makes scorers from weights.

    The core scores chains of plain labels and reads the features in place; other structures use a feature
    table.

    Parameters
    ----------
    features : the features
    structure : the structure of the model
    """

    def __init__(self, features: StoredIndex, structure: Structure) -> None:
        self.features = features
        self.structure = structure

    @classmethod
    def of(cls, index: FeatureIndex, structure: Structure) -> Scoring:
        """From a feature index."""
        return cls(laid_out(index, n_numbers(structure)), structure)

    @cached_property
    def index(self) -> FeatureIndex:
        """The features without their templates, which are not used here; checks every number."""
        self.features.check()
        no_template = np.full(self.features.n_attributes, -1, np.int32)
        return self.features.index(no_template, np.zeros((0, 2), np.int32))

    @cached_property
    def table(self) -> FeatureTable:
        """The features by part and attribute."""
        return FeatureTable(self.index, self.structure.configurations())

    def scorer(self, placed: Floats) -> Any:
        """A scorer with weights [F] in the order of ``features``; they are not copied."""
        if len(placed) != len(self.features) or placed.ndim != 1:
            raise ValueError(f"weights of shape {placed.shape} for {len(self.features)} features")
        if isinstance(self.features, PackedIndex) and is_native(self.structure):
            return ChainWeights(self.features, placed)  # checks every number
        if isinstance(self.structure, LinearChain) and self.structure.is_native:
            return StateWeights(self.index, self.features.features(placed), self.structure.states)
        return TableWeights(self.table, self.features.features(placed), self.structure)

    def scorer_of(self, weights: Floats) -> Any:
        """The same for weights in the order of the feature index."""
        return self.scorer(self.features.places(np.ascontiguousarray(weights, np.float64)))


def is_native(structure: Structure) -> bool:
    """Whether the core computes the potentials, as it does for chains of plain labels."""
    return isinstance(structure, LinearChain) and structure.is_plain


def n_numbers(structure: Structure) -> int:
    """How many different numbers label configurations have."""
    if is_native(structure):
        return structure.n_states
    tables = structure.configurations().values()
    return max(structure.n_states, *(int(table.max(initial=-1)) + 1 for table in tables))


class Parameters:
    """Features with their weights.

    Parameters
    ----------
    encoder : sequences -> attributes
    packed : the features
    trained : [F] their weights as training left them, in the order of ``packed``
    structure : the structure of the model
    calibration : its temperature divides the weights ``placed`` and ``weights``, and so all potentials
    """

    def __init__(
        self,
        encoder: Encoder,
        packed: StoredIndex,
        trained: Floats,
        structure: Structure,
        calibration: Calibration = UNCALIBRATED,
    ) -> None:
        if packed.n_attributes != encoder.n_attributes:
            raise ValueError(f"features of {packed.n_attributes} attributes, not of {encoder.n_attributes}")
        self.encoder = encoder
        self.packed = packed
        self.trained = trained
        self.calibration = calibration
        heat = calibration.temperature
        self.placed = placed = trained if heat == 1.0 else trained / heat  # [F]
        self.structure = structure
        self.scoring = Scoring(packed, structure)
        self.scorer = self.scoring.scorer(placed)
        if not placed.all():
            self.scorer = self._active_scorer()

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        index: FeatureIndex,
        weights: Floats,
        structure: Structure,
        calibration: Calibration = UNCALIBRATED,
    ) -> Parameters:
        """From an index and weights in its order, which are copied."""
        packed = laid_out(index, n_numbers(structure))
        placed = np.array(packed.places(np.asarray(weights, np.float64)))
        return cls(encoder, packed, placed, structure, calibration)

    @cached_property
    def index(self) -> FeatureIndex:
        """One row per weight."""
        return self.packed.index(self.encoder.attribute_template, windows_of(self.encoder))

    @cached_property
    def weights(self) -> Floats:
        """[F] in the order of ``index``; read-only, since predictions use copies."""
        view: Floats = self.packed.features(self.placed).view()
        view.flags.writeable = False
        return view

    def calibrated(self, calibration: Calibration) -> Parameters:
        """The same features and trained weights with another calibration."""
        if calibration == self.calibration:
            return self
        return Parameters(self.encoder, self.packed, self.trained, self.structure, calibration)

    @cached_property
    def ranker(self) -> Any:
        """The scorer of the trained weights; None where it is ``scorer``."""
        plain = self.calibrated(UNCALIBRATED)
        return None if plain.calibration.temperature == self.calibration.temperature else plain.scorer

    @property
    def trained_weights(self) -> Floats:
        """[F] as training left them, in the order of ``index``."""
        return self.packed.features(self.trained)

    def _active_scorer(self) -> Any:
        """A scorer without the zeros, which cost time; sums have the order of ``without_zeros``."""
        active = self.weights != 0
        return Scoring.of(self.index.select(active), self.structure).scorer_of(self.weights[active])

    def without_zeros(self) -> Parameters:
        """The features whose weight is not 0, and their attributes; predictions stay the same."""
        active = self.weights != 0
        if active.all():
            return self
        index, weights = self.index.select(active), self.trained_weights[active]
        if self.encoder.hash_size is not None:
            return Parameters.of(self.encoder, index, weights, self.structure, self.calibration)
        kept, attribute = np.unique(index.attribute[index.attribute >= 0], return_inverse=True)
        column = index.attribute.copy()
        column[column >= 0] = attribute
        encoder = self.encoder.keep(kept.astype(np.int64))
        index = index.with_attributes(column, len(kept))
        return Parameters.of(encoder, index, weights, self.structure, self.calibration)

"""GridCRF: the cells of an image are labelled together.

    p(y | x) = exp(sum over cells c of <x_c, weights of y_c>
                   + sum over neighbours c, d of <x_cd, weights of the direction and of y_c, y_d>) / Z(x)

A cell looks at its features and a constant; a pair of neighbours at a constant and, with ``ends``, at the
features of both cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.models.graph import GraphCRF
from fieldcraft.models.graph_training import GraphTraining
from fieldcraft.models.images import DIRECTIONS, cliques_of, images_of, labels_of, named_cells
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.cliques import TYINGS, Clique, GraphInstance

Floats = NDArray[np.float64]
QUICK = "quick"  # "auto" of grids


class GridCRF(GraphCRF):
    """Labels the cells of images.

    Parameters
    ----------
    directions : which neighbours depend on each other directly: some of "right", "down", "down_right" and
        "down_left"
    tying : weights of a pair: "full" (one for each pair of labels), "same" (equal or not) or "agreement" (one
        for each label that both have)
    isotropic : all directions share their weights
    ends : pairs look at the features of both cells, the left or upper one first
    labels : the labels, in order; None for those that occur
    inference, decoding : as for GraphCRF; "auto" is the method "quick" of factor graphs: exact on narrow
        images, else belief propagation, and cuts where neighbours attract each other
    others : as for GraphCRF

    Examples
    --------
    >>> dark, light = np.zeros((3, 3)), np.ones((3, 3))
    >>> halves = np.concatenate([dark, light], axis=1)
    >>> model = GridCRF(tying="same").fit([halves], [halves.astype(int)])
    >>> model.predict([halves])[0].tolist()
    [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    """

    def __init__(
        self,
        directions: Sequence[str] = ("right", "down"),
        *,
        tying: str = "full",
        isotropic: bool = False,
        ends: bool = False,
        labels: Any = None,
        inference: Any = "auto",
        decoding: Any = "auto",
        objective: Any = None,
        prior: Any = "auto",
        optimiser: Any = "auto",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.directions, self.tying, self.isotropic, self.ends = directions, tying, isotropic, ends
        self.labels, self.inference, self.decoding = labels, inference, decoding
        self.objective, self.prior, self.optimiser = objective, prior, optimiser
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose

    def fit(self, X: Any, y: Any, **options: Any) -> GridCRF:  # type: ignore[override]
        """Train on images with their labels.

        Parameters
        ----------
        X : images, each an array [H, W, A] of features, or [H, W] for one feature; sizes may differ
        y : for each image the labels [H, W], whole numbers; -1 where unknown
        options : those of ``GraphCRF.fit``; ``X_dev, y_dev`` are held-out images and labels
        """
        images, labels = images_of(X), labels_of(y)
        names = self._declared(labels)
        width = images[0].shape[2] if images else 0
        self.cliques = [Clique("cell"), *(Clique(name, self._tied()) for name in self._templates())]
        held_out = options.pop("X_dev", None)
        if held_out is not None:
            given = images_of(held_out, width), labels_of(options.pop("y_dev", None))
            options["X_dev"] = self._built(*given, names)
        self._names = names
        super().fit(self._built(images_of(images, width), labels, names), **options)
        self._n_features = width
        return self

    def predict(self, X: Any) -> list[NDArray[np.int64]]:  # type: ignore[override]
        """The labels of each image, [H, W]."""
        found, numbers = self.decode_states(X), self.classes_.astype(np.int64)
        return [numbers[states].reshape(image.shape[:2]) for states, image in zip(found, images_of(X))]

    def decode_states(self, X: Any) -> list[NDArray[np.int32]]:
        """The positions in ``classes_`` of the labels of each image [H * W], row by row."""
        return self._ask_graphs(self._instances(X), lambda of, w: of.best(w))

    def predict_proba(self, X: Any) -> list[Floats]:  # type: ignore[override]
        """The probability of each label at each cell [H, W, Y], in the order of ``classes_``."""
        answers = self.infer(X)
        return [
            np.array(one.variables).reshape(*image.shape[:2], len(self.classes_))
            for one, image in zip(answers, images_of(X))
        ]

    def infer(self, X: Any) -> list[Inference]:  # type: ignore[override]
        """log Z and marginals of each image; cells row by row."""
        return super().infer(self._instances(X))

    def decode(self, X: Any) -> list[Decoding]:  # type: ignore[override]
        """The labels of each image, row by row, with their log-probability, and whether they are proved."""
        return super().decode(self._instances(X))

    def log_probability(self, X: Any, y: Any) -> Floats:  # type: ignore[override]
        """[N] log p(y | x) of the known labels of each image."""
        return super().log_probability(self._instances(X, labels_of(y)))

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        """The share of known labels that are predicted."""
        return super().score(self._instances(X, labels_of(y)))

    def _training(self, **options: Any) -> GraphTraining:
        training = super()._training(**options)
        training.settings.labels = self._names
        return training

    def _methods(self) -> Any:
        return tuple(
            (QUICK, given) if name == "auto" else (name, given) for name, given in super()._methods()
        )

    def _declared(self, labels: list[NDArray[np.int64]]) -> list[str]:
        """The names of the labels: their numbers as text, in increasing order unless declared."""
        seen = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.ravel() for one in labels)]))
        seen = seen[seen != -1]
        if self.labels is None:
            return [str(number) for number in seen]
        declared = [str(label) for label in self.labels]
        missing = [str(number) for number in seen if str(number) not in declared]
        if missing:
            raise InputError(f"y has the label {missing[0]}; labels= has {', '.join(declared)}")
        return declared

    def _tied(self) -> str:
        if self.tying not in TYINGS:
            raise InputError(f"tying={self.tying!r}; give {', '.join(TYINGS)}")
        return self.tying

    def _templates(self) -> list[str]:
        """The names of the clique templates of pairs."""
        names = [self.directions] if isinstance(self.directions, str) else list(self.directions)
        unknown = [name for name in names if name not in DIRECTIONS]
        if unknown or len(set(names)) < len(names):
            raise InputError(
                f"directions={self.directions!r}; give some of {', '.join(DIRECTIONS)}, once each"
            )
        return ["neighbour"] if self.isotropic and names else names

    def _instances(self, X: Any, labels: list[NDArray[np.int64]] | None = None) -> list[GraphInstance]:
        self._require_fitted()
        return self._built(images_of(X, self._n_features), labels, self.classes_.tolist())

    def _built(
        self, images: list[Floats], labels: list[NDArray[np.int64]] | None, names: list[str]
    ) -> list[GraphInstance]:
        """Images as graphs."""
        if labels is not None and len(labels) != len(images):
            raise InputError(f"{len(images)} images, labels of {len(labels)}; give one array [H, W] for each")
        directions = [self.directions] if isinstance(self.directions, str) else list(self.directions)
        out = []
        for i, image in enumerate(images):
            known = None if labels is None else named_cells(i, labels[i], image.shape[:2], names)
            cliques = cliques_of(image, directions, ends=self.ends, isotropic=self.isotropic)
            out.append(GraphInstance(image.shape[0] * image.shape[1], cliques, known))
        return out

    def _beside(self, parameters: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        described, arrays = super()._beside(parameters)
        return {**described, "n_features": self._n_features}, arrays

    def _prepare(self, header: dict[str, Any]) -> None:
        super()._prepare(header)
        self._templates()
        if type(header["n_features"]) is not int or not 0 <= header["n_features"] < 1 << 30:
            raise ValueError(f"{header['n_features']!r} features")
        self._n_features = header["n_features"]

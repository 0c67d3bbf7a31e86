"""The estimator that every model of sequences is: parameters, training, answers, files.

A kind of model says on which structure it runs (``structure_for``), and registers a name for its files
(kinds.py). It adds no training and no answers.
"""

from __future__ import annotations

from typing import Any

from fieldcraft.models.learner import Learner


class SequenceModel(Learner):
    """Base class of models of sequences; a subclass defines ``structure_for(labels)``.

    Parameters
    ----------
    states : for structures whose states are not the labels; see the subclass
    others : see ChainCRF
    """

    # -- persistence ------------------------------------------------------------------------------

    def save(
        self,
        path: Any,
        *,
        compact: bool = False,
        float32: bool = False,
        zeros: bool = False,
        checksums: bool = False,
    ) -> None:
        """Write the model to one file, whole or not at all.

        Parameters
        ----------
        compact : leave out the features' counts, which only inspection needs
        float32 : store the weights in half the room, rounded
        zeros : store also the features whose weight is exactly 0, which change no answer
        checksums : store digests of all arrays, which loading compares; it then reads the whole file
        """
        from fieldcraft.models.persistence import save

        save(self, path, compact=compact, float32=float32, zeros=zeros, checksums=checksums)

    def __getstate__(self) -> dict[str, Any]:
        from fieldcraft.models.persistence import freeze

        return freeze(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from fieldcraft.models.persistence import thaw

        thaw(self, state)


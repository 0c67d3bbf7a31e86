"""What every trained model is: predictions, saving and pickling."""

from __future__ import annotations

from typing import Any

from fieldcraft.models.answers import Answers


class Model(Answers):
    """An estimator that is stored as one file (persistence.py), and pickled as the content of that file."""

    def save(
        self,
        path: Any,
        *,
        compact: bool = False,
        float32: bool = False,
        zeros: bool = False,
        checksums: bool = True,
    ) -> None:
        """Write the model to one file, whole or not at all.

        Parameters
        ----------
        compact : omit the counts of the features, which only inspection needs
        float32 : store the weights in single precision
        zeros : store also the features whose weight is exactly 0, which change no prediction
        checksums : store checksums of all parts of the file, so that damage is an error when it is loaded
        """
        from fieldcraft.models.persistence import save

        save(self, path, compact=compact, float32=float32, zeros=zeros, checksums=checksums)

    def __getstate__(self) -> dict[str, Any]:
        from fieldcraft.models.persistence import freeze

        return freeze(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from fieldcraft.models.persistence import thaw

        thaw(self, state)

"""scikit-learn's base class of estimators where it is installed, else an empty one.

Only ``fieldcraft.compat`` derives from it: ``import fieldcraft`` and ``fc.ChainCRF`` do without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class BaseEstimator:
        """scikit-learn has no types."""

else:
    try:
        from sklearn.base import BaseEstimator
    except ImportError:

        class BaseEstimator:
            """Nothing: fieldcraft's estimators follow the conventions by themselves."""


__all__ = ["BaseEstimator"]

"""The base class of all models of sequences: parameters, training, predictions, files.

A kind of model defines its structure (``structure_for``) and registers a name for its files (kinds.py).
Training and predictions are inherited.
"""

from __future__ import annotations

from fieldcraft.models.learner import Learner
from fieldcraft.models.model import Model


class SequenceModel(Learner, Model):
    """Base class of models of sequences; a subclass defines ``structure_for(labels)``.

    Parameters
    ----------
    states : for structures whose states are not the labels; see the subclass
    others : see ChainCRF
    """

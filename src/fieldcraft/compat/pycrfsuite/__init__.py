"""python-crfsuite's classes: ``from fieldcraft.compat import pycrfsuite`` in place of ``import pycrfsuite``.

Model files are in fieldcraft's format. CRFSUITE_VERSION is the version of CRFsuite that they behave like.
"""

from fieldcraft.compat.pycrfsuite.base_trainer import BaseTrainer
from fieldcraft.compat.pycrfsuite.dump import ParsedDump
from fieldcraft.compat.pycrfsuite.errors import ClosedTaggerError, CRFSuiteError
from fieldcraft.compat.pycrfsuite.items import ItemSequence
from fieldcraft.compat.pycrfsuite.log import LabelScore, TrainingLog
from fieldcraft.compat.pycrfsuite.tagger import Tagger
from fieldcraft.compat.pycrfsuite.trainer import Trainer

CRFSUITE_VERSION = "0.12.2"

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ClosedTaggerError",
    "ItemSequence",
    "LabelScore",
    "ParsedDump",
    "Tagger",
    "Trainer",
    "TrainingLog",
]

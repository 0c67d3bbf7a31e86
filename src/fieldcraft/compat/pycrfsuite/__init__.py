"""python-crfsuite's classes: ``from fieldcraft.compat import pycrfsuite`` in place of ``import pycrfsuite``.

Model files are in fieldcraft's format.
"""

from fieldcraft.compat.pycrfsuite.dump import ParsedDump
from fieldcraft.compat.pycrfsuite.items import ItemSequence
from fieldcraft.compat.pycrfsuite.log import LabelScore, TrainingLog
from fieldcraft.compat.pycrfsuite.tagger import Tagger
from fieldcraft.compat.pycrfsuite.trainer import Trainer

__all__ = ["ItemSequence", "LabelScore", "ParsedDump", "Tagger", "Trainer", "TrainingLog"]

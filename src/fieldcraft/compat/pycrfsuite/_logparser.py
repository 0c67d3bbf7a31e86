"""The names of python-crfsuite's module for programs that import it."""

from fieldcraft.compat.pycrfsuite.log import LabelScore, TrainingLog

TrainLogParser = TrainingLog

__all__ = ["LabelScore", "TrainLogParser"]

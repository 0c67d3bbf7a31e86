"""Errors that a user can cause. Each says where, the rule, what was given and the remedy."""

import re

from fieldcraft.terminal import visible


class FieldcraftError(ValueError):
    """Anything that fieldcraft refuses; the subclasses say in which stage."""

    def __str__(self) -> str:
        """The message; what a terminal cannot show or would interpret (in a label) stands there escaped."""
        return visible(super().__str__())


class CorpusError(FieldcraftError):
    """A corpus, its columns or its labels are not as they must be."""


class EmptyCorpusError(CorpusError):
    """A source holds no sequence at all."""


class TemplateError(FieldcraftError):
    """A template does not parse, or asks for a column that is not there."""


class InputError(FieldcraftError):
    """Features, labels or parameters handed to an estimator are not usable."""


class ModelFileError(FieldcraftError):
    """A model file is damaged, hostile or from another world."""


class TrainingWarning(UserWarning):
    """A training ended without having reached what it was meant to reach."""


class NotFittedError(FieldcraftError, AttributeError):
    """An estimator was asked for answers before it was trained."""


def renumbered(message: str, first: int) -> str:
    """A message about a sequence of a block, which begins with sequence ``first`` of the batch.

    >>> renumbered("sequence 2: no labelling is possible", 10)
    'sequence 12: no labelling is possible'
    """
    return re.sub(r"^sequence (\d+)", lambda match: f"sequence {int(match[1]) + first}", message)

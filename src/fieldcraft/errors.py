"""Errors that a user can cause. Each says where, the rule, what was given and the remedy."""

from fieldcraft.terminal import visible


class FieldcraftError(ValueError):
    """Anything that fieldcraft refuses; the subclasses say in which stage."""

    def __str__(self) -> str:
        """The message, with characters that a terminal cannot show or would interpret escaped."""
        return visible(super().__str__())


class CorpusError(FieldcraftError):
    """A corpus, its columns or its labels are not as they must be."""


class EmptyCorpusError(CorpusError):
    """A source has no sequences."""


class TemplateError(FieldcraftError):
    """A template does not parse, or asks for a column that is not there."""


class InputError(FieldcraftError):
    """Features, labels or parameters of an estimator are not usable."""


class UnknownParameterError(InputError, TypeError):
    """A constructor or ``set_params`` was given a name that is no parameter."""


class ModelFileError(FieldcraftError):
    """A model file is damaged, hostile or of another program."""


class TrainingWarning(UserWarning):
    """A training ended without having reached what it was meant to reach."""


class NotFittedError(FieldcraftError, AttributeError):
    """An estimator was asked for answers before it was trained."""


class SequenceError(InputError):
    """One sequence of a batch is not usable.

    Parameters
    ----------
    sequence : its index in the batch
    problem : what is wrong, and the remedy
    """

    def __init__(self, sequence: int, problem: str) -> None:
        super().__init__(sequence, problem)
        self.sequence, self.problem = sequence, problem

    def __str__(self) -> str:
        return visible(f"sequence {self.sequence}: {self.problem}")


def input_error(error: ValueError, first: int = 0) -> FieldcraftError:
    """The error of the core or of a structure about a batch, as one of this package.

    If the batch is a block of a larger one that starts at its sequence ``first``, an error about one sequence
    (with the attributes ``sequence`` and ``problem``) names it by its index in the larger one.

    >>> str(input_error(SequenceError(2, "no labelling is possible"), first=10))
    'sequence 12: no labelling is possible'
    """
    if hasattr(error, "sequence") and hasattr(error, "problem"):
        return SequenceError(first + error.sequence, error.problem)
    return error if isinstance(error, FieldcraftError) else InputError(str(error))

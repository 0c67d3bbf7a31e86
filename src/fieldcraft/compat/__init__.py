"""Classes with the interfaces of other toolkits: change the import line, keep the rest of the program.

from fieldcraft.compat import CRF, metrics, scorers, utils      # sklearn_crfsuite
from fieldcraft.compat import pycrfsuite                        # python-crfsuite
"""

from fieldcraft.compat import metrics, pycrfsuite, scorers, utils
from fieldcraft.compat.estimator import CRF

__all__ = ["CRF", "metrics", "pycrfsuite", "scorers", "utils"]

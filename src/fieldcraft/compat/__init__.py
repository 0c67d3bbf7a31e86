"""Classes of other toolkits over fieldcraft's chain: change the import line, keep the programme.

from fieldcraft.compat import CRF, metrics, scorers      # sklearn_crfsuite
from fieldcraft.compat import pycrfsuite                 # python-crfsuite
"""

from fieldcraft.compat import metrics, pycrfsuite, scorers
from fieldcraft.compat.estimator import CRF

__all__ = ["CRF", "metrics", "pycrfsuite", "scorers"]

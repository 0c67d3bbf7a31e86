"""A plugin of pytest: the names ``pycrfsuite`` and ``sklearn_crfsuite`` mean fieldcraft.compat."""

from __future__ import annotations

import sys

from fieldcraft import compat
from fieldcraft.compat import pycrfsuite

sys.modules["pycrfsuite"] = pycrfsuite
sys.modules["sklearn_crfsuite"] = compat

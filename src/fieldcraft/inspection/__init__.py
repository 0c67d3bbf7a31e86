"""Summaries of trained models (`Inspection`) and explanations of their predictions (`Explanation`)."""

from fieldcraft.inspection.explanation import Explanation
from fieldcraft.inspection.overview import Inspection

__all__ = ["Explanation", "Inspection"]

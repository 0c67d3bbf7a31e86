"""Looking into a trained model: what it learnt (`Inspection`), and why this label (`Explanation`)."""

from fieldcraft.inspection.explanation import Explanation
from fieldcraft.inspection.overview import Inspection

__all__ = ["Explanation", "Inspection"]

"""Table 5.25: weights that stay, by the width of the windows."""

from __future__ import annotations

from experiments.families import sparsity, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.25",
    "Weights that stay, by the width of the windows",
    TASK,
    (
        Row("1e-06", sparsity(TASK, 1e-06), (431_630, 87.45)),
        Row("1e-05", sparsity(TASK, 1e-05), (359_783, 88.95)),
        Row("0.0001", sparsity(TASK, 0.0001), (91_038, 89.43)),
        Row("0.001", sparsity(TASK, 0.001), (29_951, 89.60)),
        Row("0.01", sparsity(TASK, 0.01), (17_206, 89.43)),
        Row("0.1", sparsity(TASK, 0.1), (14_054, 89.06)),
        Row("1", sparsity(TASK, 1), (6_551, 87.04)),
    ),
    measures=("active", "development", "converged active", "converged"),
    baselines=(("STANDARD", unregularised(TASK)),),
    notes=(
        "The first two columns are those of the best development score while training, then come those at "
        "the end.",
        "Trained by bounded L-BFGS from zero, as in the thesis; the test set is not read.",
    ),
)

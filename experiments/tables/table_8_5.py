"""Table 8.5: gazetteer features."""

from __future__ import annotations

from experiments.families import gaussian, unregularised
from experiments.table import Row, Table

TASK, WITH = "entities", "standard+g"
TABLE = Table(
    "8.5",
    "Gazetteer features",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21, 81.60)),
        Row("STANDARD+G", unregularised(TASK, WITH), (89.19, 83.10)),
        Row("STANDARD, Gaussian", gaussian(TASK), (89.86, 83.97)),
        Row("STANDARD+G, Gaussian", gaussian(TASK, WITH), (90.40, 84.70)),
    ),
    measures=("development", "test", "converged", "converged test", "features"),
    baselines=(("STANDARD", unregularised(TASK)), ("STANDARD, Gaussian", gaussian(TASK))),
    intervals=True,
    notes=(
        "Models without a prior are those with the best development score while training; converged beside.",
        "The gazetteers are stand-ins for the thesis' lists, without its 300,000 companies; case does not "
        "count. The thesis has 35 plain and 8,294 lexicalised gazetteer features, here are 35 and 9,060.",
    ),
)

"""Table 6.3: experts by themselves, entities."""

from __future__ import annotations

from experiments.families import gaussian, unregularised
from experiments.table import Row, Table

TASK = "entities"
PRINTED = {
    "label: LOC": 8.82,
    "label: MISC": 8.38,
    "label: ORG": 9.47,
    "label: PER": 11.86,
    "label: O": 58.52,
    "positional: behind": 73.07,
    "positional: at": 86.98,
    "positional: ahead": 73.15,
    "simple": 79.53,
    "random: random1": 71.19,
    "random: random2": 69.11,
    "random: random3": 73.29,
    "random: random4": 69.30,
}
TABLE = Table(
    "6.3",
    "Experts by themselves, entities",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21,)),
        Row("STANDARD, Gaussian", gaussian(TASK), (89.86,)),
        *(Row(name, unregularised(TASK, mask=name), (score,)) for name, score in PRINTED.items()),
    ),
    measures=("development", "converged"),
    notes=(
        "Experts have no prior; the best development score while training, converged beside it.",
        "Label pairs, first and last are in every expert, where the thesis does not say so.",
    ),
)

"""Tables of pools that the thesis has twice, for entities and for tagging: the rows and notes of each.

Figures are (development, test) as printed there.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.families import bagged_pool, expert_pool, gaussian, unregularised
from experiments.table import Row, Table

Printed = tuple[float, float]
BOTH_ENDS = ("development", "test", "converged", "converged test")
STANDARD: dict[str, tuple[Printed, Printed]] = {  # without a prior, with the Gaussian
    "entities": ((88.21, 81.60), (89.86, 83.97)),
    "tagging": ((96.76, 96.32), (97.07, 96.69)),
}
UNIFORM = {"entities": "6.4", "tagging": "6.5"}  # tables of pools with uniform shares


def of_experts(number: str, task: str, printed: Mapping[str, Printed]) -> Table:
    """Pools of experts with uniform shares."""
    return Table(
        number,
        f"Pools of experts, {task}",
        task,
        (
            *_single_models(task),
            *(Row(name.upper(), expert_pool(task, name), figures) for name, figures in printed.items()),
        ),
        measures=BOTH_ENDS,
        baselines=(("STANDARD", unregularised(task)), ("STANDARD, Gaussian", gaussian(task))),
        intervals=True,
        notes=(
            "Uniform shares; members without a prior, with the best development score while training. "
            "Converged: the pool of the same members at the end of training.",
            "Label pairs, first and last are in every expert. POSITIONAL: a template is behind or ahead if "
            "all that it looks at is, else at the position, label pairs with a word too. LABEL experts "
            "overlap.",
        ),
    )


def of_bags(number: str, task: str, printed: Mapping[int, Printed]) -> Table:
    """Pools of models that were trained on bootstrap samples."""
    return Table(
        number,
        f"Pools of bagged models, {task}",
        task,
        (
            *_single_models(task),
            *(Row(f"{n} bags", bagged_pool(task, n), figures) for n, figures in printed.items()),
        ),
        measures=BOTH_ENDS,
        baselines=(("STANDARD", unregularised(task)), ("STANDARD, Gaussian", gaussian(task))),
        intervals=True,
        notes=(
            "Uniform shares; members without a prior and without STANDARD, each with the features of its "
            "bag. The first bags of fifteen.",
        ),
    )


def of_regularised_experts(number: str, task: str, printed: Mapping[str, Printed]) -> Table:
    """Pools of experts with a Gaussian prior each."""
    return Table(
        number,
        f"Pools of experts with a Gaussian prior, {task}",
        task,
        tuple(
            Row(name.upper(), expert_pool(task, name, regularised=True), figures)
            for name, figures in printed.items()
        ),
        baselines=(
            ("STANDARD, Gaussian", gaussian(task)),
            *((f"{name.upper()} without", expert_pool(task, name)) for name in printed),
        ),
        notes=(
            "Uniform shares; each member has a sigma of its own, chosen by its development score (among "
            "fifteen for STANDARD, five for SIMPLE, two for other experts). Pools "
            f"without a prior are those of table {UNIFORM[task]}.",
        ),
    )


def of_tuned_shares(number: str, task: str, uniform: Printed, manual: Printed) -> Table:
    """The SIMPLE pool with uniform and with tuned shares."""
    return Table(
        number,
        f"The SIMPLE pool with a tuned share, {task}",
        task,
        (
            Row("SIMPLE uniform", expert_pool(task, "simple"), uniform),
            Row("SIMPLE manual", expert_pool(task, "simple", "tuned"), manual),
        ),
        measures=BOTH_ENDS,
        baselines=(
            ("STANDARD", unregularised(task)),
            ("STANDARD, Gaussian", gaussian(task)),
            ("SIMPLE uniform", expert_pool(task, "simple")),
        ),
        intervals=True,
        notes=(
            "Members without a prior, with the best development score while training: STANDARD, and SIMPLE "
            "as a mask over its features; converged, the pool of the same members at the end of training.",
        ),
    )


def of_linear_pools(number: str, task: str, printed: Mapping[str, Printed]) -> Table:
    """Linear pools of experts."""
    return Table(
        number,
        f"Linear pools of experts, {task}",
        task,
        tuple(
            Row(f"{name.upper()} LIP", expert_pool(task, name, linear=True), figures)
            for name, figures in printed.items()
        ),
        measures=BOTH_ENDS,
        baselines=tuple((f"{name.upper()} LOP", expert_pool(task, name)) for name in printed),
        notes=(
            "Uniform shares. A linear pool averages the members' marginals and decides position by "
            f"position; the logarithmic pools of the same members are those of table {UNIFORM[task]}.",
        ),
    )


def _single_models(task: str) -> tuple[Row, Row]:
    alone, regularised = STANDARD[task]
    return (
        Row("STANDARD", unregularised(task), alone),
        Row("STANDARD, Gaussian", gaussian(task), regularised),
    )

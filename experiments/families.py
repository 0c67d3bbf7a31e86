"""The configurations that tables share, and the settings between which development data chooses.

Grids run from the strongest penalty to the weakest. Those of the three prior families have fifteen values
each, as the thesis tried fifteen to twenty.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.configuration import Configuration, Grid
from experiments.pool import Pool

Grids = dict[str, Grid]  # by task


def line(*numbers: float) -> Grid:
    """Settings of one number each."""
    return tuple((float(number),) for number in numbers)


SIGMAS: Grids = {
    "entities": line(0.5, 0.7, 1, 1.5, 2, 3, 4.5, 6.5, 10, 15, 22, 30, 44, 70, 100),
    "tagging": line(0.6, 0.8, 1, 1.3, 1.7, 2.1, 2.6, 3.2, 4, 5, 7, 12, 20, 35, 60),
}
SCALES: Grids = {
    "entities": line(7, 12, 20, 40, 80, 150, 300, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5),
    "tagging": line(0.3, 0.5, 0.8, 1.2, 1.8, 2.5, 3.5, 5, 7, 10, 15, 25, 50, 100, 300),
}
STRENGTHS: Grids = {  # about 1 / sigma
    "entities": line(
        1, 0.5, 0.25, 0.15, 0.08, 0.05, 0.035, 0.022, 0.014, 0.01, 0.007, 0.005, 0.003, 0.001, 5e-4
    ),
    "tagging": line(3, 2, 1.5, 1, 0.8, 0.6, 0.45, 0.35, 0.27, 0.2, 0.15, 0.1, 0.07, 0.03, 0.01),
}
FEW_SIGMAS: Grids = {
    "entities": line(0.7, 1.5, 4, 15),
    "tagging": line(1.3, 3, 7, 20),
}
SIMPLE_SIGMAS: Grids = {
    "entities": line(1.5, 6.5, 15, 30, 70),
    "tagging": line(1.3, 3.2, 7, 20, 60),
}
EXPERT_SIGMAS: Grids = {  # there are many experts
    "entities": line(6.5, 30),
    "tagging": line(3.2, 20),
}
RARE_SIGMAS: Grids = {
    "entities": line(15, 44, 100),
    "tagging": line(10, 30, 100),
}
COUNT_SIGMAS: Grids = {
    "entities": line(0.1, 0.3, 1, 3, 10, 30, 100),
    "tagging": line(0.15, 0.3, 0.6, 0.87, 1.5, 4, 10),
}
SURE_SIGMAS: Grids = {  # multiplied by 4 to 1000: the ratios of groups.by_reliability
    "entities": line(0.2, 0.5, 1, 2, 5, 15, 50),
    "tagging": line(0.2, 0.4, 0.7, 1.2, 2.5, 6, 15),
}
BINS: Grids = {
    "entities": ((4.5, 10.0), (15.0, 30.0), (44.0, 100.0), (100.0, 100.0)),
    "tagging": ((5.0, 10.0), (15.0, 30.0), (44.0, 100.0), (100.0, 300.0)),
}
APART: Grid = ((0.3, 1.0), (0.5, 1.0), (0.7, 1.0), (1.0, 1.4), (0.7, 1.4), (0.3, 1.4))
RATIOS: Grid = ((0.7, 0.7), (1.0, 0.5), (0.5, 1.0), (1.4, 0.7), (2.0, 1.0), (3.0, 1.0), (1.4, 1.4))
WIDTHS: Grids = {  # fewer than the Laplacian's scales
    "entities": line(0.02, 0.005, 0.0015, 0.0005, 0.0002, 1e-4, 5e-5),
    "tagging": line(1, 0.4, 0.2, 0.1, 0.04, 0.02, 0.01),
}
WINDOW_RATIOS: Grid = line(0.5, 2, 4, 8, 16)  # from the weights of 1
QUADRATICS: Grid = line(300, 100, 30, 10, 3, 1)  # from the weights of infinity


def unregularised(task: str, templates: str = "standard", **settings: int | bool | str) -> Configuration:
    """No prior: the weights that did best on development data while training."""
    return Configuration(task, templates, follow=True, **settings)  # type: ignore[arg-type]


def gaussian(task: str, templates: str = "standard", *, min_count: int = 1, mask: str = "") -> Configuration:
    """Zero mean, one variance."""
    grid = SIGMAS[task] if min_count == 1 else FEW_SIGMAS[task]
    return Configuration(task, templates, prior="gaussian", grid=grid, min_count=min_count, mask=mask)


def gaussian_expert(task: str, mask: str) -> Configuration:
    """The same for a part of the features, between fewer sigmas."""
    grid = SIMPLE_SIGMAS[task] if mask == "simple" else EXPERT_SIGMAS[task]
    return Configuration(task, prior="gaussian", grid=grid, mask=mask)


def laplacian(task: str) -> Configuration:
    """One scale."""
    return Configuration(task, prior="laplacian", grid=SCALES[task], optimiser="owlqn")


def hyperbolic(task: str) -> Configuration:
    """One strength."""
    return Configuration(task, prior="hyperbolic", grid=STRENGTHS[task])


def cutoff(task: str, threshold: int) -> Configuration:
    """A Gaussian on features seen at most ``threshold`` times; the others make it a training to follow."""
    grid = tuple((float(threshold), *setting) for setting in RARE_SIGMAS[task])
    return Configuration(task, prior="cutoff", grid=grid, follow=True)


def printed(
    task: str, prior: str, *setting: float, optimiser: str = "lbfgs", follow: bool = False
) -> Configuration:
    """The settings that the thesis prints, as they are."""
    return Configuration(task, prior=prior, grid=(setting,), optimiser=optimiser, follow=follow)


def shifted(task: str, mean: float) -> Configuration:
    """A Gaussian around another mean, with the variance chosen for zero."""
    return Configuration(task, prior="shifted", grid=((float(mean),),), given=gaussian(task))


def window(task: str) -> Configuration:
    """Inequality, mode 1: one width for both sides. The Laplacian of scale 1 / width is the same prior."""
    return Configuration(task, prior="window", grid=WIDTHS[task], optimiser="owlqn")


def windows(task: str) -> Configuration:
    """Inequality, mode 2: the upper width of mode 1, and one of its own below."""
    return Configuration(
        task, prior="windows ratio", grid=WINDOW_RATIOS, given=window(task), optimiser="owlqn"
    )


def quadratic_window(task: str) -> Configuration:
    """Inequality, mode 1, with the quadratic extension."""
    return Configuration(
        task, prior="window, quadratic", grid=QUADRATICS, given=window(task), optimiser="owlqn"
    )


def sparsity(task: str, width: float) -> Configuration:
    """Inequality, mode 1, from zero and iteration by iteration; the test set is not read."""
    grid = ((float(width),),)
    return Configuration(
        task, prior="window", grid=grid, optimiser="bounded_lbfgs", follow=True, reads_test=False
    )


def bins(task: str) -> Configuration:
    """A Gaussian with a variance for features seen 1 to 3 times and one for 4 to 10; none for the others."""
    return Configuration(task, prior="bins", grid=BINS[task], follow=True)


def dependency(task: str) -> Configuration:
    """A Gaussian with variances apart for transitions and emissions, around the best single one."""
    return Configuration(task, prior="dependency ratios", grid=RATIOS, given=gaussian(task))


def by_count(task: str) -> Configuration:
    """A Gaussian whose variance is the feature's count times one number."""
    return Configuration(task, prior="count", grid=COUNT_SIGMAS[task])


def by_reliability(task: str) -> Configuration:
    """A Gaussian whose variance follows from how sure the feature's count is."""
    return Configuration(task, prior="reliability", grid=SURE_SIGMAS[task])


def gazetteers_apart(gazetteers: float, others: float) -> Configuration:
    """A Gaussian with printed sigmas of gazetteer features and of all others; the test set is not read."""
    grid, single = ((float(gazetteers), float(others)),), gaussian("entities", "standard+g")
    return Configuration("entities", "standard+g", "gazetteers printed", grid, single, reads_test=False)


def gazetteers_chosen() -> Configuration:
    """The same with multiples of the best single sigma."""
    single = gaussian("entities", "standard+g")
    return Configuration("entities", "standard+g", "gazetteers ratios", APART, single, reads_test=False)


def quarantined(apart: str, rest: str, *, regularised: bool = True) -> Pool:
    """Two members over the features of STANDARD+G, with a tuned share: the features apart, and the rest."""
    make = gaussian if regularised else unregularised
    masks = ("" if mask == ALL else mask for mask in (apart, rest))  # the whole set is trained once
    return Pool(tuple(make("entities", "standard+g", mask=mask) for mask in masks), "tuned")


def discriminative(detector: str) -> Pool:
    """What a detector finds, with S1, and everything else, each with the sigma of all features together."""
    whole = gaussian("entities", "standard+g")
    one = Configuration("entities", "standard+g", "gaussian", given=whole)
    return Pool((replace(one, mask=f"{detector} and s1"), replace(one, mask=f"all but {detector}")), "tuned")


ALL = "s2noag"  # every feature of STANDARD+G
EXPERTS = {  # of each set, beside STANDARD; label experts by task
    "positional": ("behind", "at", "ahead"),
    "random": ("random1", "random2", "random3", "random4"),
}
LABELS = {"entities": ("LOC", "MISC", "ORG", "PER", "O"), "tagging": ("N", "V", "J", "R", "O")}


def expert_masks(task: str, family: str) -> tuple[str, ...]:
    """The names of a set of experts, as masks.py has them."""
    if family == "simple":
        return ("simple",)
    names = LABELS[task] if family == "label" else EXPERTS[family]
    return tuple(f"{family}: {name}" for name in names)


def expert_pool(
    task: str, family: str, weights: str = "uniform", *, regularised: bool = False, linear: bool = False
) -> Pool:
    """STANDARD and a set of experts."""
    return Pool(expert_members(task, family, regularised=regularised), weights, linear)


def expert_members(task: str, family: str, *, regularised: bool = False) -> tuple[Configuration, ...]:
    """STANDARD and a set of experts, without priors or each with a Gaussian."""
    masks = expert_masks(task, family)
    if regularised:
        return (gaussian(task), *(gaussian_expert(task, mask) for mask in masks))
    return (unregularised(task), *(unregularised(task, mask=mask) for mask in masks))


def bagged_pool(task: str, n: int) -> Pool:
    """n bags of the training sentences, without STANDARD."""
    return Pool(tuple(unregularised(task, bag=number) for number in range(1, n + 1)))

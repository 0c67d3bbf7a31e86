"""How entries are spelled, read and told."""

from __future__ import annotations

import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.objectives import OBJECTIVES
from fieldcraft.optimisers import OPTIMISERS, TABLE
from fieldcraft.priors import PRIORS, NoPrior
from fieldcraft.tuning.bake_off_entry import default_entries, read_entry, read_prior, spelling

GAUSSIAN = fc.Gaussian(variance=2.0)


@pytest.mark.parametrize(
    ("text", "objective", "optimiser", "prior"),
    [
        ("lbfgs", "likelihood", fc.LBFGS(), GAUSSIAN),
        ("margin/frank_wolfe", "margin", fc.FrankWolfe(), GAUSSIAN),
        ("sgd/laplacian:scale=2", "likelihood", fc.SGD(), fc.Laplacian(2)),
        (
            "pointwise/lbfgs:memory=3,tolerance=1e-3/none",
            "pointwise",
            fc.LBFGS(memory=3, tolerance=1e-3),
            NoPrior(),
        ),
        ("averaged_perceptron", "perceptron", fc.AveragedPerceptron(), NoPrior()),
        ("perceptron/perceptron", "perceptron", fc.Perceptron(), NoPrior()),
        ("perceptron/none", "perceptron", fc.Perceptron(), NoPrior()),
        ("perceptron/subgradient", "perceptron", fc.Subgradient(), GAUSSIAN),
        ("cutting_plane:slack=n", "margin", fc.CuttingPlane(slack="n"), GAUSSIAN),
        ("sgd:shuffle=false", "likelihood", fc.SGD(shuffle=False), GAUSSIAN),
        ("owlqn/elastic_net:scale=1,variance=inf", "likelihood", fc.OWLQN(), fc.ElasticNet(1, float("inf"))),
    ],
)
def test_spellings(text: str, objective: str, optimiser: object, prior: object) -> None:
    entry = read_entry(text, prior=GAUSSIAN)
    found = entry.parts()
    assert (entry.name, found[0].name) == (text, objective)
    assert found[1] == optimiser
    assert found[2] == prior or isinstance(prior, NoPrior) is isinstance(found[2], NoPrior) is True


def test_settings_for_all_yield_to_those_of_an_entry() -> None:
    told = {"prior": GAUSSIAN, "max_iterations": 7, "seed": 3}
    assert read_entry("sgd", **told).optimiser == fc.SGD(max_iterations=7, seed=3)
    assert read_entry("sgd:max_iterations=2", **told).optimiser == fc.SGD(max_iterations=2, seed=3)
    assert read_entry("lbfgs", **told).optimiser == fc.LBFGS(max_iterations=7)  # it has no seed
    assert read_entry("lbfgs", prior=GAUSSIAN, max_iterations=None).optimiser == fc.LBFGS()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("newton", "'newton' is not one of .*, lbfgs"),
        ("likelihood/gaussian", "'likelihood' is not one of .*, lbfgs"),
        ("lbfgs/gauss", "'gauss' is not one of gaussian"),
        ("lbfgs:memry=3", "'memry=3' is no setting=value of lbfgs, which has max_iterations"),
        ("lbfgs:", "'' is no setting=value"),
        ("a/b/c/d", "4 parts"),
        ("", "'' is not one of"),
    ],
)
def test_wrong_spellings(text: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        read_entry(text, prior=GAUSSIAN)


@pytest.mark.parametrize("text", ["lbfgs/laplacian", "margin/lbfgs", "lbfgs:memory=0", "lbfgs:tolerance=x"])
def test_parts_that_do_not_go_together(text: str) -> None:
    with pytest.raises(InputError):
        read_entry(text, prior=GAUSSIAN).parts()


def test_default_entries() -> None:
    names = [entry.name for entry in default_entries(prior=GAUSSIAN)]
    assert names == [name for name in TABLE if name != "em"]
    l1 = [entry.name for entry in default_entries(prior=fc.Laplacian())]
    assert l1[:4] == ["owlqn", "bounded_lbfgs", "sgd", "adagrad"]
    assert "averaged_perceptron" in l1
    assert "lbfgs" not in l1
    partial = list(default_entries(prior=GAUSSIAN, partial=True))
    assert {entry.parts()[0].name for entry in partial} == {"marginal_likelihood"}
    assert {"em", "lbfgs", "sgd"} <= {entry.name for entry in partial}
    for entry in [*default_entries(prior=GAUSSIAN), *partial]:
        entry.parts()


def test_told_as_spelled() -> None:
    assert spelling(PRIORS, fc.Gaussian(0.5)) == "gaussian:variance=0.5"
    assert spelling(PRIORS, fc.Gaussian(0.5, mean=1.5)) == "gaussian:variance=0.5,mean=1.5"
    assert spelling(PRIORS, fc.Gaussian([1.0, 2.0])) == "gaussian:variance=vector"
    assert spelling(PRIORS, NoPrior()) == "none"
    assert spelling(OPTIMISERS, fc.SGD(seed=3)) == "sgd:seed=3"
    assert spelling(OBJECTIVES, OBJECTIVES["margin"]()) == "margin"
    for text in ("laplacian:scale=0.25", "elastic_net:scale=2,variance=3", "none"):
        assert spelling(PRIORS, read_prior(text)) == text

"""Every objective trains with "auto", under every prior, or stands in the list of refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import FieldcraftError
from fieldcraft.objectives import Viterbi
from fieldcraft.optimisers import Subgradient
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.optimisers.table import REFUSALS
from fieldcraft.priors import Prior, resolve_prior
from fieldcraft.problems import ChainPasses
from laws.cases import OF_CHAINS
from unit.training.corpora import Floats, adjoint, chain_of, design_of, draw

PRIORS: dict[str, Prior | None] = {
    "none": None,
    "gaussian": fc.Gaussian(),
    "laplacian": fc.Laplacian(scale=2.0),
    "elastic_net": fc.ElasticNet(scale=2.0, variance=5.0),
    "hyperbolic": fc.Hyperbolic(),
    "inequality": fc.Inequality(positive=0.3),
}


def separable() -> tuple[list[Any], list[list[str]]]:
    """Synthetic: the first attribute of a token tells its label, noise and label pairs do not."""
    rng = np.random.default_rng(4)
    y = [[f"L{label}" for label in rng.integers(0, 3, size=n)] for n in rng.integers(1, 7, size=40)]
    X = [[[f"tells={label}", f"noise={rng.integers(5)}"] for label in labels] for labels in y]
    return X, y


@pytest.mark.parametrize("objective", sorted(OF_CHAINS))
def test_every_prior(objective: str) -> None:
    X, y = separable()
    for name, prior in PRIORS.items():
        parts = set() if prior is None else prior.parts()
        refusals = [r for r in REFUSALS if objective in r.objectives and parts & set(r.penalties)]
        crf = fc.ChainCRF(objective=objective, prior=prior)
        if refusals:
            with pytest.raises(FieldcraftError, match=refusals[0].reason.split(";")[0]):
                crf.fit(X, y)
            continue
        crf.fit(X, y)
        assert crf.objective_.name == objective, name
        assert np.isfinite(crf.weights_).all(), name
        assert crf.weights_.any(), name


@pytest.mark.parametrize("objective", sorted(OF_CHAINS))
def test_defaults_fit_a_separable_corpus(objective: str) -> None:
    X, y = separable()
    crf = fc.ChainCRF(objective=objective).fit(X, y)
    assert crf.predict(X).tolist() == y


def test_the_perceptron_is_averaged_and_has_no_prior() -> None:
    crf = fc.ChainCRF(objective="perceptron").fit(*separable())
    assert isinstance(crf.optimiser_, fc.AveragedPerceptron)
    assert type(crf.prior_).__name__ == "NoPrior"


def drawn_case(seed: int) -> tuple[Any, Floats, Floats]:
    """A small corpus with random labels, random weights, and what the gold labels allow."""
    rng = np.random.default_rng(seed)
    design = design_of(*draw(rng, 3, [2, 3, 1, 3], n_names=4), 3)
    return design, rng.normal(size=len(design.index)), np.eye(3)[design.gold]


@pytest.mark.parametrize("seed", range(8))
def test_viterbi_never_ends_above_its_start(seed: int) -> None:
    design, start, _ = drawn_case(seed)
    problem = ChainPasses(chain_of(3), design, resolve_prior(None), objective=Viterbi())
    before = problem.value_and_gradient(start, np.empty(len(start)))
    run = Subgradient(max_iterations=30).start(problem, start)
    outcome = Loop(run, Control()).go()
    after = problem.value_and_gradient(outcome.weights, np.empty(len(start)))
    assert after == pytest.approx(outcome.objective, rel=1e-12, abs=1e-12)
    assert after <= before


@pytest.mark.parametrize("seed", range(4))
def test_viterbi_ends_at_a_stationary_point(seed: int) -> None:
    """Zero is a convex combination of the subgradients of all labellings that are nearly best."""
    from scipy.optimize import linprog

    design, start, _ = drawn_case(seed)
    problem = ChainPasses(chain_of(3), design, resolve_prior(None), objective=Viterbi())
    settings = Subgradient(max_iterations=3000, objective_tolerance=-np.inf, average=None)
    weights = Loop(settings.start(problem, start), Control()).go().weights
    near = 1e-3 * np.abs(weights).max()
    columns, owners = [], []
    for i, (a, b) in enumerate(itertools.pairwise(design.encoded.offsets)):
        rows, best = [], -np.inf
        for labels in itertools.product(range(3), repeat=int(b - a)):
            counts = _counts(design, i, labels)
            rows.append((float(counts @ weights), counts))
            best = max(best, rows[-1][0])
        gold = _counts(design, i, design.gold[a:b])
        for score, counts in rows:
            if score >= best - near:
                columns.append(counts - gold)
                owners.append(i)
    A = np.array(columns).T  # [F, candidates]
    shares = np.array([[float(o == i) for o in owners] for i in range(len(design.encoded.offsets) - 1)])
    n, F = A.shape[1], A.shape[0]
    # least t with |A s| <= t, s a distribution for each sequence
    bound = np.ones((F, 1))
    result = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.block([[A, -bound], [-A, -bound]]),
        b_ub=np.zeros(2 * F),
        A_eq=np.c_[shares, np.zeros(len(shares))],
        b_eq=np.ones(len(shares)),
    )
    assert result.status == 0
    assert result.fun < 1e-9


def _counts(design: Any, sequence: int, labels: Any) -> Floats:
    """[F] feature counts of a labelling of one sequence."""
    encoded = design.encoded.take(np.array([sequence]))
    y = np.asarray(labels, int)
    node, edge = np.eye(3)[y], np.zeros((len(y), 9))
    edge[np.arange(1, len(y)), 3 * y[:-1] + y[1:]] = 1.0
    return adjoint(design.index, encoded, node, edge, 3)

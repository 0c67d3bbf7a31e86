"""The table of optimisers: what it lets through, what it refuses and how, and the docs made from it."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import ChainCRF, ElasticNet, FieldcraftError, Gaussian, Laplacian
from fieldcraft.objectives import OBJECTIVES
from fieldcraft.optimisers import OPTIMISERS, TABLE, Size, resolve
from fieldcraft.optimisers.table import PENALTIES, SMOOTH, markdown, penalties_of
from fieldcraft.priors import NoPrior, Prior
from unit.training.corpora import draw

ROOT = Path(__file__).resolve().parents[3]


class Box(Prior):
    """Weights between -1 and 1."""

    def bounds_part(self, n_weights: int) -> tuple[Any, Any]:
        return np.full(n_weights, -1.0), np.full(1, 1.0)


PRIORS: dict[str, Prior] = {
    "none": NoPrior(),
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "elastic_net": ElasticNet(),
    "hyperbolic": fc.Hyperbolic(),
    "inequality": fc.Inequality(),
    "inequality_extended": fc.Inequality(quadratic=2.0),
    "box": Box(),
}


def test_names() -> None:
    assert {row.optimiser.name for row in TABLE.values()} == set(TABLE) == set(OPTIMISERS)
    for row in TABLE.values():
        assert getattr(fc, row.optimiser.__name__) is row.optimiser
        assert set(row.objectives) <= set(OBJECTIVES)
        assert set(row.penalties) <= set(PENALTIES)


def test_penalties() -> None:
    found = {name: penalties_of(prior) for name, prior in PRIORS.items()}
    assert found == {
        "none": set(),
        "gaussian": {"quadratic"},
        "laplacian": {"l1"},
        "elastic_net": {"quadratic", "l1"},
        "hyperbolic": {"smooth"},
        "inequality": {"l1"},
        "inequality_extended": {"smooth", "l1"},
        "box": {"bounds"},
    }


@pytest.mark.parametrize(
    ("prior", "chosen"),
    [
        ("none", "lbfgs"),
        ("gaussian", "lbfgs"),
        ("laplacian", "owlqn"),
        ("elastic_net", "owlqn"),
        ("hyperbolic", "lbfgs"),
        ("inequality", "owlqn"),
        ("inequality_extended", "owlqn"),
        ("box", "bounded_lbfgs"),
    ],
)
def test_auto(prior: str, chosen: str) -> None:
    for objective in SMOOTH:
        choice = resolve(objective, "auto", PRIORS[prior], Size(10, 100, 1000))
        assert (choice.row.name, choice.objective.name) == (chosen, objective)
    assert resolve(None, None, PRIORS[prior]).objective.name == "likelihood"


@pytest.mark.parametrize("optimiser", TABLE)
def test_every_pair(optimiser: str) -> None:
    """Let through exactly where the row says so; else refused with the row and a way out."""
    row = TABLE[optimiser]
    for objective, prior in product(OBJECTIVES, PRIORS):
        pair = f"{objective} with {prior}"
        if objective in row.objectives and penalties_of(PRIORS[prior]) <= set(row.penalties):
            choice = resolve(objective, optimiser, PRIORS[prior])
            assert type(choice.optimiser) is row.optimiser, pair
            assert choice.objective.name == objective, pair
            continue
        message = refusal_of(optimiser, objective, prior)
        assert row.text() in message, pair
        assert f"{', '.join(row.objectives)}; penalties: {', '.join(row.penalties)}" in message, pair
        assert "use " in message or "choose another objective or prior" in message, pair


def refusal_of(optimiser: str, objective: str, prior: str) -> str:
    try:
        resolve(objective, optimiser, PRIORS[prior])
    except FieldcraftError as error:
        return str(error)
    pytest.fail(f"{optimiser} takes {objective} with {prior}, which its row does not allow")


@pytest.mark.parametrize("optimiser", TABLE)
def test_the_natural_objective(optimiser: str) -> None:
    choice = resolve(None, optimiser, NoPrior())
    assert choice.objective.name == TABLE[optimiser].objectives[0]


def test_refused_before_any_work() -> None:
    """Before X is looked at, which is nonsense here."""
    for settings, message in (
        ({"optimiser": "gis", "objective": "pointwise"}, "gis does not minimise pointwise"),
        ({"optimiser": "iis", "prior": "laplacian"}, "Laplacian has an absolute-value part, which iis"),
        ({"optimiser": "conjugate_gradient", "prior": Box()}, "Box has bounds, which conjugate_gradient"),
    ):
        with pytest.raises(FieldcraftError, match=message):
            ChainCRF(**settings).fit(None, None)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"patience": 3}, "patience and keep_best need a held-out set"),
        ({"max_seconds": -1.0}, "max_seconds is -1.0; it must be a number, zero or greater"),
        ({"callbacks": ["print"]}, "callbacks has a str; each must be callable"),
        ({"snapshot_every": 2.5}, "snapshot_every is 2.5; it must be at least 1"),
        ({"resume": True}, "resume=True needs snapshot="),
    ],
)
def test_rules_are_refused_before_any_work(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(FieldcraftError, match=message):
        ChainCRF().fit(None, None, **wish)


def test_sizes() -> None:
    small, large = Size(9_000, 211_000, 456_000), Size(40_000, 960_000, 2_000_000)
    for name in ("gis", "iis"):
        assert resolve(None, name, Gaussian(), small).row.name == name
        with pytest.raises(FieldcraftError, match=f"{name} is not meant for 40000 sequences, 960000 tokens"):
            resolve(None, name, Gaussian(), large)
    assert resolve(None, "auto", Gaussian(), large).row.name == "lbfgs"


def test_a_prior_with_bounds() -> None:
    rng = np.random.default_rng(0)
    crf = ChainCRF(prior=Box()).fit(*draw(rng, 3, rng.integers(1, 9, size=30)))
    assert type(crf.optimiser_).name == "bounded_lbfgs"
    assert (crf.weights_.min(), crf.weights_.max()) == (-1.0, 1.0)


@pytest.mark.filterwarnings("ignore:training stopped after")  # few passes of dual ascent
def test_settings_are_kept_with_the_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    corpus = draw(rng, 3, rng.integers(1, 9, size=30))
    for name, row in TABLE.items():
        prior = Gaussian() if row.penalties else None
        crf = ChainCRF(prior=prior, optimiser=row.optimiser(max_iterations=3)).fit(*corpus)
        crf.save(tmp_path / f"{name}.fc")
        assert fc.load(tmp_path / f"{name}.fc").optimiser_ == crf.optimiser_


def test_the_docs_show_this_table() -> None:
    text = (ROOT / "docs" / "optimisers.md").read_text(encoding="utf-8")
    assert markdown() in text, "put fieldcraft.optimisers.table.markdown() there anew"

"""Rules over the feature index: what each gives, what is refused, and that models keep them."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fieldcraft as fc
from fieldcraft import ChainCRF, FieldcraftError, Gaussian, Laplacian
from fieldcraft.features.index import FeatureIndex
from fieldcraft.priors import Names
from fieldcraft.priors.groups import (
    by_count_bins,
    by_count_cutoff,
    by_dependency,
    by_label,
    by_part,
    by_reliability,
    by_template,
    times_count,
)

INF = math.inf
NAMES = Names(["B-LOC", "B-PER", "O"], ["word", "word[-1]", "suffix(word, 2)"])
# attribute, previous, label, template, count, family
ROWS = [
    (-1, 0, 1, -1, 2, 9),
    (0, -1, 0, 0, 1, 4),
    (1, -1, 1, 1, 3, 3),
    (2, -1, 2, 2, 4, 8),
    (2, 1, 2, 2, 10, 12),
    (3, -1, 2, 0, 11, 50),
]


def index_of(rows: list[tuple[int, ...]]) -> FeatureIndex:
    attribute, previous, label, *others = np.array(rows, np.int32).T
    labels = np.stack([previous, label]).T
    return FeatureIndex(attribute, labels, *others, windows=np.zeros((3, 2), np.int32), n_attributes=4)


INDEX = index_of(ROWS)
UNSEEN = index_of([*ROWS, (3, -1, 0, 0, 0, 50), (1, 0, 0, 1, 0, 0)])


def values(rule: Any, index: FeatureIndex = INDEX) -> list[float]:
    prior = Gaussian(variance=rule)
    prior.check()
    resolved: NDArray[np.float64] = prior.resolved(index, NAMES).vector("variance", len(index))
    return resolved.tolist()


def test_clusters() -> None:
    assert values(by_count_bins({(1, 3): 4, (4, 10): 9}, otherwise=INF)) == [4, 4, 4, 9, 9, INF]
    assert values(by_count_bins({1: 4, (2, INF): 9})) == [9, 4, 9, 9, 9, 9]
    assert values(by_count_cutoff(3, rare=4, frequent=INF)) == [4, 4, 4, INF, INF, INF]
    assert values(by_count_cutoff(3, rare=4, frequent=5), UNSEEN) == [4, 4, 4, 5, 5, 5, 4, 4]
    assert values(by_dependency(transitions=9, emissions=2)) == [9, 2, 2, 2, 9, 2]
    assert values(by_part({"edge": 9}, otherwise=2)) == [9, 2, 2, 2, 9, 2]
    assert values(by_label({"B-*": 3}, otherwise=1)) == [3, 3, 3, 1, 1, 1]
    assert values(by_label({"O": 3, "B-PER": 2, "B-LOC": 1})) == [2, 1, 2, 3, 3, 3]


def test_templates() -> None:
    """An equal name is taken alone; brackets are plain; label pairs have a name."""
    assert values(by_template({"word": 3, "label pairs": 5}, otherwise=1)) == [5, 3, 1, 1, 1, 3]
    assert values(by_template({"word[*]": 3, "suffix*": 4}, otherwise=1)) == [1, 1, 3, 4, 4, 1]
    assert values(by_template({"word*": 3}, otherwise=1)) == [1, 3, 3, 1, 1, 3]


def test_individual_by_count() -> None:
    assert values(times_count(0.5)) == [1, 0.5, 1.5, 2, 5, 5.5]
    assert values(times_count(2, unseen=0.25), UNSEEN)[-2:] == [0.5, 0.5]
    assert values(times_count(2), UNSEEN)[-2:] == [2, 2]


def test_individual_by_count_and_context() -> None:
    """Variance of the Beta posterior, spelled out; the prior's falls with it."""
    found = values(by_reliability(0.7), UNSEEN)
    for got, row in zip(found, [*ROWS, (3, -1, 0, 0, 0, 50), (1, 0, 0, 1, 0, 0)]):
        a, n = row[4], row[5]
        b = n - a
        V = (1 + a) * (1 + b) / ((a + b + 2) ** 2 * (a + b + 3))
        assert got == pytest.approx(0.7 / (V * max(n, 1)), rel=1e-14)
    often, once = index_of([(0, -1, 0, 0, 5, 10)]), index_of([(0, -1, 0, 0, 10, 10)])
    assert values(by_reliability(1.0), often) < values(by_reliability(1.0), once)  # sure labels are held less


def test_any_function_of_the_index() -> None:
    assert values(lambda index: index.count + 0.5) == [2.5, 1.5, 3.5, 4.5, 10.5, 11.5]
    assert values(lambda index: 3.0) == [3.0]


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (by_count_bins({(1, 3): 4, (3, 10): 9}, otherwise=1), r"\(1, 3\) and \(3, 10\) overlap"),
        (by_count_bins({(3, 1): 4}, otherwise=1), "first <= last"),
        (by_count_bins({(1, 3): -4}, otherwise=1), "is -4; it must be greater than 0"),
        (by_count_bins({(1, 3): 4}, otherwise=0), "is 0; it must be greater than 0"),
        (by_dependency(transitions=1, emissions=math.nan), "is nan"),
        (times_count(-1.0), "is -1"),
        (times_count(1.0, unseen=0.0), "unseen in individual is 0"),
        (by_label({"O": "much"}, otherwise=1.0), "is 'much'"),  # type: ignore[dict-item]
        (by_label({1: 2.0}, otherwise=1.0), "group 1 is a int; groups are named by strings"),  # type: ignore[dict-item]
    ],
)
def test_refused_before_any_work(rule: Any, complaint: str) -> None:
    """Even where there is nothing to train on."""
    with pytest.raises(FieldcraftError, match=complaint):
        ChainCRF(prior=Gaussian(variance=rule)).fit(None, None)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (by_count_bins({(12, 20): 4}, otherwise=1), r"\(12, 20\) covers no weight .counts run from 1 to 11"),
        (by_label({"B-ORG": 4}, otherwise=1), "'B-ORG' covers no weight .labels: B-LOC, B-PER, O"),
        (by_template({"sufix*": 4}, otherwise=1), "covers no weight .templates: word, "),
        (by_label({"B-*": 4, "*-PER": 1}, otherwise=1), "'B-\\*' and .*'\\*-PER' overlap in 2 weights"),
        (by_label({"O": 4}), "3 of 6 weights are in none of the groups by label; give otherwise="),
        (lambda index: np.ones(3), r"variance returned shape \(3,\)"),
        (lambda index: -np.ones(6), r"variance\[0\] is -1"),
    ],
)
def test_refused_when_the_features_are_known(rule: Any, complaint: str) -> None:
    with pytest.raises(FieldcraftError, match=complaint):
        values(rule)


def test_dependency_without_transitions() -> None:
    with pytest.raises(FieldcraftError, match="'transitions' covers no weight"):
        values(by_dependency(transitions=1, emissions=2), INDEX.select(~INDEX.is_edge))


@pytest.fixture(scope="module")
def corpus() -> Any:
    return fc.datasets.addresses(n=60, seed=2)  # synthetic


TEMPLATES = "word\nsuffix(word, 2)\nedge"
RULES = {
    "bins": by_count_bins({(1, 3): 0.4, (4, 10): 0.9}, otherwise=INF),
    "cutoff": by_count_cutoff(2, rare=0.1, frequent=2.0),
    "dependency": by_dependency(transitions=9.0, emissions=0.5),
    "part": by_part({"edge": 4.0}, otherwise=0.5),
    "template": by_template({"suf*": 0.2, "label pairs": 8}, otherwise=1),
    "label": by_label({"B-*": 0.1}, otherwise=2.0),
    "count": times_count(0.05),
    "reliability": by_reliability(0.01),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_trains_as_its_vector_and_is_stored(corpus: Any, name: str, tmp_path: Path) -> None:
    optimiser = fc.LBFGS(max_iterations=15)
    ruled = ChainCRF(TEMPLATES, prior=Gaussian(variance=RULES[name]), optimiser=optimiser).fit(corpus)
    names = Names(ruled.classes_.tolist(), [t.name for t in ruled.encoder_.templates])
    vector = RULES[name](ruled.features_, names)
    assert len(np.unique(vector)) > 1
    same = ChainCRF(TEMPLATES, prior=Gaussian(variance=vector), optimiser=optimiser).fit(corpus)
    np.testing.assert_array_equal(ruled.weights_, same.weights_)
    assert ruled.prior_ == Gaussian(variance=RULES[name])
    ruled.save(tmp_path / "model.fc")
    loaded = fc.load(tmp_path / "model.fc")
    assert loaded.prior == ruled.prior_
    np.testing.assert_array_equal(loaded.fit(corpus).weights_, ruled.weights_)


@pytest.mark.parametrize(
    "prior",
    [
        Laplacian(scale=by_dependency(transitions=INF, emissions=1.0)),
        fc.Hyperbolic(scale=times_count(0.5)),
        fc.ElasticNet(scale=times_count(0.5), variance=by_label({"O": 1}, otherwise=2)),
        fc.Inequality(positive=0.2, negative=by_count_cutoff(1, rare=2.0, frequent=0.5), quadratic=4.0),
        fc.Inequality(),
        fc.Hyperbolic(scale=2),
        Gaussian(mean=by_dependency(transitions=0.0, emissions=0.5)),
    ],
)
def test_all_priors_take_rules_and_are_stored(corpus: Any, prior: Any, tmp_path: Path) -> None:
    crf = ChainCRF(TEMPLATES, prior=prior, optimiser=fc.OWLQN(max_iterations=5)).fit(corpus)
    crf.save(tmp_path / "model.fc")
    assert fc.load(tmp_path / "model.fc").prior == prior


def test_a_new_process_knows_the_rules(corpus: Any, tmp_path: Path) -> None:
    """What is loaded imports no more than it must; the table of rules is part of that."""
    crf = ChainCRF(
        "word\nedge", prior=Gaussian(variance=times_count(0.5)), optimiser=fc.LBFGS(max_iterations=2)
    )
    crf.fit(corpus).save(tmp_path / "model.fc")
    code = f"import fieldcraft as fc; print(fc.load({str(tmp_path / 'model.fc')!r}).prior)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str(crf.prior)


def test_more_data_under_a_rule(corpus: Any) -> None:
    """partial_fit resolves the rule over the features as they are then."""
    prior = Gaussian(variance=by_dependency(transitions=9.0, emissions=0.5))
    crf = ChainCRF("word\nedge", prior=prior, optimiser=fc.LBFGS(max_iterations=10)).fit(corpus)
    n = len(crf.weights_)
    crf.partial_fit(fc.datasets.addresses(n=20, seed=9))
    assert len(crf.weights_) > n
    assert crf.prior_ == prior


def test_inspection_shows_a_rule(corpus: Any) -> None:
    prior = Gaussian(variance=by_dependency(transitions=9.0, emissions=0.5))
    crf = ChainCRF("word\nedge", prior=prior, optimiser=fc.LBFGS(max_iterations=2)).fit(corpus)
    assert "transitions" in str(crf.inspect())


def test_what_has_no_name_is_not_stored(corpus: Any, tmp_path: Path) -> None:
    """The model is; its prior is told as the default when it is loaded."""
    prior = Gaussian(variance=lambda index: 1.0 + index.count)
    assert prior.settings()["variance"] == "function <lambda>"
    crf = ChainCRF("word\nedge", prior=prior, optimiser=fc.LBFGS(max_iterations=3)).fit(corpus)
    crf.save(tmp_path / "model.fc")
    assert fc.load(tmp_path / "model.fc").prior == "auto"


def test_a_snapshot_knows_its_rule(corpus: Any, tmp_path: Path) -> None:
    def training(variance: float, **settings: Any) -> ChainCRF:
        prior = Gaussian(variance=by_dependency(transitions=variance, emissions=1.0))
        crf = ChainCRF("word\nedge", prior=prior, optimiser=fc.LBFGS(max_iterations=6))
        return crf.fit(corpus, snapshot=tmp_path / "run", snapshot_every=3, **settings)

    training(2.0)
    training(2.0, resume=True)
    with pytest.raises(FieldcraftError, match="another training"):
        training(3.0, resume=True)

"""Every table and figure runs, on a few sentences; the figures of the thesis agree wherever they repeat."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from experiments import tables  # noqa: E402
from experiments.__main__ import main  # noqa: E402
from experiments.archive import Archive, Part  # noqa: E402
from experiments.configuration import Configuration  # noqa: E402
from experiments.cooperation_figures import CooperationFigure  # noqa: E402
from experiments.corpora import collapsed, entities, tagging  # noqa: E402
from experiments.families import (  # noqa: E402
    expert_pool,
    gaussian,
    hyperbolic,
    laplacian,
    shifted,
    unregularised,
)
from experiments.gazetteers import FILES as LISTS  # noqa: E402
from experiments.gazetteers import gazetteers  # noqa: E402
from experiments.masks import mask_of  # noqa: E402
from experiments.pool import Pool, tuned  # noqa: E402
from experiments.running import QUICK, Effort, Laboratory, Stop, guessed  # noqa: E402
from experiments.table import MEASURES, Contrast, Figure, Table  # noqa: E402

from fieldcraft.evaluation.bootstrap import Quotient  # noqa: E402
from fieldcraft.evaluation.metrics import token_accuracy  # noqa: E402
from fieldcraft.models.chain import ChainCRF  # noqa: E402
from fieldcraft.optimisers import LBFGS  # noqa: E402
from fieldcraft.pools.logarithmic import LogOpinionPool  # noqa: E402
from fieldcraft.pools.samples import Bag  # noqa: E402
from fieldcraft.priors import Gaussian  # noqa: E402

CHAPTER_5 = [*range(1, 11), *range(12, 26)]  # 5.11 counts features of the thesis' own
CHAPTER_6 = range(3, 14)  # 6.1 and 6.2 are arithmetic
CHAPTER_8 = [*range(5, 8), *range(9, 14)]  # 8.8 names feature sets
TABLES = [
    *("4.5", "4.6", "4.9"),
    *(f"5.{n}" for n in CHAPTER_5),
    *(f"6.{n}" for n in CHAPTER_6),
    *(f"8.{n}" for n in CHAPTER_8),
]
FIGURES = ["4.1", "5.2", *(f"7.{n}" for n in range(5, 16))]
WANTED = [*(f"table-{number}" for number in TABLES), *(f"figure-{number}" for number in FIGURES)]
FILES = {
    "conll2003": ("eng.train.gz", "eng.testa", "eng.testb"),
    "conll2000": ("train.txt.gz", "test.txt"),
    "gazetteers": tuple(f"{name}.txt" for files in LISTS.values() for name in files),
}


@pytest.fixture
def data(data_file: Callable[[str], Path]) -> Path:
    found = [data_file(f"{folder}/{name}") for folder, names in FILES.items() for name in names]
    return found[0].parents[1]


def loaded() -> list[Table]:
    return [one for one in map(tables.load, tables.names()) if isinstance(one, Table)]


def test_every_table_is_there() -> None:
    assert tables.names() == WANTED
    for name in WANTED:
        assert tables.load(name).name == name


def test_figures_of_the_thesis_agree_where_they_repeat() -> None:
    seen: dict[tuple[str, str], dict[float, list[str]]] = {}
    for table in loaded():
        for row in table.rows:
            for measure, figure in zip(table.measures, row.thesis):
                place = seen.setdefault((row.configuration.key, measure), {})
                place.setdefault(figure, []).append(table.number)
    assert max(len(numbers) for place in seen.values() for numbers in place.values()) > 5
    assert [place for place in seen.values() if len(place) > 1] == []


@pytest.mark.parametrize("table", loaded(), ids=lambda table: table.number)
def test_a_table_makes_sense(table: Table) -> None:
    assert set(table.measures) <= set(MEASURES)
    assert {row.configuration.task for row in table.rows} == {table.task}
    assert len({row.configuration.key for row in table.rows}) == len(table.rows)
    assert {len(row.thesis) for row in table.rows} <= {0, 1, 2}
    for row in table.rows:
        assert not ("test" in table.measures and not row.configuration.reads_test)
        for measure, figure in zip(table.measures, row.thesis):
            alone = row.name.startswith("label: ")  # an expert for one label
            share = measure == "share" and 0 < figure < 1
            assert 60 < figure < 100 or measure == "active" or share or alone


def test_the_three_families_have_fifteen_settings() -> None:
    for task in ("entities", "tagging"):
        for family in (gaussian, laplacian, hyperbolic):
            assert len(set(family(task).grid)) == 15


@pytest.mark.slow
def test_every_table_runs(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["all", "--quick", "--data", str(data), "--into", str(tmp_path)])
    told = capsys.readouterr()
    for name in WANTED:
        report = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert report in told.out
        assert "only a trial" in report
        assert str(data) not in report
        one = tables.load(name)
        if isinstance(one, (Figure, CooperationFigure)):
            assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            continue
        if isinstance(one, Contrast):
            assert all(f"| {number:,} |" in report for row in one.thesis for number in row)
            continue
        for row in one.rows:
            line = next(line for line in report.splitlines() if line.startswith(f"| {row.name} |"))
            for figure in row.thesis:
                assert f"| {figure:,.2f} |" in line or f"| {figure:,.0f} |" in line
    lines = (tmp_path / "archive.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(set(keys)) == len(keys)
    main(["all", "--quick", "--data", "nowhere", "--into", str(tmp_path)])  # all is known, nothing is read
    assert len((tmp_path / "archive.jsonl").read_text(encoding="utf-8").splitlines()) == len(lines)


def test_a_path_ends_where_cold_trainings_end(data: Path, tmp_path: Path) -> None:
    effort = Effort(sentences=60, iterations=1000)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    grid = ((0.5,), (1.0,), (2.0,))
    path = laboratory.result(Configuration("tagging", prior="gaussian", grid=grid)).path
    for point in path:
        alone = Configuration("tagging", prior="gaussian", grid=(point.setting,))
        assert laboratory.result(alone).path[0].objective == pytest.approx(point.objective, rel=1e-5)


def test_a_path_is_followed_along_its_line() -> None:
    older, last = Stop((2.0, 1.0), np.array([0.0, 1.0])), Stop((2.0, 2.0), np.array([0.0, 4.0]))
    assert guessed([], (2.0, 1.0), 2).tolist() == [0.0, 0.0]
    assert guessed([older], (2.0, 2.0), 2).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(guessed([older, last], (2.0, 4.0), 2), [0.0, 7.0], rtol=1e-12)
    np.testing.assert_allclose(guessed([older, last], (2.0, 2.0**1.5), 2), [0.0, 5.5], rtol=1e-12)
    np.testing.assert_allclose(guessed([older, last], (2.0, 100.0), 2), [0.0, 7.0], rtol=1e-12)  # no further
    assert guessed([older, last], (3.0, 4.0), 2).tolist() == [0.0, 4.0]  # two numbers move
    assert guessed([older, last], (2.0, -4.0), 2).tolist() == [0.0, 4.0]  # no logarithm


def test_what_is_given_is_what_was_chosen(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    sigma = laboratory.result(gaussian("tagging")).chosen
    assert laboratory.result(shifted("tagging", 0.67)).chosen == (0.67, *sigma)


def test_the_best_iteration_is_the_model(data: Path, tmp_path: Path) -> None:
    effort = Effort(sentences=100, iterations=30)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    result = laboratory.result(unregularised("tagging"))
    scores = [score for _, score, _ in result.curve]
    assert result.end is not None
    assert result.model.development.score == max(scores) == scores[result.model.iteration - 1]
    assert result.end.development.score == scores[-1]


def test_results_come_back_from_the_file(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    laboratory = Laboratory(data, Archive(path), effort=QUICK, say=lambda line: None)
    result = laboratory.result(unregularised("entities"))
    assert Archive(path).get(result.key) == result


def test_errors_and_shares_are_kept_exactly() -> None:
    rng = np.random.default_rng(0)
    errors, below = rng.integers(0, 120, 3684), rng.integers(0, 60, 3684).astype(float)
    part = Part.of(0.5, errors, Quotient(2 * below, below))
    np.testing.assert_array_equal(part.errors(), errors)
    kept = part.quotient()
    assert kept is not None
    np.testing.assert_array_equal(kept.above, 2 * below)
    np.testing.assert_array_equal(kept.below, below)


def test_the_shares_give_the_score(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    for task in ("entities", "tagging"):
        model = laboratory.result(unregularised(task)).model
        assert model.test is not None
        for part in (model.development, model.test):
            shares = part.quotient()
            assert shares is not None
            assert shares.score() == pytest.approx(part.score, rel=1e-12)
            assert part.score > 0


@pytest.mark.slow
def test_splits_have_the_sizes_of_the_thesis(data: Path) -> None:
    assert [len(part) for part in entities(data, 0)] == [14_987, 3_466, 3_684]
    assert sorted({label for labels in entities(data, 0).train.labels for label in labels}) == [
        *("B-LOC", "B-MISC", "B-ORG", "I-LOC", "I-MISC", "I-ORG", "I-PER", "O")
    ]
    splits = tagging(data, 0)
    assert [len(part) for part in splits] == [7_300, 1_636, 2_012]
    assert splits.test.n_tokens == 47_377
    assert splits.train.n_tokens + splits.development.n_tokens == 211_727
    assert {label for part in splits for labels in part.labels for label in labels} == set("NVJRO")
    assert tagging(data, 0) == splits
    assert tagging(data, 1).development != splits.development


def test_tags_are_collapsed() -> None:
    tags = ["NN", "NNPS", "VBD", "MD", "JJR", "RBS", "WRB", "RP", ",", "PRP$"]
    assert "".join(collapsed(tags)) == "NNVOJROOOO"


def test_each_setting_that_is_followed_begins_at_zero(data: Path, tmp_path: Path) -> None:
    effort = Effort(sentences=60, iterations=12)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    both = Configuration("tagging", prior="gaussian", grid=((0.5,), (2.0,)), follow=True)
    alone = Configuration("tagging", prior="gaussian", grid=((2.0,),), follow=True)
    assert laboratory.result(both).path[1].objective == laboratory.result(alone).path[0].objective


def test_keys_stay_as_they_were() -> None:
    """Results in the archive are found by them."""
    archive = Archive(ROOT / "experiments" / "results" / "archive.jsonl")
    for configuration in (unregularised("entities"), gaussian("tagging"), shifted("entities", 0.5)):
        assert archive.get(f"{configuration.key}-0") is not None
        assert configuration.key != replace(configuration, mask="simple").key


@pytest.mark.slow
def test_masks_are_the_template_sets(data: Path, tmp_path: Path) -> None:
    """A member's features are those that a model with its templates alone would have."""
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    ground = laboratory.ground(unregularised("entities", "standard+g"))
    names = {"simple": "simple", "standard": "entities", "s2noag": "entities-gazetteers"}
    for mask, templates in names.items():
        alone = ChainCRF(templates, gazetteers=gazetteers(data))._training()
        n = len(alone.share(laboratory.splits("entities").train, None).design.index)
        assert int(mask_of(mask, ground.data, ground.names.labels).sum()) == n
    small, large = (mask_of(name, ground.data, ground.names.labels) for name in ("s1g", "s2nog"))
    assert not (small & ~large).any()
    apart, rest = (
        mask_of(name, ground.data, ground.names.labels)
        for name in ("loners:500 and s1", "all but loners:500")
    )
    assert (apart | rest).all()
    assert int((~rest).sum()) == 500
    assert not (mask_of("simple", ground.data, ground.names.labels) & ~apart).any()
    with pytest.raises(ValueError, match="no part of the features"):
        mask_of("s3", ground.data, ground.names.labels)


def test_a_pool_is_the_sum_of_its_members(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    members = tuple(unregularised("tagging", mask=mask) for mask in ("", "simple"))
    found = laboratory.result(Pool(members))
    ground, first, end = laboratory.weights(members[0])
    _, second, second_end = laboratory.weights(members[1])
    assert not second[~mask_of("simple", ground.data, ground.names.labels)].any()
    assert second.any()
    assert found.chosen == (0.5, 0.5)
    assert found.model.development.score == ground.development((first + second) / 2)
    assert found.end is not None
    assert found.end.development.score == ground.development((end + second_end) / 2)
    assert found.model.test is not None
    pool = LogOpinionPool([ground.fitted(first), ground.fitted(second)])
    assert pool.predict(laboratory.splits("tagging").test).tolist() == [
        [ground.names.labels[i] for i in row]
        for row in np.split(ground.test.labels((first + second) / 2), ground.test.encoded.offsets[1:-1])
    ]


def test_a_linear_pool_averages_marginals(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    pool = expert_pool("tagging", "simple", linear=True)
    assert pool.key != expert_pool("tagging", "simple").key
    found = laboratory.result(pool)
    corpus = laboratory.splits("tagging").test
    members = [ground.fitted(weights) for ground, weights, _ in map(laboratory.weights, pool.members)]
    means = [sum(both) / 2 for both in zip(*(member.predict_proba(corpus) for member in members))]
    labels = [[members[0].classes_[i] for i in mean.argmax(axis=1)] for mean in means]
    assert found.model.test is not None
    assert found.model.test.score == token_accuracy(corpus.labels, labels)


def test_a_share_is_trained_as_a_mask_would_be(data: Path, tmp_path: Path) -> None:
    """Weights of a restricted design, placed among all, are those of the whole design with a mask."""
    effort = Effort(sentences=80, iterations=1000)
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=effort, say=lambda line: None)
    one = Configuration("tagging", prior="gaussian", grid=((1.0,),), mask="simple")
    ground, weights, _ = laboratory.weights(one)
    mask = mask_of("simple", ground.data, ground.names.labels)
    masked = ChainCRF(
        "tagging-plain", prior=Gaussian(1.0), optimiser=LBFGS(tolerance=1e-9, max_iterations=1000)
    )
    masked.fit(laboratory.splits("tagging").train, feature_mask=mask)
    np.testing.assert_allclose(weights, masked.weights_, atol=1e-3)  # both stop near the optimum
    assert not weights[~mask].any()


def test_a_bag_has_its_own_features_and_counts(data: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(data, Archive(tmp_path / "a.jsonl"), effort=QUICK, say=lambda line: None)
    ground = laboratory.ground(unregularised("tagging"))
    share = ground.share(unregularised("tagging", bag=2))
    train = laboratory.splits("tagging").train
    counts = Bag(1, 0).counts(len(train))
    assert share.weights is not None
    assert share.weights.tolist() == counts[counts > 0].tolist()
    assert share.weights.sum() == len(train)
    alone = ChainCRF("tagging-plain", labels=ground.names.labels)._training()
    bag = alone.share(train[np.flatnonzero(counts).tolist()], None).design
    assert len(share.design.index) == len(bag.index) == int(share.mask.sum()) < len(ground.index)


def test_the_best_share_is_chosen() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]])
    wanted = np.array([0.37, 0.63])
    np.testing.assert_allclose(tuned(vectors, lambda w: -abs(w - wanted).sum()), wanted, rtol=1e-12)
    with pytest.raises(ValueError, match="only the shares of two"):
        tuned(np.zeros((3, 2)), lambda w: 0.0)


def test_members_of_a_pool_share_their_features() -> None:
    with pytest.raises(ValueError, match="share a task"):
        Pool((unregularised("entities"), unregularised("entities", "standard+g")))

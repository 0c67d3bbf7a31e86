"""`pool`: train, combine, weigh and diagnose; their files are models for every other command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell import COLUMNS, refused, run

import fieldcraft as fc

SMALL = [*COLUMNS, "--templates", "word[-1..1]\nsuffix(word, 2)\nedge", "-j", "1", "-q"]


@pytest.fixture(scope="module")
def pool(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "pool.fc"
    dev = ["--dev", corpora / "dev.conll", "--keep-best"]
    run("pool", "train", corpora / "train.conll", *dev, "--prior", "none", *SMALL, "-o", path)
    return path


def load(path: Path) -> Any:
    return fc.load(path)


def test_a_pool_is_a_model(pool: Path, corpora: Path) -> None:
    assert load(pool).member_names_ == ("full", "behind", "at", "ahead")
    assert load(pool).source_["columns"] == ["word", "pos", "ner"]
    test = corpora / "test.conll"
    for line in (["tag", pool, test], ["evaluate", pool, test], ["inspect", pool], ["explain", pool, test]):
        assert run(*line).stdout
    tagged = [line.split()[-1] for line in run("tag", pool, test).stdout.splitlines() if line]
    corpus = fc.read(test, columns=["word", "pos", "ner"], label="ner")
    assert tagged == [label for row in load(pool).predict(corpus) for label in row]
    assert "probability" in run("tag", pool, test, "--json", "--confidence", "--k-best", "2").stdout


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--experts", "bagged:2"], ("bag1", "bag2")),
        (["--experts", "label", "--max-iterations", "3"], ("full", "LOC", "PER", "O")),
        (["--experts", "simple", "--product"], ("full", "simple")),
        (["--experts", "random:2", "--linear"], ("full", "random1", "random2")),
        (["--experts", "simple", "--cooperative", "--gamma", "0.2", "--no-prime"], ("full", "simple")),
        (["--experts", "simple", "--per", "position", "--weights", "likelihood"], ("full", "simple")),
        (["--experts", "simple", "--weights", "0.25,0.75"], ("full", "simple")),
    ],
)
def test_options_of_train(options: list[str], names: tuple[str, ...], corpora: Path, tmp_path: Path) -> None:
    path = tmp_path / "pool.fc"
    run("pool", "train", corpora / "train.conll", *SMALL, *options, "-o", path)
    made = load(path)
    assert made.member_names_ == names
    assert isinstance(made, fc.LinearOpinionPool if "--linear" in options else fc.LogOpinionPool)
    if "--product" in options:
        assert made.pool_weights_.tolist() == [1.0, 1.0]
    if "0.25,0.75" in options:
        assert made.pool_weights_.tolist() == [0.25, 0.75]
    assert run("evaluate", path, corpora / "test.conll").stdout
    assert run("tag", path, corpora / "test.conll").stdout


def test_combine(pool: Path, model: Path, corpora: Path, tmp_path: Path) -> None:
    path = tmp_path / "both.fc"
    done = run("pool", "combine", pool, model, "--weights", "0.5,0.5", "-o", path)
    assert "2 members" in done.stderr
    both, corpus = load(path), fc.read(corpora / "test.conll", columns=["word", "pos", "ner"], label="ner")
    expected = fc.LogOpinionPool([load(pool), load(model)])
    np.testing.assert_allclose(both.log_probability(corpus), expected.log_probability(corpus), rtol=1e-9)
    assert both.source_ == load(pool).source_
    refused(run("pool", "combine", pool, model, "--weights", "0.5,0.6", "-o", path, check=1), "sum to one")
    refused(run("pool", "combine", pool, model, "--weights", "held-out", "-o", path, check=1), "pool weigh")
    refused(run("pool", "combine", pool, model, "--weights", "0.5;0.5", "-o", path, check=1), "0.6,0.4")
    both_ways = run("pool", "combine", pool, model, "--linear", "--product", "-o", path, check=1)
    refused(both_ways, "choose one")


@pytest.mark.parametrize("by", ["likelihood", "metric"])
def test_weigh(by: str, pool: Path, model: Path, corpora: Path, tmp_path: Path) -> None:
    path, dev = tmp_path / "weighed.fc", corpora / "dev.conll"
    run("pool", "weigh", pool, "--on", dev, "--by", by, "-o", path)
    corpus = fc.read(dev, columns=["word", "pos", "ner"], label="ner")
    expected = load(pool).weigh(corpus, by=by)
    np.testing.assert_allclose(load(path).pool_weights_, expected.pool_weights_, atol=1e-9)
    refused(run("pool", "weigh", model, "--on", dev, "-o", path, check=1), "is one model, no pool")
    refused(run("pool", "weigh", pool, "--on", dev, "--by", "luck", "-o", path, check=1), "choose one of")


def test_diagnose(pool: Path, corpora: Path, tmp_path: Path) -> None:
    dev, test = corpora / "dev.conll", corpora / "test.conll"
    shown = run("pool", "diagnose", pool, dev).stdout
    assert "E - A" in shown
    facts = json.loads(run("pool", "diagnose", pool, dev, "--unlabelled", test, "--json").stdout)
    assert facts["K"] == pytest.approx(facts["E"] - facts["A"], abs=1e-9)
    corpus = fc.read(dev, columns=["word", "pos", "ner"], label="ner")
    assert facts["K"] == pytest.approx(-load(pool).log_probability(corpus).mean())
    assert facts["unlabelled"]["K"] == pytest.approx(facts["E"] - facts["unlabelled"]["A"])
    load(pool).save(tmp_path / "compact.fc", compact=True)
    refused(run("pool", "diagnose", tmp_path / "compact.fc", dev, check=1), "compact=True")


def test_bad_options(corpora: Path, tmp_path: Path) -> None:
    train, path = corpora / "train.conll", tmp_path / "pool.fc"
    for options, message in [
        (["--experts", "clever"], "choose one of"),
        (["--experts", "random"], "random:K"),
        (["--weights", "held-out"], "add --dev FILE"),
        (["--weights", "0.6,0.6"], "--weights 0.6,0.6: they must not be negative and must sum to one"),
        (["--weights", "1.5,-0.5"], "must not be negative"),
        (["--per", "token"], "sequence, position"),
        (["--cooperative", "--linear"], "leave out --linear"),
    ]:
        refused(run("pool", "train", train, *SMALL, *options, "-o", path, check=1), message)
    assert not path.exists()


def test_tune_searches_the_weights_of_a_pool(pool: Path, model: Path, corpora: Path, tmp_path: Path) -> None:
    dev, path = corpora / "dev.conll", tmp_path / "tuned.fc"
    shown = run("tune", pool, "--dev", dev, "--over", "weights", "--points", "12", "-o", path).stdout
    assert "weights=0.25,0.25,0.25,0.25" in shown
    corpus = fc.read(dev, columns=["word", "pos", "ner"], label="ner")
    assert load(path).pool_weights_.sum() == pytest.approx(1.0)
    assert load(path).score(corpus) >= load(pool).score(corpus)
    assert load(path).source_ == load(pool).source_
    refused(run("tune", pool, "--dev", dev, "--over", "variance=1..2", check=1), "write --over weights")
    refused(run("tune", model, "--dev", dev, "--over", "weights", check=1), "is one model, no pool")
    assert "--dev is missing" in run("tune", pool, "--over", "weights", check=2).stderr

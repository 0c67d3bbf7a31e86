"""SkipChainCRF: against the linear chain, by finite differences, files, refusals."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.design import Design, build_design
from fieldcraft.errors import InputError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.paired import PairFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.word_pairs import WordPairs
from fieldcraft.labels import encode_labels
from fieldcraft.models.skip_design import with_pairs
from fieldcraft.problems.skip_chain import SkipProblem
from fieldcraft.structures.skip_chain import SkipChain
from laws.cases import same

TEMPLATES = "edge\nword\nword[-1]\nedge: lower(word)"
TIGHT = fc.LBFGS(tolerance=1e-9, objective_tolerance=0.0)


def documents(seed: int = 0, n: int = 12) -> tuple[list[list[str]], list[list[str]]]:
    """Synthetic: a name is introduced by Dr, and mentioned again without."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        name, other = rng.choice(["Green", "Hall", "Brown", "Wean", "Art", "Field"], 2, replace=False)
        row = [("Dr", "O"), (name, "N"), ("talks", "O"), ("in", "O"), (other, "O"), (".", "O")]
        row += [(name, "N"), ("is", "O"), ("new", "O")] if rng.random() < 0.7 else [(other, "O"), (".", "O")]
        X.append([word for word, _ in row])
        y.append([label for _, label in row])
    return X, y


@pytest.fixture(scope="module")
def fitted() -> fc.SkipChainCRF:
    return fc.SkipChainCRF(TEMPLATES, prior=fc.Gaussian(10.0)).fit(*documents())


def test_without_pairs_it_is_the_linear_chain() -> None:
    X, y = documents()
    lower = [[word.lower() for word in row] for row in X]
    chain = fc.ChainCRF(TEMPLATES, optimiser=TIGHT).fit(lower, y)
    with pytest.warns(UserWarning, match="no two tokens of a sequence are similar"):
        skip = fc.SkipChainCRF(TEMPLATES, optimiser=TIGHT).fit(lower, y)
    assert skip.n_pairs_ == 0
    same(skip.weights_, chain.weights_, rel=1e-7, abs=1e-7)
    assert skip.predict(lower).tolist() == chain.predict(lower).tolist()
    same(skip.log_probability(lower, y), chain.log_probability(lower, y), rel=1e-6, abs=1e-7)


def problem(tying: str, method: str) -> tuple[SkipProblem, int]:
    X, y = documents(n=3)
    encoder = PairFeatures(TemplateFeatures(Templates.parse(TEMPLATES)), WordPairs())
    encoded = encoder.encode(X, grow=True)
    gold = encode_labels(y, ["N", "O"], encoded.offsets)
    structure = SkipChain(["N", "O"], tying, (method, {}))
    chain: Design = build_design(encoder.tokens, encoded, gold, 2)
    design = with_pairs(chain, encoder, structure, features="supported", min_count=1)
    objective = fc.objectives.Likelihood()
    made = SkipProblem(structure, design, fc.Gaussian(10.0).resolved(design.index, None), objective=objective)
    return made, len(design.index)


@pytest.mark.parametrize("tying", ["full", "agreement", "same"])
def test_gradients_are_differences_with_exact_inference(tying: str) -> None:
    made, n = problem(tying, "junction_tree")
    rng = np.random.default_rng(1)
    weights, slope, step = rng.normal(size=n), np.zeros(n), 1e-5
    made.loss(weights, slope)
    for f in rng.choice(n, 25, replace=False):
        values = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[f] += sign * step
            values.append(made.loss(moved, np.zeros(n)))
        same((values[0] - values[1]) / (2 * step), slope[f], rel=1e-6, abs=1e-7)  # of differences


@pytest.mark.parametrize("objective", ["likelihood", "pseudo_likelihood", "perceptron", "softmax_margin"])
def test_objectives_learn(objective: str) -> None:
    X, y = documents(n=6)
    optimiser = "averaged_perceptron" if objective == "perceptron" else "lbfgs"
    prior = "auto" if objective == "perceptron" else fc.Gaussian(10.0)
    model = fc.SkipChainCRF(TEMPLATES, objective=objective, optimiser=optimiser, prior=prior).fit(X, y)
    assert model.score(X, y) > 0.9


def test_skip_edges_carry_evidence_to_other_mentions(fitted: fc.SkipChainCRF) -> None:
    X = [["Dr", "Young", "talks", "in", "Vale", ".", "Young", "is", "old"]]
    chain = fc.ChainCRF(TEMPLATES).fit(*documents())
    skip = fitted.predict_proba(X)[0][6, 0]
    assert skip > chain.predict_proba(X)[0][6, 0] + 0.1
    assert fitted.pairs(X) == [[(1, 6)]]


def test_what_a_training_says(fitted: fc.SkipChainCRF) -> None:
    told: list[str] = []

    class Listener:
        def __call__(self, record: Any) -> None:
            del record

        def tell(self, line: str) -> None:
            told.append(line)

    model = fc.SkipChainCRF(TEMPLATES).fit(*documents(), callbacks=[Listener()])
    assert any(line.startswith(f"{model.n_pairs_} pairs of similar words") for line in told)
    assert all(record.unconverged is not None for record in model.training_log_)
    hasty = fc.SkipChainCRF(TEMPLATES, inference={"method": "propagation", "max_iterations": 1})
    assert sum(record.unconverged for record in hasty.fit(*documents()).training_log_) > 0
    with pytest.warns(UserWarning, match="belief propagation did not converge on 12 sequences"):
        hasty.predict_proba(documents()[0])
    assert fitted.n_pairs_ == 12


def test_files_and_pickles_predict_the_same(fitted: fc.SkipChainCRF, tmp_path: Path) -> None:
    X, _ = documents(3)
    fitted.save(tmp_path / "skip.fc")
    for other in (fc.load(tmp_path / "skip.fc"), pickle.loads(pickle.dumps(fitted))):
        assert isinstance(other, fc.SkipChainCRF)
        assert other.predict(X).tolist() == fitted.predict(X).tolist()
        assert other.pairs(X) == fitted.pairs(X)
        assert other.n_pairs_ == fitted.n_pairs_
        same(np.concatenate(other.predict_proba(X)), np.concatenate(fitted.predict_proba(X)))


def test_a_similarity_of_ones_own_is_set_again_after_loading(tmp_path: Path) -> None:
    X, y = documents()

    def alike(a: str, b: str) -> bool:
        return a[:2] == b[:2]

    model = fc.SkipChainCRF(TEMPLATES, similarity=alike).fit(X, y)
    model.save(tmp_path / "own.fc")
    other = fc.load(tmp_path / "own.fc")
    with pytest.raises(InputError, match="model.similarity = function"):
        other.predict(X)
    other.similarity = alike  # type: ignore[attr-defined]
    assert other.predict(X).tolist() == model.predict(X).tolist()


def test_the_automatic_penalty_is_stronger_on_skip_edges(tmp_path: Path) -> None:
    X, y = documents()
    model = fc.SkipChainCRF(TEMPLATES).fit(X, y)
    by_hand = fc.SkipChainCRF(
        TEMPLATES, prior=fc.Gaussian(lambda index: np.where(index.belongs_to("skip"), 0.1, 10.0))
    )
    assert np.array_equal(model.weights_, by_hand.fit(X, y).weights_)
    model.save(tmp_path / "auto.fc")
    assert fc.load(tmp_path / "auto.fc").prior == fc.Gaussian(
        fc.groups.by_part({"skip": 0.1}, otherwise=10.0)
    )


def test_two_stages_keep_the_weights_of_the_chain() -> None:
    X, y = documents()
    chain = fc.ChainCRF(TEMPLATES, optimiser=TIGHT).fit(X, y)
    options: dict[str, Any] = {"optimiser": TIGHT, "prior": fc.Gaussian(10.0)}
    model = fc.SkipChainCRF(TEMPLATES, two_stage=True, **options).fit(X, y)
    skip = model.features_.belongs_to("skip")
    same(model.weights_[~skip], chain.weights_, rel=1e-6, abs=1e-7)
    assert np.abs(model.weights_[skip]).max() > 0.1
    joint = fc.SkipChainCRF(TEMPLATES, **options).fit(X, y)
    assert joint.objective_value_ < model.objective_value_ < chain.objective_value_
    with pytest.raises(InputError, match="two_stage=True trains the chain by its likelihood first"):
        fc.SkipChainCRF(TEMPLATES, objective="pseudo_likelihood", two_stage=True).fit(X, y)


def test_a_short_training_starts_from_the_end_of_the_chain() -> None:
    """Two stages without a step of the second: the chain's weights are those of a long training."""
    X, y = documents()
    chain = fc.ChainCRF(TEMPLATES, optimiser=TIGHT).fit(X, y)
    short = replace(TIGHT, max_iterations=1)
    options: dict[str, Any] = {"optimiser": short, "two_stage": True, "prior": fc.Gaussian(10.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the iteration limit
        skip = fc.SkipChainCRF(TEMPLATES, **options).fit(X, y)
    same(skip.weights_[~skip.features_.belongs_to("skip")], chain.weights_, rel=1e-6, abs=1e-7)
    assert chain.n_iter_ > 5


def test_own_templates_of_pairs_and_tyings() -> None:
    X, y = documents()
    for options in ({"skip_templates": "word[-1]"}, {"skip_templates": "none"}, {"skip_tying": "same"}):
        model = fc.SkipChainCRF(TEMPLATES, **options).fit(X, y)
        assert model.score(X, y) > 0.9
        assert model.features_.belongs_to("skip").any()


def test_a_word_inside_a_longer_phrase_may_have_another_label(tmp_path: Path) -> None:
    """Synthetic: a name alone is a place, inside a longer name it is part of an organisation."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for place in rng.choice(["China", "Japan", "Peru", "Chad", "Mali"], 30):
        X.append(["in", place, "said", "The", place, "Daily", "today"])
        y.append(["O", "L", "O", "R", "R", "R", "O"])
    with_phrases = fc.SkipChainCRF("word[-1]", phrases=True, skip_templates="none").fit(X, y)
    texts = with_phrases.encoder_.attribute_text(range(with_phrases.encoder_.n_attributes))
    assert texts[-4:] == [f"phrase={name}" for name in ("equal", "inside", "contains", "other")]
    skip = with_phrases.features_.belongs_to("skip") & (with_phrases.features_.attribute >= 0)
    used = with_phrases.encoder_.attribute_text(with_phrases.features_.attribute[skip])
    assert set(used) == {"phrase=inside"}
    with_phrases.save(tmp_path / "phrases.fc")
    other = fc.load(tmp_path / "phrases.fc")
    new = [["in", "Cuba", "said", "The", "Cuba", "Daily", "today"]]
    same(other.predict_proba(new)[0], with_phrases.predict_proba(new)[0])
    labels = other.predict(new)[0]
    assert (labels[1], labels[4]) == ("L", "R")


@pytest.mark.parametrize("method", ["junction_tree", "tree_reweighted", "mean_field", "auto"])
def test_other_inferences(method: str) -> None:
    X, y = documents(n=4)
    model = fc.SkipChainCRF(TEMPLATES, inference=method, optimiser=fc.LBFGS(max_iterations=10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert np.isfinite(model.objective_value_)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"similarity": "sound"}, "similarity='sound'; give one of same, stem, edit"),
        ({"max_pairs_per_word": 0}, "max_pairs_per_word"),
        ({"skip_tying": "some"}, "skip_tying='some'; give one of full, same, agreement"),
        ({"skip_templates": 3}, "skip_templates=3; give 'same', 'none' or template text"),
        ({"states": "ngrams:2"}, "is for linear chains; leave it out"),
        ({"inference": "gibbs"}, "no log Z that training could use"),
        ({"inference": {"method": "propagation", "speed": 3}}, "has no option 'speed'"),
        ({"inference": {"method": "auto", "wide": "gibbs"}}, "wide='gibbs'; give one of tree_reweighted"),
        ({"inference": "guess"}, "inference='guess'; give one of"),
        ({"objective": "marginal_likelihood"}, "is not for skip chains"),
        ({"optimiser": "smo"}, "smo"),
        (
            {"similarity": lambda a, b: True},
            "joins 15 pairs among 6 different words, all of them, with a cap",
        ),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], rule: str) -> None:
    X = [["Dr", "Green", "Hall", "Brown", "Wean", "Art", "Green"]]
    with pytest.raises(InputError) as caught:
        fc.SkipChainCRF(TEMPLATES, **options).fit(X, [["O", "N", "O", "O", "O", "O", "N"]])
    assert rule in str(caught.value)


def test_inspection_shows_the_features_of_the_chain(fitted: fc.SkipChainCRF) -> None:
    index, weights = fitted.features_, fitted.weights_
    steps = index.belongs_to("edge") & (index.attribute < 0)
    matrix = np.full((2, 2), np.nan)
    matrix[index.previous[steps], index.label[steps]] = weights[steps]
    same(fitted.inspect().transitions, matrix)
    assert "step in from" in str(fitted.explain(documents()[0][0], token=6))


def test_bad_input_is_refused(fitted: fc.SkipChainCRF) -> None:
    with pytest.raises(InputError, match="pass templates= and columns of words"):
        fc.SkipChainCRF().fit([[["w=a"]]], [["N"]])
    with pytest.raises(InputError, match="partial_fit is for chains"):
        fitted.partial_fit([["A"]], [["N"]])
    many = [["A"] * 200]
    with pytest.raises(InputError, match="joins 19,900 pairs among 200 tokens with no cap"):
        fc.SkipChainCRF("word", max_pairs_per_word=None).fit(many, [["N"] * 200])
    with pytest.raises(InputError, match="lacks|no operation|has no"):
        fitted.k_best([["Dr", "Green"]], 2)

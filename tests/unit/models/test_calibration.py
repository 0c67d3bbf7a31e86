"""fc.calibrate: one distribution, divided potentials; against the enumeration of all labellings."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError, ModelFileError, NotFittedError
from fieldcraft.models.calibration import with_calibration
from fieldcraft.models.parameters import Calibration
from fieldcraft.store import files
from fieldcraft.store.files import read_arrays, write_arrays

LABELS = ["B-A", "I-A", "O"]
WORDS = "abcd"
STEP = 1e-3  # of the derivatives below


def data(n: int, seed: int, *, noise: float = 0.3) -> tuple[list[Any], list[list[str]]]:
    """Words with labels that follow them but for noise (synthetic)."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = [WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, 5))]
        y.append([])
        for word in words:
            sure = {"a": "B-A", "b": "I-A"}.get(word, "O")
            label = LABELS[rng.integers(3)] if rng.random() < noise else sure
            before = y[-1][-1] if y[-1] else "O"
            y[-1].append("B-A" if label == "I-A" and before == "O" else label)
        X.append([[f"w={word}", word] for word in words])
    return X, y


def columns(X: list[Any]) -> list[list[str]]:
    return [[token[1] for token in row] for row in X]


LOOSE = fc.Gaussian(variance=100.0)
TRAIN, HELD_OUT = data(25, 0), data(40, 1)


def chain(**settings: Any) -> Any:
    return fc.ChainCRF(prior=LOOSE, n_jobs=1, labels=LABELS, features="all", **settings).fit(*TRAIN)


def pool() -> Any:
    members = [chain(), fc.ChainCRF(prior="gaussian", labels=LABELS, n_jobs=1).fit(*data(25, 5))]
    return fc.LogOpinionPool(members, weights=[0.6, 0.4])


MODELS = {
    "chain": chain,
    "l1": lambda: fc.ChainCRF(prior=fc.Laplacian(scale=1.0), labels=LABELS, n_jobs=1).fit(*TRAIN),
    "second order": lambda: chain(states="ngrams:2"),
    "latent": lambda: chain(states="latent:2"),
    "segments": lambda: fc.SegmentCRF("word\nedge", prior=LOOSE).fit(columns(TRAIN[0]), TRAIN[1]),
    "hmm": lambda: fc.HMM(labels=LABELS).fit(columns(TRAIN[0]), TRAIN[1]),
    "memm": lambda: fc.MEMM(labels=LABELS, prior=LOOSE).fit(*TRAIN),
    "cmm": lambda: fc.CMM(labels=LABELS, prior=LOOSE).fit(*TRAIN),
    "pool": pool,
}
BY_WORD = {"segments", "hmm"}


@pytest.fixture(scope="module", params=list(MODELS))
def case(request: pytest.FixtureRequest) -> tuple[Any, Any, Any, Any]:
    """A model, its calibration, and held-out data."""
    X, y = HELD_OUT
    X = columns(X) if request.param in BY_WORD else X
    model = MODELS[request.param]()
    possible = np.isfinite(model.log_probability(X, y))
    X, y = [x for x, ok in zip(X, possible) if ok], [row for row, ok in zip(y, possible) if ok]
    assert len(X) > 30
    return model, fc.calibrate(model, X, y), X, y


def at(model: Any, temperature: float) -> Any:
    return with_calibration(model, Calibration(temperature))


def test_the_derivative_is_zero(case: Any) -> None:
    """By differences of another step and order than those of the search."""
    model, calibrated, X, y = case
    T = calibrated.temperature_
    assert abs(T - 1) > 0.01
    values = [at(model, T * np.exp(s)).log_probability(X, y).sum() for s in (-STEP, 0.0, STEP)]
    slope, bend = (values[2] - values[0]) / (2 * STEP), (values[2] - 2 * values[1] + values[0]) / STEP**2
    assert bend < 0
    assert (
        abs(slope / bend) < 1e-5
    )  # how far log T is from the optimum; differences of this order err by 1e-6


def test_best_labels_stay(case: Any) -> None:
    model, calibrated, X, _ = case
    if model._predictor().structure.one_to_one:
        assert calibrated.predict(X).tolist() == model.predict(X).tolist()
        assert [d.labels for d in calibrated.decode(X)] == [d.labels for d in model.decode(X)]


def test_one_distribution(case: Any) -> None:
    """Every answer is that of exp(score / T), enumerated from the labellings of the model before."""
    model, calibrated, X, y = case
    if not model._predictor().structure.one_to_one:
        return
    X, y = X[:12], y[:12]
    whole = model.k_best(X, 100_000)
    number = {name: i for i, name in enumerate(model.classes_.tolist())}
    proba, entropy, log_p = (
        calibrated.predict_proba(X),
        calibrated.entropy(X),
        calibrated.log_probability(X, y),
    )
    for i, rows in enumerate(whole):
        scores = np.array([log / calibrated.temperature_ for _, log in rows])
        shares = np.exp(scores - np.logaddexp.reduce(scores))
        where = [labels for labels, _ in rows].index(y[i])
        np.testing.assert_allclose(np.exp(log_p[i]), shares[where], rtol=1e-9)
        positive = shares[shares > 0]
        np.testing.assert_allclose(entropy[i], -(positive * np.log(positive)).sum(), rtol=1e-8)
        node = np.zeros_like(proba[i])
        for (labels, _), share in zip(rows, shares):
            node[np.arange(len(labels)), [number[label] for label in labels]] += share
        np.testing.assert_allclose(proba[i], node, rtol=1e-9, atol=1e-12)
        first = calibrated.k_best(X[i : i + 1], 1)[0][0]
        np.testing.assert_allclose(np.exp(first[1]), shares.max(), rtol=1e-9)


def test_temperature_one_is_the_same_model(case: Any) -> None:
    model, calibrated, X, y = case
    same = at(calibrated, 1.0)
    np.testing.assert_array_equal(same.log_probability(X, y), model.log_probability(X, y))
    np.testing.assert_array_equal(same.weights_, model.weights_)
    assert same.temperature_ == model.temperature_ == 1.0


def test_files_and_pickles(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, calibrated, X, y = case
    calibrated.save(tmp_path / "c.fc", zeros=True)
    for again in (fc.load(tmp_path / "c.fc"), pickle.loads(pickle.dumps(calibrated))):
        assert again.temperature_ == calibrated.temperature_
        np.testing.assert_array_equal(again.log_probability(X, y), calibrated.log_probability(X, y))
        np.testing.assert_array_equal(at(again, 1.0).log_probability(X, y), model.log_probability(X, y))
    monkeypatch.setattr(files, "NEWEST", 3)  # as an earlier version reads it
    with pytest.raises(ModelFileError, match="has format 4; this fieldcraft reads formats 1 to 3"):
        fc.load(tmp_path / "c.fc")


def test_calibrated_again_is_the_same(case: Any) -> None:
    _, calibrated, X, y = case
    np.testing.assert_allclose(
        fc.calibrate(calibrated, X, y).temperature_, calibrated.temperature_, rtol=1e-7
    )


def test_fit_drops_it() -> None:
    """Also with a warm start, which begins at the weights as they were trained."""
    calibrated = fc.calibrate(chain(), *HELD_OUT)
    plain = with_calibration(calibrated, Calibration())
    for model in (calibrated, plain):
        model.warm_start, model.optimiser = True, fc.LBFGS(max_iterations=1)
        model.fit(*TRAIN)
    assert calibrated.temperature_ == 1.0
    np.testing.assert_array_equal(calibrated.weights_, plain.weights_)
    calibrated = fc.calibrate(chain(), *HELD_OUT)
    assert calibrated.partial_fit(*HELD_OUT).temperature_ == 1.0


def test_a_member_of_a_pool_keeps_its_temperature() -> None:
    calibrated = fc.calibrate(chain(), *HELD_OUT)
    alone = fc.LogOpinionPool([calibrated], weights=[1.0])
    np.testing.assert_allclose(
        alone.log_probability(*HELD_OUT), calibrated.log_probability(*HELD_OUT), rtol=1e-12
    )


def test_calibration_helps_on_other_data() -> None:
    """On data used for neither: the model was trained without mercy on few sequences."""
    model, other = chain(), data(300, 7)
    calibrated = fc.calibrate(model, *data(200, 8))
    before, after = (
        fc.metrics.reliability(other[1], of.predict_proba(other[0]), of.classes_)
        for of in (model, calibrated)
    )
    assert calibrated.temperature_ > 1
    assert after.error < before.error
    assert after.log_loss < before.log_loss


def test_rows() -> None:
    """A logistic regression has rows, not sequences."""
    X, y = [{"x": 1.0}, {"x": -1.0}] * 10, ["A", "B"] * 9 + ["B", "A"]
    model = fc.LogisticRegression(prior=fc.Gaussian(variance=0.01)).fit(X, y)
    calibrated = fc.calibrate(model, X, y)
    assert calibrated.temperature_ < 1
    np.testing.assert_allclose(calibrated.predict_proba(X)[0, 0], 0.9, atol=1e-6)


def test_per_label() -> None:
    """Node marginals alone: rows of sum 1, a stationary log-loss, all else as before."""
    model = chain()
    X, y = HELD_OUT
    corrected = fc.calibrate(model, X, y, per="label")
    powers = corrected._parameters.calibration.powers
    p = np.concatenate(corrected.predict_proba(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    loss = fc.metrics.log_loss(y, corrected.predict_proba(X), model.classes_)
    assert loss < fc.metrics.log_loss(y, model.predict_proba(X), model.classes_)
    for label, step in ((i, s) for i in range(3) for s in (-0.01, 0.01)):
        moved = [power + step * (i == label) for i, power in enumerate(powers)]
        other = with_calibration(model, Calibration(powers=tuple(moved)))
        assert fc.metrics.log_loss(y, other.predict_proba(X), model.classes_) > loss
    np.testing.assert_array_equal(corrected.log_probability(X, y), model.log_probability(X, y))
    assert corrected.scored(X).predict_proba()[0].tolist() == corrected.predict_proba(X)[0].tolist()
    ones = with_calibration(model, Calibration(powers=(1.0, 1.0, 1.0)))
    np.testing.assert_allclose(np.concatenate(ones.predict_proba(X)), np.concatenate(model.predict_proba(X)))


def test_per_label_in_a_file(tmp_path: Path) -> None:
    corrected = fc.calibrate(chain(), *HELD_OUT, per="label")
    corrected.save(tmp_path / "m.fc", zeros=True)
    again = fc.load(tmp_path / "m.fc")
    X = HELD_OUT[0]
    assert [p.tolist() for p in again.predict_proba(X)] == [p.tolist() for p in corrected.predict_proba(X)]


@pytest.mark.parametrize(
    "entry", [{"temperature": 0.0}, {"temperature": "x"}, {"temperature": 1.0, "powers": [1.0]}, [], 3]
)
def test_damaged_entries(tmp_path: Path, entry: Any) -> None:
    fc.calibrate(chain(), *HELD_OUT).save(tmp_path / "m.fc")
    header, arrays = read_arrays(tmp_path / "m.fc")
    entry = {"powers": None, **entry} if isinstance(entry, dict) else entry
    write_arrays(tmp_path / "d.fc", {**header, "calibration": entry}, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        fc.load(tmp_path / "d.fc")


def test_an_unknown_requirement(tmp_path: Path) -> None:
    chain().save(tmp_path / "m.fc")
    header, arrays = read_arrays(tmp_path / "m.fc")
    for requires in (["calibration", "magic"], "magic", [["x"]]):
        write_arrays(tmp_path / "d.fc", {**header, "requires": requires}, arrays)
        with pytest.raises(ModelFileError, match="requires .*a newer version of fieldcraft may read it"):
            fc.load(tmp_path / "d.fc")


def test_refusals() -> None:
    X, y = HELD_OUT
    with pytest.raises(NotFittedError):
        fc.calibrate(fc.ChainCRF(), X, y)
    with pytest.raises(InputError, match="per='word'; choose one of model, label"):
        fc.calibrate(chain(), X, y, per="word")
    with pytest.raises(InputError, match="a dict cannot be calibrated"):
        fc.calibrate({}, X, y)  # type: ignore[type-var]
    with pytest.raises(InputError, match="y is missing"):
        fc.calibrate(chain(), X)
    mixture = fc.LinearOpinionPool([chain(), chain()])
    with pytest.raises(InputError, match="calibrate its members"):
        fc.calibrate(mixture, X, y)
    easy, labels = [[["w=a"], ["w=b"]]] * 3, [["B-A", "O"]] * 3
    with pytest.raises(InputError, match="makes no mistake"):
        fc.calibrate(fc.ChainCRF().fit(easy, labels), easy, labels)
    wrong = [["O", "B-A"]] * 3
    with pytest.raises(InputError, match="worse than chance"):
        fc.calibrate(fc.ChainCRF(features="all").fit(easy, labels), easy, wrong)
    words = columns(X)
    hmm = fc.calibrate(fc.HMM(labels=LABELS).fit(words, y), words, y)
    with pytest.raises(InputError, match="no p\\(x\\)"):
        hmm.log_likelihood(words)

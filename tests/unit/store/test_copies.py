"""What a model was made with survives a file, a pickle and a copy, in every form that a user may give it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import fieldcraft as fc
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.store.snapshots import read_snapshot, write_snapshot

WORDS = [["Old", "York"], ["a", "New", "York", "dog"]]
Y = [["O", "L"], ["O", "L", "L", "O"]]
COPIES: dict[str, Callable[[fc.ChainCRF], fc.ChainCRF]] = {
    "pickle": lambda crf: pickle.loads(pickle.dumps(crf)),
    "deepcopy": copy.deepcopy,
    "clone": lambda crf: clone(crf).fit(WORDS, Y),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("entries", [list, iter], ids=["list", "iterator"])
def test_gazetteers(way: str, entries: Callable[[list[str]], Any], tmp_path: Path) -> None:
    """A fitted model, and one that was loaded, with the table of a gazetteer inside."""
    places = fc.Gazetteer("places", entries(["New York", "York"]))
    crf = fc.ChainCRF("word\nin(places, word)", gazetteers=[places], n_jobs=1).fit(WORDS, Y)
    crf.save(tmp_path / "model.fc")
    for model in (crf, fc.load(tmp_path / "model.fc")):
        again = COPIES[way](model)
        np.testing.assert_array_equal(again.log_partition(WORDS), crf.log_partition(WORDS))
        assert again.encoder_.gazetteers["places"].find(["in", "New", "York"]) == [(1, 3)]


def test_template_lines_that_occur_twice(tmp_path: Path) -> None:
    """CRF++ and Wapiti count such a line twice; the file must say so too."""
    crf = fc.ChainCRF("U0:%x[0,0]\nU0:%x[0,0]\n*1:%x[-1,0]\nB\n", n_jobs=1).fit(WORDS, Y)
    crf.save(tmp_path / "model.fc")
    loaded = fc.load(tmp_path / "model.fc")
    np.testing.assert_array_equal(loaded.log_partition(WORDS), crf.log_partition(WORDS))
    assert str(loaded.encoder_.templates) == str(crf.encoder_.templates)


@pytest.mark.parametrize("name", ["random_state", "min_count", "hash_size"])
def test_numbers_of_numpy(name: str, tmp_path: Path) -> None:
    X = [[[w] for w in s] for s in WORDS]
    fc.ChainCRF(n_jobs=1, **{name: np.int64(1)}).fit(X, Y).save(tmp_path / "model.fc")
    assert getattr(fc.load(tmp_path / "model.fc"), name) == 1


def test_a_training_that_had_ended(tmp_path: Path) -> None:
    """Killed after its last snapshot, it does no step more when it is taken up again."""
    options: dict[str, Any] = {"snapshot": tmp_path / "state", "snapshot_every": 1}
    crf = fc.ChainCRF("word", n_jobs=1).fit(WORDS, Y, **options)
    again = fc.ChainCRF("word", n_jobs=1).fit(WORDS, Y, **options, resume=True)
    assert (again.n_iter_, again.stop_reason_) == (crf.n_iter_, crf.stop_reason_)
    assert again.weights_.tobytes() == crf.weights_.tobytes()


def test_a_damaged_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_snapshot(path, "digest", {"weights": np.arange(9.0), "order": np.zeros(0, np.int64)})
    assert read_snapshot(path, "digest")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        ModelFileError, match=r"state is damaged: the content of weights has changed .*remove it"
    ):
        read_snapshot(path, "digest")


SPACES = ["labels", "labels+observed", "ngrams:2+observed", "iob2", "latent:2"]
MADE: dict[str, Callable[[str], Any]] = {
    "chain": lambda states: _chain(states),
    "rules": lambda states: _chain(states, constraints=[fc.forbidden("O", "I-x")]),
    "calibrated": lambda states: fc.calibrate(_chain(states), SPANS_X, MISTAKEN),
    "log_pool": lambda states: fc.LogOpinionPool([_chain(states), _chain(states, prior=None)]),
    "linear_pool": lambda states: fc.LinearOpinionPool([_chain(states), _chain(states, prior=None)]),
}
SPANS_X = [[["a"], ["b"], ["c"]], [["b"], ["a"]], [["c"], ["a"], ["a"], ["b"]]]
SPANS_Y = [["B-x", "I-x", "O"], ["O", "B-x"], ["O", "B-x", "I-x", "B-x"]]
MISTAKEN = [["B-x", "I-x", "B-x"], ["O", "B-x"], ["O", "B-x", "I-x", "O"]]


def _chain(states: str, **options: Any) -> fc.ChainCRF:
    few = fc.LBFGS(max_iterations=5)
    return fc.ChainCRF(states=states, optimiser=few, n_jobs=1, **options).fit(SPANS_X, SPANS_Y)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("states", SPACES)
@pytest.mark.parametrize("made", MADE)
def test_state_spaces(made: str, states: str, tmp_path: Path) -> None:
    """Files and pickles of every kind of model over a state space answer as it does, also twice copied."""
    try:
        model = MADE[made](states)
        model.predict(SPANS_X)
    except InputError:
        assert states == "latent:2"  # no pool, no calibration
        return
    model.save(tmp_path / "model.fc")
    loaded = fc.load(tmp_path / "model.fc")
    for again in (
        loaded,
        *(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(m)))) for m in (model, loaded)),
    ):
        for one, other in zip(model.predict_proba(SPANS_X), again.predict_proba(SPANS_X)):
            np.testing.assert_array_equal(one, other)
        asked = model.log_probability(SPANS_X, SPANS_Y), again.log_probability(SPANS_X, SPANS_Y)
        np.testing.assert_array_equal(*asked)

"""ChainCRF with a beam: log, decodings, files, the shell's option, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.cli.rules import read_beam

X, Y = [], []
for i in range(60):
    numbers = [(7 * i + 3 * t * t + i * t) % 12 for t in range(3 + i % 5)]
    X.append([[f"w={n}", f"v={n % 4}"] for n in numbers])
    Y.append([f"L{(n + (t % 2)) % 8}" for t, n in enumerate(numbers)])
BRIEF = fc.LBFGS(max_iterations=15)


def test_a_beam_of_all_states_is_no_beam() -> None:
    exact, wide = fc.ChainCRF(optimiser=BRIEF).fit(X, Y), fc.ChainCRF(optimiser=BRIEF, beam=8).fit(X, Y)
    np.testing.assert_allclose(wide.weights_, exact.weights_, rtol=1e-9, atol=1e-9)
    assert all(d.optimal and d.gap == 0 for d in wide.decode(X))
    assert [record.lost_mass for record in wide.training_log_] == [0.0] * wide.n_iter_
    assert all(record.lost_mass is None for record in exact.training_log_)


@pytest.mark.parametrize("beam", [3, 0.99])
def test_log_decodings_and_file(beam: Any, tmp_path: Path) -> None:
    lines: list[str] = []
    crf = fc.ChainCRF(optimiser=BRIEF, beam=beam).fit(X, Y, callbacks=[lambda r: lines.extend(r.details())])
    assert all(0 <= record.lost_mass <= 1 for record in crf.training_log_)
    assert len(lines) == crf.n_iter_
    decodings = crf.decode(X)
    assert not any(d.optimal for d in decodings)
    assert np.isnan(decodings[0].gap)
    best = fc.ChainCRF(optimiser=BRIEF)
    best.__dict__.update({**vars(crf), "beam": None})
    for d, free in zip(decodings, best.decode(X)):
        assert d.value <= free.value + 1e-12
        assert free.optimal
    np.testing.assert_allclose(crf.log_partition(X), best.log_partition(X), rtol=1e-12)  # of all states
    crf.save(tmp_path / "beam.fc")
    loaded = fc.load(tmp_path / "beam.fc")
    assert loaded.get_params()["beam"] == beam
    assert loaded.predict(X).tolist() == crf.predict(X).tolist()
    assert [r.lost_mass for r in loaded.training_log_] == [r.lost_mass for r in crf.training_log_]


def test_set_after_training() -> None:
    crf = fc.ChainCRF(optimiser=BRIEF).fit(X, Y)
    assert crf.decode(X)[0].optimal
    crf.set_params(beam=1)
    assert not crf.decode(X)[0].optimal
    crf.set_params(beam=None)
    assert crf.decode(X)[0].optimal


def test_resumed_training_keeps_its_records(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"snapshot": tmp_path / "s", "snapshot_every": 1}
    whole = fc.ChainCRF(optimiser=BRIEF, beam=3).fit(X, Y)
    stopped = fc.ChainCRF(optimiser=BRIEF, beam=3)
    stopped.fit(X, Y, callbacks=[lambda r: r.iteration == 5], **settings)
    resumed = fc.ChainCRF(optimiser=BRIEF, beam=3).fit(X, Y, resume=True, **settings)
    assert [r.lost_mass for r in resumed.training_log_] == [r.lost_mass for r in whole.training_log_]


def test_with_states_and_threads() -> None:
    for states in ("labels+observed", "ngrams:2+observed"):
        one, two = (fc.ChainCRF(optimiser=BRIEF, beam=4, states=states, n_jobs=n).fit(X, Y) for n in (1, 2))
        np.testing.assert_array_equal(one.weights_, two.weights_)
        assert one.training_log_[-1].lost_mass == two.training_log_[-1].lost_mass


@pytest.mark.parametrize("beam", [0, -1, 1.0, 0.0, 1.5, True, "20", float("nan")])
def test_what_is_no_beam_is_refused(beam: Any) -> None:
    with pytest.raises(fc.errors.InputError, match="number of states"):
        fc.ChainCRF(beam=beam).fit(X, Y)


def test_what_cannot_have_a_beam_says_so() -> None:
    with pytest.raises(fc.errors.InputError, match="likelihood"):
        fc.ChainCRF(beam=3, objective="softmax_margin").fit(X, Y)
    with pytest.raises(fc.errors.InputError, match="optimiser of gradients"):
        fc.ChainCRF(beam=3, optimiser="averaged_perceptron").fit(X, Y)
    with pytest.raises(fc.errors.InputError, match="for chains"):
        fc.SegmentCRF(beam=3).fit(X, Y)


def test_the_option_of_the_shell() -> None:
    assert read_beam(None) is None
    assert read_beam("20") == 20
    assert read_beam("0.999") == 0.999
    for text in ("0", "1.0", "many"):
        with pytest.raises(fc.errors.InputError, match="--beam"):
            read_beam(text)

"""A training that is killed and resumed ends with the same bits as one that was left alone."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldcraft import (
    AROW,
    EM,
    GIS,
    IIS,
    LBFGS,
    OWLQN,
    SAG,
    SGD,
    SMO,
    Adagrad,
    AveragedPerceptron,
    BoundedLBFGS,
    ChainCRF,
    ConjugateGradient,
    CuttingPlane,
    DualAscent,
    ElasticNet,
    ExponentiatedGradient,
    FieldcraftError,
    FrankWolfe,
    Gaussian,
    Laplacian,
    PassiveAggressive,
    Perceptron,
    Subgradient,
    VotedPerceptron,
)
from fieldcraft.optimisers import TABLE
from fieldcraft.store.snapshots import read_snapshot, write_snapshot
from unit.training.corpora import draw

EXACT: dict[str, Any] = {"max_iterations": 40, "tolerance": 1e-9, "objective_tolerance": 0.0}
# one of each kind; a test below asks for every name of the table
pytestmark = pytest.mark.filterwarnings("ignore:training stopped after")  # few passes of dual ascent
OPTIMISERS: dict[str, Any] = {
    "lbfgs": LBFGS(**EXACT),
    "owlqn": OWLQN(**EXACT),
    "bounded_lbfgs": BoundedLBFGS(**EXACT, lower=-0.5, upper=1.0),
    "conjugate_gradient": ConjugateGradient(**EXACT),
    "preconditioned": ConjugateGradient(**EXACT, formula="fletcher_reeves", preconditioner="diagonal"),
    "gis": GIS(**EXACT),
    "iis": IIS(**EXACT),
    "em": EM(**EXACT, steps=2),
}
STOCHASTIC: dict[str, Any] = {
    "sgd": SGD(max_iterations=12),
    "best_sgd": SGD(max_iterations=12, learning_rate=2.0, best=True),
    "adagrad": Adagrad(max_iterations=12, learning_rate=0.2),
    "sag": SAG(max_iterations=12),
    "subgradient": Subgradient(max_iterations=12),
    "perceptron": Perceptron(max_iterations=12),
    "averaged_perceptron": AveragedPerceptron(max_iterations=12),
    "voted_perceptron": VotedPerceptron(max_iterations=12, max_voters=5),
    "passive_aggressive": PassiveAggressive(max_iterations=12),
    "arow": AROW(max_iterations=12),
}
NEVER: dict[str, Any] = {"max_iterations": 12, "gap": 1e-15}  # not closed in 12 passes
DUAL: dict[str, Any] = {
    "dual_ascent": DualAscent(**NEVER, patience=10**6),
    "handed_over": DualAscent(max_iterations=30, gap=1e-15, patience=1),  # to L-BFGS, after five passes
    "frank_wolfe": FrankWolfe(**NEVER),
    "averaged_frank_wolfe": FrankWolfe(**NEVER, average=True),
    "smo": SMO(**NEVER, steps=1),
    "exponentiated_gradient": ExponentiatedGradient(**NEVER),
    "cutting_plane": CuttingPlane(**NEVER, solver="active_set", patience=3),
    "cutting_plane_slacks": CuttingPlane(**NEVER, slack="n", labelings=3, passes=1),
}
OPTIMISERS |= STOCHASTIC | DUAL
PRIORS: dict[str, Any] = {
    name: Gaussian(variance=2.0) if TABLE[type(optimiser).name].penalties else None
    for name, optimiser in OPTIMISERS.items()
}
PRIORS["owlqn"] = Laplacian(scale=2.0)
PRIORS["dual_ascent"] = Gaussian(variance=0.05)  # strong enough for a gap that falls from the beginning


def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(1)
    return draw(rng, 4, rng.integers(1, 10, size=50), n_names=30)


def dev() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    X, y = draw(rng, 4, rng.integers(1, 10, size=30), n_names=30)
    return {"X_dev": X, "y_dev": y, "patience": 12}


def train(name: str, *, held_out: bool = False, **options: Any) -> ChainCRF:
    crf = ChainCRF(prior=PRIORS[name], optimiser=OPTIMISERS[name], n_jobs=1)
    return crf.fit(*corpus(), **(dev() if held_out else {}), **options)


def train_until_killed(name: str, path: str, at: int, *, held_out: bool) -> None:
    """Runs in a process of its own (see below) and never returns."""

    def die(record: Any) -> None:
        if record.iteration == at:
            os.kill(os.getpid(), signal.SIGKILL)

    train(name, held_out=held_out, snapshot=path, snapshot_every=3, callbacks=[die])
    raise AssertionError("the training ended before it could be killed")


MOTHER = """
import json, os, sys
sys.path.insert(0, {tests!r})
import conftest
from unit.training.test_snapshots import train_until_killed
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        order = json.loads(line)
        train_until_killed(**order)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def mother() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported everything; its children train and are killed."""
    code = MOTHER.format(tests=str(Path(__file__).resolve().parents[2]))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        yield process


def kill_at(mother: subprocess.Popen[str], **order: Any) -> None:
    assert mother.stdin is not None
    assert mother.stdout is not None
    mother.stdin.write(json.dumps(order) + "\n")
    mother.stdin.flush()
    assert int(mother.stdout.readline()) == -signal.SIGKILL


def same_training(left: ChainCRF, right: ChainCRF) -> None:
    assert left.weights_.tobytes() == right.weights_.tobytes()
    assert left.objective_value_ == right.objective_value_
    assert left.stop_reason_ == right.stop_reason_
    assert [trace(r) for r in left.training_log_] == [trace(r) for r in right.training_log_]


def trace(record: Any) -> tuple[Any, ...]:
    """A record without its clock; every digit, and not-a-number as a word that equals itself."""
    return tuple(repr(value) for name, value in vars(record).items() if name != "seconds")


def test_each_optimiser_is_killed() -> None:
    assert {type(optimiser).name for optimiser in OPTIMISERS.values()} == set(TABLE)


def test_the_gap_is_on_record() -> None:
    """For methods that know one, and no longer once L-BFGS has taken over."""
    for name in DUAL.keys() - {"handed_over"}:
        assert all(record.gap >= 0 for record in train(name).training_log_), name
    gaps = [record.gap for record in train("handed_over").training_log_]
    assert all(gaps[:5])
    assert gaps[-1] is None
    assert train("lbfgs").training_log_[-1].gap is None


@pytest.mark.parametrize("held_out", [False, True], ids=["alone", "held-out"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_kill_and_resume(name: str, tmp_path: Path, mother: subprocess.Popen[str], *, held_out: bool) -> None:
    """Killed twice at iterations drawn from a seed, in the midst of a training."""
    path = tmp_path / "state.fc"
    undisturbed = train(name, held_out=held_out)
    most = undisturbed.n_iter_
    assert most > 8
    at = int(np.random.default_rng(len(name)).integers(5, most))
    kill_at(mother, name=name, path=str(path), at=at, held_out=held_out)
    resumed = train(name, held_out=held_out, snapshot=path, snapshot_every=3, resume=True)
    same_training(resumed, undisturbed)
    seconds = [record.seconds for record in resumed.training_log_]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_resumed_from_several_iterations(name: str, tmp_path: Path) -> None:
    """Also before the memory is full and after it has wrapped."""
    undisturbed = train(name)
    for stop in [n for n in (1, 2, 5, 11) if n < undisturbed.n_iter_]:
        path = tmp_path / f"{stop}.fc"
        train(name, snapshot=path, snapshot_every=1, callbacks=[lambda r, n=stop: r.iteration == n])
        same_training(train(name, snapshot=path, resume=True), undisturbed)


def test_a_finished_training_resumes_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "state.fc"
    done = train("lbfgs", snapshot=path, snapshot_every=1)
    again = train("lbfgs", snapshot=path, snapshot_every=1, resume=True)
    assert again.weights_.tobytes() == done.weights_.tobytes()


def test_more_iterations_after_the_maximum(tmp_path: Path) -> None:
    """A larger max_iterations goes on where the smaller one stopped."""
    path = tmp_path / "state.fc"

    def run(most: int, **options: Any) -> ChainCRF:
        settings = LBFGS(max_iterations=most, tolerance=0.0, objective_tolerance=-1.0)
        return ChainCRF(optimiser=settings).fit(*corpus(), **options)

    run(6, snapshot=path, snapshot_every=6)
    same_training(run(14, snapshot=path, resume=True), run(14))


def test_without_a_snapshot_yet_it_starts_afresh(tmp_path: Path) -> None:
    path = tmp_path / "none.fc"
    same_training(train("lbfgs", snapshot=path, resume=True), train("lbfgs"))
    assert path.exists()


def test_snapshots_do_not_change_a_training(tmp_path: Path) -> None:
    same_training(train("owlqn", snapshot=tmp_path / "s.fc", snapshot_every=1), train("owlqn"))


def test_nothing_but_the_snapshot_is_left(tmp_path: Path) -> None:
    train("lbfgs", snapshot=tmp_path / "s.fc", snapshot_every=2)
    assert [path.name for path in tmp_path.iterdir()] == ["s.fc"]


def changed_training(name: str) -> dict[str, Any]:
    """Fit's arguments and the constructor's for a training that differs in one thing."""
    X, y = corpus()
    other_y = [list(labels) for labels in y]
    other_y[0][0] = "L003" if other_y[0][0] != "L003" else "L000"
    n = len(ChainCRF(optimiser=LBFGS(max_iterations=0)).fit(X, y).weights_)
    some = np.ones(n, bool)
    some[0] = False
    halves = np.full(n, 2.0)
    halves[0] = 1.0
    return {
        "sequences": {"X": X[:-1], "y": y[:-1]},
        "labels": {"y": other_y},
        "prior": {"prior": Gaussian(variance=3.0)},
        "prior_vector": {"prior": Gaussian(variance=halves)},
        "prior_kind": {"prior": ElasticNet(), "optimiser": OPTIMISERS["owlqn"]},
        "optimiser": {"optimiser": LBFGS(**EXACT, memory=3)},
        "weights": {"sample_weight": np.full(len(X), 2.0)},
        "mask": {"feature_mask": some},
        "min_count": {"min_count": 2},
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "sequences",
        "labels",
        "prior",
        "prior_vector",
        "prior_kind",
        "optimiser",
        "weights",
        "mask",
        "min_count",
    ],
)
def test_another_training_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "state.fc"
    X, y = corpus()
    n = len(ChainCRF(optimiser=LBFGS(max_iterations=0)).fit(X, y).weights_)
    prior = Gaussian(variance=np.full(n, 2.0)) if name == "prior_vector" else PRIORS["lbfgs"]
    settings: dict[str, Any] = {"prior": prior, "optimiser": OPTIMISERS["lbfgs"], "min_count": 1}
    ChainCRF(**settings).fit(X, y, snapshot=path, snapshot_every=2)
    fitting: dict[str, Any] = {"X": X, "y": y}
    for key, value in changed_training(name).items():
        (settings if key in settings else fitting)[key] = value
    with pytest.raises(FieldcraftError, match="snapshot of another training .* remove it or pass"):
        ChainCRF(**settings).fit(**fitting, snapshot=path, resume=True)


def test_resume_needs_a_file() -> None:
    with pytest.raises(FieldcraftError, match="resume=True needs snapshot="):
        train("lbfgs", resume=True)


def test_snapshot_every_is_positive(tmp_path: Path) -> None:
    with pytest.raises(FieldcraftError, match="snapshot_every is 0; it must be at least 1"):
        train("lbfgs", snapshot=tmp_path / "s.fc", snapshot_every=0)


def test_a_model_is_no_snapshot(tmp_path: Path) -> None:
    train("lbfgs").save(tmp_path / "model.fc")
    with pytest.raises(FieldcraftError, match=r"model\.fc is not a training snapshot"):
        train("lbfgs", snapshot=tmp_path / "model.fc", resume=True)


def test_a_damaged_snapshot_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.fc"
    write_snapshot(path, "abc", {"weights": np.zeros(3)})
    assert read_snapshot(path, "abc")["weights"].tolist() == [0.0] * 3  # type: ignore[index]
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FieldcraftError, match=r"s\.fc is not a fieldcraft file, or is damaged"):
        read_snapshot(path, "abc")


@contextmanager
def no_room() -> Iterator[None]:
    """No file may grow, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_training_continues_where_a_snapshot_cannot_be_written(tmp_path: Path) -> None:
    """It warns, and the last snapshot stays as it was, to be resumed from."""
    path, kept = tmp_path / "s.fc", tmp_path / "kept.fc"
    straight = train("lbfgs")
    with ExitStack() as stack:

        def fill(record: Any) -> None:
            if record.iteration == 7:  # behind the snapshot of iteration 6
                kept.write_bytes(path.read_bytes())
                stack.enter_context(no_room())

        with pytest.warns(RuntimeWarning, match=r"s\.fc: the snapshot cannot be written \(File too large\)"):
            crf = train("lbfgs", snapshot=path, snapshot_every=3, callbacks=[fill])
    assert crf.weights_.tobytes() == straight.weights_.tobytes()
    assert path.read_bytes() == kept.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.fc", "s.fc"]
    resumed = train("lbfgs", snapshot=path, resume=True)
    assert resumed.weights_.tobytes() == straight.weights_.tobytes()


def test_who_listens_to_warnings_gets_them(tmp_path: Path) -> None:
    class Listener:
        def __init__(self) -> None:
            self.warnings: list[str] = []

        def __call__(self, record: Any) -> None:
            pass

        def warn(self, problem: str) -> None:
            self.warnings.append(problem)

    listener = Listener()
    with no_room():
        train("lbfgs", snapshot=tmp_path / "s.fc", snapshot_every=20, callbacks=[listener])
    assert len(listener.warnings) == 2
    assert str(tmp_path / "s.fc") in listener.warnings[0]
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_that_can_never_be_written_is_refused_at_once(tmp_path: Path) -> None:
    def never(_: Any) -> None:
        raise AssertionError("training began")

    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        train("lbfgs", snapshot=tmp_path / "gone" / "s.fc", callbacks=[never])
    with pytest.raises(FieldcraftError, match="is a folder or a device"):
        train("lbfgs", snapshot=tmp_path, callbacks=[never])


def other_held_out(name: str) -> dict[str, Any]:
    """Fit's arguments with held-out data or what is made of it changed."""
    held = dev()
    last = [*held["y_dev"][-1]]
    last[0] = "L000" if last[0] != "L000" else "L001"
    return {
        "sequences": {**held, "X_dev": held["X_dev"][:-1], "y_dev": held["y_dev"][:-1]},
        "labels": {**held, "y_dev": [*held["y_dev"][:-1], last]},
        "absent": {},
        "scored only": {"X_dev": held["X_dev"], "y_dev": held["y_dev"]},
    }[name]


@pytest.mark.parametrize("name", ["sequences", "labels", "absent", "scored only"])
def test_other_held_out_data_is_refused(name: str, tmp_path: Path) -> None:
    """The best weights so far were chosen by the old data's scores."""
    path = tmp_path / "state.fc"
    train("lbfgs", held_out=True, snapshot=path, snapshot_every=2)
    with pytest.raises(FieldcraftError, match="snapshot of another training"):
        train("lbfgs", **other_held_out(name), snapshot=path, resume=True)


def test_patience_may_change(tmp_path: Path) -> None:
    path = tmp_path / "state.fc"
    train("lbfgs", held_out=True, snapshot=path, snapshot_every=2)
    train("lbfgs", **{**dev(), "patience": 20}, snapshot=path, resume=True)

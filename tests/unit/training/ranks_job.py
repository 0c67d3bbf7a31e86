"""The program of an MPI job: `mpiexec -n N python ranks_job.py WHAT FILE`; rank 0 writes results to FILE."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from unit.training.corpora import draw_large
from unit.training.ranks_cases import CASES, corpus


def facts(crf: Any) -> dict[str, Any]:
    """What is compared."""
    index, encoder = crf.features_, crf.encoder_
    columns = ("attribute", "labels", "template", "count", "family")
    return {
        "classes": crf.classes_.tolist(),
        "optimiser": crf.optimiser_,
        "index": {name: getattr(index, name) for name in columns},
        "attributes": list(encoder.attribute_text(range(encoder.n_attributes)))
        if not encoder.hash_size
        else [],
        "objectives": [record.objective for record in crf.training_log_],
        "scores": [record.held_out for record in crf.training_log_],
        "seconds": [record.seconds for record in crf.training_log_],
        "weights": crf.weights_,
        "reason": crf.stop_reason_,
        "counts": {name: crf.provenance_[name] for name in ("sequences", "tokens")},
    }


def cases(ranks: fc.Ranks) -> Any:
    """The results of all cases; every rank must have the same weights."""
    results = {}
    for name, case in CASES.items():
        data = ranks.shard(case.X, *(() if case.y is None else (case.y,)))
        X, y = (data, None) if case.y is None else data
        crf = case.model().fit(X, y, ranks=ranks, X_dev=corpus(20, 5) if case.y is None else None)
        results[name] = facts(crf)
        assert len({weights.tobytes() for weights in ranks.gather(crf.weights_)}) == 1
    return results


def evaluated(X: Any, ranks: fc.Ranks | None = None) -> tuple[float, Any]:
    """Value and gradient of the penalised likelihood at drawn weights."""
    crf = fc.ChainCRF("c0[-1..1]\nedge: c1", optimiser="lbfgs", n_jobs=1)
    training = crf._training(ranks=ranks)
    training._see(X.labels, (), X)
    data = training._encoded(X, X.labels)
    index = data.design.index
    prior = training._penalty(data.encoder, index)
    problem = training._problem(training.optimiser, data.design, prior, n_jobs=1)
    weights, gradient = np.random.default_rng(0).normal(size=len(index)), np.empty(len(index))
    return problem.value_and_gradient(weights, gradient), gradient


def sums(ranks: fc.Ranks) -> Any:
    """Sums by shared memory and by messages, the vectors of all ranks, and an evaluation."""
    rng = np.random.default_rng(ranks.rank)
    vectors = [rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, size=n) for n in (0, 1, 1001, 2)]
    results = {}
    for shared in (True, False):
        kind = fc.Ranks(shared=shared)
        copies = [vector.copy() for vector in vectors]
        values = [kind(1.0 / (1 + kind.rank), vector) for vector in copies]
        joined = np.full(11, float(kind.rank))
        kind.join(joined)
        kind.release()
        crf = fc.ChainCRF("c0").fit(kind.shard(corpus()), ranks=kind)
        results[shared] = values, copies, joined, crf.weights_.tobytes()
    return results, ranks.gather(vectors), evaluated(ranks.shard(corpus()), ranks)


def ends(ranks: fc.Ranks | None = None) -> dict[float, float]:
    """Final objectives of a training that is stopped far from the optimum, and of one that goes on to it."""
    X, y = draw_large(np.random.default_rng(0), 4, [8] * 300, n_names=400)
    part = (X, y) if ranks is None else ranks.shard(X, y)
    objectives = {}
    for tolerance in (1e-6, 1e-10):
        optimiser = fc.LBFGS(memory=20, objective_tolerance=tolerance)
        crf = fc.ChainCRF(prior=fc.Gaussian(variance=100.0), optimiser=optimiser, n_jobs=1)
        objectives[tolerance] = crf.fit(*part, ranks=ranks).objective_value_
    return objectives


def stops(ranks: fc.Ranks) -> Any:
    """Reasons to stop that only one rank has."""
    part = ranks.shard(corpus())
    last = ranks.rank == ranks.size - 1

    def model() -> fc.ChainCRF:
        return fc.ChainCRF("c0", prior=fc.Gaussian(variance=1e6))

    by_callback = model().fit(part, ranks=ranks, callbacks=[lambda record: last and record.iteration == 3])
    by_time = model().fit(part, ranks=ranks, max_seconds=0.0 if ranks.rank == 0 else 1e9)
    return facts(by_callback), facts(by_time)


def cooperative() -> dict[str, fc.CooperativePool]:
    """Pools whose members are trained together."""
    prior, optimiser = fc.Gaussian(variance=1.0), fc.LBFGS(max_iterations=20)
    crf = fc.ChainCRF("c0[-1..1]", prior=prior, optimiser=optimiser, n_jobs=1)
    settings: dict[str, Any] = {"gamma": 0.1, "max_iterations": 12, "n_jobs": 1}
    return {
        "fixed": fc.CooperativePool(fc.experts.simple(crf), **settings),
        "trained": fc.CooperativePool(fc.experts.simple(crf), train_weights=True, weighted=True, **settings),
        "independent": fc.CooperativePool(fc.experts.simple(crf), **{**settings, "gamma": 0.0}),
    }


def pools(ranks: fc.Ranks) -> Any:
    """Objectives of pools and what was said; every rank must have the same weights."""
    results = {}
    for name, pool in cooperative().items():
        said: list[str] = []
        listener = Listener(said)
        pool.fit(corpus(), X_dev=corpus(20, 5), ranks=ranks, callbacks=[listener])
        assert len({weights.tobytes() for weights in ranks.gather(pool.weights_)}) == 1
        objectives = [record.objective for record in pool.training_log_]
        results[name] = [*objectives, pool.objective_value_], pool.weights_, said
    return results


class Listener:
    """A callback that keeps the remarks."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def __call__(self, record: Any) -> None:
        del record

    def tell(self, line: str) -> None:
        self.said.append(line)


def errors(ranks: fc.Ranks) -> Any:
    """Messages of errors that one rank has, or all."""
    part = ranks.shard(corpus())
    last = ranks.rank == ranks.size - 1
    huge = [[{"x": 1e308 if last else 1.0}, {"x": 1.0}]] * 2
    trials: dict[str, Any] = {
        "labels": lambda: fc.ChainCRF("c0").fit(part, [["O"]] if last else None, ranks=ranks),
        "template": lambda: fc.ChainCRF("nothing" if last else "c0").fit(part, ranks=ranks),
        "other templates": lambda: fc.ChainCRF("c1" if last else "c0").fit(part, ranks=ranks),
        "optimiser": lambda: fc.ChainCRF("c0", optimiser="sgd").fit(part, ranks=ranks),
        "dual": lambda: fc.ChainCRF("c0", optimiser="dual_ascent").fit(part, ranks=ranks),
        "objective": lambda: fc.ChainCRF("c0", objective="margin").fit(part, ranks=ranks),
        "selected": lambda: fc.ChainCRF("c0", features="selected").fit(part, ranks=ranks),
        "prior": lambda: fc.ChainCRF("c0", prior=fc.Gaussian(variance=1 + last)).fit(part, ranks=ranks),
        "states": lambda: fc.ChainCRF("c0", states="ngrams:2" if last else "labels").fit(part, ranks=ranks),
        "impossible": lambda: fc.ChainCRF("c0", states="iob2").fit(
            part, [["I-PER"] * len(row) for row in part.labels] if last else None, ranks=ranks
        ),
        "nothing": lambda: fc.ChainCRF("c0").fit([], [], ranks=ranks),
        "overflow": lambda: fc.ChainCRF(optimiser=fc.LBFGS(), prior=None).fit(
            huge, [["A", "B"]] * 2, ranks=ranks
        ),
    }
    told = {}
    for name, trial in trials.items():
        try:
            trial()
            text = "no error"
        except fc.FieldcraftError as error:
            text = str(error)
        told[name] = ranks.gather(text)
    return told


if __name__ == "__main__":
    warnings.simplefilter("error")
    world = fc.Ranks()
    jobs: list[Any] = [cases, pools, sums, ends, stops, errors]
    result = {work.__name__: work for work in jobs}[sys.argv[1]](world)
    if world.rank == 0:
        Path(sys.argv[2]).write_bytes(pickle.dumps(result))

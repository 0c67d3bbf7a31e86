"""One call of fit: from sequences to settled weights.

Encode, index, set up the problem, run the loop. The estimator is changed only at the end, so that a
failure or a second Ctrl-C leaves it as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.corpus.tokenising import resolve_tokenizer
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.packed import PackedIndex
from fieldcraft.models.inputs import encode, labels_of, weights_of
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.progress import Progress
from fieldcraft.objectives import resolve_objective
from fieldcraft.optimisers import resolve_optimiser
from fieldcraft.optimisers.loop import Control, Loop, Outcome
from fieldcraft.optimisers.problem import (
    ChainProblem,
    check_mask,
    check_weights,
    release_memory,
)
from fieldcraft.potentials import ChainWeights
from fieldcraft.priors import Prior, resolve_prior
from fieldcraft.store.snapshots import read_snapshot, write_snapshot
from fieldcraft.structures import queries

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF

Floats = NDArray[np.float64]


class Fitting:
    """Training of one ChainCRF."""

    def __init__(self, crf: ChainCRF) -> None:
        self.crf = crf
        self.n_jobs = crf._jobs()
        if crf.states != "labels":
            raise InputError(f"states={crf.states!r}; only 'labels' is there yet")
        queries.resolve_decoding(crf.decoding)
        resolve_metric(crf.metric, [])
        resolve_tokenizer(crf.tokenizer)
        resolve_objective(crf.objective)
        self.prior = resolve_prior(crf.prior)
        self.optimiser = resolve_optimiser(crf.optimiser, self.prior)

    def run(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any,
        dev: tuple[Any, Any] | None,
        feature_mask: Any,
        snapshot: Any,
        resume: bool,
        control: dict[str, Any],
    ) -> None:
        """Train and settle the estimator."""
        if resume and snapshot is None:
            raise InputError("resume=True needs snapshot=, the file to go on from")
        labels, encoder = labels_of(X, y), self._encoder()
        design = self._design(encoder, X, labels)
        weights = check_weights(weights_of(X) if sample_weight is None else sample_weight, design.n_sequences)
        self.provenance = _provenance(design, self.classes, encoder)
        wanted = feature_mask(design.index) if callable(feature_mask) else feature_mask
        mask = check_mask(wanted, len(design.index))
        digest = "" if snapshot is None else _digest(design, weights, mask, self.prior, self.optimiser)
        resumed = read_snapshot(snapshot, digest) if resume else None
        control["held_out"] = None if dev is None else self._held_out(encoder, design, *dev)
        control["snapshot"] = None if snapshot is None else partial(write_snapshot, snapshot, digest)
        problem = ChainProblem(
            design,
            len(self.classes),
            self.prior,
            sequence_weights=weights,
            mask=mask,
            n_jobs=self.n_jobs,
        )
        index = design.index
        del design
        if self.crf.verbose:
            control["callbacks"] += (Progress(self.optimiser.max_iterations),)
        _tell(control["callbacks"], "begin", encoder, index, self.optimiser.max_iterations)
        outcome = self._minimise(problem, control, resumed)
        del problem  # what answers need is built next, in the room that this leaves
        self._settle(encoder, index, outcome)

    def _encoder(self) -> design_.Encoder:
        crf = self.crf
        return design_.make_encoder(
            crf.templates,
            gazetteers=crf.gazetteers,
            hash_size=crf.hash_size,
            edge_prefix=crf.edge_prefix,
        )

    def _minimise(self, problem: ChainProblem, control: dict[str, Any], resumed: Any) -> Outcome:
        """Run the loop; what only it needs is gone when it returns."""
        run = self.optimiser.start(problem, np.zeros(problem.n_variables))
        release_memory()
        reason = "by an error"
        try:
            outcome = Loop(run, Control(**control)).go(resumed)
            reason = outcome.reason
        finally:
            _tell(control["callbacks"], "end", reason)
        return outcome

    def _settle(self, encoder: design_.Encoder, index: FeatureIndex, outcome: Outcome) -> None:
        crf = self.crf
        release_memory()
        crf._settle(Parameters.of(encoder, index, outcome.weights, len(self.classes)), self.classes)
        crf.source_, crf.provenance_ = None, self.provenance
        crf.optimiser_, crf.prior_ = self.optimiser, self.prior
        crf.training_log_, crf.objective_value_ = outcome.records, outcome.objective
        crf.stop_reason_, crf.converged_ = outcome.reason, outcome.converged
        crf.n_iter_ = len(outcome.records)

    def _design(self, encoder: design_.Encoder, X: Any, labels: list[Any]) -> design_.Design:
        encoded = encode(X, encoder, grow=True, n_threads=self.n_jobs)
        if encoded.offsets[-1] == 0:
            raise InputError("there is nothing to learn from: X holds no tokens")
        self.classes = design_.label_names(labels)
        gold = design_.encode_labels(labels, self.classes, encoded.offsets)
        crf = self.crf
        design = design_.build_design(
            encoder, encoded, gold, len(self.classes), features=crf.features, min_count=crf.min_count
        )
        if len(design.index) == 0:
            raise InputError("no feature is left to learn; lower min_count or give the tokens attributes")
        return design

    def _held_out(self, encoder: design_.Encoder, design: design_.Design, X: Any, y: Any) -> Any:
        """weights -> score on held-out data; labels unknown to training count as errors."""
        gold_labels = labels_of(X, y)
        encoded = encode(X, encoder, grow=False, n_threads=self.n_jobs)
        names = [*self.classes, *sorted(set(design_.label_names(gold_labels)) - set(self.classes))]
        gold = design_.encode_labels(gold_labels, names, encoded.offsets)
        metric = resolve_metric(self.crf.metric, gold_labels).on_ids(names)
        packed, n_jobs = PackedIndex.of(design.index, len(self.classes)), self.n_jobs
        decode = queries.resolve_decoding(self.crf.decoding)

        def score(weights: Floats) -> float:
            scorer = ChainWeights(packed, packed.places(weights))
            return float(metric(gold, decode(scorer.apply(encoded), n_jobs), encoded.offsets))

        return score


def _tell(callbacks: Iterable[Any], event: str, *facts: Any) -> None:
    """Call the method of this name on those callbacks that have one."""
    for callback in callbacks:
        if hasattr(callback, event):
            getattr(callback, event)(*facts)


def _provenance(design: design_.Design, labels: list[str], encoder: design_.Encoder) -> dict[str, Any]:
    """What the model was trained on: a digest of attributes and labels, and how much it was."""
    hasher = hashlib.sha256("\0".join(labels).encode("utf-8", "surrogatepass"))
    _, tables = encoder.state()
    for part in [*design.encoded, design.gold, *tables.values()]:
        hasher.update(b"absent" if part is None else np.ascontiguousarray(part).data)
    return {
        "data": hasher.hexdigest(),
        "sequences": design.n_sequences,
        "tokens": len(design.gold),
    }


def _digest(
    design: design_.Design,
    weights: Floats | None,
    mask: NDArray[np.bool_] | None,
    prior: Prior,
    optimiser: Any,
) -> str:
    """Tells whether a snapshot belongs to this training: data, features, mask, penalty, optimiser."""
    settings = {k: v for k, v in vars(optimiser).items() if k != "max_iterations"}
    hasher = hashlib.sha256(f"{prior.settings()}{type(optimiser).__name__}{settings}".encode())
    hasher.update(design.index.digest.encode())
    vectors = [np.asarray(value, np.float64) for value in vars(prior).values()]
    for part in [*design.encoded, design.gold, weights, mask, *vectors]:
        hasher.update(b"absent" if part is None else np.ascontiguousarray(part).tobytes())
    return hasher.hexdigest()

"""One training: from sequences to weights.

Encode, index, build the problem, run the loop. A training takes plain settings and returns a result, which
the estimator stores: a failure or a second Ctrl-C leaves the estimator unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.corpus.tokenising import resolve_tokenizer
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.classes import with_labels
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import declared_labels, encode_labels, encode_partial
from fieldcraft.models.blocks import resolve_decoding
from fieldcraft.models.default_templates import default_templates
from fieldcraft.models.held_out import HeldOut, identity_of, score_interval, unread
from fieldcraft.models.inputs import EncodedSequences, encode, labels_of, weights_of
from fieldcraft.models.parameters import Parameters, Scoring, is_native
from fieldcraft.models.penalties import refuse_runaways
from fieldcraft.models.progress import Progress
from fieldcraft.models.remarks import likely_cause, remarks_on, tell, warn_of_failure, warn_of_limit
from fieldcraft.models.training_digest import digest_of, digest_of_data
from fieldcraft.models.training_settings import Facts, Known, Settings, SharedDesign, Trained
from fieldcraft.models.training_states import natural_objective, settled, small_weights
from fieldcraft.models.warm_start import copy_of, grown, information, weights_for
from fieldcraft.objectives.label_weights import resolve_label_weights
from fieldcraft.optimisers import Optimiser, Size, handled_by, passed_over, resolve
from fieldcraft.optimisers.loop import LIMIT, Control, Loop, Outcome
from fieldcraft.optimisers.run import Run
from fieldcraft.priors import Names, Prior, resolve_prior
from fieldcraft.problems import build, check_mask, check_weights, offers, release_memory, with_crew
from fieldcraft.problems.curvatures import LARGE_VALUES
from fieldcraft.store.snapshots import check_snapshot, keep_snapshot, read_snapshot
from fieldcraft.structures.feature_selection import with_likely_features
from fieldcraft.structures.structure import Structure
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]
NOTHING = "there is nothing to learn from: X has no tokens"
BRIEF = 10  # iterations that features="selected" makes before it selects


class Training:
    """One training.

    Parameters
    ----------
    settings : the parameters of the estimator
    structure_for : labels -> the structure of a model over them
    known : the model of an earlier training, if any
    growing : continue from ``known``: its labels and features keep their positions
    """

    def __init__(
        self,
        settings: Settings,
        structure_for: Callable[[Sequence[str]], Structure],
        known: Known | None = None,
        *,
        growing: bool = False,
    ) -> None:
        self.settings, self.structure_for, self.known = natural_objective(settings), structure_for, known
        self.grown = known if growing else None
        self._made: tuple[Any, list[str], Structure] | None = None
        self.n_jobs = resolve_jobs(settings.n_jobs)
        resolve_decoding(settings.decoding)
        resolve_metric(settings.metric, [])
        resolve_tokenizer(settings.tokenizer)
        self.prior = resolve_prior(settings.prior, handled_by(settings.optimiser, settings.objective))
        self.rules = design_.resolve_features(settings.features)
        self._choose(None)

    def _choose(self, size: Size | None) -> None:
        s = self.settings
        self.choice = resolve(s.objective, s.optimiser, self.prior, size)
        self.objective, self.optimiser, _ = self.choice

    @with_crew
    def run(
        self,
        X: Any,
        y: Any,
        *,
        control: dict[str, Any],
        sample_weight: Any = None,
        dev: tuple[Any, Any] | Callable[[Floats], float] | None = None,
        feature_mask: Any = None,
        snapshot: Any = None,
        resume: bool = False,
        classes: Iterable[str] = (),
        shared: SharedDesign | None = None,
        start: Floats | None = None,
    ) -> Trained:
        """Train; ``dev`` may be a HeldOut, ``shared`` replaces X and y by their encoding.

        ``start`` [F] are the initial weights; None for those of the settings.
        """
        check_snapshot(snapshot, resume=resume)
        rules = Control(held_out=None if dev is None else unread, **control)  # raises errors before any work
        labels = labels_of(X, y, partial=self.objective.partial) if shared is None else shared.labels
        self._see(labels, classes, X)
        self._check_memory()
        loss = self._loss(labels)  # raises errors before any work
        data = self._encoded(X, labels) if shared is None else shared
        encoder, design, self.provenance = data.encoder, data.design, data.provenance
        facts = self._facts(design)
        size = self._size(encoder, design.index, facts, patient=rules.patience is not None)
        self._choose(size)
        weights = check_weights(weights_of(X) if sample_weight is None else sample_weight, design.n_sequences)
        start = self._start(encoder, design.index) if start is None else start
        options = {**loss, "sequence_weights": weights, "n_jobs": self.n_jobs}
        if self.rules.likely is not None:
            design, start = self._select(encoder, design, start, feature_mask, **options)
        wanted = feature_mask(design.index) if callable(feature_mask) else feature_mask
        mask = check_mask(wanted, len(design.index))
        prior = self._penalty(encoder, design.index)
        refuse_runaways(prior, design, mask, mixed=facts.negative)
        if dev is not None:
            self._hold_out(rules, dev, encoder, design.index, facts)
        resumed = None
        if snapshot is not None:
            terms = loss["costs"], loss["label_weights"]
            digest = self._digest(design, prior, weights, mask, *terms, start, *identity_of(rules))
            resumed = self._connect(rules, snapshot, digest, resume=resume)
        problem = self._problem(self.optimiser, design, prior, mask=mask, **options)
        index = design.index
        del design, data, labels
        release_memory()
        problem.prepare()
        self._announce(rules, encoder, index, size)
        run = self.optimiser.start(problem, start)
        del start  # the run has a copy
        outcome = self._minimise(run, rules, resumed)
        del problem, run  # frees memory for the scorer, which is built next
        self._warn(outcome, rules, encoder, facts.largest)
        return self._trained(encoder, index, outcome)

    def _warn(
        self, outcome: Outcome, rules: Control, encoder: design_.Encoder, largest: tuple[int, float]
    ) -> None:
        """Warnings about a training that ended without having reached the optimum."""
        cause = likely_cause(encoder, *largest)
        if outcome.reason == LIMIT and self._should_end():
            warn_of_limit(rules.callbacks, self.optimiser, cause)
        if outcome.failed and cause:
            warn_of_failure(outcome.reason, cause)

    def _problem(self, optimiser: Optimiser, design: design_.Design, prior: Prior, **options: Any) -> Any:
        """The problem of the kind that the optimiser needs."""
        return build(self._structure(), optimiser.needs, design, prior, **optimiser.requests(), **options)

    def _check_memory(self) -> None:
        if self.classes:  # an empty corpus is refused where it is encoded
            self._structure().check_memory()

    def _structure(self) -> Structure:
        """The structure of the labels that were seen; it is asked for again and again, and made once."""
        if self._made is None or self._made[:2] != (self.structure_for, self.classes):
            made = self.structure_for(self.classes).using(self.n_jobs).searching(self.settings.beam)
            self._made = self.structure_for, self.classes, made
        return self._made[2]

    def _loss(self, labels: list[Any]) -> dict[str, Any]:
        """The objective, its costs and label weights, as options of a problem."""
        weights = resolve_label_weights(self.settings.label_weights, self.objective, self.classes, labels)
        return {
            "objective": self.objective,
            "costs": self.objective.costs(self.classes),
            "label_weights": weights,
        }

    def _should_end(self) -> bool:
        """Whether a training that an iteration limit ends was meant to end by itself."""
        automatic = self.settings.optimiser in (None, "auto")
        return (automatic and self.choice.row.batch) or self.optimiser.name == "dual_ascent"

    def _announce(self, rules: Control, encoder: design_.Encoder, index: FeatureIndex, size: Size) -> None:
        """Notify the callbacks before training starts."""
        most = self.optimiser.max_iterations
        if self.settings.verbose:
            rules.callbacks += (Progress(most),)
        tell(rules.callbacks, "begin", encoder, index, most)
        for remark in remarks_on(self.chosen, encoder, rules.score_every):
            tell(rules.callbacks, "tell", remark)
        if self.settings.optimiser in (None, "auto") and (why := passed_over(self.choice, self.prior, size)):
            tell(rules.callbacks, "tell", why)
        if memory := self.optimiser.stored_bytes(size):
            remark = f"{self.optimiser.name} keeps {memory / 2**20:.0f} MB of marginals"
            tell(rules.callbacks, "tell", remark)

    def _facts(self, design: design_.Design) -> Facts:
        """What the choice of an optimiser and its checks need to know of the corpus."""
        return Facts.of(design)

    def _size(self, encoder: design_.Encoder, index: FeatureIndex, facts: Facts, *, patient: bool) -> Size:
        quadratic = self._penalty(encoder, index).quadratic_part(len(index))
        return Size(
            facts.sequences,
            facts.tokens,
            len(index),
            len(self.classes),
            observed_pairs=bool(np.any((index.previous >= 0) & (index.attribute >= 0))),
            precision=0.0 if quadratic is None else float(np.min(quadratic[1], initial=np.inf)),
            fresh=self.rules.likely is None and not self._continues(),
            large_values=facts.largest[1] > LARGE_VALUES,
            patient=patient,
            edge_entries=facts.edge_entries,
            dual="dual" in offers(self._structure()),
        )

    def _continues(self) -> bool:
        """Whether training starts from the weights of an earlier one."""
        return self.grown is not None or (self.known is not None and self.settings.warm_start)

    @with_crew
    def share(self, X: Any, y: Any) -> SharedDesign:
        """Encode X and y for several estimators with the same features."""
        labels = labels_of(X, y, partial=self.objective.partial)
        self._see(labels, (), X)
        self._check_memory()
        return self._encoded(X, labels)

    def holds_all(self, shared: SharedDesign) -> bool:
        """Whether every weight has a penalty; without one, the start decides where the loss is flat."""
        self._see(shared.labels)
        index = shared.design.index
        return bool(np.all(self._penalty(shared.encoder, index).holds(len(index))))

    def _encoded(self, X: Any, labels: list[Any]) -> SharedDesign:
        ready = isinstance(X, EncodedSequences) and self.grown is None
        encoder = X.encoder if ready else self._encoder()
        encoded = encode(X, encoder, grow=True, n_threads=self.n_jobs)
        if encoded.offsets[-1] == 0:
            raise InputError(NOTHING)
        design = self._design(encoder, encoded, labels)
        return SharedDesign(encoder, design, labels, self._provenance(design, encoder))

    def _see(self, labels: list[Any], classes: Iterable[str] = (), X: Any = None) -> None:
        """Note the labels' names, and the structure and templates where they decide these."""
        self.classes = self._labels(labels, classes)
        self.structure_for = settled(self, labels)
        self.chosen = default_templates(self.settings.templates, X, self.classes)

    def _labels(self, labels: list[Any], classes: Iterable[str]) -> list[str]:
        """Names of the labels; a model that grows keeps the positions of its labels."""
        declared = self.settings.labels if self.grown is None else None
        further = [*classes]
        names = declared_labels(declared, [*labels, further] if further else labels)
        known = [] if self.grown is None else self.grown.classes
        return [*known, *(name for name in names if name not in known)]

    def _start(self, encoder: design_.Encoder, index: FeatureIndex) -> Floats:
        """The initial weights."""
        weights = np.zeros(len(index))
        if self.grown is not None:
            weights[: len(self.grown.parameters.weights)] = self.grown.parameters.weights
        elif self.known is not None and self.settings.warm_start:
            weights = weights_for(self.known.parameters, encoder, index, self._structure())
        elif not self._structure().one_to_one:  # at zero all states of a label would stay equal
            weights = small_weights(self.settings.random_state, len(index))
        return weights

    def _penalty(self, encoder: design_.Encoder, index: FeatureIndex) -> Prior:
        """The prior with a number for every weight, centred on the weights of a model that grows."""
        names = Names(self.classes, [template.name for template in encoder.templates])
        named = with_labels(index, self._structure())
        prior: Prior = self.prior.resolved(named, names)
        if self.grown is not None:
            counts = information(self.grown.parameters.index, len(index))
            prior = prior.centred(self._start(encoder, index), counts)
        return prior

    def _select(
        self, encoder: design_.Encoder, design: design_.Design, start: Floats, mask: Any, **options: Any
    ) -> tuple[design_.Design, Floats]:
        """Train for a few iterations, then add the unseen features that the result considers probable."""
        if not is_native(self._structure()):
            raise InputError("features='selected' is for chains of plain labels; use 'supported' or 'all'")
        index, n_states = design.index, len(self.classes)
        kept = check_mask(mask(index), len(index)) if callable(mask) else None
        optimiser = replace(self.optimiser, max_iterations=BRIEF)
        problem = self._problem(optimiser, design, self._penalty(encoder, index), mask=kept, **options)
        weights = self._minimise(optimiser.start(problem, start), Control(), None).weights
        least = self.rules.likely or 0.0
        design = with_likely_features(design, encoder, weights, n_states, least, self.n_jobs)
        return design, np.concatenate([weights, np.zeros(len(design.index) - len(index))])

    def _encoder(self) -> design_.Encoder:
        s = self.settings
        if self.grown is not None:
            return copy_of(self.grown.parameters.encoder)
        rest = {name: getattr(s, name) for name in design_.OPTIONS}
        return design_.make_encoder(self.chosen.templates if self.chosen else s.templates, **rest)

    def _minimise(self, run: Run, control: Control, resumed: Any) -> Outcome:
        """Run the loop, after memory was released."""
        release_memory()
        reason = "by an error"
        try:
            outcome = Loop(run, control).go(resumed)
            reason = outcome.reason
        finally:
            tell(control.callbacks, "end", reason)
        return outcome

    def finished(self, shared: SharedDesign, outcome: Outcome) -> Trained:
        """The result of an earlier training on ``shared``."""
        self._see(shared.labels)
        self.provenance = shared.provenance
        return self._trained(shared.encoder, shared.design.index, outcome)

    def _trained(self, encoder: design_.Encoder, index: FeatureIndex, outcome: Outcome) -> Trained:
        release_memory()
        parameters = Parameters.of(encoder, index, outcome.weights, self._structure())
        names = self.objective, self.optimiser, self.prior
        return Trained(parameters, self.classes, outcome, *names, self.provenance)

    def _design(
        self, encoder: design_.Encoder, encoded: Encoded, labels: list[Any], **options: Any
    ) -> design_.Design:
        encode_ = encode_partial if self.objective.partial else encode_labels
        gold: Any = encode_(labels, self.classes, encoded.offsets)
        s = self.settings
        design = design_.build_design(
            encoder,
            encoded,
            gold,
            len(self.classes),
            features=s.features,
            min_count=s.min_count,
            structure=self._structure(),
            n_jobs=self.n_jobs,
            **options,
        )
        if self.grown is not None:
            design = replace(design, index=grown(self.grown.parameters.index, design.index))
        if len(design.index) == 0:
            raise InputError("no feature is left to learn; lower min_count or add attributes to the tokens")
        return design

    def held_out(self, encoder: design_.Encoder, index: FeatureIndex, X: Any, y: Any) -> HeldOut:
        """A function that scores weights on held-out data."""
        s = self.settings
        structure = self._structure()
        scorer = Scoring.of(index, structure).scorer_of
        return HeldOut(encoder, structure, scorer, X, y, metric=s.metric, decoding=s.decoding)

    def _hold_out(
        self,
        rules: Control,
        dev: tuple[Any, Any] | Callable[[Floats], float],
        encoder: design_.Encoder,
        index: FeatureIndex,
        facts: Facts,
    ) -> None:
        """Put the held-out score into the rules; choose how often it is taken if the caller did not."""
        if callable(dev):
            rules.held_out = dev
            return
        rules.held_out = held_out = self.held_out(encoder, index, *dev)
        if rules.score_every is None:
            rules.score_every = score_interval(facts.tokens, held_out.n_tokens)

    def _provenance(self, design: design_.Design, encoder: design_.Encoder) -> dict[str, Any]:
        """The training data: a digest of attributes and labels, and their numbers."""
        before = {} if self.grown is None else self.grown.provenance
        return {
            "data": digest_of_data(design, encoder.contents(), self.classes, str(before.get("data", ""))),
            "sequences": design.n_sequences + before.get("sequences", 0),
            "tokens": len(design.gold) + before.get("tokens", 0),
        }

    def digest(self, shared: SharedDesign, *vectors: NDArray[Any] | None) -> str:
        """Different for trainings of ``shared`` that differ in anything, ``vectors`` included."""
        self._see(shared.labels)
        prior = self._penalty(shared.encoder, shared.design.index)
        return self._digest(shared.design, prior, *vectors)

    def _connect(self, rules: Control, path: Any, digest: str, *, resume: bool) -> Any:
        """Write snapshots to ``path`` from now on; returns the last one if it is to be resumed."""
        state = read_snapshot(path, digest) if resume else None
        rules.snapshot = partial(keep_snapshot, path, digest, rules.callbacks)
        return state

    def _digest(self, design: design_.Design, prior: Prior, *vectors: NDArray[Any] | None) -> str:
        """Identifies the training of a snapshot: data, features, loss, penalty, optimiser."""
        return digest_of((self.prior, self.optimiser, self.objective), design, prior, *vectors)

"""One training on several ranks, each with its part of the corpus (distributed.py).

    f(w) = sum over ranks of loss of the rank's sequences, in rank order, + penalties

Every rank encodes its own sequences. Labels, attributes and feature counts are then merged in rank order, so
that they have the numbers that one process would have given them. From there on all ranks have the same
feature index, the same weights and, because values and gradients are added up in one order, the same bits:
each runs the same optimiser, and none has to be told what the others decided. What only one rank knows (time,
Ctrl-C, the wish of a callback) is exchanged after each iteration.

Hazard: whatever looks at the sequences of one rank only (their number, their largest value) must be merged
before it takes part in a decision.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.distributed import Ranks, cuts_of
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.functions import supply
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.merging import family_counts, merged_rows
from fieldcraft.features.several import parts_of
from fieldcraft.features.union import union
from fieldcraft.models.default_templates import default_templates
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.inputs import EncodedSequences, encode, labels_of, weights_of
from fieldcraft.models.parameters import Scoring
from fieldcraft.models.training import NOTHING, Training
from fieldcraft.models.training_settings import Facts, Known, Settings, SharedDesign, Trained
from fieldcraft.models.training_states import label_windows, settled
from fieldcraft.objectives import resolve_objective
from fieldcraft.optimisers import Optimiser, Size, resolve
from fieldcraft.optimisers.loop import Control, Outcome
from fieldcraft.optimisers.table import TABLE, Choice, penalties_of
from fieldcraft.priors import Prior
from fieldcraft.problems import check_weights, instruction_set
from fieldcraft.problems.states import allowed_labels, check_labels
from fieldcraft.store.snapshots import check_snapshot
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
SNAPSHOT_SECONDS = 60.0


class DistributedTraining(Training):
    """One training on several ranks.

    Parameters
    ----------
    ranks : the processes that train together
    others : as for Training
    """

    def __init__(
        self,
        ranks: Ranks,
        settings: Settings,
        structure_for: Callable[[Sequence[str]], Structure],
        known: Known | None = None,
    ) -> None:
        self.ranks = ranks
        quiet = replace(settings, verbose=settings.verbose and ranks.rank == 0)
        with ranks.agreed():
            super().__init__(quiet, structure_for, known)
            if settings.beam is not None:
                raise InputError(f"beam={settings.beam!r} cannot be trained on several ranks; leave it out")
            if self.rules.likely is not None:
                raise InputError(
                    f"features={settings.features!r} cannot be trained on several ranks; use 'supported' or "
                    "'all'"
                )

    def _choose(self, size: Size | None) -> None:
        s = self.settings
        if s.optimiser in (None, "auto"):
            self.choice = _automatic(s.objective, self.prior, size)
        else:
            self.choice = resolve(s.objective, s.optimiser, self.prior, size)
            row = self.choice.row
            if not row.batch or row.optimiser.needs != "gradient":
                able = [f"'{r.name}'" for r in TABLE.values() if r.batch and r.optimiser.needs == "gradient"]
                raise InputError(
                    f"{row.name} cannot be trained on several ranks, which add up gradients of the whole "
                    f"corpus; use optimiser='auto', {', '.join(able[:-1])} or {able[-1]}"
                )
        self.objective, self.optimiser, _ = self.choice

    def run(self, X: Any, y: Any, **options: Any) -> Trained:
        """Train on all ranks; X and y are the part of this one."""
        with self.ranks.guarded():
            with self.ranks.agreed():
                check_snapshot(options.get("snapshot"), resume=options.get("resume", False))
                labels = labels_of(X, y, partial=self.objective.partial)
                weights = options.pop("sample_weight", None)
                weights = check_weights(weights_of(X) if weights is None else weights, len(labels))
                if isinstance(X, EncodedSequences):
                    raise InputError("sequences that are encoded already cannot be trained on several ranks")
            own = options.pop("control")  # rules that differ would let some ranks go on alone
            rules = self.ranks.broadcast({k: v for k, v in own.items() if k != "callbacks"})
            control = {**own, **rules, "ranks": self.ranks}
            trained = super().run(X, labels, sample_weight=weights, control=control, **options)
            self.ranks.release()
            return trained

    # -- what is merged -------------------------------------------------------------------------------

    def _see(self, labels: list[Any], classes: Iterable[str] = (), X: Any = None) -> None:
        self.classes = self._labels(labels, classes)
        with self.ranks.agreed():
            self.chosen = default_templates(self.settings.templates, X, self.classes)
            own = label_windows(self.settings.states, labels)
        windows = [found for found in self.ranks.gather(own) if found is not None]
        with self.ranks.agreed():
            self.structure_for = settled(self, sorted(set().union(*windows)))
            structure = self._structure() if self.classes else None
        if len(set(self.ranks.gather(_space(structure)))) > 1:
            raise InputError("the ranks have different states or constraints; give all the same")

    def _labels(self, labels: list[Any], classes: Any) -> list[str]:
        with self.ranks.agreed():
            names = super()._labels(labels, classes)
        everywhere = self.ranks.gather(names)
        if self.settings.labels is not None:
            return names
        return sorted(set(chain.from_iterable(everywhere)))

    def _loss(self, labels: list[Any]) -> dict[str, Any]:
        if self.settings.label_weights != "balanced":
            return super()._loss(labels)
        counts: Counter[Any] = Counter(chain.from_iterable(labels))
        every: Counter[Any] = sum(self.ranks.gather(counts), Counter())
        tokens, n = sum(every.values()), len(self.classes)
        weights = {name: tokens / (n * every[name]) for name in self.classes if every[name]}
        given, self.settings.label_weights = self.settings.label_weights, weights
        try:
            return super()._loss(labels)
        finally:
            self.settings.label_weights = given

    def _encoded(self, X: Any, labels: list[Any]) -> SharedDesign:
        with self.ranks.agreed():
            own = self._encoder()
            encoded = encode(X, own, grow=True, n_threads=self.n_jobs)
        if sum(self.ranks.gather(int(encoded.offsets[-1]))) == 0:
            raise InputError(NOTHING)
        encoder, numbers = self._united(own)
        encoded = encoded._replace(attributes=numbers.astype(np.int32)[encoded.attributes])
        merged = partial(self._merged, encoder, encoded)
        design = self._design(encoder, encoded, labels, merge=merged, add=self.ranks.add)
        return SharedDesign(encoder, design, labels, self._provenance(design, encoder))

    def _united(self, own: design_.Encoder) -> tuple[design_.Encoder, NDArray[np.int64]]:
        """The encoder of all ranks, and the new id of each attribute of this one."""
        states = self.ranks.collect(own.state())
        whole, numbers = None, None
        with self.ranks.agreed():
            if self.ranks.rank == 0:
                united = union([own, *(_restored(own, state) for state in states[1:])])
                if united.encoder.kind != own.kind or len(united.encoder.templates) != len(own.templates):
                    raise InputError(
                        "the ranks have different templates, gazetteers or functions; give all the same"
                    )
                whole, numbers = united.encoder.state(), united.attributes
        numbers, whole = self.ranks.scatter(numbers), self.ranks.broadcast(whole)
        return _restored(own, whole), numbers

    def _merged(
        self, encoder: design_.Encoder, encoded: Encoded, index: FeatureIndex, least: int
    ) -> FeatureIndex:
        """The feature index of all ranks; features seen less than ``least`` times are left out."""
        on_edge = np.array([t.part == "edge" for t in encoder.templates], bool)[encoder.attribute_template]
        family = family_counts(encoded, on_edge)
        self.ranks.add(family)
        parts = self.ranks.collect((index.attribute, index.labels, index.count))
        rows = None
        with self.ranks.agreed():
            if self.ranks.rank == 0:
                rows = merged_rows(parts, least)
        attribute, labels, count = self.ranks.broadcast(rows)
        template = np.append(encoder.attribute_template, -1)[attribute].astype(np.int32)
        seen = np.minimum(family, np.iinfo(np.int32).max).astype(np.int32)[attribute]
        columns = {"attribute": attribute, "labels": labels, "count": count}
        return replace(index, **columns, template=template, family=seen)

    def _facts(self, design: design_.Design) -> Facts:
        every = self.ranks.gather(Facts.of(design))
        return Facts(
            sum(facts.sequences for facts in every),
            sum(facts.tokens for facts in every),
            max((facts.largest for facts in every), key=lambda pair: pair[1]),
            any(facts.negative for facts in every),
            sum(facts.edge_entries for facts in every),
        )

    def _provenance(self, design: design_.Design, encoder: design_.Encoder) -> dict[str, Any]:
        every = self.ranks.gather(super()._provenance(design, encoder))
        return {
            "data": _joint([one["data"] for one in every]),
            "sequences": sum(one["sequences"] for one in every),
            "tokens": sum(one["tokens"] for one in every),
            "ranks": self.ranks.size,
        }

    def _digest(self, design: design_.Design, prior: Prior, *vectors: NDArray[Any] | None) -> str:
        """Different for another number of ranks too, whose sums have other last bits."""
        return _joint(self.ranks.gather(super()._digest(design, prior, *vectors)))

    # -- what the ranks do together --------------------------------------------------------------------

    def _problem(self, optimiser: Optimiser, design: design_.Design, prior: Prior, **options: Any) -> Any:
        self._check_alike(design, options.get("mask"))
        self._check_labels(design)
        return super()._problem(optimiser, design, prior, reduce=self.ranks, **options)

    def _check_labels(self, design: design_.Design) -> None:
        """Refuse labels that the state space forbids, before the ranks build their problems together."""
        structure = self._structure()
        with self.ranks.agreed():
            if isinstance(structure, LinearChain) and not structure.is_plain:
                check_labels(structure, design, allowed_labels(structure, design))

    def _check_alike(self, design: design_.Design, mask: Any) -> None:
        """Refuse ranks that would not compute the same numbers."""
        facts = {
            "instruction set": instruction_set(),
            "prior": repr(self.prior.settings()),
            "optimiser": repr(self.optimiser),
            "objective": repr(vars(self.objective)) + self.objective.name,
            "features": design.index.digest,
            "feature_mask": None if mask is None else hashlib.sha256(mask.tobytes()).hexdigest(),
        }
        every = self.ranks.gather(facts)
        for rank, other in enumerate(every):
            for name, value in every[0].items():
                if other[name] != value:
                    raise InputError(f"rank {rank} has another {name} than rank 0; all must have the same")

    def held_out(self, encoder: design_.Encoder, index: FeatureIndex, X: Any, y: Any) -> HeldOut:
        with self.ranks.agreed():
            structure, s = self._structure(), self.settings
            scorer = Scoring.of(index, structure).scorer_of
            given = HeldOutParts(encoder, structure, scorer, X, y, metric=s.metric, decoding=s.decoding)
        given.use(self.ranks)
        return given

    def _connect(self, rules: Control, path: Any, digest: str, *, resume: bool) -> Any:
        """Rank 0 reads and writes the snapshots; the others give it their part."""
        state, rules.snapshot = None, _leave_to_rank_0
        with self.ranks.agreed():
            if self.ranks.rank == 0:
                state = super()._connect(rules, path, digest, resume=resume)
        rules.snapshot_seconds = SNAPSHOT_SECONDS
        return self.ranks.broadcast(state)

    def _warn(
        self, outcome: Outcome, rules: Control, encoder: design_.Encoder, largest: tuple[int, float]
    ) -> None:
        if self.ranks.rank == 0:
            super()._warn(outcome, rules, encoder, largest)


class HeldOutParts(HeldOut):
    """Held-out data that all ranks have, of which each predicts its part."""

    _ranks: Ranks
    _part: Encoded

    def use(self, ranks: Ranks) -> None:
        """Divide the sequences among the ranks."""
        self._ranks = ranks
        cuts = cuts_of(np.diff(self.encoded.offsets).tolist(), ranks.size)
        self._part = self.encoded.take(np.arange(cuts[ranks.rank], cuts[ranks.rank + 1]))

    def own_part(self) -> Encoded:
        return self._part

    def labels(self, weights: Floats) -> NDArray[np.int32]:
        return np.concatenate(self._ranks.gather(super().labels(weights)))


def _automatic(objective: Any, prior: Prior, size: Size | None) -> Choice:
    """The first optimiser of the table that "auto" may pick and that needs gradients of the corpus alone."""
    chosen, penalties = resolve_objective(objective), penalties_of(prior)
    for row in TABLE.values():
        usable = row.auto and row.batch and row.optimiser.needs == "gradient"
        if usable and row.fits(chosen.name, penalties, size):
            return Choice(chosen, row.optimiser.automatic(size), row)
    raise InputError(
        f"no optimiser minimises {chosen.name} with {type(prior).__name__} on several ranks; use "
        "objective='likelihood' or 'softmax_margin', or train in one process"
    )


def _restored(own: design_.Encoder, state: Any) -> design_.Encoder:
    """An encoder from its state, with the functions of this rank's."""
    made: design_.Encoder = type(own).from_state(*state)
    supply(parts_of(made), supply(parts_of(own), None))
    return made


def _leave_to_rank_0(state: dict[str, Any]) -> None:
    """A snapshot that this rank need not write."""
    del state


def _space(structure: Structure | None) -> str:
    """Identifies a state space, but for labels that are the same on all ranks anyway."""
    if not isinstance(structure, LinearChain) or structure.is_plain:
        return ""
    states = structure.states
    columns = (
        states.label_of,
        states.node_class,
        states.sources,
        states.targets,
        states.starts,
        states.stops,
    )
    return hashlib.sha256(b"|".join(column.tobytes() for column in columns)).hexdigest()


def _joint(digests: list[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()

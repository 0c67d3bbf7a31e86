"""The loop around an optimisation: records, stopping rules, held-out score, snapshots, Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.optimisers.run import Run

Floats = NDArray[np.float64]
STILL_FALLING = "no step lowers the objective any more, though it was still falling"
LIMIT = "maximum number of iterations"
NEARLY = 1e-4  # a fall by this fraction in one step is no matter of last digits


@dataclass(frozen=True)
class Record:
    """What an iteration left behind.

    ``gap`` bounds how far the objective is from its minimum, if known; ``weight_norm`` is the length of the
    weights (None in the log of a model whose file is older than the field). ``exact`` is False where the
    objective is an estimate: the losses as a pass met them, while the weights changed. ``lost_mass``, with a
    beam, is an upper bound on the share of the probability that it dropped, as a mean over sequences.
    ``unconverged`` counts the graphs whose inference did not converge in this iteration (None for structures
    that are exact).
    """

    iteration: int
    objective: float
    gradient_norm: float
    seconds: float
    evaluations: int
    held_out: float | None = None
    active: int | None = None
    gap: float | None = None
    weight_norm: float | None = None
    exact: bool = True
    lost_mass: float | None = None
    unconverged: int | None = None

    def details(self) -> list[str]:
        """What else the progress line shows."""
        lost = [] if self.lost_mass is None else [f"lost {self.lost_mass:.2g}"]
        return [*lost, *([f"{self.unconverged} graphs not converged"] if self.unconverged else [])]


class Alone:
    """One process; ``distributed.Ranks`` stands in its place where several train one model."""

    def any(self, flag: bool) -> bool:
        """Whether the flag is True in any process."""
        return flag

    def first(self, number: float) -> float:
        """The number of the first process."""
        return number


@dataclass
class Control:
    """When to stop and what to do after each iteration.

    held_out : weights -> score on data not trained on
    score_every : iterations from one held-out score to the next, 1 if None; the last iteration always has one
    patience : stop after so many held-out scores without a better one; the best weights are kept
    keep_best : keep the weights with the best held-out score even without patience
    max_seconds : stop when that much wall time has passed
    snapshot : called with the run's state every ``snapshot_every`` iterations
    snapshot_seconds : also when so much time has passed since the last one
    callbacks : called with each record; one that returns True stops training
    ranks : the processes that train together and must stop together
    """

    held_out: Callable[[Floats], float] | None = None
    score_every: int | None = None
    patience: int | None = None
    keep_best: bool = False
    max_seconds: float | None = None
    snapshot: Callable[[dict[str, Any]], None] | None = None
    snapshot_every: int = 10
    snapshot_seconds: float = math.inf
    callbacks: tuple[Callable[[Record], Any], ...] = ()
    ranks: Any = field(default_factory=Alone)

    def __post_init__(self) -> None:
        if self.held_out is None and (self.patience is not None or self.keep_best):
            raise InputError("patience and keep_best need a held-out set: pass X_dev and y_dev")
        if self.held_out is None and self.score_every is not None:
            raise InputError("score_every needs a held-out set: pass X_dev and y_dev")
        for name in ("patience", "score_every", "snapshot_every"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, (int, np.integer)) or value < 1):
                raise InputError(f"{name} is {value!r}; it must be at least 1, a whole number")
        seconds = self.max_seconds
        if seconds is not None and not (isinstance(seconds, (int, float, np.number)) and seconds >= 0):
            raise InputError(f"max_seconds is {seconds!r}; it must be a number, zero or greater")
        for callback in self.callbacks:
            if not callable(callback):
                raise InputError(f"callbacks has a {type(callback).__name__}; each must be callable")

    def keeps_best(self) -> bool:
        """Are the weights with the best held-out score kept."""
        return self.patience is not None or self.keep_best


@dataclass
class Outcome:
    """How a training ended; ``failed`` if it stopped though the objective was not near a minimum."""

    weights: Floats
    objective: float
    reason: str
    converged: bool
    records: list[Record] = field(default_factory=list)
    extras: dict[str, Floats] = field(default_factory=dict)
    failed: bool = False


@dataclass
class _Best:
    score: float = -math.inf
    iteration: int = 0
    weights: Floats | None = None


class Loop:
    """Runs an optimisation to its end under a control."""

    def __init__(self, run: Run, control: Control) -> None:
        self.run, self.control = run, control
        self.records: list[Record] = []
        self._best = _Best()
        self._start = math.nan  # the objective that training began with
        self._begun = self._saved = time.perf_counter()

    def go(self, resumed: dict[str, Any] | None = None) -> Outcome:
        """Iterate until a rule says stop."""
        if resumed is not None:
            self._restore(resumed)
        self.run.begin()
        if math.isnan(self._start):
            self._start = self.run.objective()
        with Interrupts() as interrupts:
            reason, converged = self._before()
            while reason is None:
                reason, converged = self._iterate(interrupts)
            self._score_end()
        objective, extras = self.run.objective(), self.run.extras()
        weights = self.run.finish()
        failed = converged and self._above_start(objective)
        if failed:
            reason, converged = f"{reason}, but above the objective at the start", False
        if self.control.keeps_best() and self._best.weights is not None:
            weights, extras = self._best.weights, {}  # those of the last iteration do not belong to them
            objective = self.records[self._best.iteration - 1].objective
        failed = failed or reason == STILL_FALLING
        return Outcome(weights, objective, reason, converged, self.records, extras, failed)

    def _above_start(self, objective: float) -> bool:
        """Did training end above its start; an objective of 0 there (all labellings tie) means nothing."""
        comparable = self.run.exact and math.isfinite(self._start) and self._start > 0
        return comparable and not objective <= self._start * (1 + 1e-9)

    def _before(self) -> tuple[str | None, bool]:
        if self.records:  # taken up again: perhaps nothing was left to do but to say so
            return self._stop(self.records[-1])
        flat = self._flat(self.run.gradient_norm())
        if flat is None and self.run.settings.max_iterations <= self.run.iteration:
            return LIMIT, False
        return flat, flat is not None

    def _flat(self, gradient_norm: float) -> str | None:
        limit = self.run.settings.tolerance * max(1.0, self.run.weight_norm())
        return "gradient small enough" if gradient_norm <= limit else None

    def _iterate(self, interrupts: Interrupts) -> tuple[str | None, bool]:
        if not self.run.step():
            return self._stuck()
        record = self._record()
        self.records.append(record)
        self._note_best(record)
        ending = self._stop(record)
        state = self._due_state()  # without a score that is there only because training ends
        if ending[0] is not None:
            self._score_end()
        wants_stop = [bool(callback(self.records[-1])) for callback in self.control.callbacks]
        if self.control.snapshot is not None and state is not None:
            self.control.snapshot(state)
        if self.control.ranks.any(interrupts.seen):
            return "interrupted", False
        if self.control.ranks.any(any(wants_stop)):
            return "stopped by a callback", False
        return ending

    def _stuck(self) -> tuple[str, bool]:
        """No step lowers the objective: its last digits are reached, unless the last step still did."""
        run, n = self.run, len(self.records)
        if run.searches and (
            n == 0 or self._objective_at(n - 1) - run.objective() > NEARLY * abs(run.objective())
        ):
            return STILL_FALLING, False
        return run.why_stuck, True

    def _record(self) -> Record:
        run = self.run
        due = run.iteration % (self.control.score_every or 1) == 0
        held_out = self._score() if due else None
        return Record(
            run.iteration,
            run.objective(),
            run.gradient_norm(),
            self.control.ranks.first(time.perf_counter() - self._begun),
            run.evaluations,
            held_out,
            None if run.problem.l1 is None else int(np.count_nonzero(run.solution())),
            run.gap if math.isfinite(run.gap) else None,
            run.solution_norm(),
            run.exact,
            getattr(run.problem, "lost_mass", None),
            run.problem.unconverged() if hasattr(run.problem, "unconverged") else None,
        )

    def _score(self) -> float | None:
        return None if self.control.held_out is None else self.control.held_out(self.run.solution())

    def _score_end(self) -> None:
        """Score the last iteration, if that has not been done."""
        if self.records and self.records[-1].held_out is None and self.control.held_out is not None:
            self.records[-1] = replace(self.records[-1], held_out=self._score())
            self._note_best(self.records[-1])

    def _note_best(self, record: Record) -> None:
        if self.control.keeps_best() and record.held_out is not None and record.held_out > self._best.score:
            self._best = _Best(record.held_out, record.iteration, self.run.solution().copy())

    def _stop(self, record: Record) -> tuple[str | None, bool]:
        settings, control = self.run.settings, self.control
        flat = self._flat(record.gradient_norm)
        if flat is not None:
            return flat, True
        if record.iteration - self.run.since >= settings.period + bool(self.run.since):
            before = self._objective_at(len(self.records) - settings.period)
            if before - record.objective <= settings.objective_tolerance * abs(record.objective):
                return "objective no longer falls", True
        waited = sum(r.held_out is not None for r in self.records[self._best.iteration :])
        if control.patience is not None and waited >= control.patience:
            return "held-out score no longer rises", False
        if control.max_seconds is not None and record.seconds >= control.max_seconds:
            return "time is up", False
        if record.iteration >= settings.max_iterations:
            return LIMIT, False
        return None, False

    def _objective_at(self, iteration: int) -> float:
        """After so many iterations; 0 is the start."""
        return self.records[iteration - 1].objective if iteration else self._start

    def _due_state(self) -> dict[str, Any] | None:
        """What a snapshot holds, if one is due."""
        control, now = self.control, time.perf_counter()
        if control.snapshot is None:
            return None
        late = control.ranks.first(now - self._saved) > control.snapshot_seconds
        if not (late or self.run.iteration % control.snapshot_every == 0):
            return None
        self._saved = now
        return self._state()

    def _state(self) -> dict[str, Any]:
        rows = [[math.nan if v is None else v for v in vars(r).values()] for r in self.records]
        state = {**self.run.state(), "records": np.array(rows, np.float64)}
        state["best"] = np.array([self._best.score, self._best.iteration])
        state["start"] = np.array([self._start])
        if self._best.weights is not None:
            state["best_weights"] = self._best.weights
        return state

    def _restore(self, state: dict[str, Any]) -> None:
        self.run.restore(state)
        self.records = [_record_of(row) for row in state["records"].tolist()]
        self._start = float(state["start"][0])
        score, iteration = state["best"]
        self._best = _Best(float(score), int(iteration), state.get("best_weights"))
        if self.records:
            self._begun -= self.records[-1].seconds


def _record_of(row: list[float]) -> Record:
    """A record from a snapshot, where not-a-number stands for None."""
    iteration, objective, norm, seconds, evaluations, *optional = row
    others = [None if math.isnan(value) else value for value in optional]
    # older snapshots have neither of the last two numbers
    held_out, active, gap, length, exact, lost, unconverged = (*others, None, None)[:7]
    left, failed = (None if count is None else int(count) for count in (active, unconverged))
    start = int(iteration), objective, norm, seconds, int(evaluations)
    return Record(*start, held_out, left, gap, length, bool(exact), lost, failed)


class Interrupts:
    """Turns the first Ctrl-C into a wish to stop after the iteration; the second is immediate."""

    def __init__(self) -> None:
        self.seen = False
        self._previous: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._note)
            else:
                self._previous = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            signal.default_int_handler(number, frame)
        self.seen = True

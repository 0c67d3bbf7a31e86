"""The log of a training, read from the lines that CRFsuite and ``Trainer`` write.

    start -> features -> prepared -> iteration <-> between -> storing

Each phase knows the lines that end it. Lines have six decimals at the most: a trainer sets ``exact`` before
it writes an iteration, and these numbers replace the rounded ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

TICKS = frozenset(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "."])  # two per cent each
NUMBER = r"(-?\d+\.\d+)"
# key, pattern, type of the value
FIELDS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("loss", f"Loss: {NUMBER}", float),
    ("feature_norm", rf"Feature (?:L2-)?norm: {NUMBER}", float),
    ("error_norm", f"Error norm: {NUMBER}", float),
    ("active_features", r"Active features: (\d+)", int),
    ("linesearch_trials", r"Line search trials: (\d+)", int),
    ("linesearch_step", f"Line search step: {NUMBER}", float),
    ("time", f"Seconds required for this iteration: {NUMBER}", float),
)
HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
SECONDS = re.compile(f"Seconds required: {NUMBER}")
TOTAL = re.compile(f"Total seconds required for training: {NUMBER}")
COUNT = re.compile(r"Number of features: (\d+)")
AVERAGES = re.compile(rf"Macro-average precision, recall, F1: \({NUMBER}, {NUMBER}, {NUMBER}\)")
ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
SCORE = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")
# events that are known by a line that belongs to what follows
ENDED_BY_THE_NEXT_LINE = ("prepared", "optimization_end")


class LabelScore(NamedTuple):
    """Token counts and scores of one label on held-out data; None if there is nothing to score."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainingLog:
    """Iterations as dicts, and all lines.

    ``iterations`` has one dict per iteration: ``num``, ``loss``, ``feature_norm`` (length of the weights),
    ``error_norm`` (length of the gradient), ``active_features``, ``linesearch_trials``, ``time`` (seconds)
    and ``scores`` by label. Held-out data adds ``avg_precision``, ``avg_recall``, ``avg_f1``,
    ``item_accuracy`` and ``instance_accuracy`` (fractions; ``item_accuracy_float`` and
    ``instance_accuracy_float`` are plain numbers).
    """

    def __init__(self) -> None:
        self.featgen_percent = -2  # before the first tick
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  # name, first and last line of ``log``
        self.exact: dict[str, Any] = {}
        self._phase = "start"

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The newest entry of ``iterations``."""
        return self.iterations[-1] if self.iterations else None

    @property
    def last_log(self) -> str:
        """The text of the newest event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Read a line; returns the name of the event that it ends, if any."""
        self.log.append(line)
        event = PHASES[self._phase](self, line)
        if len(self.log) == 1:
            event = "start"
        if event is not None:
            begin = self.events[-1][2] if self.events else 0
            self.events.append((event, begin, len(self.log) - (event in ENDED_BY_THE_NEXT_LINE)))
        return event

    def _start(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self._phase = "features"

    def _features(self, line: str) -> str | None:
        if line in TICKS:
            self.featgen_percent += 2
            return "featgen_progress"
        if found := COUNT.match(line):
            self.featgen_num_features = int(found[1])
        if found := SECONDS.match(line):
            self.featgen_percent, self.featgen_seconds = 100, float(found[1])
            self._phase = "prepared"
            return "featgen_end"
        return None

    def _prepared(self, line: str) -> str | None:
        if "terminated with error" in line:
            self._phase = "between"
            return "prepare_error"
        event = self._between(line)  # also the end of a training without iterations
        return "prepared" if self._phase == "iteration" else event

    def _between(self, line: str) -> str | None:
        if found := HEAD.match(line):
            self.iterations.append({"num": int(found[1]), "scores": {}})
            self._phase = "iteration"
        elif found := TOTAL.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self._phase = "storing"
            return "optimization_end"
        return None

    def _iteration(self, line: str) -> str | None:
        entry = self.iterations[-1]
        if line != "\n":
            _read(line, entry)
            return None
        if self.exact.get("num") == entry["num"]:
            entry.update(self.exact)
        self._phase = "between"
        return "iteration"

    def _storing(self, line: str) -> str | None:
        if found := SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return "end" if line == "\n" else None


PHASES: dict[str, Callable[[TrainingLog, str], str | None]] = {
    "start": TrainingLog._start,
    "features": TrainingLog._features,
    "prepared": TrainingLog._prepared,
    "between": TrainingLog._between,
    "iteration": TrainingLog._iteration,
    "storing": TrainingLog._storing,
}


def _read(line: str, entry: dict[str, Any]) -> None:
    """Add what a line of an iteration says."""
    for key, pattern, kind in FIELDS:
        if found := re.match(pattern, line):
            entry[key] = kind(found[1])
    if found := AVERAGES.match(line):
        names = ("avg_precision", "avg_recall", "avg_f1")
        entry.update(zip(names, map(float, found.groups())))
    elif found := ACCURACY.match(line):
        name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]) or 1)
        entry.update({name: share, f"{name}_float": float(share)})
    elif found := SCORE.match(line):
        counts = map(int, found.group(2, 3, 4))
        scores = (None if "*" in text else float(text) for text in found.group(5, 6, 7))
        entry["scores"][found[1]] = LabelScore(*counts, *scores)

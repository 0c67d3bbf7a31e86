"""The log of a training, with the interface of python-crfsuite's log parser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from fieldcraft.optimisers.loop import Record


class LabelScore(NamedTuple):
    """Token counts and scores of one label on held-out data; None if there is nothing to score."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainingLog:
    """Iterations as dicts, and the text of all events.

    ``iterations`` has one dict per iteration: ``num``, ``loss``, ``error_norm`` (length of the gradient),
    ``active_features``, ``linesearch_trials``, ``time`` (seconds) and ``scores`` by label. Held-out data adds
    ``avg_precision``, ``avg_recall``, ``avg_f1``, ``item_accuracy`` and ``instance_accuracy`` (fractions;
    ``item_accuracy_float`` and ``instance_accuracy_float`` are plain numbers).
    """

    def __init__(self) -> None:
        self.featgen_percent = 0
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  # name, first and last line of ``log``
        self._before = (0.0, 1)  # seconds and evaluations at the start of the iteration

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The newest entry of ``iterations``."""
        return self.iterations[-1] if self.iterations else None

    @property
    def last_log(self) -> str:
        """The text of the newest event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def note(self, event: str, text: str) -> None:
        """Store an event with its text."""
        lines = text.splitlines(keepends=True)
        self.events.append((event, len(self.log), len(self.log) + len(lines)))
        self.log += lines

    def add(self, record: Record, held_out: dict[str, Any]) -> dict[str, Any]:
        """Store an iteration."""
        seconds, evaluations = self._before
        self._before = (record.seconds, record.evaluations)
        self.iterations.append(
            {
                "num": record.iteration,
                "loss": record.objective,
                "error_norm": record.gradient_norm,
                "active_features": self.featgen_num_features if record.active is None else record.active,
                "linesearch_trials": record.evaluations - evaluations,
                "time": record.seconds - seconds,
                "scores": {},
                **held_out,
            }
        )
        return self.iterations[-1]


def iteration_text(info: dict[str, Any]) -> str:
    """An iteration in the format of CRFsuite."""
    lines = [
        f"***** Iteration #{info['num']} *****",
        f"Loss: {info['loss']:.6f}",
        f"Error norm: {info['error_norm']:.6f}",
        f"Active features: {info['active_features']}",
        f"Line search trials: {info['linesearch_trials']}",
        f"Seconds required for this iteration: {info['time']:.3f}",
    ]
    if "avg_f1" in info:
        item, instance = info["item_accuracy_float"], info["instance_accuracy_float"]
        average = ", ".join(f"{info[f'avg_{name}']:.6f}" for name in ("precision", "recall", "f1"))
        lines += [
            f"Macro-average precision, recall, F1: ({average})",
            f"Item accuracy: {item:.6f}",
            f"Instance accuracy: {instance:.6f}",
        ]
    return "\n".join(lines) + "\n\n"


def held_out_scores(
    names: Iterable[str], gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]
) -> dict[str, Any]:
    """Scores by label, their averages over the labels ``names``, and both accuracies."""
    pairs = [(list(a), list(b)) for a, b in zip(gold, predicted)]
    tokens = Counter((x, y) for a, b in pairs for x, y in zip(a, b))
    scores = {name: _label_score(name, tokens) for name in names}
    n_right = sum(count for (x, y), count in tokens.items() if x == y)
    item = Fraction(n_right, max(sum(tokens.values()), 1))
    instance = Fraction(sum(a == b for a, b in pairs), max(len(pairs), 1))
    return {
        "scores": scores,
        "avg_precision": _mean(score.precision for score in scores.values()),
        "avg_recall": _mean(score.recall for score in scores.values()),
        "avg_f1": _mean(score.f1 for score in scores.values()),
        "item_accuracy": item,
        "item_accuracy_float": float(item),
        "instance_accuracy": instance,
        "instance_accuracy_float": float(instance),
    }


def _label_score(name: str, tokens: Counter[tuple[str, str]]) -> LabelScore:
    match = tokens[name, name]
    ref = sum(count for (x, _), count in tokens.items() if x == name)
    model = sum(count for (_, y), count in tokens.items() if y == name)
    if not ref and not model:
        return LabelScore(0, 0, 0, None, None, None)
    precision, recall = match / max(model, 1), match / max(ref, 1)
    return LabelScore(match, model, ref, precision, recall, 2 * match / (model + ref))


def _mean(values: Iterable[float | None]) -> float:
    numbers = [value or 0.0 for value in values]
    return sum(numbers) / max(len(numbers), 1)

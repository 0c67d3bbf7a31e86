"""What a training writes, in the format of CRFsuite, and the numbers of its iterations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fieldcraft.compat.pycrfsuite.log import LabelScore
from fieldcraft.optimisers.loop import Record


def settings_text(values: Mapping[str, Any]) -> str:
    """A line per parameter."""
    return "".join(f"{name}: {_shown(value)}\n" for name, value in values.items())


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return str(int(value) if isinstance(value, bool) else value)


class IterationNumbers:
    """Turns the records of a training into entries of the log."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self._before = (0.0, 1)  # seconds and evaluations at the start of the iteration

    def entry(self, record: Record, held_out: dict[str, Any]) -> dict[str, Any]:
        """The numbers of an iteration."""
        seconds, evaluations = self._before
        self._before = (record.seconds, record.evaluations)
        return {
            "num": record.iteration,
            "loss": record.objective,
            "feature_norm": record.weight_norm,
            "error_norm": record.gradient_norm,
            "active_features": self._n_features if record.active is None else record.active,
            "linesearch_trials": record.evaluations - evaluations,
            "time": record.seconds - seconds,
            "scores": {},
            **held_out,
        }


def iteration_text(info: dict[str, Any]) -> str:
    """The lines of an iteration."""
    lines = [
        f"***** Iteration #{info['num']} *****",
        f"Loss: {info['loss']:.6f}",
        f"Feature norm: {info['feature_norm']:.6f}",
        f"Error norm: {info['error_norm']:.6f}",
        f"Active features: {info['active_features']}",
        f"Line search trials: {info['linesearch_trials']}",
        f"Seconds required for this iteration: {info['time']:.3f}",
    ]
    if "avg_f1" in info:
        average = ", ".join(f"{info[f'avg_{name}']:.6f}" for name in ("precision", "recall", "f1"))
        lines += [
            "Performance by label (#match, #model, #ref) (precision, recall, F1):",
            *(_score_line(name, score) for name, score in info["scores"].items()),
            f"Macro-average precision, recall, F1: ({average})",
            _accuracy_line("Item", info["item_accuracy"]),
            _accuracy_line("Instance", info["instance_accuracy"]),
        ]
    return "\n".join(lines) + "\n\n"


def _score_line(name: str, score: LabelScore) -> str:
    shares = ["******" if x is None else f"{x:.4f}" for x in (score.precision, score.recall, score.f1)]
    return f"    {name}: ({score.match}, {score.model}, {score.ref}) ({', '.join(shares)})"


def _accuracy_line(name: str, share: Fraction) -> str:
    return f"{name} accuracy: {share.numerator} / {share.denominator} ({float(share):.4f})"


class HeldOut:
    """Scores predictions on held-out data and stores the latest scores."""

    def __init__(self, y: Sequence[Sequence[str]], y_dev: Sequence[Sequence[str]]) -> None:
        self._names = dict.fromkeys(label for labels in [*y, *y_dev] for label in labels)
        self.latest: dict[str, Any] = {}

    def score(self, gold: Any, predicted: Any) -> float:
        """Token accuracy; all scores are in ``latest``."""
        self.latest = held_out_scores(self._names, gold, predicted)
        return float(self.latest["item_accuracy_float"])


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

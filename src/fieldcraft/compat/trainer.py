"""The trainer that CRF uses: one line per iteration."""

from __future__ import annotations

from typing import Any

from fieldcraft.compat import pycrfsuite


class LinePerIterationTrainer(pycrfsuite.Trainer):
    """Prints a line per iteration and, with held-out data, a table of labels at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:  # noqa: ARG002
        """One line."""
        parts = [
            f"Iter {info['num']:<3}",
            f"time={info['time']:<5.2f}",
            f"loss={info['loss']:<8.2f}",
            f"active={info['active_features']:<5}",
            f"feature_norm={info['feature_norm']:<8.2f}",
        ]
        if "avg_f1" in info:
            parts += [f"{name}={info[f'avg_{name}']:.3f}" for name in ("precision", "recall", "f1")]
            parts += [f"accuracy={info['item_accuracy_float']:.3f}/{info['instance_accuracy_float']:.3f}"]
        print("  ".join(parts))

    def on_optimization_end(self, log: str) -> None:
        """The table of the last iteration, then why training stopped."""
        last = (self.logparser and self.logparser.last_iteration) or {}
        scores = last.get("scores") or {}
        if scores:
            width = max(5, *map(len, scores))
            print(f"{'label':<{width}}  precision  recall     f1  support")
        for name, score in sorted(scores.items()):
            numbers = [value or 0.0 for value in (score.precision, score.recall, score.f1)]
            print("{:<{}}  {:9.3f}  {:6.3f}  {:5.3f}  {:7}".format(name, width, *numbers, score.ref))
        super().on_optimization_end(log)

"""Output of the commands on standard output: scores, inspections, explanations."""

from __future__ import annotations

import json as json_
from typing import Any

from fieldcraft.evaluation import metrics
from fieldcraft.terminal import visible_lines

Labels = list[list[str]]


def show(report: Any, *, json: bool, html: str | None) -> None:
    """Show an inspection or explanation: as text, as JSON, or as a page in a file."""
    if html is not None:
        report.to_html(html)
    if json:
        print(report.to_json())
    elif html is None:
        print(report.text())


def print_scores(
    gold: Labels,
    predicted: Labels,
    *,
    metric: str | None,
    json: bool,
    alpha: float = 0.5,
    rules: dict[str, str] | None = None,
) -> None:
    """Print conlleval's table if the labels form a scheme, and accuracies."""
    spans = bool(rules) or metrics.forms_scheme([*gold, *predicted])
    facts = metrics.summary(gold, predicted, **(rules or {})) if spans else _accuracies(gold, predicted)
    if spans and alpha != 0.5:
        f = metrics.span_scores(gold, predicted, **(rules or {})).micro.f_score(alpha=alpha)
        facts["f_alpha"] = {"alpha": alpha, "f": f}
    if metric is not None:
        chosen = metrics.resolve_metric(metric, gold)
        facts["metric"] = {"name": chosen.name, "value": chosen(gold, predicted)}
    if json:
        print(json_.dumps(facts, ensure_ascii=False, indent=2))
        return
    if spans:
        print(visible_lines(metrics.report(gold, predicted, format="conlleval", **(rules or {}))))
    for line in _lines(facts):
        print(line)


def _accuracies(gold: Labels, predicted: Labels) -> dict[str, Any]:
    return {
        "tokens": sum(map(len, gold)),
        "sequences": len(gold),
        "token_accuracy": metrics.token_accuracy(gold, predicted),
        "sequence_accuracy": metrics.sequence_accuracy(gold, predicted),
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = [
        f"token accuracy: {100 * facts['token_accuracy']:6.2f}% of {facts['tokens']}; "
        f"sequence accuracy: {100 * facts['sequence_accuracy']:6.2f}% of {facts['sequences']}"
    ]
    if "f_alpha" in facts:
        lines.append("F(alpha={alpha:g}): {f:.6f}".format(**facts["f_alpha"]))
    if "metric" in facts:
        lines.append("{name}: {value:.6f}".format(**facts["metric"]))
    return lines

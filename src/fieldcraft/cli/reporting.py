"""Output of the commands on standard output: scores, inspections, explanations."""

from __future__ import annotations

import json as json_
import sys
from itertools import chain
from typing import Any

from fieldcraft.evaluation import metrics
from fieldcraft.terminal import visible, visible_lines

Labels = list[list[str]]
SHOWN = 5  # labels that a warning lists


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
    warn_of_strangers(gold, predicted)
    spans = bool(rules) or metrics.forms_scheme([*gold, *predicted])
    facts = metrics.summary(gold, predicted, **(rules or {}))
    if not spans:
        facts["labels"] = facts.pop("spans")
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
    else:
        table = metrics.report(gold, predicted).splitlines()[:-1]  # without the accuracies, which follow
        print(visible_lines("\n".join(table)))
    for line in _lines(facts):
        print(line)


def warn_of_strangers(gold: Labels, predicted: Labels) -> None:
    """Warn if gold and predicted labels have none in common: one of the columns is probably another."""
    names = [sorted(set(chain.from_iterable(side))) for side in (gold, predicted)]
    if all(names) and not set(names[0]) & set(names[1]):
        listed = [", ".join(side[:SHOWN]) + (" …" if len(side) > SHOWN else "") for side in names]
        line = f"gold labels ({listed[0]}) and predicted ones ({listed[1]}) have none in common; "
        print(f"warning: {visible(line)}is the right column read?", file=sys.stderr)


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

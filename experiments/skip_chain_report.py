"""Choices and tables of the skip-chain experiment, from the lines that its trainings write.

Two rules choose a chain for a fold from its inner lines:

even    what is taken from O is such that as many tokens are labelled as speakers as there are (precision =
        recall, interpolated between the decodings of the grid); then the model with the largest criterion
        there. Both chains are then compared at the same point of their curves
best    the model and the decoding with the largest criterion
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.seminars import FIELDS

PAPER = {  # tables 4.2 and 4.3: F1 by field and their mean, inconsistently mislabelled tokens
    "linear": ([97.5, 97.5, 88.3, 77.3, 90.2], [12.6, 3.2, 6.4, 30.2]),
    "skip": ([96.7, 97.2, 88.1, 80.4, 90.6], [17.0, 5.2, 0.6, 4.8]),
}
SPEAKER = {"linear": (86.5, 70.0), "skip": (85.1, 76.8)}  # precision and recall in the paper's text
Choice = tuple[str, str]  # model and decoding, which names what is taken from the score of O
Line = dict[str, Any]


def read_lines(paths: Iterable[str]) -> list[Line]:
    """Lines of JSON from files."""
    return [json.loads(line) for path in paths for line in Path(path).read_text().splitlines()]


def f1(counts: Any) -> float:
    """In per cent, from tokens right, predicted and gold."""
    return 200.0 * counts[0] / max(1, counts[1] + counts[2])


def criterion(lines: list[Line]) -> float:
    """Mean of the speaker's F1 and of the mean F1 of the fields, of the counts of all lines."""
    found = {field: f1(np.sum([line["counts"][field] for line in lines], axis=0)) for field in FIELDS}
    return (found["speaker"] + float(np.mean([*found.values()]))) / 2


def candidates(lines: list[Line], fold: int) -> dict[Choice, list[Line]]:
    """The inner lines that a choice for this fold rests on."""
    out: dict[Choice, list[Line]] = {}
    for line in lines:
        if line["inner"] and line["fold"] == fold:
            out.setdefault((line["model"], line["decoding"]), []).append(line)
    return out


def at_its_best(rows: dict[Choice, list[Line]]) -> dict[Choice, float]:
    """The criterion of each model and decoding."""
    return {choice: criterion(mine) for choice, mine in rows.items()}


def where_even(rows: dict[Choice, list[Line]]) -> dict[Choice, float]:
    """For each model the decoding that labels as many speakers as there are, and the criterion there."""
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for (name, decoding), mine in rows.items():
        how, _, cost = decoding.partition(":")
        if how == "posterior":
            _, predicted, gold = np.sum([line["counts"]["speaker"] for line in mine], axis=0)
            curves.setdefault(name, []).append((float(cost or 0), float(predicted - gold), criterion(mine)))
    out = {}
    for name, points in curves.items():
        costs, excess, value = np.array(sorted(points)).T
        cost = round(float(np.interp(0.0, np.maximum.accumulate(excess), costs)), 2)
        out[name, f"posterior:{cost:g}"] = float(np.interp(cost, costs, value))
    return out


RULES = {"even": where_even, "best": at_its_best}


def choices(lines: list[Line], rule: str) -> dict[int, dict[str, Choice]]:
    """For each fold the linear chain and the skip chain with the largest criterion by a rule."""
    out: dict[int, dict[str, Choice]] = {}
    for fold in sorted({line["fold"] for line in lines if line["inner"]}):
        values, out[fold] = RULES[rule](candidates(lines, fold)), {}
        for choice in sorted(values, key=values.__getitem__):
            out[fold][choice[0].partition(":")[0]] = choice  # the last one is the best
    return out


def report(lines: list[Line]) -> str:
    """The choice of each fold, tables 4.2 and 4.3 (means over the folds), and the speaker by fold."""
    out = [*_inner_table(lines), ""]
    head = ["model", *FIELDS, "overall", "speaker P", "speaker R"]
    head += [*(f"repeats {f}" for f in FIELDS), "CPU s", "not converged", "folds"]
    out += ["Five folds:", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for kind, (row, missed) in PAPER.items():
        cells = [f"the paper's {kind} chain", *row, *SPEAKER[kind], *missed, "", "", "5"]
        out.append("| " + " | ".join(map(str, cells)) + " |")
    outer = [line for line in lines if not line["inner"]]
    for rule, kind in product(RULES, ("linear", "skip")):
        chosen = choices(lines, rule)
        mine = [x for x in outer if (x["model"], x.get("decoding")) == chosen.get(x["fold"], {}).get(kind)]
        if mine:
            out.append("| " + " | ".join([f"{kind} chain, {rule}", *_means(mine), str(len(mine))]) + " |")
    for name in dict.fromkeys((x["model"], x.get("decoding", "viterbi")) for x in outer):
        mine = [x for x in outer if (x["model"], x.get("decoding", "viterbi")) == name]
        out.append("| " + " | ".join([", ".join(name), *_means(mine), str(len(mine))]) + " |")
    return "\n".join([*out, "", *_by_fold(lines, outer)])


def _by_fold(lines: list[Line], outer: list[Line]) -> list[str]:
    """The speaker in each fold, by the chains that were chosen for it."""
    head = ["rule", "fold", "chain", "chosen", "speaker F1", "P", "R", "repeats speaker", "overall"]
    out = ["The chosen chains by fold:", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for rule in RULES:
        for fold, kinds in choices(lines, rule).items():
            for kind, choice in kinds.items():
                rows = [x for x in outer if x["fold"] == fold and (x["model"], x.get("decoding")) == choice]
                if rows:
                    m = _means(rows)  # F1 of the fields, overall, P, R, repeats of the fields …
                    cells = [rule, str(fold), kind, ", ".join(choice), m[3], *m[5:7], m[10], m[4]]
                    out.append("| " + " | ".join(cells) + " |")
    return out


def _inner_table(lines: list[Line]) -> list[str]:
    chosen = choices(lines, "best")
    if not chosen:
        return []
    out = ["Choice for each fold (mean of the speaker's F1 and of the mean F1; * the best):", ""]
    out += ["| model | " + " | ".join(f"fold {f}" for f in chosen) + " |", "|---|" + "---|" * len(chosen)]
    names = dict.fromkeys((x["model"], x["decoding"]) for x in lines if x["inner"])
    for name in names:
        cells = []
        for fold, best in chosen.items():
            mine = candidates(lines, fold).get(name, [])
            star = " *" if name in best.values() else ""
            cells.append(f"{criterion(mine):.2f}{star}" if mine else "")
        out.append(f"| {', '.join(name)} | " + " | ".join(cells) + " |")
    return out


def _means(rows: list[Line]) -> list[str]:
    by_field = [np.mean([f1(row["counts"][field]) for row in rows]) for field in FIELDS]
    counts = [row["counts"]["speaker"] for row in rows]
    precision = np.mean([100 * c[0] / max(1, c[1]) for c in counts])
    recall = np.mean([100 * c[0] / max(1, c[2]) for c in counts])
    missed = [np.mean([row["repeats"][field] for row in rows]) for field in FIELDS]
    numbers = [*by_field, np.mean(by_field), precision, recall, *missed]
    failed = np.mean([row["unconverged"] or 0 for row in rows])
    return [*(f"{x:.2f}" for x in numbers), f"{np.mean([row['cpu'] for row in rows]):.0f}", f"{failed:.1f}"]

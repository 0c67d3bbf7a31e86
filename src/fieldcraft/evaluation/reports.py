"""Reports of scores: a table, conlleval's layout, and a dict for JSON.

conlleval's layout is that of the 2004 script, its arithmetic included (per cent first, F from the
percentages), so that the last digit is the same; types come in the order of their code points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.evaluation.labellings import Encoded, sequence_accuracy, token_accuracy
from fieldcraft.evaluation.scores import Score, SpanScores


def table(encoded: Encoded, scores: SpanScores) -> str:
    """One line per type, the averages, the accuracies; percentages with two digits."""
    averages = {name: getattr(scores, name) for name in ("micro", "macro", "weighted")}
    rows = {**scores.by_type, **averages}
    width = max(map(len, rows))
    head = f"{'':{width}}  precision  recall       F    gold  predicted  correct"
    arrays, n_sequences = encoded[1:], len(encoded.offsets) - 1
    return "\n".join(
        [
            head,
            *(_row(name, score, width) for name, score in rows.items()),
            f"token accuracy {100 * token_accuracy(*arrays):.2f} ({len(encoded.gold)} tokens), "
            f"sequence accuracy {100 * sequence_accuracy(*arrays):.2f} ({n_sequences} sequences)",
        ]
    )


def conlleval(encoded: Encoded, scores: SpanScores) -> str:
    """What conlleval prints, without the last line break."""
    all_, n_tokens = scores.micro, len(encoded.gold)
    lines = [
        f"processed {n_tokens} tokens with {all_.gold} phrases; "
        f"found: {all_.predicted} phrases; correct: {all_.correct}."
    ]
    if n_tokens:
        right = int((encoded.gold == encoded.predicted).sum())
        lines.append(f"accuracy: {100 * right / n_tokens:6.2f}%; {_percentages(all_)}")
    lines += [
        f"{name:>17s}: {_percentages(score)}  {score.predicted}" for name, score in scores.by_type.items()
    ]
    return "\n".join(lines)


def as_dict(encoded: Encoded, scores: SpanScores) -> dict[str, Any]:
    """Counts, accuracies and span scores as plain values."""
    arrays = encoded[1:]
    return {
        "tokens": len(encoded.gold),
        "sequences": len(encoded.offsets) - 1,
        "token_accuracy": token_accuracy(*arrays),
        "sequence_accuracy": sequence_accuracy(*arrays),
        "spans": scores.to_dict(),
    }


FORMATS: Mapping[str, Callable[[Encoded, SpanScores], str]] = {"table": table, "conlleval": conlleval}


def resolve_format(name: str) -> Callable[[Encoded, SpanScores], str]:
    """The writer of a report."""
    if name not in FORMATS:
        raise InputError(f"format={name!r} is not one of {', '.join(FORMATS)}")
    return FORMATS[name]


def aligned(rows: list[list[str]], *, left: int = 1, cut: bool = True) -> str:
    """Cells in columns of equal width, the first ``left`` left-aligned; ``cut`` removes trailing blanks."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    signs = ["<" if column < left else ">" for column in range(len(widths))]
    lines = ("  ".join(f"{c:{s}{w}}" for c, s, w in zip(row, signs, widths)) for row in rows)
    return "\n".join(line.rstrip() if cut else line for line in lines)


def _row(name: str, score: Score, width: int) -> str:
    precision, recall, f = (100.0 * value for value in (score.precision, score.recall, score.f))
    return (
        f"{name:{width}}  {precision:9.2f}  {recall:6.2f}  {f:6.2f}"
        f"  {score.gold:6d}  {score.predicted:9d}  {score.correct:7d}"
    )


def _percentages(score: Score) -> str:
    precision = 100 * score.correct / score.predicted if score.predicted else 0.0
    recall = 100 * score.correct / score.gold if score.gold else 0.0
    f = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f:6.2f}"

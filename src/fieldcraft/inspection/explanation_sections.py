"""The tables of an `Explanation`: one line per token, then each token's votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldcraft.inspection.report import Cell, Section, Table, signed

if TYPE_CHECKING:
    from fieldcraft.inspection.explanation import Explanation, Step, Tally, TokenExplanation


def explanation_sections(found: Explanation) -> list[Section]:
    """A line for each token, then the votes; for one token only the votes."""
    alone = len(found.tokens) == 1
    details = [Section(_heading(token), _votes(token), folded=not alone) for token in found.tokens]
    return details if alone else [Section("Labels", [_lines(found)]), *details]


def _lines(found: Explanation) -> Table | str:
    if not found.tokens:
        return "the sequence is empty"
    rows = [
        [
            Cell(str(token.position), "quiet"),
            Cell(token.word or ""),
            Cell(token.label, "label"),
            Cell(_probability(token.probability)),
            Cell(token.other or ""),
            Cell(_probability(token.other_probability)),
            signed(token.difference),
            Cell(_strongest(token.features)),
            Cell(str(len(token.unknown) or ""), "quiet"),
        ]
        for token in found.tokens
    ]
    head = ["", "word", "label", "p", "other", "p", "difference", "strongest vote", "unknown"]
    return Table(head, "><<><>><>", rows)


def _probability(p: float | None) -> str:
    return "" if p is None else f"{p:.3f}"


def _strongest(tally: Tally) -> str:
    return (tally.votes[0].attribute or "") if tally.votes else ""


def _heading(token: TokenExplanation) -> str:
    word = f" {token.word}" if token.word is not None else ""
    rival = "" if token.other is None else f" over {token.other} {_probability(token.other_probability)}"
    return f"{token.position}{word}: {token.label} {_probability(token.probability)}{rival}"


def _votes(token: TokenExplanation) -> list[Table | str]:
    steps = [("step in from", token.step_in), ("step out to", token.step_out)]
    tallies = [token.features, *(step.tally for _, step in steps if step)]
    largest = max((abs(vote.vote) for tally in tallies for vote in tally.votes), default=0.0)
    rows = _tally(token.features, largest, "")
    for name, step in steps:
        rows += _step(f"{name} {step.neighbour}", step, largest) if step else []
    rows.append([signed(token.difference), Cell(""), Cell(""), Cell("all together", "label"), Cell("")])
    head = ["vote", token.label, token.other or "", "attribute", "template"]
    parts: list[Table | str] = [Table(head, ">>><<", rows)]
    if token.unknown:
        parts.append(f"never seen in training: {', '.join(token.unknown)}")
    return parts


def _tally(tally: Tally, largest: float, name: str) -> list[list[Cell]]:
    """A line for each vote; ``name`` is the step that it belongs to, if any."""
    rows = [
        [
            signed(vote.vote, largest),
            signed(vote.weight)._replace(tone=""),
            signed(vote.other)._replace(tone=""),
            Cell(", ".join(filter(None, [name, vote.attribute])) + _times(vote.value)),
            Cell(vote.template or "", "quiet"),
        ]
        for vote in tally.votes
    ]
    if tally.n_more:
        more = Cell(", ".join(filter(None, [name, f"{tally.n_more} more"])), "quiet")
        rows.append([signed(tally.more, largest), Cell(""), Cell(""), more, Cell("")])
    return rows


def _times(value: float) -> str:
    return "" if value == 1.0 else f"  x {value:g}"


def _step(name: str, step: Step, largest: float) -> list[list[Cell]]:
    """The votes of the step, or a line that there are none."""
    rows = _tally(step.tally, largest, name)
    return rows or [[signed(0.0), signed(None), signed(None), Cell(name), Cell("")]]

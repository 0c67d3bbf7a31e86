"""`fieldcraft inspect`: what a model has learnt."""

from __future__ import annotations

from typing import Annotated

import typer

from fieldcraft.cli.options import Html, Json, Model, Quiet

EXAMPLES = [
    "fieldcraft inspect ner.fc --top 5",
    "fieldcraft inspect ner.fc --label B-LOC --json",
    "fieldcraft inspect ner.fc --attribute 'word=*' --html model.html",
]
SHOWN = "What is shown"

Top = Annotated[
    int, typer.Option("--top", min=1, help="How many features of each kind.", rich_help_panel=SHOWN)
]


def inspect(
    model: Model,
    *,
    top: Top = 20,
    label: Annotated[str | None, typer.Option(help="Only this label.", rich_help_panel=SHOWN)] = None,
    attribute: Annotated[
        str | None, typer.Option(help="Attributes that match, e.g. 'word=*'.", rich_help_panel=SHOWN)
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="Only features of this template.", rich_help_panel=SHOWN)
    ] = None,
    json: Json = False,
    html: Html = None,
    quiet: Quiet = False,
) -> None:
    """Show what a model has learnt: its labels, transitions, templates and strongest features."""
    del quiet
    from fieldcraft.cli.loading import load_model
    from fieldcraft.cli.reporting import show

    crf = load_model(model, None)
    show(crf.inspect(top=top, label=label, attribute=attribute, template=template), json=json, html=html)

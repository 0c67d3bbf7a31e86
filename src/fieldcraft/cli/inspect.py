"""`fieldcraft inspect`: a summary of a model."""

from __future__ import annotations

from typing import Annotated

from fieldcraft.cli.options import Html, Json, Model, Quiet, panel

EXAMPLES = [
    "fieldcraft inspect ner.fc --top 5",
    "fieldcraft inspect ner.fc --label B-LOC --json",
    "fieldcraft inspect ner.fc --attribute 'word=*' --html model.html",
]
in_shown = panel("What is shown")

Top = Annotated[int, in_shown("--top", min=1, help="How many features of each kind.")]


def inspect(
    model: Model,
    *,
    top: Top = 20,
    label: Annotated[str | None, in_shown(help="Only this label.")] = None,
    attribute: Annotated[str | None, in_shown(help="Attributes that match, e.g. 'word=*'.")] = None,
    template: Annotated[str | None, in_shown(help="Only features of this template.")] = None,
    json: Json = False,
    html: Html = None,
    quiet: Quiet = False,
) -> None:
    """Show what a model has learnt: its labels, transitions, templates and strongest features."""
    del quiet
    from fieldcraft.cli.loading import load_model
    from fieldcraft.cli.outputs import keep_inputs
    from fieldcraft.cli.reporting import show

    keep_inputs([html], [model])
    crf = load_model(model, None)
    show(crf.inspect(top=top, label=label, attribute=attribute, template=template), json=json, html=html)

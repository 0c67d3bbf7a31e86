"""`fieldcraft explain`: the features behind the label of a token."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer

from fieldcraft.cli.inspect import in_shown
from fieldcraft.cli.options import Html, Json, Model, Quiet, Reading
from fieldcraft.errors import InputError

EXAMPLES = [
    "fieldcraft explain ner.fc test.conll --sequence 2 --token 0",
    "fieldcraft explain words.fc --text 'Ada spoke in Zurich .' --top 3",
    "fieldcraft explain ner.fc test.conll --json",
]


def explain(
    model: Model,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="File to read; - or none is standard input.")
    ] = "-",
    *,
    text: Annotated[str | None, typer.Option(help="Explain this raw text instead of a file.")] = None,
    sequence: Annotated[int, in_shown(min=0, help="Number of the sequence, from 0.")] = 0,
    token: Annotated[int | None, in_shown(min=0, help="Number of the token, from 0.")] = None,
    against: Annotated[str | None, in_shown(help="Label to compare with; the runner-up by default.")] = None,
    top: Annotated[int, in_shown(min=1, help="Features per token.")] = 10,
    json: Json = False,
    html: Html = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Show why tokens got their labels: each feature's vote against the runner-up."""
    del quiet
    from fieldcraft.cli.loading import load_model
    from fieldcraft.cli.outputs import keep_inputs
    from fieldcraft.cli.reporting import show

    keep_inputs([html], [model, None if text is not None else file])
    crf = load_model(model, None)
    chosen = _sequence(crf, file, text, sequence, reading)
    show(crf.explain(chosen, token=token, label=against, top=top), json=json, html=html)


def _sequence(crf: Any, file: str, text: str | None, number: int, reading: Reading) -> Any:
    from fieldcraft.cli.loading import reading_of
    from fieldcraft.cli.texts import reader_of
    from fieldcraft.corpus import read

    if text is not None:
        return reader_of(crf).sequence(text)
    stream = read(file, lazy=True, optional_label=True, **reading_of(crf, reading))
    chosen = next(islice(stream, number, None), None)
    if chosen is None:
        raise InputError(f"{stream.source} has no sequence {number}; they are counted from 0")
    return chosen

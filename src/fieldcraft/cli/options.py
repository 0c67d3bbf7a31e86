"""Options that several commands share, each defined once; groups of them are dataclasses.

A command takes a group as one parameter; `expanded` shows the command-line parser its fields instead.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand


def panel(title: str) -> Any:
    """``typer.Option`` for options that the help shows under ``title``."""
    return functools.partial(typer.Option, rich_help_panel=title)


in_reading, in_running, in_writing, in_scoring = map(panel, ["Reading", "Running", "Writing", "Scoring"])


def named(module: str, table: str, *extra: str) -> dict[str, Any]:
    """Settings of an option whose value is a name in a table, which is imported on demand."""

    def names() -> list[str]:
        return [*extra, *getattr(import_module(module), table)]

    def check(value: str | None) -> str | None:
        if value is not None and value not in names():
            from fieldcraft.spelling import suggestion

            meant = suggestion(value, names())
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names())}{meant}")
        return value

    return {"callback": check, "autocompletion": names}


def completed(text: str) -> str:
    """A help text with each ``{module:TABLE}`` replaced by the names in the table, imported on demand.

    >>> completed("{fieldcraft.design:FEATURES}.")
    'supported, all, all_states, all_transitions or selected.'
    """

    def names(match: re.Match[str]) -> str:
        *most, last = getattr(import_module(match[1]), match[2])
        return f"{', '.join(most)} or {last}"

    return re.sub(r"\{([\w.]+):(\w+)\}", names, text)


class Command(TyperCommand):
    """A command whose help is completed when it is shown, and whose errors name its options."""

    def invoke(self, ctx: Any) -> Any:
        from fieldcraft.cli.wording import as_options, warnings_as_lines
        from fieldcraft.errors import FieldcraftError

        names = [str(parameter.name) for parameter in self.params if parameter.param_type_name == "option"]
        try:
            with warnings_as_lines(names):
                return super().invoke(ctx)
        except FieldcraftError as error:
            raise FieldcraftError(as_options(str(error), names)) from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.get_params(ctx):
            parameter.help = completed(getattr(parameter, "help", None) or "")  # type: ignore[attr-defined]
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""  # a flag takes no value
        super().format_help(ctx, formatter)


Jobs = Annotated[int | None, in_running("--jobs", "-j", help="Threads; all allowed cores by default.", min=1)]
Seed = Annotated[int, in_running("--seed", help="Seed of every random choice.")]
Quiet = Annotated[bool, in_running("--quiet", "-q", help="Print only warnings and errors.")]
Json = Annotated[bool, in_writing("--json", help="Write JSON, for programs.")]
Output = Annotated[
    str, in_writing("--output", "-o", help="File to write; - is standard output, .gz is compressed.")
]
Html = Annotated[str | None, in_writing("--html", metavar="FILE", help="Write a web page to a file.")]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file that `train` wrote.", show_default=False)
]
Files = Annotated[
    list[str],
    typer.Argument(metavar="[FILES]", help="Files to read; - or none is standard input.", show_default=False),
]
Text = Annotated[
    bool, in_reading("--text", help="Each line is raw text, split into tokens by the model's rule.")
]
Metric = Annotated[
    str | None,
    in_scoring(
        "--metric",
        help="Score by this metric: auto, span_f, token_accuracy …",
        **named("fieldcraft.evaluation.metrics", "METRICS", "auto"),
    ),
]


@dataclass
class Reading:
    """How files are read: the arguments of `fc.read`; None for the default."""

    columns: Annotated[
        str | None, in_reading(help="Names of the columns, e.g. word,pos,ner.", metavar="NAMES")
    ] = None
    label: Annotated[
        str | None,
        in_reading(
            help="Name of the label column; upos in CoNLL-U, else the last by default. Several: pos,chunk.",
            metavar="NAME",
        ),
    ] = None
    format: Annotated[
        str | None,
        in_reading(
            help="auto, {fieldcraft.corpus.formats:FORMATS}.",
            **named("fieldcraft.corpus.formats", "FORMATS", "auto"),
        ),
    ] = None
    separator: Annotated[
        str | None, in_reading(help="What separates columns: auto, blank, tab or a character.")
    ] = None
    docstart: Annotated[str | None, in_reading(help="skip or keep -DOCSTART- lines.")] = None
    documents: Annotated[
        bool,
        in_reading(
            "--documents", help="Sentences between -DOCSTART- (# newdoc, # doc) lines are one sequence."
        ),
    ] = False
    comment: Annotated[
        str | None, in_reading(help="Ignore lines that begin with this.", metavar="PREFIX")
    ] = None
    encoding: Annotated[
        str | None, in_reading(help="utf-8 by default, or UTF-16 with a byte-order mark; latin-1 …")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `fc.read`."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        arguments = {name: value for name, value in given.items() if value is not False}
        if "columns" in arguments:
            arguments["columns"] = self.columns.replace(",", " ").split()  # type: ignore[union-attr]
        if self.label is not None and self.label.lstrip("-").isdigit():
            arguments["label"] = int(self.label)
        elif self.label is not None and "," in self.label:
            arguments["label"] = self.label.split(",")
        return arguments


@dataclass
class Tables(Reading):
    """The same, for commands that read tables with the column of the sequences' ids."""

    sequence: Annotated[
        str | None,
        in_reading(metavar="NAME", help="For csv and tsv: the column whose value changes between sequences."),
    ] = None


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass replaced by the dataclass's fields."""
    signature = inspect.signature(function, eval_str=True)
    taken = signature.parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in taken if _group_parameters(p.annotation)}

    @functools.wraps(function)
    def command(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    parameters = [flat for p in taken for flat in _flattened(p)]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _flattened(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    inner = _group_parameters(parameter.annotation)
    for shown in inner or [parameter]:
        yield shown.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _group_parameters(annotation: Any) -> list[inspect.Parameter]:
    if not hasattr(annotation, "__dataclass_fields__"):
        return []
    return list(inspect.signature(annotation, eval_str=True).parameters.values())

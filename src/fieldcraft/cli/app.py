"""The table of commands, the options before them, and the handling of errors."""

from __future__ import annotations

import os
import re
import sys
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fieldcraft.cli import (
    bake_off,
    compare,
    convert,
    demo,
    evaluate,
    explain,
    inspect,
    score,
    tag,
    train,
    tune,
)
from fieldcraft.cli.options import Command, Jobs, Quiet, Seed, expanded
from fieldcraft.errors import FieldcraftError

COMMANDS: dict[str, Any] = {
    "demo": demo.demo,
    "train": train.train,
    "bake-off": bake_off.bake_off,
    "tune": tune.tune,
    "tag": tag.tag,
    "evaluate": evaluate.evaluate,
    "score": score.score,
    "compare": compare.compare,
    "inspect": inspect.inspect,
    "explain": explain.explain,
    "convert": convert.convert,
}
INTERRUPTED = 130
READER_GONE = 141  # what a shell reports for a program that SIGPIPE stopped


class Commands(TyperGroup):
    """Commands whose errors are reported in one line, with an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(COMMANDS)  # in the order of the table

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _forget_output()
            raise typer.Exit(READER_GONE) from None
        except KeyboardInterrupt:
            print("fieldcraft: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except FieldcraftError as error:
            print(f"fieldcraft: {error}", file=sys.stderr)
        except OSError as error:
            name = "" if error.filename is None else f"{error.filename}: "
            print(f"fieldcraft: {name}{error.strerror or error}", file=sys.stderr)
        _leave_output()
        raise typer.Exit(1)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"fieldcraft {version('fieldcraft')}")
        raise typer.Exit


@app.callback(
    epilog="\n\n".join(
        [
            "[bold]Examples[/bold]",
            "fieldcraft demo",
            "fieldcraft train train.conll --columns word,pos,ner -o ner.fc",
            "fieldcraft tag ner.fc test.conll | fieldcraft score",
        ]
    )
)
def fieldcraft(
    ctx: typer.Context,
    jobs: Jobs = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """Label sequences with conditional random fields: learn from examples, tag, say how sure it is."""
    del version
    defaults = {"jobs": jobs, "seed": seed, "quiet": quiet}
    ctx.default_map = dict.fromkeys(COMMANDS, defaults)


def _leave_output() -> None:
    """Flush the output that was written before an error, unless that is the error."""
    try:
        sys.stdout.flush()
    except OSError:
        _forget_output()


def _forget_output() -> None:
    """Redirect standard output to nothing, since Python flushes it once more at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


for _name, _function in COMMANDS.items():
    _examples = sys.modules[_function.__module__].EXAMPLES
    app.command(
        _name,
        cls=Command,
        help=re.sub(r"(?<=\S)\n(?=\S)", " ", cleandoc(_function.__doc__)),  # paragraphs without breaks
        epilog="\n\n".join(["[bold]Examples[/bold]", *_examples]),
    )(expanded(_function))

"""The table of commands, the options before them, and the handling of errors."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fieldcraft.cli import (
    bake_off,
    check,
    compare,
    convert,
    demo,
    evaluate,
    explain,
    graph_decode,
    graph_infer,
    graph_predict,
    graph_show,
    graph_train,
    inspect,
    plot,
    pool_combine,
    pool_diagnose,
    pool_train,
    pool_weigh,
    score,
    tag,
    train,
    tune,
)
from fieldcraft.cli.options import Command, Jobs, Quiet, Seed, expanded
from fieldcraft.cli.streams import READER_GONE, complain, described, flushed, forget
from fieldcraft.distributed import launched
from fieldcraft.errors import FieldcraftError, InputError

COMMANDS: dict[str, Any] = {  # two words: a command of a group
    "demo": demo.demo,
    "train": train.train,
    "bake-off": bake_off.bake_off,
    "tune": tune.tune,
    "pool train": pool_train.train,
    "pool combine": pool_combine.combine,
    "pool weigh": pool_weigh.weigh,
    "pool diagnose": pool_diagnose.diagnose,
    "graph infer": graph_infer.infer,
    "graph decode": graph_decode.decode,
    "graph show": graph_show.show,
    "graph train": graph_train.train,
    "graph predict": graph_predict.predict,
    "tag": tag.tag,
    "evaluate": evaluate.evaluate,
    "score": score.score,
    "compare": compare.compare,
    "inspect": inspect.inspect,
    "explain": explain.explain,
    "plot": plot.plot,
    "check": check.check,
    "convert": convert.convert,
}
GROUPS = {
    "pool": "Pool the opinions of several models: train experts, combine, weigh, diagnose.",
    "graph": "Factor graphs in UAI files: infer, decode, show. Models of linked rows: train, predict.",
}
ON_RANKS = ("train", "tag", "pool train")  # commands that an MPI launcher may start
INTERRUPTED = 130


class Commands(TyperGroup):
    """Commands whose errors are reported in one line, with an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(dict.fromkeys(name.split()[0] for name in COMMANDS))  # in the order of the table

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            forget(sys.stdout)
            raise typer.Exit(READER_GONE) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except FieldcraftError as error:
            complain(error)
        except OSError as error:
            complain(described(error))
        raise typer.Exit(flushed(1))


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
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """Label sequences with conditional random fields: learn from examples, tag, say how sure it is."""
    del version
    defaults = {"jobs": jobs, "seed": seed, "quiet": quiet}
    ctx.default_map = defaults_of(defaults)


def in_one_process(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """The command, which refuses to be started several times by an MPI launcher."""

    @functools.wraps(command)
    def checked(**values: Any) -> None:
        if launched() is not None:
            raise InputError(
                f"{name} runs in one process; start it without mpiexec or srun (on several ranks: "
                f"{', '.join(ON_RANKS)})"
            )
        command(**values)

    return checked


def defaults_of(defaults: dict[str, Any]) -> dict[str, Any]:
    """The same defaults for every command, by group."""
    nested: dict[str, Any] = {}
    for name in COMMANDS:
        *group, command = name.split()
        place = nested.setdefault(group[0], {}) if group else nested
        place[command] = defaults
    return nested


_apps = {name: typer.Typer(no_args_is_help=True, rich_markup_mode="rich") for name in GROUPS}
for _name, _text in GROUPS.items():
    app.add_typer(_apps[_name], name=_name, help=_text)

for _name, _function in COMMANDS.items():
    _examples = sys.modules[_function.__module__].EXAMPLES
    *_words, _last = _name.split()
    (_apps[_words[0]] if _words else app).command(
        _last,
        cls=Command,
        help=re.sub(r"(?<=\S)\n(?=\S)", " ", cleandoc(_function.__doc__)),  # paragraphs without breaks
        epilog="\n\n".join(["[bold]Examples[/bold]", *_examples]),
    )(expanded(_function) if _name in ON_RANKS else in_one_process(_name, expanded(_function)))

"""The page docs/commands.md, generated from the commands.

python -m fieldcraft.cli.document > docs/commands.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

from fieldcraft.cli.app import COMMANDS, app
from fieldcraft.cli.options import completed

HEAD = """\
# Commands

This page is written from the commands' own help (`python -m fieldcraft.cli.document`).

Data goes to standard output, everything else to standard error; `-` is standard input or output. `fieldcraft
COMMAND --help` prints the same text. `fieldcraft --install-completion` installs completion for your shell.

| exit code | means |
|---|---|
| 0 | done |
| 1 | refused: one line says what and where |
| 2 | wrong usage |
| 130 | Ctrl-C; `train` has written the model of the last iteration, `tune` the best one |
| 141 | the reader of the output went away, as `head` does |
"""


def page() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(app)
    parts = [HEAD, "## Before every command\n\n" + "\n".join(_tables(group))]
    parts += [_command(name, _found(group, name)) for name in COMMANDS]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _found(group: Any, name: str) -> Any:
    """A command by its name, of one word or two."""
    for word in name.split():
        group = group.commands[word]
    return group


def _command(name: str, command: Any) -> str:
    arguments = [_metavar(p) for p in command.params if p.param_type_name == "argument"]
    examples = sys.modules[COMMANDS[name].__module__].EXAMPLES
    parts = [
        f"## fieldcraft {name}",
        command.help.strip(),
        f"```sh\n{' '.join(['fieldcraft', name, *arguments, '[OPTIONS]'])}\n```",
        "\n".join(_tables(command)),
        "```sh\n" + "\n".join(examples) + "\n```",
    ]
    return "\n\n".join(parts)


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _tables(command: Any) -> Iterator[str]:
    """Arguments, then options by panel."""
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        default = "Arguments" if parameter.param_type_name == "argument" else "Options"
        if not getattr(parameter, "hidden", False):
            panels.setdefault(getattr(parameter, "rich_help_panel", None) or default, []).append(parameter)
    for panel, parameters in panels.items():
        yield f"| {panel} | |\n|---|---|"
        yield from map(_row, parameters)
        yield ""


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{_metavar(parameter)}`"
    default = parameter.default
    shown = (
        not any(default is unsaid for unsaid in (None, False))
        and not callable(default)
        and parameter.param_type_name == "option"
    )
    text = re.sub(r"\s+", " ", completed(parameter.help or "")) + (f" Default: `{default}`." if shown else "")
    escaped = text.replace("|", "\\|")
    return f"| {names} | {escaped} |"


if __name__ == "__main__":
    sys.stdout.write(page())

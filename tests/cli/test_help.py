"""Help, completion, version; how quick they are; and the page that is written from them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from shell import COMMAND, environment, run

from fieldcraft.cli.app import COMMANDS
from fieldcraft.cli.document import page

ROOT = Path(__file__).resolve().parents[2]
TABLES = {
    ("train", "--prior"): ("fieldcraft.priors", "PRIORS"),
    ("train", "--optimiser"): ("fieldcraft.optimisers", "OPTIMISERS"),
    ("train", "--objective"): ("fieldcraft.objectives", "FOR_CHAINS"),
    ("graph train", "--objective"): ("fieldcraft.objectives", "FOR_GRAPHS"),
    ("train", "--features"): ("fieldcraft.design", "FEATURES"),
    ("train", "--templates"): ("fieldcraft.features.named", "NAMED"),
    ("pool train", "--experts"): ("fieldcraft.pools.experts", "SETS"),
    ("train", "--tokenizer"): ("fieldcraft.corpus.tokenising", "RULES"),
    ("train", "--format"): ("fieldcraft.corpus.formats", "FORMATS"),
    ("convert", "--scheme-to"): ("fieldcraft.corpus.schemes", "SCHEMES"),
}


def test_help_names_every_command() -> None:
    shown = run("--help").stdout
    assert [name for name in COMMANDS if name.split()[0] not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name: str) -> None:
    words = name.split()
    shown = run(*words, "--help").stdout
    assert "Usage: fieldcraft " + name in shown
    assert "Examples" in shown
    assert run(*words, "-h").stdout == shown


def test_help_of_a_group_names_its_commands() -> None:
    shown = run("pool", "--help").stdout
    assert [name for name in ("train", "combine", "weigh", "diagnose") if name not in shown] == []


def test_no_command_shows_the_help() -> None:
    assert "Usage: fieldcraft" in run(check=None).stdout


def test_help_imports_no_arrays() -> None:
    code = (
        "import sys; sys.argv = ['fieldcraft', '--help']\n"
        "from fieldcraft.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'safetensors', 'fieldcraft._core'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_version() -> None:
    from importlib.metadata import version

    assert run("--version").stdout == f"fieldcraft {version('fieldcraft')}\n"


@pytest.mark.parametrize(("start", "offered"), [("tr", "train"), ("ev", "evaluate")])
def test_completion_offers_commands(start: str, offered: str) -> None:
    asked = environment(
        _FIELDCRAFT_COMPLETE="complete_bash", COMP_WORDS=f"fieldcraft {start}", COMP_CWORD="1"
    )
    done = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [offered]


def test_completion_offers_names_of_a_table() -> None:
    words = "fieldcraft train --prior la"
    asked = environment(_FIELDCRAFT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="3")
    done = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, check=False)
    assert "laplacian" in done.stdout.split()


def test_completion_script_is_shown() -> None:
    disabled = environment(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    done = subprocess.run(
        [*COMMAND, "--show-completion", "bash"], env=disabled, capture_output=True, text=True, check=True
    )
    assert "complete -o default -F _fieldcraft_completion fieldcraft" in done.stdout


@pytest.mark.parametrize(("option", "table"), TABLES.items(), ids=str)
def test_help_lists_the_names_of_a_table(option: tuple[str, str], table: tuple[str, str]) -> None:
    command, name = option
    row = next(line for line in _section(command).splitlines() if line.startswith(f"| `{name}`"))
    assert [known for known in getattr(import_module(table[0]), table[1]) if known not in row] == []


def _section(command: str) -> str:
    return page().split(f"## fieldcraft {command}\n")[1].split("\n## ")[0]


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## fieldcraft {name}\n" not in text] == []


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert text == page(), "write it anew: python -m fieldcraft.cli.document > docs/commands.md"

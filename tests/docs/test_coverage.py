"""Every public name and every command is documented: in the pages, in the reference, by a docstring."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import fieldcraft as fc
from fieldcraft.cli.app import COMMANDS
from fieldcraft.structures import chain

ROOT = Path(__file__).resolve().parents[2]
TEXT = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
)
REFERENCE = set(
    re.findall(
        r"^::: (\S+)$",
        "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")),
        re.MULTILINE,
    )
)
METHODS = [name for name, _ in inspect.getmembers(fc.ChainCRF, inspect.isfunction)]
PUBLIC_METHODS = [name for name in METHODS if not name.startswith("_")]
PARAMETERS = [
    name
    for function in (fc.ChainCRF.__init__, fc.ChainCRF.fit)
    for name in inspect.signature(function).parameters
    if name not in {"self", "X", "y"}
]
CHAIN = [
    name
    for name, value in inspect.getmembers(chain, inspect.isfunction)
    if value.__module__ == chain.__name__ and not name.startswith("_")
]


def mentioned(name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", TEXT) is not None


@pytest.mark.parametrize("name", fc.__all__)
def test_public_name_is_on_a_page(name: str) -> None:
    assert f"fc.{name}" in TEXT


@pytest.mark.parametrize("name", fc.__all__)
def test_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(fc, name))


@pytest.mark.parametrize("name", fc.__all__)
def test_public_name_is_in_the_reference(name: str) -> None:
    value = getattr(fc, name)
    if inspect.ismodule(value):
        assert any(f"{entry}.".startswith(f"{value.__name__}.") for entry in REFERENCE)
    else:
        assert {f"fieldcraft.{name}", value.__module__} & REFERENCE


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name: str) -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "commands.md"]
    used = [page for page in pages if f"fieldcraft {name}" in page.read_text(encoding="utf-8")]
    assert f"## fieldcraft {name}\n" in TEXT
    assert used, "no guide shows this command"


@pytest.mark.parametrize("name", PUBLIC_METHODS)
def test_method_of_chain_crf_is_documented(name: str) -> None:
    assert mentioned(name)
    assert inspect.getdoc(getattr(fc.ChainCRF, name))


@pytest.mark.parametrize("name", sorted(set(PARAMETERS)))
def test_parameter_of_chain_crf_is_documented(name: str) -> None:
    assert mentioned(name)


@pytest.mark.parametrize("name", CHAIN)
def test_function_of_the_chain_is_documented(name: str) -> None:
    assert mentioned(name)
    assert inspect.getdoc(getattr(chain, name))

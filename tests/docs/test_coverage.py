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


def test_public_names_are_on_a_page() -> None:
    assert [name for name in fc.__all__ if f"fc.{name}" not in TEXT] == []


def test_public_names_have_docstrings() -> None:
    assert [name for name in fc.__all__ if not inspect.getdoc(getattr(fc, name))] == []


def test_public_names_are_in_the_reference() -> None:
    assert [name for name in fc.__all__ if not in_reference(name)] == []


def in_reference(name: str) -> bool:
    value = getattr(fc, name)
    if inspect.ismodule(value):
        return any(f"{entry}.".startswith(f"{value.__name__}.") for entry in REFERENCE)
    return bool({f"fieldcraft.{name}", value.__module__} & REFERENCE)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name: str) -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "commands.md"]
    used = [page for page in pages if f"fieldcraft {name}" in page.read_text(encoding="utf-8")]
    assert f"## fieldcraft {name}\n" in TEXT
    assert used, "no guide shows this command"


def test_methods_of_chain_crf_are_documented() -> None:
    assert [name for name in PUBLIC_METHODS if not mentioned(name)] == []
    assert [name for name in PUBLIC_METHODS if not inspect.getdoc(getattr(fc.ChainCRF, name))] == []


def test_parameters_of_chain_crf_are_documented() -> None:
    assert [name for name in sorted(set(PARAMETERS)) if not mentioned(name)] == []


def test_functions_of_the_chain_are_documented() -> None:
    assert [name for name in CHAIN if not mentioned(name)] == []
    assert [name for name in CHAIN if not inspect.getdoc(getattr(chain, name))] == []


MODELS = [
    name for name in fc.__all__ if inspect.isclass(getattr(fc, name)) and hasattr(getattr(fc, name), "fit")
]


@pytest.mark.parametrize("name", MODELS)
def test_fitted_attributes_are_in_the_reference(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "fitted.md").read_text(encoding="utf-8")
    bases = inspect.getmro(getattr(fc, name))
    names = {key for kind in bases for key in (*vars(kind), *inspect.get_annotations(kind))}
    fitted = sorted(key for key in names if key.endswith("_") and not key.startswith("_"))
    assert fitted
    assert [key for key in fitted if f"`{key}`" not in page] == []

"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import fieldcraft

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(fieldcraft.__path__, "fieldcraft.")
    if not info.name.endswith("._core")
)


def test_examples_of_the_modules() -> None:
    """A failing example prints itself, with its file and line."""
    results = {name: doctest.testmod(import_module(name)) for name in MODULES}
    assert [name for name, result in results.items() if result.failed] == []
    assert sum(result.attempted for result in results.values()) > 50

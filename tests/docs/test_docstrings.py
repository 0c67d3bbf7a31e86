"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import fieldcraft

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(fieldcraft.__path__, "fieldcraft.")
    if not info.name.endswith("._core")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0

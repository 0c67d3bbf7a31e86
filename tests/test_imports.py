"""The house stands as drawn: who imports whom, who calls the core, how long a file may be.

The order is that of the data flow: a later line may import an earlier one, never the reverse. A new
folder or module gets its place in ORDER first.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "fieldcraft"
NATIVE = ROOT / "native"

ORDER = [
    *("terminal", "display", "markup", "spelling", "errors", "counts"),  # open to all
    *("distributed", "threads", "memory", "replacing"),
    *("corpus", "features", "labels", "design", "potentials", "structures"),
    *("objectives", "priors", "problems", "optimisers", "evaluation", "plots", "store", "inspection"),
    *("models", "pools", "tuning", "compat", "cli", "serve", "__main__"),
]
CORE = "_core"
MAY_CALL_CORE = {
    "features",
    "design",
    "potentials",
    "structures",
    "objectives",
    "problems",
    "optimisers",
    "store",
}
JUNK_DRAWERS = {"utils", "helpers", "common", "misc", "base"}
NAMED_BY_OTHERS = {"src/fieldcraft/compat/utils.py"}  # sklearn-crfsuite's module, imported by its name
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "safetensors", "typer", "rich")
LONGEST = 400

SOURCES = sorted(PACKAGE.rglob("*.py"))
NATIVES = sorted(path for path in NATIVE.rglob("*") if path.suffix in {".cpp", ".hpp"})


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def room(path: Path) -> str:
    """The line of ORDER that a file belongs to; '' for the front door, fieldcraft/__init__."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """The module that an import names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    package = ["fieldcraft", *path.relative_to(PACKAGE).parts[:-1]]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def modules(tree: ast.AST, path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, import_module("...") included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            whole = absolute(node, path)
            yield from (f"{whole}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant) and a.value)


def rooms_imported(path: Path) -> set[str]:
    """The parts of fieldcraft that a file imports; '' for a name taken from the front door."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = (name.split(".") for name in modules(tree, path) if name.split(".")[0] == "fieldcraft")
    known = {*ORDER, CORE}
    return {parts[1] if len(parts) > 1 and parts[1] in known else "" for parts in inside}


INNER = [path for path in SOURCES if room(path)]


def test_imports_follow_the_flow_of_data() -> None:
    homeless = {room(path) for path in INNER} - set(ORDER)
    assert not homeless, f"{sorted(homeless)} have no place in the order of the house; give them one"
    wrong = []
    for path in INNER:
        own = room(path)
        reverse = rooms_imported(path) - {*ORDER[: ORDER.index(own) + 1], CORE}
        wrong += [f"{name_of(path)} imports {other}, which comes after {own}" for other in sorted(reverse)]
    assert not wrong, "\n".join(wrong)


def test_only_some_call_the_core() -> None:
    callers = [path for path in INNER if CORE in rooms_imported(path)]
    assert callers, "nobody calls the core: this test looks in the wrong place"
    wrong = [name_of(path) for path in callers if room(path) not in MAY_CALL_CORE]
    assert not wrong, f"{wrong} call the core"


# Optimisers see the data through the protocols of problems/ alone.
OPTIMISERS_DO_WITHOUT = {"corpus", "features", "labels", "design", "potentials", "structures"}


def test_optimisers_know_no_structure() -> None:
    optimisers = [path for path in INNER if room(path) == "optimisers"]
    assert optimisers, "no optimiser: this test looks in the wrong place"
    wrong = [name_of(path) for path in optimisers if rooms_imported(path) & OPTIMISERS_DO_WITHOUT]
    assert not wrong, f"{wrong} import one of {sorted(OPTIMISERS_DO_WITHOUT)}"


def test_the_rules_would_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that breaks each rule, seen by the same functions."""
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    bad = tmp_path / "corpus" / "bad.py"
    bad.parent.mkdir()
    for text, found in (
        ("from fieldcraft.models.chain import ChainCRF", "models"),
        ("def f():\n    from ..models import chain", "models"),
        ("from .. import models", "models"),
        ("import fieldcraft.store.header as h", "store"),
        ("from fieldcraft import _core", CORE),
        ("import fieldcraft._core", CORE),
        ("from fieldcraft import ChainCRF", ""),
        ("from importlib import import_module\nimport_module('fieldcraft.models')", "models"),
    ):
        bad.write_text(text, encoding="utf-8")
        assert rooms_imported(bad) == {found}, text


def test_files_stay_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in [*SOURCES, *NATIVES]}
    long = [f"{name_of(path)} has {n} lines; split it by noun" for path, n in lengths.items() if n >= LONGEST]
    assert not long, "\n".join(long)


def test_no_junk_drawers() -> None:
    parts = {path: path.relative_to(ROOT).parts for path in [*SOURCES, *NATIVES]}
    drawers = [
        name_of(path) for path in parts if JUNK_DRAWERS & {part.partition(".")[0] for part in parts[path]}
    ]
    drawers = sorted(set(drawers) - NAMED_BY_OTHERS)
    assert not drawers, f"{drawers}: a file is named after what it holds"


def test_python_stays_in_bind() -> None:
    outside = [path for path in NATIVES if path.parent != NATIVE / "bind"]
    texts = {path: path.read_text(encoding="utf-8") for path in outside}
    wrong = [name_of(p) for p, text in texts.items() if "Python.h" in text or "nanobind/" in text]
    assert not wrong, f"{wrong} include Python or nanobind"


def run_python(code: str) -> str:
    """What a fresh interpreter prints, with the package found in src."""
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_is_quick() -> None:
    """`import fieldcraft` pulls in neither the array libraries nor the core nor its own rooms."""
    code = (
        "import sys; before = set(sys.modules); import fieldcraft; "
        f"heavy = {HEAVY!r}; new = set(sys.modules) - before; "
        "print([m for m in sorted(new) if m.split('.')[0] in heavy or m.startswith('fieldcraft.')])"
    )
    assert run_python(code) == "[]"


def test_the_front_door_lists_what_it_gives() -> None:
    code = "import fieldcraft; print(set(fieldcraft.__all__) - set(dir(fieldcraft)))"
    assert run_python(code) == "set()"


def test_help_is_quick() -> None:
    """`fieldcraft --help` needs neither the array libraries nor the core."""
    code = (
        "import contextlib, io, sys; from fieldcraft.cli import main; sys.argv[1:] = ['--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()\n"
        "print([m for m in ('numpy', 'scipy', 'fieldcraft._core') if m in sys.modules])"
    )
    assert run_python(code) == "[]"

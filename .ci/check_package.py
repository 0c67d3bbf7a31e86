"""Refuse a source archive or wheel that lacks what it needs or carries what it should not.

python .ci/check_package.py DIST, a folder with one of each.
"""

import sys
import tarfile
import zipfile
from pathlib import Path

LARGEST = {"*.tar.gz": 2_000_000, "*.whl": 8_000_000}  # bytes, packed
SOURCE_NEEDS = {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md"}
SOURCE_NEEDS |= {"native/bind/module.cpp", "src/fieldcraft/_core.pyi"}
WHEEL_NEEDS = {"fieldcraft/__init__.py", "fieldcraft/py.typed", "fieldcraft/_core.pyi"}
WHEEL_HOLDS = (".py", ".pyi", "py.typed", ".so", ".pyd", ".gz", ".json", ".txt", ".html", ".css", ".js")
SOURCE_LEAVES_OUT = (".venv/", "build/", ".git/", ".github/", "benchmarks/results/", "experiments/results/")


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    size = found.stat().st_size
    assert size <= LARGEST[pattern], f"{found.name} has {size} bytes, allowed are {LARGEST[pattern]}"
    return found


def check_source(path: Path) -> None:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= SOURCE_NEEDS, f"{path.name} lacks {sorted(SOURCE_NEEDS - names)}"
    surplus = sorted(name for name in names if name.startswith(SOURCE_LEAVES_OUT) or name.endswith(".so"))
    assert not surplus, f"{path.name} must not hold {surplus[:5]}"


def check_wheel(path: Path) -> None:
    names = {name for name in zipfile.ZipFile(path).namelist() if not name.endswith("/")}  # no folders
    assert names >= WHEEL_NEEDS, f"{path.name} lacks {sorted(WHEEL_NEEDS - names)}"
    cores = [
        name for name in names if name.startswith("fieldcraft/_core.") and name.endswith((".so", ".pyd"))
    ]
    assert len(cores) == 1, f"{path.name} must hold one core, found {cores}"
    assert any(name.endswith("licenses/LICENSE") for name in names), f"{path.name} lacks its licence"
    meta = {name for name in names if ".dist-info/" in name}
    surplus = sorted(
        n for n in names - meta if not n.startswith("fieldcraft/") or not n.endswith(WHEEL_HOLDS)
    )
    assert not surplus, f"{path.name} must not hold {surplus[:5]}"


if __name__ == "__main__":
    check_source(only(Path(sys.argv[1]), "*.tar.gz"))
    check_wheel(only(Path(sys.argv[1]), "*.whl"))

"""The types of the compiled core, written from the core itself: src/fieldcraft/_core.pyi.

python .ci/stub.py            writes the stub (make stub)
python .ci/stub.py --check    fails where the stub is not that of the core

nanobind's generator knows the signatures. What it leaves open is filled in here, so that mypy's strict mode
accepts the file: containers without element types hold Any, and an object of the interpreter is Any. Its long
array types get a name each.
"""

import re
import sys
import tempfile
from pathlib import Path

from nanobind.stubgen import main as stubgen

STUB = Path(__file__).resolve().parent.parent / "src" / "fieldcraft" / "_core.pyi"
HEAD = "# Written by `make stub` from the compiled core; tests/test_stub.py compares the two. Do not edit.\n"
ARRAY = re.compile(r"Annotated\[NDArray(?:\[numpy\.(\w+)\])?, dict\(([^()]*(?:\([^()]*\))?[^()]*)\)\]")
OPEN = {
    "tuple": "tuple[Any, ...]",
    "dict": "dict[str, Any]",
    "list": "list[Any]",
    "Callable": "Callable[..., Any]",
    "object": "Any",
}


def generated() -> str:
    """The stub as nanobind writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "_core.pyi"
        stubgen(["-q", "-m", "fieldcraft._core", "-o", str(path)])
        return path.read_text(encoding="utf-8")


def name_of(array: re.Match[str]) -> str:
    """Float64Vector, Int32Matrix, or OutFloat64Vector for an array that is written to."""
    kind, rules = (array[1] or "any").capitalize(), array[2]
    shape = {1: "Vector", 2: "Matrix"}.get(rules.count("None"), "Array")
    return f"{'' if 'writable=False' in rules else 'Out'}{kind}{shape}"


def finished(text: str) -> str:
    """Short names for arrays, element types for containers."""
    names: dict[str, str] = {}
    for array in ARRAY.finditer(text):
        names[name_of(array)] = array[0].replace("NDArray,", "NDArray[Any],")
    text = ARRAY.sub(name_of, text)
    for bare, full in OPEN.items():
        text = re.sub(rf"(: |> |\[){bare}(?=[,)\]:]| \|)", rf"\1{full}", text)
    head, _, body = text.partition("import numpy\n")
    imports, _, body = body.partition("\n\n")
    typing = "Annotated, Any, overload" if "@overload" in body else "Annotated, Any"
    head = re.sub(r"^from typing import .*$", f"from typing import {typing}", head, flags=re.MULTILINE)
    aliases = "".join(f"{name} = {names[name]}\n" for name in sorted(names))
    return f"{HEAD}{head}import numpy\n{imports}\n\n{aliases}\n{body.strip()}\n"


if __name__ == "__main__":
    text = finished(generated())
    if "--check" not in sys.argv[1:]:
        STUB.write_text(text, encoding="utf-8")
    elif text != STUB.read_text(encoding="utf-8"):
        sys.exit(f"{STUB.name} is out of date; run make stub")

"""The snippets of a page, run in the order of the page, in one folder and one namespace.

```python   with `>>>`: a doctest; without: the code runs
```console  `$ fieldcraft …` runs in a shell (cli/shell.py); what stands below it is what it must print,
            on both standard output and standard error. A line `...` stands for any lines, and of numbers
            three decimals count: processors with other instruction sets add in another order.
Other fences are not run.
"""

from __future__ import annotations

import doctest
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cli.shell import shell

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF


class Snippet(NamedTuple):
    """A fenced block: its language, its text and the line on which the text begins."""

    language: str
    text: str
    line: int


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    return [Snippet(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in FENCE.finditer(text)]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def run(page: Path, folder: Path) -> list[str]:
    """What went otherwise than the page says; `folder` must be the working directory."""
    namespace: dict[str, Any] = {"__name__": "page"}
    failures: list[str] = []
    for snippet in snippets(page):
        if snippet.language == "console":
            failures += _console(page, snippet, folder)
        elif snippet.language == "python" and ">>> " in snippet.text:
            failures += _doctest(page, snippet, namespace)
        elif snippet.language == "python":
            code = "\n" * (snippet.line - 1) + snippet.text
            exec(compile(code, str(page), "exec"), namespace)
    return failures


def _doctest(page: Path, snippet: Snippet, namespace: dict[str, Any]) -> list[str]:
    parsed = doctest.DocTestParser().get_doctest(
        snippet.text, namespace, name_of(page), str(page), snippet.line - 1
    )
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    runner.run(parsed, out=said.append, clear_globs=False)
    namespace.update(parsed.globs)
    return said


def _console(page: Path, snippet: Snippet, folder: Path) -> list[str]:
    failures = []
    for line, command, expected in _commands(snippet):
        printed = shell(command, folder, subprocess.STDOUT).stdout
        if not doctest.OutputChecker().check_output(_rounded(expected), _rounded(printed), FLAGS):
            failures.append(f"{name_of(page)}:{line}: {command}\nexpected:\n{expected}\nprinted:\n{printed}")
    return failures


def _rounded(text: str) -> str:
    return re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.3f}", text)


def _commands(snippet: Snippet) -> Iterator[tuple[int, str, str]]:
    """(line, command, what it prints) of each `$` in a console block."""
    for number, part in enumerate(re.split(r"^\$ ", snippet.text, flags=re.MULTILINE)):
        if number:
            command, _, output = part.partition("\n")
            yield snippet.line, command, output

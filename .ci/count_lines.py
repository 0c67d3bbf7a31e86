"""Count the lines of code of the package and of the core, folder by folder.

    python .ci/count_lines.py                      # this checkout
    python .ci/count_lines.py --against ../before  # another checkout, this one, and the change in per cent
    python .ci/count_lines.py --files native       # a row per file of the folders that begin so

A line counts if anything stands on it besides blanks, comments and docstrings. A docstring is a string that
is a statement by itself. The lines of any other string count unless they are blank. The core's stub, which
the build generates, is left out.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"src/fieldcraft/_core.pyi"}
SILENT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
# Comments, and what may hide the beginning of one.
CPP_TOKEN = re.compile(
    r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"   # a raw string
    | "(?:\\.|[^"\\\n])*"
    | \d(?:'?[\w.])*                                              # a number; 1'000 opens no character
    | '(?:\\.|[^'\\\n])*'
    | [A-Za-z_]\w*                                               # a name, whose digits are no number
    """,
    re.VERBOSE | re.DOTALL,
)


def python_lines(text: str) -> int:
    """The number of lines of Python code in ``text``."""
    lines = text.split("\n")
    documented = _docstrings(text)
    counted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        inside = any(first <= token.start < last for first, last in documented)
        if token.type not in SILENT and not (inside and token.type == tokenize.STRING):
            counted.update(range(token.start[0], token.end[0] + 1))
    return sum(bool(lines[number - 1].strip()) for number in counted)


def _docstrings(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(line, column) of the beginning and of the end of each string that is a statement by itself."""
    lines = text.encode().split(b"\n")

    def position(line: int, byte: int) -> tuple[int, int]:
        return line, len(lines[line - 1][:byte].decode())

    return [
        (position(node.lineno, node.col_offset), position(node.end_lineno or 0, node.end_col_offset or 0))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


def cpp_lines(text: str) -> int:
    """The number of lines of C++ code in ``text``."""

    def bare(found: re.Match[str]) -> str:
        comment = found.group("comment")
        return found.group() if comment is None else re.sub(r"[^\n]", " ", comment)

    return sum(bool(line.strip()) for line in CPP_TOKEN.sub(bare, text).split("\n"))


LANGUAGES: dict[str, Callable[[str], int]] = {
    ".py": python_lines,
    ".pyi": python_lines,
    ".cpp": cpp_lines,
    ".hpp": cpp_lines,
}


def files(root: Path) -> dict[str, int]:
    """Lines of code by file, named relative to ``root``."""
    paths = sorted(path for part in ("src/fieldcraft", "native") for path in (root / part).rglob("*"))
    names = {path.relative_to(root).as_posix(): path for path in paths if path.suffix in LANGUAGES}
    if not names:
        raise SystemExit(f"{root} is no checkout: it has neither src/fieldcraft nor native")
    return {
        name: LANGUAGES[path.suffix](path.read_text(encoding="utf-8"))
        for name, path in names.items()
        if name not in GENERATED
    }


def folder(name: str) -> str:
    """The row in which a file is counted: a folder of the package or of the core, or a module beside them."""
    parts = name.split("/")
    depth = 3 if parts[0] == "src" else min(2, len(parts) - 1)
    return "/".join(parts[:depth])


def rows(lines: dict[str, int], *, apart: tuple[str, ...] = ()) -> Counter[str]:
    """Lines of code by folder; by file where a folder begins with one of ``apart``."""
    found: Counter[str] = Counter()
    for name, count in lines.items():
        found[name if name.startswith(apart) else folder(name)] += count
    return found


def totals(lines: dict[str, int]) -> Counter[str]:
    """Lines of code by language, and all of them."""
    python = sum(count for name, count in lines.items() if name.startswith("src/"))
    total = sum(lines.values())
    return Counter({"all Python": python, "all C++": total - python, "all": total})


def table(names: Iterable[str], now: Counter[str], before: Counter[str] | None) -> Iterable[str]:
    """A line of text per name."""
    for name in names:
        if before is None:
            yield f"{name:<40}{now[name]:>8,}"
        else:
            yield f"{name:<40}{before[name]:>8,}{now[name]:>8,}{change(before[name], now[name]):>10}"


def change(before: int, now: int) -> str:
    """The difference in per cent of what was before."""
    if before == 0:
        return "new" if now else ""
    return "gone" if now == 0 else f"{100 * (now - before) / before:+.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout, shown as before")
    parser.add_argument("--files", nargs="*", metavar="FOLDER", help="a row per file (of these folders)")
    options = parser.parse_args()
    apart = () if options.files is None else tuple(options.files) or ("",)
    lines, earlier = files(ROOT), files(options.against) if options.against else None
    now, before = rows(lines, apart=apart), None if earlier is None else rows(earlier, apart=apart)
    print(f"{'lines of code':<40}{'now':>8}" if before is None else _HEAD)
    print(*table(sorted({*now, *(before or ())}), now, before), sep="\n")
    print(*table(totals(lines), totals(lines), None if earlier is None else totals(earlier)), sep="\n")


_HEAD = f"{'lines of code':<40}{'before':>8}{'now':>8}{'change':>10}"

if __name__ == "__main__":
    main()

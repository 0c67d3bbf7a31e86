"""What .ci/count_lines.py counts as a line of code."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "count_lines.py"


@pytest.fixture(scope="module")
def counter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("count_lines", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PYTHON = {
    "blank lines": ("\n\nx = 1\n   \n", 1),
    "a comment": ("# one\nx = 1  # two\n    # three\n", 1),
    "a mark of a comment in a string": ('x = "# no comment"\n', 1),
    "the docstring of a module": ('"""One.\n\nTwo.\n"""\nx = 1\n', 1),
    "docstrings of a class and of its method": (
        'class A:\n  """One."""\n\n  def f(self):\n    """Two.\n\n    Three."""\n    return 1\n',
        3,
    ),
    "a docstring on the line of its function": ('def f(): "One."\n', 1),
    "a docstring of an attribute": ('x = 1\n"""What x is."""\n', 1),
    "a docstring in two pieces": ('def f():\n    "One, "\n    "two."\n    return 1\n', 2),
    "a docstring after wide characters": ('x = "éé"; """one\ntwo"""\ny = 1\n', 2),
    "a string over several lines": ('x = """one\n\ntwo\n# three\n"""\n', 4),
    "an argument that is a string": ('f(\n    """one\n    two"""\n)\n', 4),
    "a formatted string over several lines": ('x = f"""one\n{1}\n\n"""\n', 3),
    "brackets over several lines": ("x = [\n    1,  # one\n    # two\n]\n", 3),
    "a line feed of another kind in a string": ('x = "\x0c\u2028"\ny = 1\n', 2),
    "nothing": ("", 0),
}

CPP = {
    "blank lines": ("\n\nint x;\n   \n", 1),
    "line comments": ("// one\nint x;  // two\n", 1),
    "a line comment that a backslash continues": ("// one \\\n int x;\nint y;\n", 1),
    "a block comment": ("/* one\n\n two */\nint x;\n", 1),
    "code around block comments": ("int x; /* one\ntwo */ int y;\n/* three */ int z; /* four */\n", 3),
    "a block comment that opens in a line comment": ("// /*\nint x;\n// */\n", 1),
    "a line comment that opens in a block comment": ("/* // */ int x;\n", 1),
    "marks of comments in a string": ('auto x = "/*";\nint y;\nauto z = "*/ //";\n', 3),
    "an escaped quotation mark": ('auto x = "\\"/*";\nint y;\n// z\n', 2),
    "a quotation mark as a character": ("char x = '\"';\n// \"\nchar y = '\\'';\n// '\n", 2),
    "an apostrophe in a number": ("int x = 1'000; /* one\ntwo */\nint y = 0x1'F;\n", 2),
    "a raw string": ('auto x = R"(one // two\n\n/* three)";\nint y;\n', 3),
    "a raw string with a mark": ('auto x = R"m(one )" /*\n)m";\n// two\nint y;\n', 3),
    "a raw string with a prefix": ('auto x = u8R"(" /* )";\n// two\nint y;\n', 2),
    "an apostrophe after a name that ends in a digit": ("auto x = u8'/'; // '\n/* ' */\nint y;\n", 2),
    "nothing": ("", 0),
}


@pytest.mark.parametrize(("text", "expected"), PYTHON.values(), ids=PYTHON)
def test_lines_of_python(counter: ModuleType, text: str, expected: int) -> None:
    assert counter.python_lines(text) == expected


@pytest.mark.parametrize(("text", "expected"), CPP.values(), ids=CPP)
def test_lines_of_cpp(counter: ModuleType, text: str, expected: int) -> None:
    assert counter.cpp_lines(text) == expected


def checkout(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_files_are_added_up_by_folder_without_the_generated_stub(counter: ModuleType, tmp_path: Path) -> None:
    root = checkout(
        tmp_path,
        {
            "src/fieldcraft/design.py": "x = 1\n",
            "src/fieldcraft/_core.pyi": "x: int\n",
            "src/fieldcraft/corpus/reading.py": "x = 1\ny = 2\n",
            "src/fieldcraft/corpus/formats/jsonl.py": "x = 1\n",
            "src/fieldcraft/corpus/words.txt": "one\n",
            "native/chain.hpp": "int x;\n",
            "native/chain.cpp": "int x;\nint y;\n",
            "native/bind/chain.cpp": "int x;\n",
        },
    )
    lines = counter.files(root)
    assert counter.rows(lines) == {
        "src/fieldcraft/design.py": 1,
        "src/fieldcraft/corpus": 3,
        "native": 3,
        "native/bind": 1,
    }
    assert counter.rows(lines, apart=("native/chain",))["native/chain.cpp"] == 2
    assert counter.totals(lines) == {"all Python": 4, "all C++": 4, "all": 8}


def test_a_folder_that_is_no_checkout_is_refused(counter: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no checkout"):
        counter.files(tmp_path)


def test_two_checkouts_side_by_side(
    counter: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = {"native/bind/module.cpp": "int x;\nint y;\n"}
    before = checkout(tmp_path / "before", {**kept, "src/fieldcraft/olden.py": "x = 1\n"})
    now = checkout(tmp_path / "now", {**kept, "src/fieldcraft/corpus/newer.py": "x = 1\ny = 2\n"})
    monkeypatch.setattr(counter, "ROOT", now)
    monkeypatch.setattr(sys, "argv", ["count_lines", "--against", str(before)])
    counter.main()
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["lines", "of", "code", "before", "now", "change"],
        ["native/bind", "2", "2", "+0.0", "%"],
        ["src/fieldcraft/corpus", "0", "2", "new"],
        ["src/fieldcraft/olden.py", "1", "0", "gone"],
        ["all", "Python", "1", "2", "+100.0", "%"],
        ["all", "C++", "2", "2", "+0.0", "%"],
        ["all", "3", "4", "+33.3", "%"],
    ]


def test_the_change_is_in_per_cent_of_what_was_before(counter: ModuleType) -> None:
    assert [counter.change(*pair) for pair in ((200, 210), (200, 190), (3, 3))] == [
        "+5.0 %",
        "-5.0 %",
        "+0.0 %",
    ]

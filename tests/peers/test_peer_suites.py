"""The test suites of python-crfsuite and sklearn-crfsuite, run from source archives on fieldcraft.compat.

The archives of the installed versions are downloaded; nothing of them is kept. A test that fails must be in
the table of differences, and one that is there must fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from xml.etree import ElementTree

import pytest

from peers.differences import DIFFERENCES, MOST

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "from-sklearn-crfsuite.md"
LEAST = {"sklearn-crfsuite": 40, "python-crfsuite": 50}  # tests that the suites have at least


def download(name: str, folder: Path) -> Path:
    """The source archive of the installed version."""
    try:
        wanted = f"{name}=={version(name)}"
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    options = ["--no-deps", "--no-binary", name, "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the source archive of {name} did not arrive in 300 s")
    if done.returncode:
        pytest.skip(f"the source archive of {name} cannot be downloaded: {done.stderr.strip()[-200:]}")
    return next(folder.glob("*.tar.gz"))


def unpacked_tests(archive: Path, folder: Path) -> Path:
    """Its folder ``tests``, unpacked without the package itself."""
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            parts = Path(member.name).parts
            source = files.extractfile(member) if member.isfile() and parts[1:2] == ("tests",) else None
            if source is not None and len(parts) == 3:
                (folder / "tests").mkdir(exist_ok=True)
                (folder / "tests" / parts[2]).write_bytes(source.read())
    return folder / "tests"


def run(tests: Path) -> tuple[set[str], set[str]]:
    """Names of all tests, doctests among them, and of those that fail."""
    report = tests.parent / "report.xml"
    options = ["-p", "aliases", "-p", "no:cacheprovider", "--doctest-modules", "--import-mode=importlib"]
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, *options, f"--junitxml={report}"]
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    where = [f"--rootdir={tests.parent}", str(tests)]
    done = subprocess.run([*command, *where], cwd=tests.parent, env=env, capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    every, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        every.add(name)
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(name)
    return every, failed


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENCES)
def test_their_suite(name: str, tmp_path: Path) -> None:
    tests = unpacked_tests(download(name, tmp_path), tmp_path)
    every, failed = run(tests)
    assert len(every) >= LEAST[name], sorted(every)
    assert failed == set(DIFFERENCES[name])


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_are_few_and_documented(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## What differs")[2]
    assert len(DIFFERENCES[name]) <= MOST[name]
    for reason in DIFFERENCES[name].values():
        assert f"- **{reason}" in page

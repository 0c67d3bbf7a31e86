"""Tries mutants one after the other, in a process of its own that may die of one.

    python tests/attack/worker.py FOLDER FIRST LAST STEP   cases FIRST, FIRST + STEP … < LAST, seeds in FOLDER
    echo models/free x.fc | python tests/attack/worker.py  single files

A case that ends otherwise than it may is written to standard output as JSON. The number of the case at hand
stands in FOLDER/at.FIRST, so that a crash has a name.

The bound on memory: 64 MB, 8 bytes for each of the file, 16 for each pair of labels. It is a limit on the
process's address space (Linux), so memory that is asked for but not touched counts too.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if os.environ.get("FIELDCRAFT_CORE"):
    import conftest  # noqa: F401  # puts another core in place

from attack import targets

SECONDS = 1.0  # of the processor's time
LABELS = 6  # of the seeds; a file of one byte per label can have no more than its size
_, HARD = resource.getrlimit(resource.RLIMIT_AS)


def bound(size: int) -> int:
    """Bytes that a file of that size may make a process ask for."""
    return (64 << 20) + 8 * size + 16 * LABELS**2


def limit(extra: int | None) -> None:
    """Allow so many bytes more than now; None: no limit."""
    if "FIELDCRAFT_UNLIMITED" in os.environ:  # a core with sanitizers reserves terabytes
        return
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if extra else 0
    resource.setrlimit(resource.RLIMIT_AS, (now + extra if extra else HARD, HARD))


def attempt(target: str, path: Path) -> dict[str, str] | None:
    """What went wrong, if something did."""
    began = time.process_time()
    limit(bound(path.stat().st_size))
    try:
        how = targets.attempt(target, path)
    except BaseException as error:
        limit(None)
        frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
        return {"problem": f"{type(error).__name__}: {error}"[:300], "at": " > ".join(frames[-5:])}
    finally:
        limit(None)
    seconds = time.process_time() - began
    return {"problem": f"took {seconds:.1f} s and was {how}"} if seconds > SECONDS else None


def warm_up(folder: Path, wanted: list[str]) -> None:
    """Whatever is imported or made once is there before memory and time are measured."""
    for target in wanted:
        how = targets.attempt(target, targets.seed_of(target, folder))
        assert how == "answered", f"the seed of {target} was {how}"


def main() -> None:
    folder, (first, last, step) = Path(sys.argv[1]), map(int, sys.argv[2:])
    warm_up(folder, targets.TARGETS)
    path, at = folder / f"mutant.{first}", os.open(folder / f"at.{first}", os.O_WRONLY | os.O_CREAT)
    for case in range(first, last, step):
        target, number = targets.TARGETS[case % len(targets.TARGETS)], case // len(targets.TARGETS)
        os.pwrite(at, b"%12d" % case, 0)
        path.unlink(missing_ok=True)  # a file that is mapped is not written into
        path.write_bytes(targets.mutant(target, number, folder))
        if found := attempt(target, path):
            print(json.dumps({"target": target, "number": number, **found}), flush=True)
    os.pwrite(at, b"%12d" % last, 0)


def answer() -> None:
    """A JSON line for each line TARGET FILE of standard input: what went wrong, or null."""
    with tempfile.TemporaryDirectory() as made:
        targets.write_seeds(Path(made))
        warm_up(Path(made), targets.TARGETS)
    for line in sys.stdin:
        target, file = line.rstrip("\n").split(" ", 1)
        print(json.dumps(attempt(target, Path(file))), flush=True)


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else answer()

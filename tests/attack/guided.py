"""Coverage-guided fuzzing of one target: ``python tests/attack/guided.py TARGET [--seconds N]``.

The first byte of an input chooses the seed's name, the rest is the file; for features, the bytes are the
numbers that objects are drawn from. An input that breaks the contract is written to the current folder by
atheris.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from attack import contract, targets
from attack.mutations import mutate_model
from attack.objects import Draw

KINDS = ("models", "foreign", "templates", "corpora")
LONGEST = 1 << 16  # bytes of an input


def of_files(kind: str, folder: Path) -> Callable[[bytes], None]:
    """One attempt at a file of that kind."""
    names = [target for target in targets.TARGETS if target.startswith(f"{kind}/")]

    def one(data: bytes) -> None:
        if not data:
            return
        path = folder / "input.fc"
        path.unlink(missing_ok=True)  # it may still be mapped
        path.write_bytes(data[1:])
        targets.attempt(names[data[0] % len(names)], path)

    return one


def of_features(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    contract.features(Draw(lambda n: provider.ConsumeIntInRange(0, n - 1)).sequences())


def write_seeds(kind: str, folder: Path) -> None:
    """The inputs that fuzzing begins with."""
    folder.mkdir()
    targets.write_seeds(folder.parent)
    for i, target in enumerate(t for t in targets.TARGETS if t.startswith(f"{kind}/")):
        content = targets.seed_of(target, folder.parent).read_bytes()
        (folder / target.split("/")[1]).write_bytes(bytes([i]) + content)


def in_parts(data: bytes, max_size: int, seed: int) -> bytes:
    """A mutation that knows how a model file is built, half of the time."""
    rng = random.Random(seed)
    try:
        if rng.random() < 0.5:
            return (data[:1] + mutate_model(data[1:], rng))[:max_size]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):  # it is none any more
        pass
    return bytes(atheris.Mutate(data, max_size))


def instrument() -> None:
    """Every function of the package that is loaded by now tells the fuzzer which way it took."""
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and str(thing.__module__).startswith("fieldcraft."):
            atheris.instrument_func(thing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=[*KINDS, "features"])
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as made:
        begin = Path(made) / "seeds"
        write_seeds(given.target, begin)
        one = of_features if given.target == "features" else of_files(given.target, Path(made))
        for path in begin.iterdir():  # loads what is loaded on first use
            one(path.read_bytes())
        instrument()
        limits = [
            f"-max_total_time={given.seconds}",
            f"-max_len={LONGEST}",
            "-timeout=10",
            "-rss_limit_mb=2048",
        ]
        more = {"custom_mutator": in_parts} if given.target == "models" else {}
        atheris.Setup([sys.argv[0], *limits, str(begin)], one, **more)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

"""Targets by name, and the mutant of a number: the same on every machine.

models/free … models/1_templates   checked/free …   foreign/crfsuite …
templates/fieldcraft …   corpora/columns …

Models of "checked" have checksums, which their mutants do not recompute.
"""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import fieldcraft as fc
from attack import contract, foreign, mutations, seeds

OLD = [f"{number}_{p.stem}" for number, old in seeds.OLD.items() for p in sorted(old.glob("*.fc"))]
MODELS = [*seeds.MODELS, *OLD]
CHECKED = ("free", "templates")
TARGETS = [
    *(f"models/{name}" for name in MODELS),
    *(f"checked/{name}" for name in CHECKED),
    *(f"foreign/{name}" for name in foreign.FOREIGN),
    *(f"templates/{name}" for name in seeds.TEMPLATES),
    *(f"corpora/{name}" for name in seeds.CORPORA),
]


def write_seeds(folder: Path) -> None:
    """All files that mutants are made from."""
    seeds.write_models(folder)
    for name in CHECKED:
        fc.load(folder / f"{name}.fc", mapped=False).save(folder / f"{name}.checked")
    for name, (write, _) in foreign.FOREIGN.items():
        write(folder / f"{name}.foreign")


def seed_of(target: str, folder: Path) -> Path:
    """The file that a target's mutants are made from; texts are written to it first."""
    kind, name = target.split("/")
    if kind in ("models", "checked", "foreign"):
        return folder / f"{name}.{'fc' if kind == 'models' else kind}"
    path = folder / f"seed.{os.getpid()}"
    path.write_text((seeds.TEMPLATES if kind == "templates" else seeds.CORPORA)[name], encoding="utf-8")
    return path


def mutant(target: str, number: int, folder: Path) -> bytes:
    """The content of a mutated file."""
    kind, name = target.split("/")
    rng = random.Random(f"{target}:{number}")
    if kind in ("models", "checked"):
        return mutations.mutate_model(seed_of(target, folder).read_bytes(), rng)
    if kind == "foreign":
        return mutations.mutate_foreign((folder / f"{name}.foreign").read_bytes(), rng)
    text = (seeds.TEMPLATES if kind == "templates" else seeds.CORPORA)[name]
    data = mutations.mutate_text(text, rng).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        data = mutations.mutate_bytes(data, rng)
    if kind == "corpora" and rng.random() < 0.1:
        data = mutations.mutate_bytes(gzip.compress(data, mtime=0), rng)
    return data


def attempt(target: str, path: Path) -> str:
    """Does with the file at ``path`` what the target says: "answered" or "refused"."""
    kind, name = target.split("/")
    if kind == "models":
        return contract.model(path, seeds.input_of(name))
    if kind == "checked":
        return contract.checked(name, path, seeds.input_of(name))
    if kind == "foreign":
        return contract.model(path, foreign.FOREIGN[name][1])
    if kind == "templates":
        return contract.templates(path, name)
    label = {"jsonl": "ner", "columns": -1, "conllu": "upos"}.get(name)
    return contract.corpus(path, name, label=label)

"""Loading of model files, and how to read files like those of their training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from fieldcraft.cli.options import Reading, Tables
from fieldcraft.errors import CorpusError, ModelFileError


def load_model(path: str, jobs: int | None, files: Iterable[str] = (), *, nodes: bool = False) -> Any:
    """Load a model and set its number of threads; ``files`` are the arguments after it.

    Models of nodes are refused unless ``nodes``.
    """
    from fieldcraft.cli.node_models import refuse_nodes
    from fieldcraft.models.answers import Answers
    from fieldcraft.models.persistence import load
    from fieldcraft.store.importers import is_model

    behind = [name for name in files if name != "-" and is_model(name)]
    if behind and not is_model(path):
        raise ModelFileError(
            f"{path} is not a model, but {behind[0]} is: the model comes first, then the files: "
            f"{behind[0]} {path}"
        )
    model = load(path)
    if not isinstance(model, Answers):
        raise ModelFileError(f"{path} has a {type(model).__name__}, which cannot label sequences")
    if not nodes:
        refuse_nodes(model, path)
    model.n_jobs = jobs
    return model


def reading_of(model: Any, reading: Reading) -> dict[str, Any]:
    """Arguments of `fc.read` for files like those that the model was trained on; options override them."""
    arguments = {**_known(model), **reading.arguments()}
    if "label" not in arguments and "columns" not in arguments and arguments.get("format") != "attributes":
        raise CorpusError(
            "the model file does not say how its corpus was read; pass --columns (and --label, --format)"
        )
    return arguments


def _known(model: Any) -> dict[str, Any]:
    """The arguments of reading in the model file, which is not trusted: unexpected content is an error."""
    source = getattr(model, "source_", None) or {}
    names = {field.name for field in fields(Tables)}
    lists = (
        ("columns", "label") if isinstance(model.classes_, dict) else ("columns",)
    )  # several label columns
    for name, value in source.items() if isinstance(source, dict) else [("source", source)]:
        strings = value if name in lists and isinstance(value, list) else [value]
        if name == "documents" and value is True:
            continue
        if name not in names or not all(isinstance(string, str) for string in strings):
            raise ModelFileError(f"the model file is damaged: its note on reading says {name}={value!r}")
    return source

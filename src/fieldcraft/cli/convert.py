"""`fieldcraft convert`: corpora from one format or label scheme to another, batch by batch; models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fieldcraft.cli.options import Quiet, Tables, in_reading, in_writing, named
from fieldcraft.errors import CorpusError

EXAMPLES = [
    "fieldcraft convert train.conll train.jsonl --columns word,pos,ner --label ner",
    "fieldcraft convert train.conll iobes.conll --scheme-to iobes",
    "fieldcraft convert train.conll - --to jsonl | head -1",
    "fieldcraft convert old.crfsuite new.fc",
]
MODELS = ("fieldcraft-model", "crfsuite-model")  # formats of models

_FORMATS = named("fieldcraft.corpus.formats", "FORMATS", "auto")
_TARGETS = named("fieldcraft.corpus.formats", "FORMATS", "auto", *MODELS)
_SCHEMES = named("fieldcraft.corpus.schemes", "SCHEMES")


@dataclass
class Schemes:
    """The label schemes."""

    scheme_from: Annotated[
        str | None,
        in_reading(help="Scheme that the labels must follow: io, iob1, iob2, iobes or bilou.", **_SCHEMES),
    ] = None
    scheme_to: Annotated[
        str | None,
        in_writing(help="Scheme to convert the labels to: io, iob1, iob2, iobes or bilou.", **_SCHEMES),
    ] = None


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File to read; - is standard input.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write; - is standard output.")],
    *,
    from_: Annotated[str | None, in_reading("--from", help="Format of IN, as --format.", **_FORMATS)] = None,
    to: Annotated[
        str,
        in_writing(
            "--to",
            help="Format of OUT; auto goes by its name and is columns otherwise. For models: "
            "fieldcraft-model (auto) or crfsuite-model.",
            **_TARGETS,
        ),
    ] = "auto",
    schemes: Schemes,
    reading: Tables,
    quiet: Quiet = False,
) -> None:
    """Rewrite a corpus in another format or label scheme, in constant memory; or convert a model.

    IN may be a model of fieldcraft, CRFsuite, sklearn-crfsuite (a pickle), CRF++ or Wapiti, which its content
    tells. OUT is then a model of fieldcraft, or with `--to crfsuite-model` one of CRFsuite.
    """
    del quiet
    from fieldcraft.cli.outputs import keep_inputs
    from fieldcraft.store.importers import is_model

    keep_inputs([target], [source])
    if source != "-" and is_model(source):
        convert_model(source, target, to)
        return
    if to in MODELS:
        raise CorpusError(f"{source} is not a model; --to {to} needs one")
    arguments = reading.arguments()
    if from_ is not None:
        arguments["format"] = from_
    convert_corpus(source, target, to, schemes, arguments)


def convert_corpus(source: str, target: str, to: str, schemes: Schemes, arguments: dict[str, Any]) -> None:
    """Read a corpus with these arguments of `fc.read` and write it in another format or scheme."""
    from fieldcraft.cli.reading import read_batches
    from fieldcraft.corpus import Corpus
    from fieldcraft.corpus import write as write_corpus
    from fieldcraft.corpus.formats import by_extension
    from fieldcraft.corpus.sources import extension
    from fieldcraft.corpus.targets import opened

    if schemes.scheme_from or schemes.scheme_to:
        arguments.setdefault("label", -1)
    format = to if to != "auto" else by_extension(extension(target)) or "columns"
    done = 0
    with opened(target) as file:

        def write(stream: Any, sequences: list[Any]) -> None:
            nonlocal done
            label = stream.label_names[0] if len(stream.label_names) == 1 else stream.label_names or None
            batch = Corpus(sequences, label=label, fields=stream.fields, source=stream.source)
            if schemes.scheme_from:
                check_scheme(batch, schemes.scheme_from, done)
            if schemes.scheme_to:
                batch = batch.to_scheme(schemes.scheme_to)
            kept = stream.separator if format == stream.format == "columns" else "blank"
            separator = kept if kept in ("blank", "tab") else "tab"
            write_corpus(batch, file, format=format, separator=separator, header=done == 0)
            file.flush()
            done += len(batch)

        read_batches(source, arguments, write)


def convert_model(source: str, target: str, to: str) -> None:
    """Load a model of any toolkit and write it as one of fieldcraft or CRFsuite."""
    from fieldcraft.cli.loading import load_model
    from fieldcraft.errors import InputError

    if to not in ("auto", *MODELS):
        raise InputError(f"{source} is a model, which --to {to} cannot express; use {' or '.join(MODELS)}")
    if target == "-":
        raise InputError("a model cannot be written to standard output; name a file")
    model = load_model(source, None)
    if to != "crfsuite-model":
        model.save(target)
    elif hasattr(model, "export"):
        model.export(target, format="crfsuite")
    else:
        raise InputError(
            f"{source} has a {type(model).__name__}, which is no chain; CRFsuite has chains only"
        )


def check_scheme(batch: Any, scheme: str, before: int) -> None:
    """Raise a CorpusError for labels that are not well-formed; `before` sequences were checked earlier."""
    from fieldcraft.corpus import schemes

    violations = schemes.validate(batch.labels, scheme)
    if violations:
        first = violations[0]
        raise CorpusError(
            f"{batch.source}: sequence {before + first.sequence}, token {first.position}: {first.label!r} "
            f"where {scheme} wants {first.expected!r}; leave --scheme-from out to read it as conlleval does"
        )

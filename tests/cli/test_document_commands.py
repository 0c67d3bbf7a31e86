"""Skip chains and documents in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import COLUMNS, document_text, run

import fieldcraft as fc

TRAIN = ["--structure", "skip-chain", "--documents", "--templates", "word[-1..0]", *COLUMNS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    for name, seed in (("train", 1), ("test", 2)):
        (made / f"{name}.conll").write_text(document_text(12, seed), encoding="utf-8")
    done = run("train", "train.conll", *TRAIN, "-o", "skip.fc", cwd=made)
    assert "pairs of similar words (skip edges)" in done.stderr + done.stdout
    return made


def test_the_model_reads_documents_as_it_was_trained(folder: Path) -> None:
    model = fc.load(folder / "skip.fc")
    assert isinstance(model, fc.SkipChainCRF)
    assert model.source_["documents"] is True
    corpus = fc.read(folder / "test.conll", columns="word pos ner", label="ner", documents=True)
    assert len(corpus) == 12
    tagged = run("tag", "skip.fc", "test.conll", cwd=folder).stdout
    blocks = [block for block in tagged.split("\n\n") if block]
    assert len(blocks) == 12  # a document each, with the column sentence
    predicted = [[line.split()[-1] for line in block.splitlines()] for block in blocks]
    assert predicted == model.predict(corpus).tolist()
    assert "F" in run("evaluate", "skip.fc", "test.conll", cwd=folder).stdout


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--similarity", "same"], "--similarity is for skip chains; add --structure skip-chain"),
        (["--structure", "skip-chain", "--codes", "3"], "--codes is not for skip chains"),
        (["--structure", "skip-chain", "--states", "ngrams:2"], "--states is for chains"),
        (["--structure", "skip-chain", "--max-length", "3"], "--max-length is not for skip chains"),
        (["--documents", "--docstart", "keep"], "documents"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder: Path, options: list[str], rule: str) -> None:
    done = run("train", "train.conll", *COLUMNS, *options, "-o", "x.fc", cwd=folder, check=1)
    assert rule in done.stderr


def test_a_cap_of_0_joins_all(folder: Path) -> None:
    cap = ["--max-pairs-per-word", "0", "--similarity", "stem", "--max-iterations", "3"]
    run("train", "train.conll", *TRAIN, *cap, "-o", "all.fc", cwd=folder)
    model = fc.load(folder / "all.fc")
    assert (model.max_pairs_per_word, model.similarity) == (None, "stem")  # type: ignore[attr-defined]


def test_a_file_without_documents_is_refused(folder: Path) -> None:
    text = (folder / "train.conll").read_text().replace("-DOCSTART- -X- O\n\n", "")
    (folder / "plain.conll").write_text(text)
    done = run("train", "plain.conll", *TRAIN, "-o", "y.fc", cwd=folder, check=1)
    assert "no line opens a document" in done.stderr

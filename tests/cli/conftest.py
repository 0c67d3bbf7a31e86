"""A folder with synthetic corpora and a model trained on them by the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import COLUMNS, run, write_corpora


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    write_corpora(folder)
    return folder


@pytest.fixture(scope="session")
def model(corpora: Path) -> Path:
    path = corpora / "ner.fc"
    run("train", corpora / "train.conll", *COLUMNS, "-o", path, "--quiet")
    return path

"""Models of CRF++ and Wapiti with those tools' own answers: tags, probabilities, n best.

The models are in the folder peer_models beside that of the data; the tests are skipped where it is absent.
Answers were printed with six decimals.
"""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import ModelFileError

PRINTED = 1e-6
CRFPP = ["crfpp.model", "crfpp.model.txt", "crfpp_bigram.model", "crfpp_bigram.model.txt", "crfpp_mira.model"]
WAPITI = ["wapiti", "wapiti_maxent"]


@pytest.fixture(scope="module")
def folder() -> Path:
    found = Path(__file__).parents[3] / "shared" / "peer_models"
    if not found.is_dir():
        pytest.skip(f"there is no folder {found}")
    return found


@cache
def content(folder: Path, name: str) -> bytes:
    return gzip.decompress((folder / f"{name}.gz").read_bytes())


@cache
def model(folder: Path, name: str) -> fc.ChainCRF:
    return fc.load(content(folder, name))


@cache
def sentences(folder: Path) -> fc.Corpus:
    return fc.read(folder / "test.txt", columns="c0 c1 label", label="label", docstart="keep")


def printed(folder: Path, name: str) -> list[list[str]]:
    """Lines of each block of a tool's output."""
    return [block.split("\n") for block in content(folder, name).decode().strip("\n").split("\n\n")]


def number_and_label(line: str) -> tuple[str, float]:
    label, number = line.rsplit("\t", 1)[1].rsplit("/", 1)
    return label, float(number)


@pytest.mark.parametrize("name", CRFPP)
def test_labels_and_probabilities_of_crfpp(folder: Path, name: str) -> None:
    crf, X = model(folder, name), sentences(folder)
    predicted, marginals = crf.predict(X), crf.predict_marginals(X)
    blocks = printed(folder, f"{name.split('.')[0]}.out")
    assert len(blocks) == len(X)
    for block, labels, each, log_p in zip(blocks, predicted, marginals, crf.log_probability(X, predicted)):
        assert math.exp(log_p) == pytest.approx(float(block[0].removeprefix("# ")), abs=PRINTED)
        for line, label, probabilities in zip(block[1:], labels, each, strict=True):
            fields = [field.rsplit("/", 1) for field in line.split("\t")[3:]]
            assert fields[0][0] == label
            assert {y: float(p) for y, p in fields[1:]} == pytest.approx(probabilities, abs=PRINTED)


@pytest.mark.parametrize("name", CRFPP)
def test_three_best_of_crfpp(folder: Path, name: str) -> None:
    blocks = printed(folder, f"{name.split('.')[0]}.nbest.out")
    found = [row for rows in model(folder, name).k_best(sentences(folder), 3) for row in rows]
    assert len(blocks) == len(found)
    for block, (labels, log_p) in zip(blocks, found):
        assert [line.rsplit("\t", 1)[1].rsplit("/", 1)[0] for line in block[1:]] == list(labels)
        assert math.exp(log_p) == pytest.approx(float(block[0].split()[2]), abs=PRINTED)


@pytest.mark.parametrize("name", WAPITI)
def test_labels_and_scores_of_wapiti(folder: Path, name: str) -> None:
    """The scores are not normalised: those of the n best differ by the logarithms of their ratios."""
    crf, X = model(folder, f"{name}.model"), sentences(folder)
    for block, labels in zip(printed(folder, f"{name}.out"), crf.predict(X), strict=True):
        assert [number_and_label(line)[0] for line in block[1:]] == list(labels)
    blocks = printed(folder, f"{name}.nbest.out")
    for i, rows in enumerate(crf.k_best(X, 3)):
        theirs = blocks[3 * i : 3 * i + 3]
        first = float(theirs[0][0].split()[2])
        for block, (labels, log_p) in zip(theirs, rows, strict=True):
            assert [number_and_label(line)[0] for line in block[1:]] == list(labels)
            assert float(block[0].split()[2]) - first == pytest.approx(log_p - rows[0][1], abs=1e-5)


@pytest.mark.parametrize("name", WAPITI)
def test_posterior_decoding_of_wapiti(folder: Path, name: str) -> None:
    crf, X = model(folder, f"{name}.model"), sentences(folder)
    for block, p in zip(printed(folder, f"{name}.post.out"), crf.predict_proba(X), strict=True):
        for line, row in zip(block[1:], p, strict=True):
            label, probability = number_and_label(line)
            assert label == crf.classes_[np.argmax(row)]
            assert probability == pytest.approx(row.max(), abs=PRINTED)


def test_a_memm_becomes_a_chain_of_local_models(folder: Path) -> None:
    """Its labellings come with their probabilities: products of the local ones."""
    memm, X = model(folder, "wapiti_memm.model"), sentences(folder)
    assert isinstance(memm, fc.CMM)
    for block, labels in zip(printed(folder, "wapiti_memm.out"), memm.predict(X), strict=True):
        assert [number_and_label(line)[0] for line in block[1:]] == list(labels)
    blocks = printed(folder, "wapiti_memm.nbest.out")
    for i, rows in enumerate(memm.k_best(X, 3)):
        for block, (labels, log_p) in zip(blocks[3 * i : 3 * i + 3], rows, strict=True):
            assert [number_and_label(line)[0] for line in block[1:]] == list(labels)
            assert float(block[0].split()[2]) == pytest.approx(math.exp(log_p), abs=PRINTED)


@pytest.mark.parametrize("name", [*CRFPP, *(f"{name}.model" for name in WAPITI)])
def test_converted_models_answer_alike(folder: Path, name: str, tmp_path: Path) -> None:
    crf, X = model(folder, name), sentences(folder)
    crf.save(tmp_path / "new.fc")
    again = fc.load(tmp_path / "new.fc")
    assert again.predict(X).tolist() == crf.predict(X).tolist()
    np.testing.assert_allclose(
        np.concatenate(list(again.predict_proba(X))), np.concatenate(list(crf.predict_proba(X))), atol=1e-12
    )


@pytest.mark.parametrize("name", ["crfpp_mira.model", "crfpp_bigram.model.txt", "wapiti.model"])
def test_damaged_models(folder: Path, name: str) -> None:
    """An error or an answer, never another exception or a crash."""
    whole, X = content(folder, name), sentences(folder)[:3]
    head = whole.find(b"U00:") if name.startswith("crfpp") else 2000
    random.seed(name)
    refused = 0
    for n in range(24):
        damaged = bytearray(whole)
        at = random.randrange(head if n % 2 else len(whole))
        damaged[at : at + 4] = random.randbytes(4) if n % 3 else b""
        try:
            fc.load(bytes(damaged)).predict(X)
        except ModelFileError:
            refused += 1
    assert refused > 5


@pytest.mark.slow
def test_crfsuite_on_ten_thousand_sentences(data_file: Callable[[str], Path], tmp_path: Path) -> None:
    """CRFsuite's own tagger, on a model of the size of the first benchmark; its import takes under 2 s."""
    import time

    import pycrfsuite

    workloads = pytest.importorskip("benchmarks.workloads")
    for file in ("train.txt.gz", "test.txt"):
        data_file(f"conll2000/{file}")
    X, y = workloads.WORKLOADS["W1"].features("train")
    X_test, _ = workloads.WORKLOADS["W1"].features("test")
    trainer = pycrfsuite.Trainer(params={"max_iterations": 30}, verbose=False)
    for items, labels in zip(X, y):
        trainer.append(items, labels)
    trainer.train(str(tmp_path / "model"))
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        crf = fc.load(tmp_path / "model")
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 2.0
    tagger: Any = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    chosen = (X + X_test)[:10_000]
    assert len(chosen) == 10_000
    ours = crf.predict(chosen)
    assert [list(labels) for labels in ours] == [tagger.tag(items) for items in chosen]
    for items, p in zip(chosen[:50], crf.predict_marginals(chosen[:50])):
        tagger.set(items)
        for t, row in enumerate(p):
            assert row == pytest.approx({label: tagger.marginal(label, t) for label in row}, abs=1e-9)
    crf.export(tmp_path / "again")
    tagger.open(str(tmp_path / "again"))
    assert [list(labels) for labels in ours[:2000]] == [tagger.tag(items) for items in chosen[:2000]]

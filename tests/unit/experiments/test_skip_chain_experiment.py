"""The skip-chain experiment: how announcements are read, divided and scored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from experiments import seminars, skip_chain

from fieldcraft.corpus import Corpus

TEXT = (
    "<1.2.3.ab+@andrew.cmu.edu.0>\nWho: <speaker>Dr. Ann O'Neil</speaker>\n"
    "<paragraph><sentence>At <stime>3:30 p.m</stime>.-<etime>5</etime> in "
    "<location>DH 2315</sentence></location>.\n"
)


def test_messages_are_read_as_the_page_of_the_data_says(tmp_path: Path) -> None:
    folder = tmp_path / "cmu_seminars"
    folder.mkdir()
    with gzip.open(folder / "seminars.jsonl.gz", "wt") as file:
        file.write(json.dumps({"id": 0, "text": TEXT}) + "\n")
    (document,) = seminars.read(tmp_path)
    pairs = list(zip(document.columns["word"], document.label_list()))
    assert pairs[:6] == [
        *(("Who", "O"), (":", "O"), ("Dr", "I-speaker"), (".", "I-speaker")),
        *(("Ann", "I-speaker"), ("O'Neil", "I-speaker")),
    ]
    assert pairs[6:] == [
        *(("At", "O"), ("3:30", "I-stime"), ("p.m", "I-stime"), (".", "O"), ("-", "O"), ("5", "I-etime")),
        *(("in", "O"), ("DH", "I-location"), ("2315", "I-location"), (".", "O")),
    ]


def test_folds_are_a_permutation_and_the_inner_split_stays_in_the_training_part() -> None:
    folds = seminars.folds(484)
    assert sorted(np.concatenate(folds).tolist()) == list(range(484))
    train, test = skip_chain.split(484, 0, inner=False)
    assert (len(train), len(test)) == (387, 97)
    inner_train, inner_test = skip_chain.split(484, 0, inner=True)
    assert sorted([*inner_train, *inner_test]) == train


def test_scores_and_tables() -> None:
    words, gold = [["Ann", "is", "Ann"]], [["I-speaker", "O", "I-speaker"]]
    corpus = Corpus.from_columns({"word": words}, gold)
    found = skip_chain.scores(corpus, [["I-speaker", "I-stime", "O"]])
    assert found["counts"] == {
        "stime": [0, 1, 0],
        "etime": [0, 0, 0],
        "location": [0, 0, 0],
        "speaker": [1, 1, 2],
    }
    assert found["repeats"]["speaker"] == 1
    line = {"fold": 0, "model": "linear:10", "mean": 1.0, "cpu": 2.0, "unconverged": None, **found}
    text = skip_chain.report([{**line, "inner": True}, {**line, "inner": False}])
    assert "| linear:10 | 1.00 | 1 | 2 | 0 |" in text
    assert (
        "| linear:10 | 0.0 | 0.0 | 0.0 | 66.7 | 16.7 | 100.0 | 50.0 | 0.0 | 0.0 | 0.0 | 1.0 | 2 | 1 |" in text
    )

"""The skip-chain experiment: how announcements are read, divided and scored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from experiments import seminars, skip_chain
from experiments.skip_chain_report import candidates, choices, criterion, report, where_even

import fieldcraft as fc
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


def test_choices_for_a_fold_see_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = [set(part.tolist()) for part in seminars.folds(484)]
    assert sorted(i for part in folds for i in part) == list(range(484))
    corpus = Corpus.from_columns({"word": [[str(i)] for i in range(484)]}, [["O"]] * 484)
    seen: list[tuple[set[int], list[set[int]]]] = []

    def documents(part: Any) -> set[int]:
        return {int(row[0]) for row in part.column("word")}

    def trained(name: str, train: Any, tests: list[Any], **options: Any) -> Any:
        del options
        seen.append((documents(train), [documents(test) for test in tests]))
        return ({"model": name, "part": i} for i in range(len(tests)))

    monkeypatch.setattr(skip_chain, "trained", trained)
    lines = list(skip_chain.inner_lines(corpus, ["linear:1"], [0, 1, 2, 3, 4]))
    assert sorted(line["fold"] for line in lines) == sorted([*range(5)] * 4)
    for i, line in enumerate(lines):
        train, tests = seen[i // 2]
        assert tests[i % 2] == folds[line["scored"]]
        assert not (train | tests[i % 2]) & folds[line["fold"]]
        assert not train & tests[i % 2]
    seen.clear()
    list(skip_chain.outer_lines(corpus, {2: {("linear:1", "viterbi")}}))
    ((train, (test,)),) = seen
    assert (test, train) == (folds[2], set(range(484)) - folds[2])


def line_of(model: str, speaker: list[int], repeats: int, **more: Any) -> dict[str, Any]:
    """A line of a training with these counts of the speaker; all else is right."""
    counts = {field: [1, 1, 1] for field in ("stime", "etime", "location")}
    facts = {"fold": 0, "inner": True, "decoding": "viterbi", "cpu": 2.0, "unconverged": None}
    missed = {"stime": 0, "etime": 0, "location": 0, "speaker": repeats}
    return {"model": model, "counts": {**counts, "speaker": speaker}, "repeats": missed, **facts, **more}


def test_chains_are_chosen_by_pooled_counts() -> None:
    lines = [line_of("linear:1", [50, 100, 100], 10), line_of("linear:10", [60, 100, 100], 12)]
    lines += [line_of("linear:1", [90, 100, 100], 10, scored=1), line_of("skip:10:1:full", [99, 100, 100], 0)]
    lines += [line_of("skip:1:1:full", [98, 100, 100], 0)]
    assert choices(lines, "best") == {
        0: {"linear": ("linear:1", "viterbi"), "skip": ("skip:10:1:full", "viterbi")}
    }
    assert criterion(lines[:3:2]) == pytest.approx((70 + (300 + 70) / 4) / 2)


def test_chains_are_chosen_where_precision_equals_recall() -> None:
    lines = []
    for name, points in {
        "linear:1": [(40, 50), (70, 80), (80, 120)],
        "linear:10": [(50, 80), (75, 110)],
    }.items():
        for i, (right, predicted) in enumerate(points):
            decoding = f"posterior:{i / 2:g}" if i else "posterior"
            lines.append(line_of(name, [right, predicted, 100], 0, decoding=decoding))
    values = [criterion([line]) for line in lines]
    found = where_even(candidates(lines, 0))
    assert list(found) == [("linear:1", "posterior:0.75"), ("linear:10", "posterior:0.33")]
    assert found["linear:1", "posterior:0.75"] == pytest.approx((values[1] + values[2]) / 2)
    assert choices(lines, "even") == {0: {"linear": ("linear:1", "posterior:0.75")}}


@pytest.mark.parametrize("kind", [fc.ChainCRF, fc.SkipChainCRF])
def test_the_score_of_o_is_lowered_at_each_token_but_the_first(kind: Any) -> None:
    X = [["Who", "Ann", "is", "Ann"], ["At", "Bo", "Ann", "Bo"], ["Ann", "Ann", "the"]]
    y = [["O", "S", "O", "S"], ["O", "O", "S", "O"], ["S", "S", "O"]]
    crf = kind("edge\nword").fit(X, y)
    changed = skip_chain.without_some_o(crf, 1.5)
    assert crf.classes_.tolist() == changed.classes_.tolist()
    others = [["O", "O", "O", "O"], ["S", "S", "O", "S"], ["O", "S", "S"]]
    before, after = (
        model.log_probability(X, y) - model.log_probability(X, others) for model in (crf, changed)
    )
    fewer = [
        sum(label == "O" for label in b[1:]) - sum(label == "O" for label in a[1:]) for a, b in zip(y, others)
    ]
    assert after - before == pytest.approx([1.5 * n for n in fewer], rel=1e-9)
    for how in ("viterbi", "posterior"):
        assert skip_chain.labelled(crf, f"{how}:100", X).tolist() == [[a[0], *"S" * (len(a) - 1)] for a in y]
        assert skip_chain.labelled(crf, how, X).tolist() == y
    assert crf.decoding == "viterbi"


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
    lines = [line_of("linear:10", [60, 100, 100], 12), line_of("skip:10:1:full", [1, 2, 2], 0)]
    text = report([*lines, {**lines[0], **found, "inner": False}])
    assert "| linear:10, viterbi | 75.00 * |" in text
    assert "| linear chain, best | 0.00 | 0.00 | 0.00 | 66.67 | 16.67 | 100.00 | 50.00 | 0.00 " in text
    assert "| best | 0 | linear | linear:10, viterbi | 66.67 | 100.00 | 50.00 | 1.00 | 16.67 |" in text

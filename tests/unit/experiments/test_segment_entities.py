"""The experiment with names: attributes of candidates, and predictions that are kept and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments.segment_entities import VARIANTS, Predictions, best_of
from experiments.span_features import KINDS, SpanFeatures

import fieldcraft as fc


class Sequence:
    """What a function of segments is given."""

    def __init__(self, text: str) -> None:
        self.columns = {"word": text.split()}


SENTENCE = Sequence("in San Jose of Costa-Rica , 1996")
ENTRIES = {"places": ["San Jose", "Jose"], "male": ["JOSE"]}
LISTS = [fc.Gazetteer(n, e, case="insensitive") for n, e in ENTRIES.items()]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "lengths",
            ["2 before in", "2 after of", "2 first san", "2 last jose", "2 ending ose", "2 shape Xx+"],
        ),
        ("pattern", ["pattern Xx+ Xx+"]),
        ("members", ["members - pm"]),
        ("around", ["around in of", "before in Xx+ Xx+", "after Xx+ Xx+ of"]),
    ],
)
def test_attributes_of_a_candidate(kind: str, expected: list[str]) -> None:
    assert SpanFeatures([kind], LISTS)(SENTENCE, 1, 3) == expected


def test_attributes_at_the_ends_and_of_long_candidates() -> None:
    whole = SpanFeatures(KINDS, LISTS)
    assert whole(SENTENCE, 0, 7) == []
    assert "1 before " in whole(SENTENCE, 0, 1)
    assert "1 after " in whole(SENTENCE, 6, 7)
    assert "pattern of Xx+-Xx+ , d+" in whole(SENTENCE, 3, 7)


def test_predictions_are_kept_and_read_again(tmp_path: Path) -> None:
    to = Predictions(tmp_path)
    labels = {"a": [["O", "B-LOC"], [], ["O"]], "b": [["B-PER", "I-PER"]]}
    for name, f in [("near + ends", 80.0), ("all + three, not near", 90.0), ("all + three", 85.0)]:
        to.keep({"name": name, "f_a": f}, labels)
    assert to.labels("all + three", "a", labels["a"]) == labels["a"]
    assert to.labels("near + ends", "b", labels["b"]) == labels["b"]
    assert list(to.rows()) == [name for name in VARIANTS if name in to.rows()]
    assert best_of(to.rows(), "") == "all + three"  # similarities are the point

"""The benchmarks' workloads: counts of their corpora, and equal attributes as strings and as templates."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.user_features import FreeFeatures

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.columns import data_folder, read_conllu  # noqa: E402
from benchmarks.workloads import WORKLOADS, Workload  # noqa: E402

# Sentences and tokens of each split, attributes of a token, labels.
COUNTS: dict[str, tuple[dict[str, tuple[int, int]], int, int]] = {
    "W1": ({"train": (8936, 211727), "test": (2012, 47377)}, 19, 22),
    "W2": ({"train": (14041, 203621), "dev": (3250, 51362), "test": (3453, 46435)}, 31, 9),
    "W3": ({"train": (8936, 211727), "test": (2012, 47377)}, 17, 44),
    "W4": ({"train": (12574, 355405), "dev": (2519, 71042), "test": (5038, 143465)}, 17, 3),
    "W5": ({"train": (12544, 204577), "dev": (2001, 25147), "test": (2077, 25094)}, 17, 17),
    "W6": ({"train": (3394, 62730), "dev": (1009, 15733), "test": (1287, 23394)}, 17, 13),
}


@pytest.fixture(params=WORKLOADS)
def workload(request: pytest.FixtureRequest, data_file: Callable[[str], Path]) -> Workload:
    chosen: Workload = WORKLOADS[request.param]
    for file in chosen.files.values():
        packed = (data_file("README.md").parent / file).exists()
        data_file(file if packed else f"{file}.gz")
    return chosen


@pytest.mark.slow
def test_counts(workload: Workload) -> None:
    splits, width, n_labels = COUNTS[workload.name]
    assert workload.files.keys() == splits.keys()
    for split, counts in splits.items():
        columns, labels = workload.load(split)
        assert (len(columns), sum(map(len, columns))) == counts
        assert list(map(len, columns)) == list(map(len, labels))
        if split == "train":
            assert len({label for sequence in labels for label in sequence}) == n_labels
            assert {len(a) for a in workload.attributes(workload.derived(columns[:1])[0])} == {width}


@pytest.mark.parametrize(
    ("name", "entities"), [pytest.param("W4", 15197, marks=pytest.mark.slow), ("W6", 1975)]
)
def test_spans_stay_as_in_the_files(name: str, entities: int, data_file: Callable[[str], Path]) -> None:
    workload = WORKLOADS[name]
    data_file("README.md")
    labels = workload.load("train")[1]
    rows = workload.rows(data_folder() / workload.files["train"])
    assert labels == [[row[-1] for row in sequence] for sequence in rows]
    assert sum(label[0] == "B" for sequence in labels for label in sequence) == entities


def incidences(features: Any, X: Any) -> tuple[list[int], list[int]]:
    """Attributes of each token as ids in order of first appearance, and where each token's begin."""
    encoded = features.encode(X, grow=True)
    return encoded.attributes.tolist(), encoded.token_ptr.tolist()


def test_templates_say_what_the_strings_say(workload: Workload) -> None:
    """On the first sequences of the file, which is not read further."""
    few = workload._replace(rows=lambda path: islice(workload.rows(path), 200))
    strings = [workload.attributes(s) for s in workload.derived(few.load("train")[0])]
    assert len(strings) == 200
    columns = few.by_column("train")[0]
    by_template = incidences(TemplateFeatures(Templates.parse(workload.templates)), columns)
    by_string = incidences(FreeFeatures(), strings)
    assert np.array_equal(by_template[1], by_string[1])
    assert by_template[0] == by_string[0]


def test_conllu_leaves_out_comments_multiword_tokens_and_empty_nodes(tmp_path: Path) -> None:
    path = tmp_path / "one.conllu"
    lines = ["# text = don't go", "1-2\tdon't\t_\t_", "1\tdo\tdo\tAUX", "2\tn't\tnot\tPART", "2.1\tx\tx\tX"]
    path.write_text("\n".join([*lines, "3\tgo\tgo\tVERB", "", "# only a comment", "", "1\t#\t#\tSYM", ""]))
    assert list(read_conllu(path)) == [
        [["do", "do", "AUX"], ["n't", "not", "PART"], ["go", "go", "VERB"]],
        [["#", "#", "SYM"]],
    ]

"""Inspections say what is in the weights: compared with sorting dictionaries by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError, NotFittedError
from fieldcraft.inspection.search import matching
from unit.inspection.fitted import KINDS, LABELS, fitted, weights_of


def by_hand(crf: fc.ChainCRF) -> dict[tuple[Any, str | None, str], float]:
    """Weights of features with an attribute: (attribute, label before, label) -> weight."""
    weights = weights_of(crf)
    state = {(a, None, y): w for (a, y), w in weights.state.items()}
    return {**state, **weights.edge}


NAMED = [kind for kind, (_, settings) in KINDS.items() if "hash_size" not in settings]


@pytest.mark.parametrize("label", [None, *LABELS])
@pytest.mark.parametrize("kind", NAMED)
def test_the_strongest_features(kind: str, label: str | None) -> None:
    crf = fitted(kind)
    found = crf.inspect(top=7, label=label)
    mine = {k: w for k, w in by_hand(crf).items() if label is None or label in k[1:]}
    assert found.n_matching == len(mine)
    for listed, sign in ((found.top.positive, 1), (found.top.negative, -1)):
        expected = sorted((w for w in mine.values() if sign * w > 0), key=lambda w: -sign * w)[:7]
        assert [f.weight for f in listed] == expected
        assert all(mine[f.attribute, f.previous, f.label] == f.weight for f in listed)
    for name, both in found.by_label.items():
        of_label = sorted((w for (_, _, y), w in mine.items() if y == name and w > 0), reverse=True)
        assert [f.weight for f in both.positive] == of_label[:7]
    assert list(found.by_label) == (LABELS if label is None else [label])


@pytest.mark.parametrize("kind", KINDS)
def test_transitions(kind: str) -> None:
    crf = fitted(kind)
    found, pair = crf.inspect(), weights_of(crf).pair
    for i, before in enumerate(LABELS):
        for j, label in enumerate(LABELS):
            weight = found.transitions[i, j]
            assert weight == pair[before, label] if (before, label) in pair else np.isnan(weight)
    assert [t.weight for t in found.strongest] == sorted((w for w in pair.values() if w > 0), reverse=True)
    assert [t.weight for t in found.weakest] == sorted(w for w in pair.values() if w < 0)
    assert all(pair[t.previous, t.label] == t.weight for t in (*found.strongest, *found.weakest))
    assert all("X" in (t.previous, t.label) for t in crf.inspect(label="X").strongest)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_templates(kind: str) -> None:
    crf = fitted(kind)
    found = crf.inspect()
    assert (found.n_features, found.n_active) == (len(crf.weights_), np.count_nonzero(crf.weights_))
    assert found.n_attributes == crf.encoder_.n_attributes
    assert sum(t.features for t in found.templates) == found.n_features
    assert sum(t.active for t in found.templates) == found.n_active
    assert sum(t.total for t in found.templates) == pytest.approx(np.abs(crf.weights_).sum())
    assert max(abs(t.largest) for t in found.templates) == np.abs(crf.weights_).max()
    assert found.settings["objective_value"] == crf.objective_value_
    assert found.settings["prior"] == repr(crf.prior_)


def test_each_template_by_hand() -> None:
    crf = fitted("templates")
    names = [t.name for t in crf.encoder_.templates]  # type: ignore[attr-defined]
    for entry in crf.inspect().templates[:-1]:
        weights = crf.weights_[crf.features_.template == names.index(entry.template)]
        largest = weights[np.argmax(np.abs(weights))]
        assert entry[1:] == (
            len(weights),
            np.count_nonzero(weights),
            pytest.approx(np.abs(weights).sum()),
            largest,
        )


def test_compact_files_tell_their_templates(tmp_path: Path) -> None:
    crf = fitted("templates")
    crf.save(tmp_path / "m.fc", compact=True)
    assert fc.load(tmp_path / "m.fc").inspect().templates == crf.inspect().templates


def test_hashed_features_are_buckets() -> None:
    found = fitted("hashed templates").inspect()
    assert [t.template for t in found.templates] == ["hashed", "hashed edges", "label pairs"]
    assert found.top.positive[0].attribute.startswith("bucket")


@pytest.mark.parametrize(
    ("pattern", "test"),
    [
        ("word=dog", lambda text: text == "word=dog"),
        ("dog", lambda text: "dog" in text),
        ("word=do", lambda text: "word=do" in text),
        ("word[-1]=*", lambda text: text.startswith("word[-1]=")),
        ("*word=do?", lambda text: text in ("word=dog", "edge: word=dog") or text.endswith("& word=dog")),
        ("suffix(word, 2)=??", lambda text: text.startswith("suffix(word, 2)=")),
        ("absent", lambda text: False),
    ],
)
def test_attributes_by_name(pattern: str, test: Callable[[str], bool]) -> None:
    crf = fitted("templates")
    mine = {key: w for key, w in by_hand(crf).items() if test(key[0])}
    found = crf.inspect(attribute=pattern, top=1000)
    assert found.n_matching == len(mine)
    shown = {
        (f.attribute, f.previous, f.label): f.weight for entry in found.attributes for f in entry.features
    }
    assert shown == mine
    sizes = [abs(entry.features[0].weight) for entry in found.attributes]
    assert sizes == sorted(sizes, reverse=True)


def test_free_attributes_by_name() -> None:
    crf = fitted("values")
    mine = {f.label: f.weight for f in crf.inspect(attribute="size").attributes[0].features}
    assert mine == {y: w for (a, _, y), w in by_hand(crf).items() if a == "size"}
    assert len(crf.inspect(attribute="w:*", top=1000).attributes) == len(
        {a for a, _, _ in by_hand(crf) if a[:2] == "w:"}
    )


def test_brackets_and_dots_are_plain_characters() -> None:
    names = ["a[1]=x", "a1=x", "a.b", "a-b", "a*b", "axb"]
    assert matching("a[1]=*", names) == [0]
    assert matching("a.b", names) == [2]
    assert matching("a*b", names) == [4]
    assert matching("a?b", names) == [2, 3, 4, 5]
    assert matching("[1]", names) == [0]


def test_one_template() -> None:
    crf = fitted("templates")
    listed = crf.inspect(template="edge: *", top=1000).top
    assert {f.template for f in (*listed.positive, *listed.negative)} == {"edge: word", "edge: word[1]"}
    assert all(f.previous is not None for f in listed.positive)
    both = crf.inspect(template="word", attribute="*=dog", label="N").top
    assert {f.attribute for f in (*both.positive, *both.negative)} <= {"word=dog"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"label": "Q"}, "label 'Q' is not one of the model's: D, N, V, X"),
        ({"template": "pos"}, "template='pos' matches none of the model's: word"),
        ({"top": 0}, "top is 0; it must be a whole number, at least 1"),
        ({"top": True}, "top is True"),
    ],
)
def test_refusals(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fitted("templates").inspect(**arguments)


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(NotFittedError):
        fc.ChainCRF().inspect()


@pytest.fixture(scope="module")
def entities(data_file: Callable[[str], Path]) -> tuple[fc.ChainCRF, fc.Corpus]:
    """A model of named entities from the development sentences; the rest to ask about."""
    path = data_file("conll2003/eng.testa")
    corpus = fc.read(path, columns=["word", "pos", "chunk", "ner"], label="ner")
    settings = {"optimiser": fc.LBFGS(max_iterations=10), "n_jobs": 1}
    return fc.ChainCRF("entities", **settings).fit(corpus[:800]), corpus[800:840]


def test_real_entities(entities: tuple[fc.ChainCRF, fc.Corpus]) -> None:
    """The scores of the core's own kernels differ as the votes say, on real sentences."""
    crf, corpus = entities
    assert crf.inspect(label="I-LOC").top.positive
    for sequence in corpus:
        found = crf.explain(sequence)
        score = crf.log_probability([sequence.columns], [found.labels])[0]
        for token in found.tokens:
            changed = list(found.labels)
            changed[token.position] = str(token.other)
            expected = score - crf.log_probability([sequence.columns], [changed])[0]
            assert token.difference == pytest.approx(expected, abs=1e-9)
    assert any(token.unknown for sequence in corpus for token in crf.explain(sequence).tokens)
    json.loads(crf.inspect().to_json())

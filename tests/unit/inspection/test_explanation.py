"""Explanations add up: votes and steps are the difference of two labelings, found by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError, NotFittedError
from fieldcraft.inspection.explanation import TokenExplanation
from oracles import named_weights as oracle
from unit.inspection.fitted import KINDS, LABELS, asked, fitted, tokens_of, weights_of


def close(found: float, expected: float, *, tolerance: float = 1e-9) -> bool:
    return abs(found - expected) <= tolerance


def added_up(token: TokenExplanation) -> float:
    """The sum of everything that is shown, with what is said to be left out."""
    tallies = [token.features, *(step.tally for step in (token.step_in, token.step_out) if step)]
    return math.fsum(vote.vote for tally in tallies for vote in tally.votes) + math.fsum(
        t.more for t in tallies
    )


@pytest.mark.parametrize("top", [1, 3, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_votes_add_up_to_the_difference_of_scores(kind: str, top: int) -> None:
    crf, X = fitted(kind), asked(kind)
    weights, tokens = weights_of(crf), tokens_of(crf, X)
    predicted, marginals = crf.predict(X), crf.predict_marginals(X)
    for i, sequence in enumerate(X):
        found = crf.explain(sequence, top=top)
        assert found.labels == predicted[i]
        assert [token.position for token in found.tokens] == list(range(len(predicted[i])))
        for t, token in enumerate(found.tokens):
            assert token.label == predicted[i][t]
            assert token.other is not None
            expected = oracle.difference(weights, tokens[i], predicted[i], t, token.other)
            assert close(token.difference, expected)
            assert close(added_up(token), expected)
            p = marginals[i][t]
            assert close(token.probability, p[token.label])
            assert token.other_probability == max(p[name] for name in LABELS if name != token.label)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", LABELS)
def test_any_label_can_be_contrasted(kind: str, label: str) -> None:
    crf, X = fitted(kind), asked(kind)
    weights, tokens = weights_of(crf), tokens_of(crf, X)
    for i, sequence in enumerate(X):
        labels = crf.explain(sequence).labels
        for t, token in enumerate(crf.explain(sequence, label=label).tokens):
            assert (token.other == label) == (token.label != label)
            expected = oracle.difference(weights, tokens[i], labels, t, str(token.other))
            assert close(token.difference, expected)
            if t == i % len(labels):
                assert crf.explain(sequence, token=t, label=label).tokens == (token,)


@pytest.mark.parametrize("kind", KINDS)
def test_each_vote_is_its_weights(kind: str) -> None:
    """Every vote has the value and the weights of the feature that it names, strongest first."""
    crf = fitted(kind)
    weights = weights_of(crf)
    for sequence in asked(kind):
        for token in crf.explain(sequence, top=1000).tokens:
            sizes = [abs(vote.vote) for vote in token.features.votes]
            assert sizes == sorted(sizes, reverse=True)
            for vote in token.features.votes:
                assert vote.vote == vote.value * ((vote.weight or 0.0) - (vote.other or 0.0))
                if crf.hash_size is None:
                    assert vote.weight == weights.state.get((vote.attribute, token.label))
                    assert vote.other == weights.state.get((vote.attribute, token.other))


def step_score(weights: oracle.NamedWeights, token: oracle.Token, before: str, label: str) -> float:
    """The score of one step, by hand."""
    parts = [value * weights.edge.get((a, before, label), 0.0) for a, value in token]
    return math.fsum([weights.pair.get((before, label), 0.0), *parts])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_edge_scores(kind: str) -> None:
    crf, X = fitted(kind), asked(kind)
    weights = weights_of(crf)
    for sequence, tokens in zip(X, tokens_of(crf, X)):
        found = crf.explain(sequence)
        for t, token in enumerate(found.tokens):
            into, out, last = token.step_in, token.step_out, len(tokens) - 1
            assert ((into is None), (out is None)) == (t == 0, t == last)
            if into:
                assert into.neighbour == found.labels[t - 1]
                assert close(into.score, step_score(weights, tokens[t], into.neighbour, token.label))
                assert close(into.other, step_score(weights, tokens[t], into.neighbour, str(token.other)))
            if out:
                assert out.neighbour == found.labels[t + 1]
                assert close(out.score, step_score(weights, tokens[t + 1], token.label, out.neighbour))
                assert close(out.other, step_score(weights, tokens[t + 1], str(token.other), out.neighbour))


def test_unseen_attributes_are_named() -> None:
    crf = fc.ChainCRF().fit([[["w=a"], ["w=b", "x"]]], [["A", "B"]])
    tokens = crf.explain([["w=a", "w=new"], ["w=b", "odd", "odd", "x"]]).tokens
    assert [token.unknown for token in tokens] == [("w=new",), ("odd",)]


@pytest.mark.parametrize("kind", ["templates", "corpus"])
def test_unseen_words_of_templates_are_named(kind: str) -> None:
    crf = fitted(kind)
    sequence: Any = [{"word": "dog"}, {"word": "unseen"}, {"word": "dog"}]
    tokens = crf.explain(sequence).tokens
    assert "word[1]=unseen" in tokens[0].unknown
    assert "edge: word[1]=unseen" not in tokens[0].unknown  # there is no step into the first token
    assert {"word=unseen", "word[-1]=dog & word=unseen", "edge: word=unseen"} <= set(tokens[1].unknown)
    assert "word=dog" not in tokens[0].unknown
    assert [token.word for token in tokens] == ["dog", "unseen", "dog"]


def test_unknown_is_what_training_did_not_see() -> None:
    """Over all tokens: known and unknown attributes are those of an encoder that forgets nothing."""
    crf, X = fitted("templates"), asked("templates")
    fresh = type(crf.encoder_)(crf.encoder_.templates)  # type: ignore[call-arg]
    for sequence, known in zip(X, tokens_of(crf, X)):
        encoded = fresh.encode([sequence], grow=True)
        for t, token in enumerate(crf.explain(sequence).tokens):
            mine = encoded.attributes[encoded.token_ptr[t] : encoded.token_ptr[t + 1]]
            assert sorted([*token.unknown, *(a for a, _ in known[t])]) == sorted(fresh.attribute_text(mine))


@pytest.mark.parametrize("kind", ["hashed", "hashed templates"])
def test_hashed_attributes_have_names_while_the_sequence_is_at_hand(kind: str) -> None:
    crf = fitted(kind)
    tokens = crf.explain(asked(kind)[0], top=1000).tokens
    names = {vote.attribute for token in tokens for vote in token.features.votes}
    assert not [name for name in names if name is None or name.startswith(("#", "bucket"))]
    assert all(token.unknown == () for token in tokens)
    if kind == "hashed templates":
        votes = [vote for token in tokens for vote in token.features.votes]
        assert all(str(vote.attribute).startswith(str(vote.template).split(" & ")[0]) for vote in votes)


@pytest.mark.parametrize("kind", KINDS)
def test_files_explain_as_the_model_did(kind: str, tmp_path: Path) -> None:
    crf = fitted(kind)
    crf.save(tmp_path / "model.fc", compact=True, zeros=True)
    loaded = fc.load(tmp_path / "model.fc")
    for sequence in asked(kind):
        assert loaded.explain(sequence).to_dict() == crf.explain(sequence).to_dict()


def test_one_label_has_no_rival() -> None:
    crf = fc.ChainCRF().fit([[["a"], ["b"]]], [["A", "A"]])
    token = crf.explain([["a"], ["b"]]).tokens[0]
    assert (token.other, token.other_probability) == (None, None)
    assert token.difference == pytest.approx(added_up(token))
    assert "over" not in str(crf.explain([["a"], ["b"]]))


@pytest.mark.parametrize("kind", ["lists", "templates"])
def test_an_empty_sequence(kind: str) -> None:
    crf = fitted(kind)
    found = crf.explain({"word": []} if kind == "templates" else [])
    assert (found.labels, found.tokens) == ([], ())
    assert "empty" in str(found)
    assert "empty" in found.to_html()


def test_a_token_without_attributes() -> None:
    crf = fitted("lists")
    found = crf.explain([[], ["never"]])
    assert found.tokens[1].unknown == ("never",)
    assert found.tokens[0].features.votes == ()


def test_a_sequence_of_an_attribute_corpus() -> None:
    crf = fc.ChainCRF().fit([[{"a": 1.0}, {"b": 2.0}]], [["A", "B"]])
    sequence = fc.Sequence({}, attributes=[{"a": 1.0}, {"c": 1.0}])
    assert crf.explain(sequence).tokens[1].unknown == ("c",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"token": 9}, "token is 9; the sequence has 2 tokens"),
        ({"token": -1}, "token is -1; the sequence has 2 tokens"),
        ({"token": "first"}, "must be a position"),
        ({"label": "Q"}, "label 'Q' is not one of the model's: D, N, V, X"),
        ({"top": 0}, "top is 0"),
        ({"top": 2.5}, "top is 2.5"),
    ],
)
def test_refusals(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fitted("lists").explain([["b"], ["b"]], **arguments)


def test_a_corpus_is_not_a_sequence() -> None:
    crf = fitted("corpus")
    with pytest.raises(InputError, match=r"pass one: corpus\[0\]"):
        crf.explain(asked("corpus"))


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(NotFittedError):
        fc.ChainCRF().explain([["a"]])


def test_a_long_sequence_adds_up_at_a_few_tokens() -> None:
    crf = fitted("edges")
    rng = np.random.default_rng(3)
    X = [[{"w": w, "E:w": w, "E:size": 1.0} for w in rng.choice(["the", "dog", "new"], size=10_000).tolist()]]
    weights, tokens, predicted = weights_of(crf), tokens_of(crf, X)[0], crf.predict(X)[0]
    everything = crf.explain(X[0], top=2)
    assert len(everything.tokens) == 10_000
    for t in (0, 5_000, 9_999):
        token = everything.tokens[t]
        near = slice(max(0, t - 2), t + 3)  # the rest of the two scores is equal
        place = t - near.start
        expected = oracle.difference(weights, tokens[near], predicted[near], place, str(token.other))
        assert close(token.difference, expected)
        assert crf.explain(X[0], token=t, top=2).tokens == (token,)

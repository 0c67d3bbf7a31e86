"""Error-correcting codes: words that differ, a chain for each bit, three decodings by enumeration."""

from __future__ import annotations

import math
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.pools.coded import CodedCRF
from fieldcraft.pools.codes import bit_errors, distance, error_bound, make_code
from oracles import chain as oracle

X = [s.split() for s in ("the dog sings", "a cat sees the dog", "dogs sing", "the old cat sings")]
Y = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"], ["D", "A", "N", "V"]]
ASKED = [["the", "old", "dog"], ["cat"], []]
LABELS = ["A", "D", "N", "V"]


def trained(**settings: Any) -> CodedCRF:
    given: dict[str, Any] = {"code": "exhaustive", "prior": fc.Gaussian(variance=1.0), "n_jobs": 1}
    return CodedCRF("word\nedge", **{**given, **settings}).fit(X, Y)


def chains(crf: CodedCRF, words: list[str]) -> list[oracle.Chain]:
    """The binary chain of each bit for one sequence."""
    encoded = crf.encoder_.encode([words], grow=False)
    made = []
    for scorer in crf._bits.scorers:
        node, edge = scorer.arrays(encoded)
        rows = tuple(map(tuple, node.tolist()))
        steps = tuple(product((0, 1), repeat=2))
        edges, both = tuple(tuple(edge.tolist()) for _ in rows), (True, True)
        made.append(oracle.Chain(rows, edges, steps, both, both))
    return made


def test_the_product_is_that_of_the_bits_distributions() -> None:
    crf = trained()
    for words in ASKED:
        bits, code = chains(crf, words), crf.code_.tolist()
        logs = {}
        for labels in product(range(4), repeat=len(words)):
            strings = [tuple(code[y][i] for y in labels) for i in range(len(bits))]
            logs[labels] = math.fsum(
                oracle.score(one, string) - oracle.log_partition(one) for one, string in zip(bits, strings)
            )
        total = math.log(math.fsum(math.exp(value) for value in logs.values()))
        asked = [[LABELS[y] for y in labels] for labels in logs]
        found = crf.log_probability([words] * len(asked), asked)
        np.testing.assert_allclose(found, [value - total for value in logs.values()], atol=1e-9)
        best = max(logs, key=lambda labels: logs[labels])
        assert crf.predict([words])[0] == [LABELS[y] for y in best]


@pytest.mark.parametrize("decoding", ["hamming", "marginals"])
def test_the_nearest_words(decoding: str) -> None:
    crf = trained(decoding=decoding, code="random", bits=5)
    for words in ASKED:
        bits = chains(crf, words)
        said = []
        for one in bits:
            if decoding == "hamming":
                said.append([float(y) for y in oracle.argmax(one)[0]])
            else:
                p = oracle.distribution(one)
                said.append([math.fsum(v for path, v in p.items() if path[t]) for t in range(len(words))])
        expected = []
        for t in range(len(words)):
            far = [sum(abs(s[t] - b) for s, b in zip(said, word)) for word in crf.code_.tolist()]
            expected.append(LABELS[min(range(4), key=lambda y, far=far: (round(far[y], 9), y))])
        assert crf.predict([words])[0] == expected
    assert crf.score(X, Y) == pytest.approx(
        np.mean([a == b for row, gold in zip(crf.predict(X), Y) for a, b in zip(row, gold)])
    )
    with pytest.raises(InputError, match="set decoding='product'"):
        crf.predict_proba(X)


def test_a_bit_is_the_binary_chain_that_would_be_trained_alone() -> None:
    crf = trained(optimiser=fc.LBFGS(max_iterations=200, tolerance=1e-9, objective_tolerance=0.0))
    for i in range(crf.code_.shape[1]):
        bits = [[str(crf.code_[LABELS.index(label), i]) for label in row] for row in Y]
        alone = fc.ChainCRF(
            "word\nedge",
            prior=fc.Gaussian(variance=1.0),
            features="all",
            optimiser=fc.LBFGS(max_iterations=200, tolerance=1e-9, objective_tolerance=0.0),
            n_jobs=1,
        ).fit(X, bits)
        np.testing.assert_allclose(crf.bit_weights_[i], alone.weights_, atol=1e-6)


@pytest.mark.parametrize("code", ["random", "one_against_rest", "exhaustive", "data"])
def test_codes_learn_the_training_data(code: str) -> None:
    crf = trained(code=code, bits=8)
    assert crf.predict(X).tolist() == Y
    assert distance(crf.code_) > 0
    again, many = trained(code=code, bits=8), trained(code=code, bits=8, n_jobs=3)
    np.testing.assert_array_equal(again.bit_weights_, crf.bit_weights_)
    np.testing.assert_array_equal(many.bit_weights_, crf.bit_weights_)


def test_words_differ_also_with_few_bits() -> None:
    labels = [str(i) for i in range(30)]
    for seed in range(5):
        made = make_code("random", labels, 5, seed)
        assert len(np.unique(made, axis=0)) == 30
    wide = make_code("random", labels, 60, 0)
    assert distance(wide) >= 15
    assert make_code("exhaustive", labels[:4], 60, 0).shape == (4, 7)


def test_the_data_driven_code_parts_what_is_confused() -> None:
    """Words of labels that are confused lie farther apart than those of others."""
    confusion = np.eye(8) * 100.0
    confusion[0, 1] = confusion[1, 0] = 60.0
    made = make_code("data", [*"abcdefgh"], 20, 0, confusion)
    apart = (made[:, None] != made[None, :]).sum(axis=2)
    assert apart[0, 1] > np.median(apart[np.triu_indices(8, 1)])
    short = make_code("data", [*"abcdefgh"], "auto", 0, confusion)
    wrong = bit_errors(short, confusion)
    assert error_bound(short, wrong) == pytest.approx(2 * wrong.sum() / distance(short))
    assert len(np.unique(short, axis=0)) == 8


def test_files_and_pickles(tmp_path: Path) -> None:
    crf = trained()
    crf.save(tmp_path / "coded.fc")
    for again in (fc.load(tmp_path / "coded.fc"), pickle.loads(pickle.dumps(crf))):
        assert type(again) is CodedCRF
        np.testing.assert_array_equal(again.log_partition(ASKED), crf.log_partition(ASKED))
        np.testing.assert_array_equal(again.code_, crf.code_)
    crf.save(tmp_path / "small.fc", float32=True)
    assert fc.load(tmp_path / "small.fc").predict(X).tolist() == Y
    sparse = CodedCRF("word\nedge", code="exhaustive", prior=fc.Laplacian(scale=0.5), n_jobs=1).fit(X, Y)
    sparse.save(tmp_path / "sparse.fc")
    again = fc.load(tmp_path / "sparse.fc")
    np.testing.assert_allclose(again.log_partition(ASKED), sparse.log_partition(ASKED))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"code": "golay"}, "choose one of"),
        ({"code": "random", "bits": 1}, "1 bits have 2 words, and there are 4 labels; use 2 or more"),
        ({"code": "random", "bits": "auto"}, "is for code='data'"),
        ({"code": [[0, 1], [1, 0], [0, 1], [1, 1]]}, "'A' and 'N' have equal words"),
        ({"code": {"A": "00", "D": "01", "N": "10"}}, "no word for the label 'V'"),
        ({"code": [[0, 1], [1, 0], [0, 2], [1, 1]]}, "0 and 1"),
        ({"code": [[0, 1]]}, "expected \\[4, bits\\]"),
        ({"decoding": "viterbi"}, "choose one of product"),
    ],
)
def test_refused_codes(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        trained(**settings)


def test_refusals() -> None:
    with pytest.raises(InputError, match="for 9 labels has 2\\^8 - 1 bits"):
        make_code("exhaustive", [*"abcdefghi"], 60, 0)
    crf = trained()
    for ask in (lambda: crf.weights_, crf.inspect, lambda: crf.explain(X[0]), lambda: crf.partial_fit(X, Y)):
        with pytest.raises(InputError, match="many models"):
            ask()  # type: ignore[no-untyped-call]


def test_pools_do_not_take_it_for_a_chain() -> None:
    crf = trained()
    with pytest.raises(InputError, match="not one chain"):
        fc.LogOpinionPool([crf, crf]).predict(X)

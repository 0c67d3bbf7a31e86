"""A scored batch: the model's answers without X, from blocks of any length, any thread, one scoring."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import _core
from fieldcraft.models.blocks import BLOCK_TOKENS, Predictor, cuts
from fieldcraft.models.inputs import encode
from fieldcraft.models.scored import Scored
from fieldcraft.potentials import Parts
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.structures.structure import Structure, by_sequence
from unit.models.counting import Counts
from unit.models.small import LABELS, batch, corpus, model

ASKED: dict[str, Callable[[Any], Any]] = {
    "predict": lambda of: of.predict().tolist(),
    "decode": lambda of: [tuple(d)[:3] for d in of.decode()],
    "predict_proba": lambda of: [p.tobytes() for p in of.predict_proba()],
    "predict_marginals": lambda of: of.predict_marginals(),
    "predict_spans": lambda of: of.predict_spans(),
    "log_partition": lambda of: of.log_partition().tolist(),
    "log_probability": lambda of: of.log_probability(of.predict().tolist()).tolist(),
    "entropy": lambda of: of.entropy().tolist(),
    "span_probability": lambda of: of.span_probability([[(0, 1, "A")][:n] for n in of.lengths()]),
    "k_best": lambda of: of.k_best(3),
    "sample": lambda of: of.sample(2),
    "score": lambda of: of.score([["O"] * n for n in of.lengths()]),
}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"decoding": "posterior"},
    {"edge_prefix": "w="},  # potentials of pairs that look at the input
    {"prior": None, "optimiser": fc.VotedPerceptron(max_voters=3, max_iterations=2)},
]


def scored(crf: fc.ChainCRF, X: Any, *, keep: bool, block_tokens: int = BLOCK_TOKENS) -> Scored:
    encoded = encode(X, crf.encoder_, grow=False)
    return Scored(crf._predictor(), X, encoded, keep=keep, block_tokens=block_tokens)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("keep", [True, False])
def test_blocks_give_the_answers_of_one_call(settings: dict[str, Any], keep: bool) -> None:
    """To the bit, samples included, whether or not potentials are kept."""
    crf = model(LABELS["iob2"], **settings)
    X = [*batch(lengths=(3, 0, 1, 4, 5, 2, 0)), *batch(seed=1)]
    whole = scored(crf, X, keep=False)
    for tokens in (1, 4, 1000):
        blocks = scored(crf, X, keep=keep, block_tokens=tokens)
        for name, ask in ASKED.items():
            assert ask(blocks) == ask(whole), (name, tokens)


def test_the_model_gives_the_same_answers() -> None:
    crf, X = model(LABELS["iob2"]), batch()
    y, spans = crf.predict(X).tolist(), [[(0, 1, "A")][: len(x)] for x in X]
    of = crf.scored(X)
    asked: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(["predict", "decode", "predict_marginals", "log_partition", "entropy"], ()),
        **{"k_best": (3,), "sample": (2,), "log_probability": (y,), "span_probability": (spans,)},
    }
    for name, arguments in asked.items():
        assert list(getattr(of, name)(*arguments)) == list(getattr(crf, name)(X, *arguments)), name
    assert of.score(y) == crf.score(X, y) == 1.0
    for i, x in enumerate(X):
        assert of.explain(i).to_dict() == crf.explain(x).to_dict()


def test_more_tokens_than_a_block_has() -> None:
    crf = model(LABELS["iob2"])
    X = batch(lengths=tuple(np.random.default_rng(0).integers(0, 40, size=1500)))
    n_tokens = sum(map(len, X))
    assert n_tokens > BLOCK_TOKENS + 5000
    of = crf.scored(X)
    assert len(of._blocks or ()) == 2
    assert of.nbytes == 8 * n_tokens * len(crf.classes_)
    assert of.predict().tolist() == crf.predict(X).tolist()
    assert [d.labels for d in crf.decode(X)] == [crf.predict([x]).tolist()[0] for x in X]
    assert crf.sample(X, 1) == of.sample(1)
    singly = np.concatenate([crf.log_partition([x]) for x in X])
    assert of.log_partition().tolist() == crf.log_partition(X).tolist() == singly.tolist()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_threads_share_it(settings: dict[str, Any]) -> None:
    """Python threads over one object whose blocks are long enough for threads of the core."""
    crf, X = model(LABELS["iob2"], **settings), batch(lengths=tuple(range(40)) * 4)
    expected = [ask(scored(crf, X, keep=True)) for ask in ASKED.values()]
    shared = scored(crf.set_params(n_jobs=2), X, keep=True, block_tokens=2000)
    assert len(shared._blocks or ()) == 2
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(ask, shared) for ask in [*ASKED.values()] * 2]
        assert [future.result(300) for future in futures] == expected * 2


def test_training_again_does_not_change_it() -> None:
    crf, X = model(LABELS["iob2"]), batch()
    of = crf.scored(X)
    before = [ask(of) for ask in ASKED.values()], of.explain(3).to_dict()
    crf.set_params(decoding="posterior", random_state=5).fit(*corpus(LABELS["plain"], seed=4))
    assert ([ask(of) for ask in ASKED.values()], of.explain(3).to_dict()) == before


def test_answers_can_be_changed() -> None:
    """What is returned is not what later answers are computed from."""
    crf = model(LABELS["plain"])
    of = crf.scored(batch())
    expected = [of.predict().tolist(), of.log_partition().tolist(), of.predict_proba()[0].tolist()]
    of.predict()[0][0] = "changed"
    of.log_partition()[:] = 0.0
    of.predict_proba()[0][:] = 0.0
    assert [of.predict().tolist(), of.log_partition().tolist(), of.predict_proba()[0].tolist()] == expected


def test_every_answer_comes_from_one_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    crf, X = model(LABELS["iob2"]), batch()
    counts = Counts(crf, monkeypatch)
    of = crf.scored(X)
    for ask in ASKED.values():
        ask(of)
    assert (counts.encoded, counts.scored, counts.computed) == (1, 1, 0)


@pytest.mark.parametrize("name", ["decode", "k_best", "log_probability", "explain", "predict_text"])
def test_questions_that_look_twice_score_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X: list[Any] = [["Ada", "spoke"], ["in", "Rome"]]
    crf = fc.ChainCRF("word\nedge", n_jobs=1).fit(X, [["B-A", "O"], ["O", "B-A"]])
    arguments = {
        "k_best": (X, 2),
        "log_probability": (X, [["O", "O"]] * 2),
        "explain": (X[0],),
        "predict_text": (["Ada in", "Rome"],),
    }.get(name, (X,))
    counts = Counts(crf, monkeypatch)
    getattr(crf, name)(*arguments)
    fresh = 1 if name == "explain" else 0  # an encoder that starts empty names what the model never saw
    assert (counts.encoded - fresh, counts.scored, counts.computed) == (1, 1, 0)


@pytest.mark.parametrize("name", ["predict", "predict_proba", "log_partition", "entropy"])
def test_single_questions_keep_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    crf, X = model(LABELS["iob2"]), batch()
    counts = Counts(crf, monkeypatch)
    monkeypatch.setattr(_core, "scored_potentials", None)
    getattr(crf, name)(X)
    assert (counts.encoded, counts.scored, counts.computed) == (1, 1, 1)


class Independent(Structure):
    """Positions that do not know of one another."""

    name = "independent"

    def log_partition(self, potentials: Parts) -> Any:
        return by_sequence(np.logaddexp.reduce(potentials["node"], axis=1), potentials.offsets)

    def marginals(self, potentials: Parts) -> Parts:
        node = potentials["node"]
        return Parts({"node": np.exp(node - np.logaddexp.reduce(node, axis=1)[:, None])}, potentials.offsets)

    def argmax(self, potentials: Parts) -> Any:
        node = potentials["node"]
        return node.argmax(axis=1).astype(np.int32), by_sequence(node.max(axis=1), potentials.offsets)

    def score(self, potentials: Parts, states: Any) -> Any:
        chosen = potentials["node"][np.arange(len(states)), states]
        return by_sequence(chosen, potentials.offsets)


class Drawn:
    """A scorer that draws a number per row from the sequence's attributes, and counts the rows it makes."""

    def __init__(self, structure: Structure) -> None:
        self.structure, self.rows, self.most = structure, 0, 0

    def potentials(self, encoded: Any) -> Parts:
        width = {"node": self.structure.n_states, "edge": self.structure.n_states**2}
        ids = np.add.reduceat(np.append(encoded.attributes, 0), encoded.token_ptr[:-1])
        self.rows, self.most = self.rows + len(ids), max(self.most, len(ids))
        arrays = {
            name: np.sin(np.outer(ids + 1, 1 + np.arange(width[name]))) for name in self.structure.parts
        }
        return Parts(arrays, encoded.offsets)


def asked_of(structure: Structure, **settings: Any) -> tuple[Scored, Drawn]:
    encoder, X = model(LABELS["plain"]).encoder_, batch()
    names, scorer = np.array(structure.labels, object), Drawn(structure)
    predictor = Predictor(names, structure, scorer)
    return Scored(predictor, X, encode(X, encoder, grow=False), **settings), scorer


def test_a_structure_with_five_operations_gives_every_answer_that_needs_no_other() -> None:
    of, scorer = asked_of(Independent(["D", "N", "V"]), block_tokens=4)
    node = [np.array(p) for p in of.predict_proba()]
    assert of.predict().tolist() == [[["D", "N", "V"][k] for k in p.argmax(axis=1)] for p in node]
    best = [float(np.log(p.max(axis=1)).sum()) for p in node]
    assert [d.value for d in of.decode()] == pytest.approx(best, rel=1e-12)
    assert of.log_probability(of.predict().tolist()) == pytest.approx(best, rel=1e-12)
    assert of.entropy() == pytest.approx([-float((p * np.log(p)).sum()) for p in node], rel=1e-9)
    assert scorer.rows == 13
    for name, arguments in {"k_best": (2,), "sample": (2,), "predict_spans": ()}.items():
        missing = "window_probability" if name == "predict_spans" else name
        with pytest.raises(fc.FieldcraftError, match=f"independent has no operation {missing}"):
            getattr(of, name)(*arguments)


def test_one_block_at_a_time() -> None:
    """A scorer that computes potentials at once is asked for a block of them, also by single questions."""
    of, scorer = asked_of(Independent(["D", "N", "V"]), keep=False, block_tokens=4)
    of.predict()
    assert (scorer.rows, scorer.most, of.nbytes) == (13, 5, 0)


def test_two_states_per_label() -> None:
    """Answers are about labels: probabilities are sums over the states, and what is not known is refused."""
    grid = np.arange(4, dtype=np.int32)
    free = np.ones(4, bool)
    states = StateSpace(4, grid.repeat(4), np.tile(grid, 4), free, free, grid // 2, ("D", "N"))
    chain = LinearChain(states)
    of, scorer = asked_of(chain, block_tokens=4)
    potentials = scorer.potentials(of._encoded)
    paths: list[dict[str, float]] = []
    for drawn in chain.k_best(potentials, 4**5):
        paths.append({})
        for path, score in zip(*drawn):
            labels = "".join("DDNN"[k] for k in path)
            paths[-1][labels] = paths[-1].get(labels, 0.0) + float(np.exp(score))
    total = [sum(one.values()) for one in paths]
    assert np.exp(of.log_partition()) == pytest.approx(total, rel=1e-9)
    predicted = ["".join(row) for row in of.predict()]
    shares = [one[labels] / z for one, labels, z in zip(paths, predicted, total)]
    assert np.exp([d.value for d in of.decode()]) == pytest.approx(shares, rel=1e-9)
    assert not any(d.optimal for d in of.decode())
    for p, one, z in zip(of.predict_proba(), paths, total):
        for t, row in enumerate(p):
            first = sum(share for labels, share in one.items() if labels[t] == "D") / z
            assert row == pytest.approx([first, 1 - first], rel=1e-9)
    assert {label for row in of.sample(3) for drawn in row for label in drawn} <= {"D", "N"}
    for ranked, one, z in zip(of.k_best(2), paths, total):
        names = ["".join(labels) for labels, _ in ranked]
        assert len(set(names)) == len(names) == min(2, len(one))
        assert np.exp([v for _, v in ranked]) == pytest.approx([one[name] / z for name in names], rel=1e-9)
    with pytest.raises(fc.FieldcraftError, match="several states for a label"):
        of.entropy()


def test_blocks_are_cut_at_sequences() -> None:
    offsets = np.array([0, 0, 7, 9, 9, 12])
    assert cuts(offsets, 1) == [0, 2, 3, 5]
    assert cuts(offsets, 8) == [0, 3, 5]
    assert cuts(offsets, 100) == [0, 5]
    assert cuts(np.array([0]), 100) == [0, 0]
    assert cuts(np.array([0, 0, 0]), 1) == [0, 2]


def test_pairs_that_look_at_the_input_are_not_kept() -> None:
    crf, X = model(LABELS["plain"], edge_prefix="w="), batch()
    assert crf.scored(X).nbytes == 8 * sum(map(len, X)) * 3

"""Perceptrons, passive-aggressive and AROW against literal implementations that keep every weight vector."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from fieldcraft.errors import FieldcraftError
from fieldcraft.models.parameters import Scoring
from fieldcraft.models.voting import Voters
from fieldcraft.optimisers.arow import AROW
from fieldcraft.optimisers.passive_aggressive import PassiveAggressive
from fieldcraft.optimisers.perceptron import AveragedPerceptron, Perceptron, VotedPerceptron
from fieldcraft.optimisers.table import check_settings
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from oracles import online
from unit.training.corpora import same
from unit.training.online_cases import S, begin, case, visited

SHAPES: list[dict[str, Any]] = [{}, {"values": True}, {"edges": True}, {"values": True, "edges": True}]
COSTS = {"one": lambda n: 1.0, "root": math.sqrt, "hamming": float}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
class TestPerceptron:
    def test_last_weights(self, seed: int, shape: dict[str, Any]) -> None:
        c = case(seed, **shape)
        run = begin(Perceptron(seed=seed), c, objective="perceptron")
        assert all(run.step() for _ in range(3))
        literal = online.perceptron(visited(run, c.examples, 3), c.start)
        same(run.weights, literal[-1], rel=1e-12, abs=1e-12)

    def test_lazy_average_is_the_average(self, seed: int, shape: dict[str, Any]) -> None:
        c = case(seed, **shape)
        run = begin(AveragedPerceptron(seed=seed), c, objective="perceptron")
        for n in (1, 2, 3, 4):
            run.step()
            literal = online.perceptron(visited(run, c.examples, n), c.start)
            same(run.weights, np.mean(literal, axis=0), rel=1e-12, abs=1e-12)

    def test_update_at_the_end_of_a_pass(self, seed: int, shape: dict[str, Any]) -> None:
        c = case(seed, **shape)
        run = begin(AveragedPerceptron(update="pass"), c, objective="perceptron")
        w, after = c.start, []
        for _ in range(3):
            run.step()
            steps = [-online.hinge(e, w, 0.0).gradient for e in c.examples]
            mistakes = [s for s, e in zip(steps, c.examples) if e.wrong[e.best(w)]]
            w = w + np.mean(mistakes, axis=0) if mistakes else w
            after.append(w)
            same(run.weights, np.mean(after, axis=0), rel=1e-12, abs=1e-12)

    def test_voters(self, seed: int, shape: dict[str, Any]) -> None:
        c = case(seed, **shape)
        run = begin(VotedPerceptron(max_voters=1000, seed=seed), c, objective="perceptron")
        run.step(), run.step()
        literal = [(w, n) for w, n in online.voters(visited(run, c.examples, 2), c.start) if n]
        votes, weights = run.voters()
        assert votes.tolist() == [n for _, n in literal]
        same(weights, [w for w, _ in literal], rel=1e-12, abs=1e-12)
        total = sum(n * w for w, n in literal) / sum(n for _, n in literal)
        same(run.weights, total, rel=1e-11, abs=1e-11)

    def test_votes(self, seed: int, shape: dict[str, Any]) -> None:
        """What the voters elect is what all weight vectors, each with its count, would."""
        c = case(seed, **shape)
        run = begin(VotedPerceptron(max_voters=1000, seed=seed), c, objective="perceptron")
        run.step(), run.step()
        literal = online.voters(visited(run, c.examples, 2), c.start)
        encoded = c.design.encoded
        chain = LinearChain(StateSpace.labels(S))
        found = Voters.of(Scoring.of(c.design.index, chain), *run.voters()).labels(encoded, chain)
        for i, example in enumerate(c.examples):
            first, last = encoded.offsets[i : i + 2]
            labelings = list(itertools.product(range(S), repeat=int(last - first)))
            ballots = [labelings[example.best(w)] for w, _ in literal]
            assert tuple(found[first:last]) == online.elect(ballots, [n for _, n in literal])

    def test_budget_keeps_the_longest_lived(self, seed: int, shape: dict[str, Any]) -> None:
        c = case(seed, n=30, **shape)
        run = begin(VotedPerceptron(max_voters=4, seed=seed), c, objective="perceptron")
        run.step(), run.step()
        *dead, living = [(w, n) for w, n in online.voters(visited(run, c.examples, 2), c.start) if n]
        votes, weights = run.voters()
        assert len(votes) == min(4, len(dead) + 1)
        same(weights[-1], living[0], rel=1e-12, abs=1e-12)
        assert sorted(votes[:-1]) == sorted(sorted(n for _, n in dead)[-3:])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("average", [None, "uniform"])
class TestMargins:
    @pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
    def test_passive_aggressive(
        self, variant: str, average: str | None, cost: str, shape: dict[str, Any]
    ) -> None:
        c = case(7, **shape)
        settings = PassiveAggressive(variant=variant, c=0.3, cost=cost, average=average)
        run = begin(settings, c, objective="perceptron")
        run.step(), run.step()
        order = visited(run, c.examples, 2)
        literal = online.passive_aggressive(order, c.start, variant, 0.3, COSTS[cost])
        same(run.weights, np.mean(literal, axis=0) if average else literal[-1], rel=1e-9, abs=1e-10)

    def test_arow(self, average: str | None, cost: str, shape: dict[str, Any]) -> None:
        c = case(8, **shape)
        settings = AROW(variance=0.8, gamma=1.7, cost=cost, average=average)
        run = begin(settings, c, objective="perceptron")
        run.step(), run.step()
        literal = online.arow(visited(run, c.examples, 2), c.start, 0.8, 1.7, COSTS[cost])
        same(run.weights, np.mean(literal, axis=0) if average else literal[-1], rel=1e-9, abs=1e-10)


def test_sequence_weights_multiply_steps() -> None:
    """A weight of 0 leaves a sequence out; of 2 doubles its step."""
    c = case(3)
    weights = np.where(np.arange(len(c.examples)) % 3 == 0, 0.0, 2.0)
    run = begin(Perceptron(shuffle=False), c, objective="perceptron", sequence_weights=weights)
    run.step()
    w = c.start
    for example, weight in zip(c.examples, weights):
        w = w - weight * online.hinge(example, w, 0.0).gradient
    same(run.weights, w, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("settings", [Perceptron(), PassiveAggressive(), AROW(), AveragedPerceptron()])
def test_masked_weights_stay(settings: Any) -> None:
    c = case(5)
    mask = np.arange(len(c.start)) % 2 == 0
    c = c._replace(start=np.where(mask, c.start, 0.0))
    run = begin(settings, c, objective="perceptron", mask=mask)
    run.step()
    assert np.all(run.weights[~mask] == 0)
    assert np.any(run.weights[mask] != c.start[mask])


def test_stops_when_nothing_is_wrong() -> None:
    """A pass without a mistake is the last one."""
    c = case(1, n=2)
    run = begin(Perceptron(), c, objective="perceptron")
    passes = next(k for k in range(100) if not run.step())
    assert all(e.best(run.weights) == e.gold for e in c.examples)
    assert run.gradient_norm() == run.objective() == 0.0
    assert run.iteration == passes
    assert "small enough" in run.why_stuck


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (PassiveAggressive(c=0.0), "c is 0.0; it must be a number above 0"),
        (PassiveAggressive(variant="PA-III"), "variant is 'PA-III'"),
        (PassiveAggressive(cost="none"), "cost is 'none'"),
        (PassiveAggressive(average="mean"), "average is 'mean'"),
        (AROW(variance=-1.0), "variance is -1.0"),
        (AROW(gamma=math.nan), "gamma is nan"),
        (AveragedPerceptron(update="epoch"), "update is 'epoch'"),
        (VotedPerceptron(max_voters=0), "max_voters is 0; keep at least 1"),
        (Perceptron(least_loss=-1.0), "least_loss is -1.0"),
        (Perceptron(seed=-1), "seed is -1"),
        (Perceptron(max_iterations=-1), "max_iterations is -1"),
    ],
)
def test_refusals(settings: Any, told: str) -> None:
    with pytest.raises(FieldcraftError, match=told):
        check_settings(settings)

"""Seminar announcements: a skip chain against a linear chain, five folds.

    python -m experiments.skip_chain [FOLDER] --inner -o inner.jsonl
    python -m experiments.skip_chain [FOLDER] --chosen inner.jsonl -o folds.jsonl
    python -m experiments.skip_chain --report inner.jsonl folds.jsonl
    python -m experiments.skip_chain [FOLDER] --folds 0 --models NAME …
    python -m experiments.skip_chain [FOLDER] --widths

FOLDER holds cmu_seminars/, ud_en_ewt/ and gazetteers/. Features are the template set ``announcements``, those
of table 4.1 of the paper on relational learning; skip edges join all equal capitalised words, without a cap,
and look at the features of both ends, or-ed. Folds are a permutation of all documents by seed 0.

Variances and decoding of both chains are chosen anew for each fold, from its training part alone (GRID,
DECODINGS), by nested cross-validation (--inner): for every two folds a model is trained on the three others
and scored on both. The scores on one of the two count in the choice for the other, so that each choice rests
on four folds. Choices (by two rules, skip_chain_report.py) look at the mean of the speaker's F1 and of the
mean of all four F1. Skip chains of the grid are trained by belief propagation, as the paper's are.

A decoding is "viterbi" or "posterior", and after a colon by how much the score of O is lowered at each token
before inference (the first token excepted). Likelihood aims at accuracy, for which a token is O as soon as
that is the most probable; F1 is the largest where tokens are labelled from about half of the best F1 on. F1
counts single tokens, so the grid has the most probable label of each.
Each training writes lines of JSON as it ends; --report makes the tables from such lines.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import warnings
from collections.abc import Iterable, Iterator
from itertools import combinations, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from experiments import seminars
from experiments.seminars import FIELDS
from experiments.skip_chain_report import RULES, Choice, choices, read_lines, report
from fieldcraft.corpus import Corpus
from fieldcraft.models.parameters import Parameters

GRID = ["linear:1", "linear:10", "linear:100"]
GRID += [f"skip:100:{skip}:propagation" for skip in ("0.1:full", "1:full", "1:agreement", "10:agreement")]
LOWERED = (0.0, 0.25, 0.5, 0.75, 1.0)  # what may be taken from the score of O
DECODINGS = [f"posterior:{cost:g}" if cost else "posterior" for cost in LOWERED]
ITERATIONS = 50  # of a skip chain, which starts from the weights of the linear chain


def model(name: str, lists: list[Any], iterations: int) -> Any:
    """linear:VARIANCE, or skip:VARIANCE:VARIANCE of skip edges:TYING and flags.

    Flags: two_stage; phrases; labels (skip edges look at nothing else); propagation (alone), estimated (by
    propagation where sums are not exact).
    """
    kind, *settings = name.split(":")
    if kind == "linear":
        return fc.ChainCRF("announcements", prior=fc.Gaussian(float(settings[0])), gazetteers=lists)
    options: dict[str, Any] = {"gazetteers": lists, "optimiser": fc.LBFGS(max_iterations=iterations)}
    chain, skip = map(float, settings[:2])
    prior = fc.Gaussian(fc.groups.by_part({"skip": skip}, otherwise=chain))
    inference: Any = "propagation" if "propagation" in settings else "auto"
    if "estimated" in settings:
        inference = {"method": "auto", "wide": "propagation"}
    return fc.SkipChainCRF(
        "announcements",
        prior=prior,
        max_pairs_per_word=None,
        skip_tying=settings[2],
        skip_templates="none" if "labels" in settings else "same",
        phrases="phrases" in settings,
        two_stage="two_stage" in settings,
        inference=inference,
        **options,
    )


def without_some_o(crf: Any, cost: float) -> Any:
    """A copy of a model with the score of O lowered: in the weights of all label pairs that end in O."""
    learnt, label = crf._parameters, crf.classes_.tolist().index("O")
    index = learnt.index
    into = index.belongs_to("edge") & (index.attribute < 0) & (index.label == label)
    made = copy.copy(crf)
    made._parameters = Parameters.of(learnt.encoder, index, learnt.weights - cost * into, learnt.structure)
    return made


def labelled(crf: Any, decoding: str, X: Corpus) -> Any:
    """Labels by a decoding of DECODINGS."""
    how, _, cost = decoding.partition(":")
    model = without_some_o(crf, float(cost)) if cost else copy.copy(crf)
    model.decoding = how
    return model.predict(X)


def scores(test: Corpus, predicted: Iterable[list[str]]) -> dict[str, Any]:
    """Token counts (right, predicted, gold) and inconsistent repeats of each field."""
    answers = list(predicted)
    pairs = [pair for gold, found in zip(test.labels, answers) for pair in zip(gold, found)]
    repeats = fc.metrics.inconsistent_repeats(test.column("word"), test.labels, answers)
    out: dict[str, Any] = {}
    for field in FIELDS:
        label = f"I-{field}"
        right = sum(a == b == label for a, b in pairs)
        out[field] = [right, sum(b == label for _, b in pairs), sum(a == label for a, _ in pairs)]
    return {"counts": out, "repeats": {field: repeats.get(field, 0) for field in FIELDS}}


def trained(
    name: str, train: Corpus, tests: list[Corpus], lists: list[Any], iterations: int, decodings: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """One training and its scores on each test part by each decoding."""
    begun = resource.getrusage(resource.RUSAGE_SELF)
    crf = model(name, lists, iterations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the iteration limit; the line says why it stopped
        crf.fit(train)
        spent = resource.getrusage(resource.RUSAGE_SELF)
        facts = {
            "cpu": round(spent.ru_utime + spent.ru_stime - begun.ru_utime - begun.ru_stime, 1),
            "iterations": crf.n_iter_,
            "stopped": crf.stop_reason_,
            "unconverged": [record.unconverged for record in crf.training_log_][-1],
            "pairs": getattr(crf, "n_pairs_", 0),
            "objective": crf.objective_value_,
        }
        for i, test in enumerate(tests):
            for decoding in decodings:
                found = scores(test, labelled(crf, decoding, test))
                yield {"model": name, "decoding": decoding, "part": i, **found, **facts}


def inner_lines(corpus: Corpus, names: list[str], chosen_for: list[int], **options: Any) -> Iterator[Any]:
    """Models of three folds each, scored on the two others; "fold" is the one they were not chosen on."""
    folds = seminars.folds(len(corpus))
    for pair in combinations(chosen_for, 2):
        train = np.sort(np.concatenate([folds[k] for k in range(5) if k not in pair])).tolist()
        tests = [corpus[folds[k].tolist()] for k in pair]
        for name in names:
            for line in trained(name, corpus[train], tests, decodings=DECODINGS, **options):
                part = line.pop("part")
                yield {"fold": pair[1 - part], "inner": True, "scored": pair[part], **line}


def outer_lines(corpus: Corpus, chosen: dict[int, set[Choice]], **options: Any) -> Iterator[Any]:
    """Models of four folds each, scored on the fifth."""
    folds = seminars.folds(len(corpus))
    for fold, pairs in chosen.items():
        train = np.setdiff1d(np.arange(len(corpus)), folds[fold]).tolist()
        tests = [corpus[folds[fold].tolist()]]
        for name, mine in groupby(sorted(pairs), key=itemgetter(0)):
            decodings = [decoding for _, decoding in mine]
            for line in trained(name, corpus[train], tests, decodings=decodings, **options):
                del line["part"]
                yield {"fold": fold, "inner": False, **line}


def widths(corpus: Corpus) -> str:
    """Largest cliques of the junction trees (min-fill) of all documents, with all equal capitalised words."""
    from fieldcraft.features.word_pairs import WordPairs

    rule, found = WordPairs("same", None), []
    for words in corpus.column("word"):
        graph = fc.FactorGraph(np.full(len(words), 5))
        chain = np.stack([np.arange(len(words) - 1), np.arange(1, len(words))], 1)
        graph.add(np.concatenate([chain, rule.of(words)]), np.zeros((5, 5)))
        found.append(graph.width().variables)
    sizes = np.array(found)
    return (
        f"{len(sizes)} documents: {(sizes >= 10).sum()} with cliques of 10 or more, {(sizes >= 14).sum()} of "
        f"14 or more, the largest {sizes.max()} (the paper: 29 of 485, 11, 61)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.skip_chain", description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--folds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--inner", action="store_true", help="what the choice for each fold rests on")
    parser.add_argument("--chosen", metavar="FILE", help="the folds, with the choices of these lines")
    parser.add_argument("--models", nargs="+", help="these instead of the grid")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of a skip chain, at most")
    parser.add_argument("--documents", type=int, help="the first documents alone")
    parser.add_argument("--widths", action="store_true", help="junction trees of all documents, no training")
    parser.add_argument("--report", nargs="+", metavar="FILE", help="tables from lines that were written")
    parser.add_argument("-o", "--output", help="a file to which lines are added")
    given = parser.parse_args()
    if given.report:
        print(report(read_lines(given.report)))
        return
    data = Path(given.folder)
    corpus = seminars.read(data, given.documents)
    if given.widths:
        print(widths(corpus))
        return
    corpus = seminars.tagged(corpus, data)
    options = {"lists": seminars.name_lists(data), "iterations": given.iterations}
    if given.inner:
        lines = inner_lines(corpus, given.models or GRID, given.folds, **options)
    else:
        lines = outer_lines(corpus, _to_score(given), **options)
    for line in lines:
        text = json.dumps(line)
        print(text, flush=True)
        if given.output:
            with Path(given.output).open("a", encoding="utf-8") as file:
                file.write(text + "\n")


def _to_score(given: Any) -> dict[int, set[Choice]]:
    """Models and decodings by fold: those chosen by each rule, or those named, by all decodings."""
    if given.chosen:
        lines = read_lines([given.chosen])
        rules = [choices(lines, rule) for rule in RULES]
        return {fold: {choice for rule in rules for choice in rule[fold].values()} for fold in given.folds}
    hows = ["viterbi", *DECODINGS]
    return {fold: {(name, how) for name in given.models or [] for how in hows} for fold in given.folds}


if __name__ == "__main__":
    main()

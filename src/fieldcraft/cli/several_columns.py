"""Answers of models with several label columns: a predicted column for each, and scores for each."""

from __future__ import annotations

import json as json_
from typing import Any

from fieldcraft.cli.answers import Answers
from fieldcraft.cli.reporting import print_scores
from fieldcraft.cli.rules import Lapses
from fieldcraft.corpus import Corpus
from fieldcraft.errors import InputError


class SeveralColumns(Answers):
    """The labels of every column; probabilities are a matter of Python."""

    def __init__(
        self, crf: Any, *, confidence: bool, marginals: bool, k_best: int | None, constraints: Any = None
    ) -> None:
        asked = {
            "confidence": confidence,
            "marginals": marginals,
            "k-best": k_best,
            "constraints": constraints,
        }
        for name, given in asked.items():
            if given:
                raise InputError(f"--{name} is for models of one label column; leave it out")
        self.crf, self.several, self.lapses, self._begun = crf, False, Lapses(), None

    def _columns(self, batch: Corpus) -> dict[str, Any]:
        found = self.crf.predict(batch)
        return {f"predicted.{name}": [row[name] for row in found] for name in self.crf.classes_}

    def _records(self, batch: Corpus) -> list[dict[str, Any]]:
        found = self.crf.predict(batch)
        return [
            {**(sequence.info or {}), **sequence.columns, "predicted": row}
            for sequence, row in zip(batch, found)
        ]


def print_columns(crf: Any, corpus: Corpus, *, metric: str | None, json: bool) -> None:
    """The scores of each label column, one after the other; with ``json`` one object."""
    found, gold = crf.predict(corpus), corpus.labels
    if json:
        from fieldcraft.evaluation import metrics

        facts = {}
        for name in crf.classes_:
            sides = [row[name] for row in gold], [row[name] for row in found]
            facts[name] = metrics.summary(*sides)
        print(json_.dumps(facts, ensure_ascii=False, indent=2))
        return
    for name in crf.classes_:
        print(f"column {name}:")
        print_scores([row[name] for row in gold], [row[name] for row in found], metric=metric, json=False)

"""Tags and noun phrases jointly against one after the other, on CoNLL-2000, as a learning curve.

    python -m experiments.factorial [FOLDER] [--sentences 250 500 …] [--models joint cascaded …]
    python -m experiments.factorial --choose
    python -m experiments.factorial --report

FOLDER holds conll2000/. Models see words alone; tags (the Brill tags of the files) and noun phrases (B, I, O)
are both predicted on the test file. F is conlleval's, of noun phrases.

words       a chain of phrases without tags
cascaded    a chain of tags, then a chain of phrases that also looks at tags: the given ones in training,
            predicted ones in the test
jackknife   the same, but the second chain is trained on tags that a tagger predicted which did not see the
            sentence (five parts)
joint       fc.FactorialCRF from words in one training: a chain for the tags, one for the phrases, weights
            between their labels at a token and from a tag to the next token's phrase label
two_stages  fc.FactorialCRF that also has weights of tag pairs with a phrase label; its tags look at the
            log-probabilities of a tagger that did not see the sentence (the five parts of jackknife) instead
            of words. In the test they are those of the tagger that was trained on all sentences

All have the same templates of words. --choose tries the settings of GRID on the 1,000 sentences that follow
the training sentences in the training file, for 250 and 500 sentences; the test file is not read. All models
share the tagger, which is chosen by its tags. Curves use the settings with the best F of the largest size
that is not above theirs. Joint models end after 60 iterations. Results go to --archive, line by line; what
stands there is not run again. Lines of the test file keep the counts of every sentence, packed, for the
significance tests. --report prints and writes experiments/results/factorial.md, and draws a figure.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc
from experiments.archive import Part
from fieldcraft.corpus import Corpus
from fieldcraft.evaluation import bootstrap
from fieldcraft.evaluation.labellings import encode

RESULTS = Path(__file__).parent / "results"
SIZES, CHOOSING, DEVELOPMENT = (250, 500, 1000, 2000, 4000, 8936), (250, 500), 1000
WORDS = """columns word
edge
first
last
word[-2..2]
lower(word[-1..1])
word[-1] & word
word & word[1]
prefix(word, 1..3)
suffix(word, 1..4)
shape(word[-1..1])
contains_digit(word)
contains_hyphen(word)
is_title(word)
"""
TAGS = """columns word pos
edge: pos
pos[-2..2]
pos[-2] & pos[-1]
pos[-1] & pos
pos & pos[1]
pos[1] & pos[2]
pos[-1] & pos & pos[1]
pos & word
"""
BOTH = "columns word pos\n" + WORDS.partition("\n")[2] + TAGS.partition("\n")[2]
PARTS = 5
ITERATIONS = 60  # of joint models; chains end by their own rule
LEAST = -8.0  # log-probabilities of tags below this count as this
TAGGER = (3.0, 10.0, 30.0)  # variances
CHAIN = [{"phrases": v} for v in (0.3, 1.0, 3.0, 10.0, 30.0)]


def _tables(variances: dict[float, tuple[int, ...]]) -> list[dict[str, float]]:
    """Settings of joint models, from variances of tables by that of the phrases."""
    return [{"phrases": v, "tables": float(t)} for v, tables in variances.items() for t in tables]


GRID: dict[str, list[dict[str, float]]] = {
    "words": CHAIN,
    "cascaded": CHAIN,
    "jackknife": CHAIN,
    "joint": _tables({0.1: (3, 10, 30), 0.3: (3, 10, 30), 1.0: (10,), 10.0: (10,)}),
    "two_stages": _tables({0.1: (1, 3, 10, 30), 0.3: (1, 3, 10, 30), 1.0: (1, 3), 3.0: (1, 3)}),
}


def phrases(corpus: Corpus) -> Corpus:
    """The corpus with the labels of noun phrases alone."""

    def spelled(labels: list[str]) -> list[str]:
        return [label if label.endswith("-NP") else "O" for label in labels]

    return corpus.respelled(spelled)


@lru_cache
def read(folder: Path, name: str) -> Corpus:
    """A file: words, tags and phrases as columns, phrases as labels."""
    return phrases(fc.read(folder / "conll2000" / name, columns="word pos chunk", label="chunk"))


class Task:
    """Training sentences and sentences to label, with taggers that are trained once.

    Parameters
    ----------
    train, test : sentences
    variance : of the prior of taggers
    jobs : threads
    """

    def __init__(self, train: Corpus, test: Corpus, variance: float, jobs: int | None) -> None:
        self.train, self.test, self.variance, self.jobs = train, test, variance, jobs
        self._kept: dict[str, Any] = {}

    def chain(self, templates: str, variance: float, labels: Any = None) -> fc.ChainCRF:
        return fc.ChainCRF(templates, prior=fc.Gaussian(variance=variance), labels=labels, n_jobs=self.jobs)

    @property
    def tagger(self) -> fc.ChainCRF:
        if "tagger" not in self._kept:
            self._kept["tagger"] = self.chain(WORDS, self.variance).fit(self.train.with_label("pos"))
        return self._kept["tagger"]

    def probabilities(self) -> tuple[list[Any], list[Any]]:
        """Of the tags: of training sentences by taggers that did not see them, and of the others."""
        if "probabilities" not in self._kept:
            tags = self.train.with_label("pos")
            i = np.arange(len(tags))
            parts = [(np.flatnonzero(i % PARTS != k), np.flatnonzero(i % PARTS == k)) for k in range(PARTS)]
            model = self.chain(WORDS, self.variance)
            unseen = fc.cross_val_predict(model, tags, cv=parts, method="predict_proba")
            found = self.tagger.predict_proba(self.test.with_label("pos"))
            self._kept["probabilities"] = list(unseen), list(found)
        return self._kept["probabilities"]


def with_tags(corpus: Corpus, tags: Any) -> Corpus:
    """The corpus with predicted tags instead of the given ones."""
    return corpus.with_column("pos", [list(row) for row in tags])


def words(task: Task, settings: dict[str, float]) -> tuple[Any, Any]:
    return None, task.chain(WORDS, settings["phrases"]).fit(task.train).predict(task.test)


def cascaded(task: Task, settings: dict[str, float]) -> tuple[Any, Any]:
    tagged = with_tags(task.test, task.tagger.predict(task.test.with_label("pos")))
    return tagged.column("pos"), task.chain(BOTH, settings["phrases"]).fit(task.train).predict(tagged)


def jackknife(task: Task, settings: dict[str, float]) -> tuple[Any, Any]:
    names = task.tagger.classes_
    unseen = [names[rows.argmax(axis=1)].tolist() for rows in task.probabilities()[0]]
    second = task.chain(BOTH, settings["phrases"]).fit(with_tags(task.train, unseen))
    tagged = with_tags(task.test, task.tagger.predict(task.test.with_label("pos")))
    return tagged.column("pos"), second.predict(tagged)


def factorial(task: Task, settings: dict[str, float], tags: float, **options: Any) -> fc.FactorialCRF:
    """A joint model with a variance for each kind of weights."""
    variance = fc.groups.by_part({"pos": tags, "chunk": settings["phrases"]}, otherwise=settings["tables"])
    prior, optimiser = fc.Gaussian(variance=variance), fc.LBFGS(max_iterations=ITERATIONS)
    return fc.FactorialCRF(WORDS, prior=prior, optimiser=optimiser, n_jobs=task.jobs, **options)


def columns_of(found: Any) -> tuple[Any, Any]:
    return [row["pos"] for row in found], [row["chunk"] for row in found]


def joint(task: Task, settings: dict[str, float]) -> tuple[Any, Any]:
    both = ["pos", "chunk"]
    model = factorial(task, settings, task.variance, cross=True).fit(task.train.with_label(both))
    return columns_of(model.predict(task.test.with_label(both)))


def two_stages(task: Task, settings: dict[str, float]) -> tuple[Any, Any]:
    both, names = ["pos", "chunk"], task.tagger.classes_

    def written(rows: Any) -> list[str]:
        """Probabilities [T, tags] as a column: log-probabilities above LEAST, by tag."""
        scores = np.log(np.maximum(rows, np.exp(LEAST))) - LEAST
        kept = [[(names[y], row[y]) for y in np.flatnonzero(row > 0)] for row in scores]
        return [" ".join(f"{tag}={score:.6f}" for tag, score in pairs) for pairs in kept]

    def scores(columns: dict[str, list[str]]) -> list[dict[str, float]]:
        pairs = [[pair.rpartition("=") for pair in cell.split()] for cell in columns["scores"]]
        return [{tag: float(score) for tag, _, score in token} for token in pairs]

    train, test = (
        corpus.with_column("scores", [written(rows) for rows in found]).with_label(both)
        for corpus, found in zip((task.train, task.test), task.probabilities())
    )
    options = {"functions": {"tagger": scores}, "looks": {"pos": []}, "scores": {"pos": "tagger"}}
    model = factorial(task, settings, 10.0, cross=True, steps=True, **options)
    return columns_of(model.fit(train).predict(test))


MODELS = {
    "words": words,
    "cascaded": cascaded,
    "jackknife": jackknife,
    "joint": joint,
    "two_stages": two_stages,
}


def right(corpus: Corpus, tags: Any) -> float:
    """The share of right tags, in per cent."""
    gold = corpus.column("pos")
    return 100 * float(np.mean([a == b for x, y in zip(gold, tags) for a, b in zip(x, y)]))


def counted(corpus: Corpus, found: list[list[str]], f: float) -> Part:
    """What the significance tests need: wrong tokens, and shares in F, of each sentence."""
    sides = encode([list(row) for row in corpus.labels], found)
    shares = bootstrap.quotient("span_f", sides, "conlleval", "lenient")
    return Part.of(f, bootstrap.errors_by_sequence(sides), shares)


def measured(task: Task, name: str, settings: dict[str, float]) -> dict[str, Any]:
    """The scores of a model."""
    begun = time.process_time()
    tags, found = MODELS[name](task, settings)
    seconds = time.process_time() - begun
    answers = [list(row) for row in found]
    scores = fc.metrics.span_scores(task.test.labels, answers).micro
    return {
        "part": asdict(counted(task.test, answers, 100 * scores.f)),
        "tags": None if tags is None else right(task.test, tags),
        "precision": 100 * scores.precision,
        "recall": 100 * scores.recall,
        "f": 100 * scores.f,
        "seconds": seconds,
    }


class Archive:
    """Results in a file, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def find(self, **key: Any) -> list[dict[str, Any]]:
        return [row for row in self.rows if all(row.get(k) == v for k, v in key.items())]

    def add(self, **row: Any) -> None:
        self.rows.append(row)
        with self.path.open("a") as out:
            out.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)

    def tagger(self, n: int) -> float:
        """The variance of taggers with the best tags on development sentences, for n training sentences."""
        rows = self.find(on="development", model="tagger", sentences=chosen_at(n))
        return float(max(rows, key=lambda row: row["tags"])["variance"])

    def best(self, name: str, n: int) -> dict[str, float]:
        """The settings with the best F on development sentences."""
        rows = self.find(on="development", model=name, sentences=chosen_at(n))
        return dict(max(rows, key=lambda row: row["f"])["settings"])


def chosen_at(n: int) -> int:
    """The size whose settings n training sentences use."""
    return max((size for size in CHOOSING if size <= n), default=CHOOSING[0])


def choose(train: Corpus, names: list[str], archive: Archive, jobs: int | None) -> None:
    """Try all settings on the sentences that follow those of the training."""
    for n in CHOOSING:
        parts, on = (train[:n], train[n : n + DEVELOPMENT]), {"on": "development", "sentences": n}
        for variance in TAGGER:
            if not archive.find(**on, model="tagger", variance=variance):
                tags = Task(*parts, variance, jobs).tagger.predict(parts[1].with_label("pos"))
                archive.add(**on, model="tagger", variance=variance, tags=right(parts[1], tags))
        task = Task(*parts, archive.tagger(n), jobs)
        for name in names:
            for settings in GRID[name]:
                if not archive.find(**on, model=name, settings=settings):
                    scores = measured(task, name, settings)
                    del scores["part"]  # tests of significance are for the test file
                    archive.add(**on, model=name, settings=settings, **scores)


def curve(folder: Path, sizes: list[int], names: list[str], archive: Archive, jobs: int | None) -> None:
    """Scores on the test file, with the settings that were chosen."""
    train, test = read(folder, "train.txt.gz"), read(folder, "test.txt")
    for n in sizes:
        task = Task(train[:n], test, archive.tagger(n), jobs)
        for name in names:
            settings = archive.best(name, n)
            key = {"on": "test", "sentences": n, "model": name, "settings": settings}
            if not any("part" in row for row in archive.find(**key)):  # early lines have no counts
                archive.add(**key, tagger=task.variance, **measured(task, name, settings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--sentences", nargs="+", type=int, default=SIZES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--choose", action="store_true", help="try settings on development sentences")
    parser.add_argument("--report", action="store_true", help="write the report and its figure")
    parser.add_argument("--archive", type=Path, default=RESULTS / "factorial.jsonl")
    given = parser.parse_args()
    archive, folder = Archive(given.archive), Path(given.folder)
    if given.report:
        from experiments.factorial_report import write

        print(write(archive, RESULTS))
    elif given.choose:
        choose(read(folder, "train.txt.gz"), given.models, archive, given.jobs)
    else:
        curve(folder, given.sentences, given.models, archive, given.jobs)


if __name__ == "__main__":
    main()

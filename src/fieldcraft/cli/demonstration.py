"""The demo: parse postal addresses, with a probability for each field.

Trains on synthetic addresses, scores every field on held-out addresses, parses a few lines typed by hand with
a probability per field, and shows the features with the largest weights.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fieldcraft.corpus import Corpus, datasets, schemes
from fieldcraft.evaluation import metrics
from fieldcraft.models.chain import ChainCRF
from fieldcraft.optimisers.loop import Record

TEMPLATES = """
lower(word[-2..2])                              # five words, whatever their case
shape(word[-2..2])                              # Hello -> Xxx, 1984 -> dd
lower(word[-1]) & lower(word)
lower(word) & lower(word[1])
shape(word[-1]) & shape(word) & shape(word[1])
prefix(lower(word), 2..4)
suffix(lower(word), 2..4)
is_digits(word)
contains_digit(word) & length(word)
first
last
edge                                            # label pairs
"""

LINES = [
    "Ms Ada Whitfield , 12 Harbour Lane , Flat 3 , Leeds LS1 4AP , United Kingdom",
    "1600 Lincoln Ave Apt 4 Springfield IL 62704",
    "Bergstr. 7 , 80331 München",
    "c/o Lincoln , PO Box 118 , Lincoln NE 68501 USA",
]

COLOURS = {
    "recipient": "magenta",
    "house_number": "yellow",
    "street": "green",
    "unit": "cyan",
    "po_box": "cyan",
    "city": "blue",
    "region": "bright_magenta",
    "postcode": "bright_yellow",
    "country": "bright_blue",
}


class Output(Console):
    """Standard output; that its reader went away is the command's to report, with the right exit code."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def demonstrate(n_jobs: int | None = None, seed: int = 0) -> None:
    """Train, score, predict, show features."""
    console = Output(highlight=False)
    train, held_out = datasets.split(datasets.addresses(n=2000, seed=seed), fraction=0.8, seed=seed)
    console.print(
        "[bold]fieldcraft demo[/bold]: reading postal addresses\n"
        "The data is synthetic: a seeded grammar writes it, no address in it is real.\n"
    )
    crf = learn(console, train, n_jobs)
    show_scores(console, crf, held_out)
    console.print("\n[bold]Lines typed by hand[/bold], with the probability of each field")
    for line in LINES:
        console.print(reading(crf, line))
    show_features(console, crf)


def learn(console: Console, train: Corpus, n_jobs: int | None) -> ChainCRF:
    """Train a model, with a progress line on a terminal and a few log lines elsewhere."""
    live = sys.stderr.isatty()
    begun = time.perf_counter()
    crf = ChainCRF(templates=TEMPLATES, n_jobs=n_jobs, verbose=live)
    crf.fit(train, callbacks=() if live else (log,))
    seconds = time.perf_counter() - begun
    console.print(
        f"Trained on {len(train):,} addresses in {seconds:.1f} s: {crf.n_iter_} iterations, "
        f"{len(crf.weights_):,} weights, {len(crf.classes_)} labels."
    )
    return crf


def log(record: Record) -> None:
    """Every twentieth iteration as a line."""
    if record.iteration % 20 == 0:
        print(f"iteration {record.iteration}  objective {record.objective:.2f}", file=sys.stderr, flush=True)


def show_scores(console: Console, crf: ChainCRF, held_out: Corpus) -> None:
    """Precision, recall and F per field on held-out addresses."""
    scores = metrics.span_scores(held_out.labels, crf.predict(held_out))
    console.print(f"\n[bold]Scores on {len(held_out)} held-out synthetic addresses[/bold], in per cent")
    table = Table("field", box=frame(console))
    for name in ("precision", "recall", "F", "in the data"):
        table.add_column(name, justify="right")
    for field, score in (*scores.by_type.items(), ("all fields", scores.micro)):
        shares = (score.precision, score.recall, score.f)
        table.add_row(field, *(f"{100 * share:.1f}" for share in shares), str(score.gold))
    console.print(table)


def reading(crf: ChainCRF, line: str) -> Text:
    """The fields of a line, each with its probability."""
    words = line.split()
    spans = schemes.spans(crf.predict([words])[0])
    text = Text()
    text.append(f"\n{line}", style="bold")
    for span, probability in zip(spans, crf.span_probability([words], [spans])[0]):
        phrase = " ".join(words[span.start : span.end])
        text.append(f"\n  {span.label:<13}", style=COLOURS[span.label])
        text.append(f"{phrase:<22}")
        text.append(f"{probability:.2f}", style="" if probability > 0.9 else "bold red")
    return text


def show_features(console: Console, crf: ChainCRF, n: int = 8) -> None:
    """The features with the largest weights: observations with a label, and label pairs."""
    index, names, by_size = crf.features_, crf.classes_, np.argsort(-np.abs(crf.weights_))
    console.print("\n[bold]Strongest features[/bold]: a positive weight speaks for the label")
    table = Table("weight", "what is seen", "label", box=frame(console))
    for f in by_size[index.attribute[by_size] >= 0][:n]:
        seen = crf.encoder_.attribute_text([index.attribute[f]])[0]
        table.add_row(f"{crf.weights_[f]:+.2f}", seen, names[index.label[f]])
    for f in by_size[index.attribute[by_size] < 0][:n]:
        table.add_row(f"{crf.weights_[f]:+.2f}", f"after {names[index.previous[f]]}", names[index.label[f]])
    console.print(table)


def frame(console: Console) -> box.Box | None:
    """The frame of tables, on a terminal only."""
    return box.SIMPLE_HEAD if console.is_terminal else None

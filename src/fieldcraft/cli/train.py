"""`fieldcraft train`: from labelled files to a model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fieldcraft.cli.options import Jobs, Metric, Quiet, Seed, Tables, in_reading, named, panel

EXAMPLES = [
    "fieldcraft train train.conll --columns word,pos,ner --dev dev.conll -o ner.fc",
    "cat train.conll | fieldcraft train - --templates 'c0[-1..1]' -o words.fc",
    "fieldcraft train train.conll --prior laplacian --scale 1 --templates c0 -o small.fc",
    "fieldcraft train train.conll --templates c0 --states ngrams:2+observed -o second.fc",
    "fieldcraft train train.jsonl --label ner --snapshot-every 10 --resume -o ner2.fc",
    "fieldcraft train train.conll --structure segments --templates c0 -o spans.fc",
    "fieldcraft train train.conll --templates c0 --beam 0.999 -o beam.fc",
    "fieldcraft train docs.conll --structure skip-chain --documents -o docs.fc",
    "fieldcraft train train.conll --structure factorial --label c1,label -o columns.fc",
]
in_looks, in_learning = panel("What the model looks at"), panel("How it learns")
in_stopping, in_file = panel("When it stops"), panel("The model file")


@dataclass
class PartialLabels:
    """How unknown and partly known labels are written in training files."""

    partial: Annotated[
        bool, in_reading("--partial", help="Labels may be unknown (_) or candidates (A|B).")
    ] = False
    unknown: Annotated[str, in_reading(metavar="TEXT", help="With --partial: unknown label.")] = "_"
    between: Annotated[str, in_reading(metavar="TEXT", help="With --partial: between candidates.")] = "|"

    def arguments(self) -> dict[str, Any]:
        """The arguments of `fc.read`."""
        return vars(self) if self.partial else {}


@dataclass
class Looks:
    """The features of the model."""

    templates: Annotated[
        str | None,
        in_looks(
            help="A set by name ({fieldcraft.features.named:NAMED}), a file or a text; by default a set that "
            "suits columns and labels, none for attribute files.",
            autocompletion=named("fieldcraft.features.named", "NAMED", "none")["autocompletion"],
        ),
    ] = None
    gazetteer: Annotated[
        list[str] | None, in_looks(metavar="NAME=FILE", help="A list of names for the templates.")
    ] = None
    features: Annotated[
        str, in_looks(help="{fieldcraft.design:FEATURES}.", **named("fieldcraft.design", "FEATURES"))
    ] = "supported"
    min_count: Annotated[int, in_looks(min=1, help="Leave out features seen fewer times than this.")] = 1
    tokenizer: Annotated[
        str | None, in_looks(help="How `tag --text` splits text: words, whitespace or characters.")
    ] = None

    def files(self) -> list[str]:
        """What may be the path of a file that is read."""
        lists = [text.partition("=")[2] for text in self.gazetteer or ()]
        return lists if self.templates is None else [self.templates, *lists]


@dataclass
class Structures:
    """What the labels of a sequence form: a chain, or segments."""

    structure: Annotated[
        str,
        in_looks(
            help="{fieldcraft.cli.training:STRUCTURES}: chain labels tokens, segments looks at whole spans, "
            "skip-chain connects similar words of a document, factorial labels several columns "
            "(--label pos,chunk).",
            **named("fieldcraft.cli.training", "STRUCTURES"),
        ),
    ] = "chain"
    max_length: Annotated[
        str | None,
        in_looks(
            metavar="N", help="Maximum length of a segment in tokens: auto, a number, or TYPE=N,TYPE=N."
        ),
    ] = None
    segment_templates: Annotated[
        str | None,
        in_looks(metavar="TEXT", help="Templates of segments, a file or a text; segment.length by default."),
    ] = None
    similarity: Annotated[
        str | None,
        in_looks(
            help="For skip chains: which capitalised words are connected: "
            "{fieldcraft.features.word_pairs:SIMILARITIES}.",
            **named("fieldcraft.features.word_pairs", "SIMILARITIES"),
        ),
    ] = None
    max_pairs_per_word: Annotated[
        int | None,
        in_looks(
            metavar="N",
            min=0,
            help="For skip chains: connect a word with the N nearest ones before it; 0 for all.",
        ),
    ] = None
    codes: Annotated[
        int | None,
        in_looks(
            metavar="BITS", min=1, help="For many labels: an error-correcting code with this many bits."
        ),
    ] = None


@dataclass
class Chains:
    """What the chain runs over."""

    states: Annotated[
        str,
        in_looks(
            metavar="SPACE",
            help="labels, ngrams:2 (second order), latent:3 (hidden states), a scheme such as iob2 (valid "
            "labels only); +observed and +iob2 behind the first two.",
        ),
    ] = "labels"
    constraints: Annotated[
        str | None,
        in_looks(
            metavar="FILE",
            help="Rules that labels must obey, one per line: at_most 1 city, forbidden O I-x, implies a b …; "
            "the model keeps them.",
        ),
    ] = None

    beam: Annotated[
        str | None,
        in_looks(
            metavar="N",
            help="For hundreds of labels: look at N states of a position only, or at those with a share of "
            "their sums (0.999).",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """The parameters of ChainCRF."""
        from fieldcraft.cli.rules import read_beam, read_constraints

        beam = read_beam(self.beam)
        return {"states": self.states, "constraints": read_constraints(self.constraints), "beam": beam}


@dataclass
class Learns:
    """Prior and optimiser; None leaves a setting at its default."""

    prior: Annotated[
        str,
        in_learning(
            help="Penalty on weights: {fieldcraft.priors:PRIORS}; auto is the Gaussian where the "
            "optimiser takes one.",
            **named("fieldcraft.priors", "PRIORS", "auto"),
        ),
    ] = "auto"
    variance: Annotated[
        float | None, in_learning(help="Variance of the Gaussian; smaller is a stronger penalty.")
    ] = None
    scale: Annotated[
        float | None, in_learning(help="Scale of the Laplacian or hyperbolic; smaller is a stronger penalty.")
    ] = None
    positive: Annotated[float | None, in_learning(help="Strength of inequality on positive weights.")] = None
    negative: Annotated[
        float | None, in_learning(help="The same on negative weights; as --positive by default.")
    ] = None
    objective: Annotated[
        str | None,
        in_learning(
            help="Loss on the data, the optimiser's own by default: {fieldcraft.objectives:FOR_CHAINS}. "
            "A chain can minimise each of them; other structures refuse some and name the rest.",
            **named("fieldcraft.objectives", "FOR_CHAINS"),
        ),
    ] = None
    optimiser: Annotated[
        str,
        in_learning(
            help="auto, {fieldcraft.optimisers:OPTIMISERS}.",
            **named("fieldcraft.optimisers", "OPTIMISERS", "auto"),
        ),
    ] = "auto"


@dataclass
class Stops:
    """When training stops, and how it is resumed."""

    max_iterations: Annotated[
        int | None,
        in_stopping(
            "--max-iterations",
            "--epochs",
            min=0,
            help="Stop after this many iterations, or passes over the corpus.",
        ),
    ] = None
    patience: Annotated[
        int | None, in_stopping(min=1, help="Stop after this many --dev scores without an improvement.")
    ] = None
    score_every: Annotated[
        int | None,
        in_stopping(
            metavar="K",
            min=1,
            help="Score --dev every K iterations; by default so that it takes about a tenth of the time.",
        ),
    ] = None
    max_seconds: Annotated[float | None, in_stopping(min=0, help="Stop after this many seconds.")] = None
    snapshot: Annotated[
        str | None,
        in_stopping(
            metavar="FILE",
            help="Save the training state here; MODEL.snapshot where K or --resume is given alone.",
        ),
    ] = None
    snapshot_every: Annotated[
        int | None, in_stopping(metavar="K", min=1, help="Every K iterations; 10 by default.")
    ] = None
    resume: Annotated[bool, in_stopping("--resume", help="Continue from the snapshot if there is one.")] = (
        False
    )

    def snapshots(self, output: str, *, always: bool = False) -> dict[str, Any]:
        """The arguments of fit about snapshots, which are ``always`` written on several ranks."""
        wanted = self.snapshot_every is not None or self.resume or always
        return {
            "snapshot": self.snapshot or (f"{output}.snapshot" if wanted else None),
            "snapshot_every": self.snapshot_every or 10,
            "resume": self.resume,
        }


@dataclass
class Keeps:
    """The content of the model file."""

    compact: Annotated[bool, in_file("--compact", help="Leave out what only inspection needs.")] = False
    float32: Annotated[
        bool, in_file("--float32", help="Store weights in single precision: half the space.")
    ] = False


def train(
    files: Annotated[list[str], typer.Argument(metavar="TRAIN", help="Labelled files; - is standard input.")],
    *,
    output: Annotated[str, in_file("--output", "-o", metavar="MODEL", help="Model file to write.")],
    dev: Annotated[
        list[str] | None,
        in_reading("--dev", metavar="FILE", help="Development file, scored during training."),
    ] = None,
    reading: Tables,
    partial: PartialLabels,
    looks: Looks,
    structures: Structures,
    chains: Chains,
    learns: Learns,
    stops: Stops,
    metric: Metric = "auto",
    keeps: Keeps,
    jobs: Jobs = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Learn a model from labelled files.

    Reports what was read, warns of likely mistakes in it, and shows progress. Ctrl-C stops after the current
    iteration; the model is still written, and the exit code is 130.

    `mpiexec -n 4 fieldcraft train …` trains one model on 4 processes, each with its part of the files.
    """
    from fieldcraft.cli.app import INTERRUPTED
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.ranks import agreed, joined, read_parts
    from fieldcraft.cli.summary import Report
    from fieldcraft.cli.training import code_fitting, make_model
    from fieldcraft.cli.wording import check_columns

    rules = [] if chains.constraints is None else [chains.constraints]
    report = Report(quiet=quiet)
    with joined() as ranks:
        snapshots = stops.snapshots(output, always=ranks is not None)
        with agreed(ranks):
            check_outputs([output, snapshots["snapshot"]], [*files, *(dev or ()), *looks.files(), *rules])
            settings = chains.settings()
        how = reading.arguments(), partial.arguments()
        corpus, held_out, source = read_parts(ranks, files, dev, *how)
        with agreed(ranks):
            check_columns(corpus, looks.templates)
        report.corpora(corpus, held_out, ranks, snapshots["snapshot"])
        chosen: dict[str, Any] = {"metric": metric, "n_jobs": jobs, "random_state": seed, **settings}
        scoring = {"X_dev": held_out, "score_every": stops.score_every, "patience": stops.patience}
        fitting: dict[str, Any] = {**scoring, **snapshots}
        with agreed(ranks):
            crf = make_model(looks, learns, stops, partial=partial.partial, structures=structures, **chosen)
            if structures.codes is not None:
                fitting = code_fitting(fitting, ranks)
            elif ranks is not None:
                fitting["ranks"] = ranks
        crf.fit(corpus, max_seconds=stops.max_seconds, callbacks=[report], **fitting)
        crf.source_ = source
        with agreed(ranks):
            if ranks is None or ranks.rank == 0:
                crf.save(output, compact=keeps.compact, float32=keeps.float32)
        report.saved(crf, output)
    if crf.stop_reason_ == "interrupted":
        raise typer.Exit(INTERRUPTED)

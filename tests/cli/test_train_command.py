"""`train`: what it says before it starts, what its options do, and what the file remembers."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from shell import COLUMNS, COMMAND, column_text, environment, run, sentences

import fieldcraft as fc


def train(folder: Path, *options: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return run("train", *options, "-o", folder / "m.fc", stdin=stdin)


def test_says_what_it_read(corpora: Path, tmp_path: Path) -> None:
    files = [corpora / "train.conll", corpora / "dev.conll"]
    done = train(tmp_path, files[0], *COLUMNS, "--dev", files[1], "--templates", "word\nedge")
    text = files[0].read_text()
    tokens = [line.split() for line in text.splitlines() if line]
    n_words = len({token[0] for token in tokens})
    assert done.stdout == ""
    assert f"150 sequences, {len(tokens)} tokens" in done.stderr
    assert f"held out {files[1]}: 30 sequences" in done.stderr
    for label in {token[2] for token in tokens}:
        count = sum(token[2] == label for token in tokens)
        assert re.search(rf"^ +{count}  {label}$", done.stderr, re.M)
    pairs = len({(token[0], token[2]) for token in tokens})
    assert re.search(rf"^ +{pairs}  word$", done.stderr, re.M)
    assert f"features of {n_words} attributes" in done.stderr
    assert "label pairs" in done.stderr
    before, _, after = done.stderr.partition("iteration 1/")
    assert "by template" in before
    assert re.search(r"objective \d.*gradient .*held-out 0\..* s left", after)
    assert "stopped: " in after
    assert f"wrote {tmp_path / 'm.fc'}" in after


def test_held_out_scores_every_few_iterations(corpora: Path, tmp_path: Path) -> None:
    options = [*COLUMNS, "--dev", corpora / "dev.conll", "--templates", "word", "--max-iterations", "8"]
    done = train(tmp_path, corpora / "train.conll", *options, "--score-every", "3")
    assert done.returncode == 0, done.stderr
    assert "held-out data is scored every 3 iterations, and at the end" in done.stderr
    assert re.search(r"^iteration 8/8 .*held-out 0\.", done.stderr, re.M)
    log = fc.load(tmp_path / "m.fc").training_log_
    assert [record.iteration for record in log if record.held_out is not None] == [3, 6, 8]


def test_warns_of_what_looks_wrong(tmp_path: Path) -> None:
    good = column_text(sentences(20, seed=1))
    odd = "Zed NNP I-LOC\n\nOnce NNP B-ODD\n\n"
    held_out = tmp_path / "dev.conll"
    held_out.write_text(good.split("\n\n")[0] + "\n\nNew NNP B-NEW\n")
    done = train(tmp_path, "-", *COLUMNS, "--dev", held_out, "--quiet", stdin=good + odd + odd[:15])
    warnings = done.stderr.splitlines()
    assert all(line.startswith("warning: ") for line in warnings)
    text = "\n".join(warnings)
    assert "seen only once: 1 label (B-ODD)" in text
    assert "2 labels break the scheme iob2, the first in sequence 20, token 0: I-LOC where B-LOC" in text
    assert "held out but never trained: 1 label (B-NEW)" in text
    assert re.search(r"\d+ of 23 sequences repeat an earlier one", text)
    assert "1 of 2 held-out sequences are in the training data too" in text


def test_equals_training_in_python(corpora: Path, tmp_path: Path) -> None:
    options = ["--templates", "simple", "--variance", "2", "--max-iterations", "7", "--min-count", "2"]
    train(tmp_path, corpora / "train.conll", *COLUMNS, *options, "--jobs", "1")
    corpus = fc.read(corpora / "train.conll", columns="word pos ner", label="ner")
    crf = fc.ChainCRF(
        "simple", prior=fc.Gaussian(variance=2), optimiser=fc.LBFGS(max_iterations=7), min_count=2, n_jobs=1
    ).fit(corpus)
    np.testing.assert_array_equal(fc.load(tmp_path / "m.fc").weights_, crf.weights_)


def test_sparse_prior(corpora: Path, tmp_path: Path) -> None:
    done = train(tmp_path, corpora / "train.conll", *COLUMNS, "--prior", "laplacian", "--scale", "0.5")
    features = int(re.search(r"^([\d,]+) features", done.stderr, re.M)[1].replace(",", ""))
    kept = np.count_nonzero(fc.load(tmp_path / "m.fc").weights_)
    assert 0 < kept < features / 2
    assert f" {kept} weights" in done.stderr


def test_several_files_are_one_corpus(corpora: Path, tmp_path: Path) -> None:
    names = [corpora / "train.conll", corpora / "dev.conll"]
    done = train(tmp_path, *names, *COLUMNS, "--max-iterations", "3")
    assert "180 sequences" in done.stderr
    (tmp_path / "other.conll").write_text("a b c d\n")
    clash = run("train", names[0], tmp_path / "other.conll", "-o", tmp_path / "m.fc", check=1)
    assert "other.conll: columns word, c1, c2, label where" in clash.stderr


def test_the_file_remembers_how_to_read(model: Path) -> None:
    source = fc.load(model).source_
    assert {name: source[name] for name in ("format", "columns", "label")} == {
        "format": "columns",
        "columns": ["word", "pos", "ner"],
        "label": "ner",
    }


def test_gazetteer(corpora: Path, tmp_path: Path) -> None:
    places = tmp_path / "places.txt"
    places.write_text("New York\nZurich\n")
    options = ["--gazetteer", f"places={places}", "--templates", "in(places, word)\nedge"]
    done = train(tmp_path, corpora / "train.conll", *COLUMNS, *options)
    assert "in(places, word)" in done.stderr
    assert list(fc.load(tmp_path / "m.fc").encoder_.gazetteers) == ["places"]


def test_snapshot_and_resume(corpora: Path, tmp_path: Path) -> None:
    common = [corpora / "train.conll", *COLUMNS, "--snapshot", tmp_path / "s", "--snapshot-every", "5"]
    train(tmp_path, *common, "--max-iterations", "5")
    done = train(tmp_path, *common, "--max-iterations", "9", "--resume")
    assert "iteration 6/9" in done.stderr
    assert "iteration 5/9" not in done.stderr
    resumed = fc.load(tmp_path / "m.fc").weights_
    train(tmp_path, corpora / "train.conll", *COLUMNS, "--max-iterations", "9")
    np.testing.assert_array_equal(resumed, fc.load(tmp_path / "m.fc").weights_)


def test_resume_finds_the_snapshot_beside_the_model(corpora: Path, tmp_path: Path) -> None:
    """--snapshot-every and --resume need no file name; --epochs is --max-iterations."""
    common = [corpora / "train.conll", *COLUMNS, "--optimiser", "conjugate_gradient"]
    train(tmp_path, *common, "--snapshot-every", "2", "--epochs", "4")
    assert (tmp_path / "m.fc.snapshot").exists()
    done = train(tmp_path, *common, "--resume", "--epochs", "6")
    assert "iteration 5/6" in done.stderr
    assert "iteration 4/6" not in done.stderr


def test_resume_with_other_data_is_refused(corpora: Path, tmp_path: Path) -> None:
    """The snapshot and the model of the other training stay as they are."""
    train(tmp_path, corpora / "train.conll", *COLUMNS, "--snapshot-every", "2", "--epochs", "4")
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    other = ["train", corpora / "dev.conll", *COLUMNS, "--resume", "-o", tmp_path / "m.fc"]
    done = run(*other, check=1)
    assert "m.fc.snapshot is a snapshot of another training" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_objective_and_optimiser(corpora: Path, tmp_path: Path) -> None:
    common = [corpora / "train.conll", *COLUMNS, "--max-iterations", "5", "--objective", "pointwise"]
    train(tmp_path, *common)
    corpus = fc.read(corpora / "train.conll", columns="word pos ner", label="ner")
    crf = fc.ChainCRF("entities", objective="pointwise", optimiser=fc.LBFGS(max_iterations=5)).fit(corpus)
    np.testing.assert_array_equal(fc.load(tmp_path / "m.fc").weights_, crf.weights_)
    done = run("train", *common, "--optimiser", "gis", "-o", tmp_path / "no.fc", check=None)
    assert done.returncode == 1
    assert "gis does not minimise pointwise (gis: objectives: likelihood;" in done.stderr
    assert not (tmp_path / "no.fc").exists()


def test_smaller_files(corpora: Path, tmp_path: Path) -> None:
    sizes = []
    for flags in ([], ["--compact"], ["--compact", "--float32"]):
        train(tmp_path, corpora / "train.conll", *COLUMNS, *flags, "--max-iterations", "20")
        sizes.append((tmp_path / "m.fc").stat().st_size)
        assert run("tag", tmp_path / "m.fc", stdin="Ada NNP\n").stdout
    assert sizes[0] > sizes[1] > sizes[2]


def test_weights_of_sequences(tmp_path: Path) -> None:
    """A sequence with weight 3 counts as three of it."""
    once, thrice = "@weight:3\nA\tx\n\nB\tx\n\n", "A\tx\n\n" * 3 + "B\tx\n\n"
    found = []
    for text in (once, thrice):
        train(tmp_path, "-", "--format", "attributes", "--templates", "none", "-q", stdin=text)
        found.append(fc.load(tmp_path / "m.fc").weights_)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.parametrize("place", ["before", "behind"])
def test_global_options_stand_anywhere(place: str, corpora: Path, tmp_path: Path) -> None:
    rest = ["train", corpora / "train.conll", *COLUMNS, "--max-iterations", "1", "-o", tmp_path / "m.fc"]
    arguments = ["--quiet", *rest] if place == "before" else [*rest, "--quiet"]
    assert run(*arguments).stderr.count("iteration") == 0


def test_a_terminal_has_a_line_that_renews_itself(corpora: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    options = ["train", corpora / "train.conll", *COLUMNS, "--max-iterations", "6", "-o", tmp_path / "m.fc"]
    process = subprocess.Popen([*COMMAND, *map(str, options)], stderr=theirs, env=environment(TERM="xterm"))
    os.close(theirs)
    data = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux's way to say that the other side was closed
            break
        data += piece
    os.close(ours)
    assert process.wait() == 0
    text = data.decode()
    assert text.count("iteration 6/6") >= 1
    assert "\x1b[2K" in text  # the line is erased and written anew
    assert "\x1b[?25h" in text  # and the cursor shown again
    assert "stopped: maximum number of iterations" in text


@pytest.mark.parametrize(
    ("options", "prior"),
    [
        (["inequality", "--positive", "0.2", "--negative", "0.7"], fc.Inequality(positive=0.2, negative=0.7)),
        (["inequality", "--positive", "0.2"], fc.Inequality(positive=0.2)),
        (["hyperbolic", "--scale", "2"], fc.Hyperbolic(scale=2.0)),
    ],
)
def test_priors(corpora: Path, tmp_path: Path, options: list[str], prior: object) -> None:
    given = [corpora / "train.conll", *COLUMNS, "--templates", "word\nedge", "--max-iterations", "3"]
    assert train(tmp_path, *given, "--prior", *options).returncode == 0
    assert fc.load(tmp_path / "m.fc").prior == prior
    done = run("train", *given, "--prior", "gaussian", "--positive", "1", "-o", tmp_path / "n.fc", check=1)
    assert "prior gaussian has no positive; it takes --variance" in done.stderr

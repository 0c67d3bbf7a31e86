"""What people do first, and the ten most frequent mistakes: each message names the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import run, sentences

import fieldcraft as fc

TABLE = 'sentence,word,ner\n1,Rome,B-LOC\n1,fell,O\n2,Ada,B-PER\n2,"said, so",O\n'


@pytest.fixture
def folder(model: Path, corpora: Path, tmp_path: Path) -> Path:
    given = sentences(20, seed=4)
    (tmp_path / "ner.fc").write_bytes(model.read_bytes())
    (tmp_path / "test.conll").write_text((corpora / "test.conll").read_text())
    (tmp_path / "words.conll").write_text(
        "".join(f"{w} {n}\n" for s in given for w, _, n in [*s, ("", "", "")])
    )
    (tmp_path / "four.conll").write_text(
        "".join("".join(f"{w} {p} x {n}\n" for w, p, n in s) + "\n" for s in given)
    )
    (tmp_path / "latin.conll").write_bytes("Zürich B-LOC\n".encode("latin-1"))
    (tmp_path / "wide.conll").write_bytes("Rome B-LOC\n".encode("utf-16-le"))
    (tmp_path / "marked.conll").write_bytes("Rome B-LOC\nfell O\n".encode("utf-16"))
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "table.conll").write_text("word ner\nRome,B-LOC\n")
    (tmp_path / "mixed.conll").write_text("New York\tB-LOC\nfell O\n")
    (tmp_path / "empty.conll").write_text("\n")
    return tmp_path


MISTAKES = {
    "wrong column": ("train four.conll --templates entities -o m.fc", "--columns word,pos,c2,label"),
    "no room for the column": (
        "train words.conll --templates entities -o m.fc",
        "--templates entities-words",
    ),
    "wrong file order": ("tag test.conll ner.fc", "the model comes first, then the files: ner.fc test.conll"),
    "misspelt option": ("train words.conll --template word -o m.fc", "--templates"),
    "misspelt value": ("train words.conll --optimiser L-BFGS -o m.fc", "did you mean 'lbfgs'?"),
    "empty input": ("train empty.conll -o m.fc", "give a file with at least one token"),
    "missing label column": ("train words.conll --label ner -o m.fc", "--columns word,ner"),
    "model for other columns": ("tag ner.fc four.conll", "name those of this file with --columns"),
    "latin-1": ("train latin.conll -o m.fc", "pass --encoding latin-1"),
    "utf-16": ("train wide.conll -o m.fc", "pass --encoding utf-16-le"),
    "csv as columns": ("train table.conll -o m.fc", "pass --format csv"),
    "mixed tabs and blanks": ("train mixed.conll -o m.fc", "pass --separator blank"),
    "output over input": ("train words.conll -o words.conll", "choose another file"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_names_the_remedy(mistake: str, folder: Path) -> None:
    line, remedy = MISTAKES[mistake]
    done = run(*line.split(), cwd=folder, check=None)
    assert done.returncode in (1, 2)
    assert remedy in " ".join(done.stderr.replace("│", " ").split())
    assert not (folder / "m.fc").exists()


def test_defaults_train_and_say_why(folder: Path) -> None:
    done = run("train", "words.conll", "--columns", "word,ner", "-o", "m.fc", cwd=folder)
    assert "templates: entities-words, since" in done.stderr
    assert "raw text" not in done.stderr
    tagged = run("tag", "m.fc", "--text", cwd=folder, stdin="Ada spoke in Zurich .\n").stdout
    assert [line.split()[-1] for line in tagged.splitlines() if line] == ["B-PER", "O", "O", "B-LOC", "O"]


def test_templates_that_need_tags_say_so(folder: Path) -> None:
    done = run("train", "four.conll", "--columns", "word,pos,c,ner", "-o", "m.fc", cwd=folder)
    assert "templates: entities, since" in done.stderr
    assert "word, pos: the model labels files or sequences that have them, not raw text" in done.stderr


def test_unnamed_columns_are_word_and_label(folder: Path) -> None:
    run("train", "four.conll", "-q", "-o", "m.fc", cwd=folder)
    assert fc.load(folder / "m.fc").source_["columns"] == ["word", "c1", "c2", "label"]
    run("train", "four.conll", "-q", "--templates", "c0[-1..0]", "-o", "c0.fc", cwd=folder)
    assert run("tag", "c0.fc", "four.conll", cwd=folder).stdout.startswith(
        (folder / "four.conll").read_text().splitlines()[0]
    )


def test_conllu_learns_upos(folder: Path) -> None:
    row = "\t".join(["{}", "{}", "_", "{}", *"______"])
    words = [("dogs", "NOUN"), ("sleep", "VERB")]
    text = "\n".join(row.format(i, *pair) for i, pair in enumerate(words, 1)) + "\n\n"
    (folder / "u.conllu").write_text(text)
    done = run("train", "u.conllu", "-o", "u.fc", cwd=folder)
    assert "templates: tagging, since" in done.stderr
    crf = fc.load(folder / "u.fc")
    assert crf.classes_.tolist() == ["NOUN", "VERB"]
    assert "form[-1]" in crf.templates_.names


def test_utf16_with_a_mark_is_read(folder: Path) -> None:
    assert fc.read(folder / "marked.conll", label=-1).labels == [["B-LOC", "O"]]


def test_csv_by_its_suffix(folder: Path) -> None:
    options = ["--label", "ner", "--sequence", "sentence"]
    done = run("train", "table.csv", *options, "-o", "m.fc", cwd=folder)
    assert "2 sequences, 4 tokens" in done.stderr
    tagged = run("tag", "m.fc", "table.csv", cwd=folder).stdout
    assert tagged.splitlines()[0] == "word,ner,predicted"
    assert tagged.splitlines()[-1] == '"said, so",O,O'
    assert tagged.count("word,ner") == 1
    (folder / "tagged.csv").write_text(tagged)
    assert "FB1: 100.00" in run("score", "tagged.csv", cwd=folder).stdout
    assert "FB1: 100.00" in run("evaluate", "m.fc", "table.csv", cwd=folder).stdout


def test_score_after_confidence(folder: Path) -> None:
    tagged = run("tag", "ner.fc", "test.conll", "--confidence", cwd=folder).stdout
    refused = run("score", stdin=tagged, check=1).stderr
    assert "probabilities" in refused
    assert "--columns word,c1,gold,predicted,confidence" in refused
    named = run("score", "--columns", "word,c1,gold,predicted,confidence", stdin=tagged).stdout
    assert named == run("evaluate", "ner.fc", "test.conll", cwd=folder).stdout
    by_name = ["--columns", "word,tag,ner,mine,p", "--gold", "ner", "--predicted", "mine"]
    assert run("score", *by_name, stdin=tagged).stdout == named


def test_labels_in_no_common_are_a_warning(folder: Path) -> None:
    done = run("score", stdin="a NN B-LOC\nb VB O\n")
    assert "warning: gold labels (NN, VB) and predicted ones (B-LOC, O) have none in common" in done.stderr
    assert run("score", stdin="a NN NN\nb VB O\n").stderr == ""
    run("train", "words.conll", "-q", "-o", "m.fc", cwd=folder)
    swapped = run("evaluate", "m.fc", "test.conll", "--columns", "word,ner,pos", "--label", "ner", cwd=folder)
    assert "none in common" in swapped.stderr


def test_tune_at_the_end_of_the_range(folder: Path) -> None:
    files = ["tune", "words.conll", "--dev", "words.conll", "--templates", "word", "-q"]
    shown = run(*files, "--over", "variance=0.0001..0.01", "--points", "3", cwd=folder).stdout
    assert "warning: the best lies at the end of the range; search beyond it too: --over variance=" in shown
    assert "--over variance=0.1..1000" in " ".join(
        run("tune", "words.conll", "--dev", "words.conll", cwd=folder, check=2)
        .stderr.replace("│", " ")
        .split()
    )


def test_convert_keeps_tabs(folder: Path) -> None:
    (folder / "tabs.conll").write_text("New York\tB-LOC\nfell\tO\n\n")
    run("convert", "tabs.conll", "copy.conll", cwd=folder)
    assert (folder / "copy.conll").read_text() == (folder / "tabs.conll").read_text()


def test_a_model_of_python_remembers_its_columns(folder: Path) -> None:
    fc.ChainCRF().fit(fc.read(folder / "words.conll", columns="word ner", label="ner")).save(folder / "p.fc")
    assert "FB1: 100.00" in run("evaluate", "p.fc", "words.conll", cwd=folder).stdout


def test_flags_are_shown_as_flags() -> None:
    shown = run("tag", "--help").stdout
    assert "<bool>" not in shown
    assert "--confidence" in shown


def test_objectives_of_graphs_are_not_offered_for_chains(folder: Path) -> None:
    shown = " ".join(run("train", "--help").stdout.replace("│", " ").split())
    assert "marginal_likelihood. A chain can minimise each of them" in shown
    assert "piecewise" not in shown
    assert "contrastive_divergence" in run("graph", "train", "--help").stdout
    refused = run("train", "words.conll", "--objective", "piecewise", "-o", "m.fc", cwd=folder, check=2)
    assert "is not one of likelihood" in refused.stderr


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_in_the_words_of_the_shell(folder: Path) -> None:
    (folder / "one.conll").write_text("Rome B-LOC\nfell O\n")
    line = "train one.conll --columns word,ner --structure skip-chain -q -o m.fc"
    done = run(*line.split(), cwd=folder)
    assert "warning: no two tokens of a sequence are similar" in done.stderr
    assert "read whole documents (--documents), or choose another --similarity\n" in done.stderr
    assert "UserWarning" not in done.stderr

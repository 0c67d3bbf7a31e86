"""What the fuzzers begin with: small whole files of every kind, all of them synthetic.

A seed is made once and is the same each time, so that a mutant is known by its target and its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import fieldcraft as fc

STORE = Path(__file__).parents[1] / "unit" / "store"
OLD = {"1": STORE / "format1", "2": STORE / "format2"}
WORDS = [["The", "old", "Dog"], ["A", "cat", "runs", "in", "New", "York"], ["dogs", "Über-Straße"], ["X1"]]
Y = [["D", "A", "N"], ["D", "N", "V", "P", "B-L", "I-L"], ["N", "N"], ["N"]]
FREE: list[Any] = [[[f"w={w}", f"p={w[:1]}", "é"] for w in s] for s in WORDS]
MATRICES = [np.ones((len(s), 3)) for s in WORDS]
VALUED: list[Any] = [[{"w": w, "n": len(w) / 2, "in": {"deep": [w[:1], w[-1:]]}} for w in s] for s in WORDS]

FIELDCRAFT = """word[-2..1]
word[-1] & word & lower(word[1])
suffix(word, 1..2)  # two
shape(word) & word[@1]
matches(word, /^[A-Z]+\\/?$/)
in(places, word)
part(places, word[1])
first
edge
edge: collins(word)"""
CRFPP = "# words\nU00:%x[-1,0]\nU01:%x[0,0]/%x[1,0]\nU:%x[0,0]\nU:%x[1,0]\nB\nB01:%x[0,0]\n"
WAPITI = '# words\nU:%x[-2,0]\nu:%X[0,0]/%m[0,0,"^.\\d*"]\n*:%t[1,0,"\\u$"]\nU1:%x[@-1,0]\nb\n'
TEMPLATES = {"fieldcraft": FIELDCRAFT, "crfpp": CRFPP, "wapiti": WAPITI}

CONLLU = "# sent_id = 1\n" + "".join(
    f"{i}\t{w}\t{w.lower()}\tNOUN\tNN\tCase=Nom\t0\troot\t_\t_\n"
    for i, w in [("1-2", "Dogs"), ("1", "Dog"), ("2", "s"), ("2.1", "e")]
)
CORPORA = {
    "columns": "-DOCSTART- -X- O\n\nRome NNP B-L\nfell VBD O\n\nNew NNP B-L\nYork NNP I-L\n. . O\n",
    "conllu": f"{CONLLU}\n{CONLLU}\n",
    "attributes": "@weight:2\nB-L\tword=Rome\tlength:4\nO\tword=fell\tw\\:x:0.5\n\nO\ta\tb:1e3\n",
    "jsonl": '{"id": "a7", "word": ["Rome", "fell"], "ner": ["B-L", "O"], "weight": 2}\n'
    '{"id": 8, "word": ["é", 7], "ner": ["O", "O"], "more": {"x": [1.5, null]}}\n'
    '{"word": ["x"], "ner": ["O"], "attributes": [{"a": 1, "b": 0.5}]}\n',
}


def places() -> fc.Gazetteer:
    return fc.Gazetteer("places", ["New York", "York", "old dog", "Über-Straße"], case="insensitive")


def _model(X: Any, **options: Any) -> Callable[[Path], None]:
    save = {k: options.pop(k) for k in ("float32", "zeros", "compact") if k in options}
    save["checksums"] = False  # they would refuse every mutant before anything else looks at it

    def write(path: Path) -> None:
        fc.ChainCRF(n_jobs=1, optimiser=fc.LBFGS(max_iterations=8), **options).fit(X, Y).save(path, **save)

    return write


def _sparse(path: Path) -> None:
    crf = fc.ChainCRF(FIELDCRAFT, gazetteers=[places()], prior=fc.Laplacian(scale=2.0), n_jobs=1)
    crf.fit(WORDS, Y).save(path, checksums=False)


def _calibrated(path: Path) -> None:
    """Fitted on labels that the model does not predict, so that a temperature is needed."""
    crf = fc.ChainCRF(n_jobs=1, optimiser=fc.LBFGS(max_iterations=8)).fit(FREE, Y)
    other = [["D", "N", "N"], Y[1], ["N", "A"], ["D"]]
    fc.calibrate(crf, FREE, other).save(path, checksums=False)


MODELS: dict[str, tuple[Callable[[Path], None], Any]] = {
    "free": (_model(FREE, edge_prefix="p="), FREE),
    "valued": (_model(VALUED, compact=True), VALUED),
    "hashed": (_model(FREE, hash_size=64, zeros=True), FREE),
    "templates": (_model(WORDS, templates=FIELDCRAFT, gazetteers=[places()]), WORDS),
    "crfpp": (_model(WORDS, templates=CRFPP, float32=True), WORDS),
    "wapiti": (_model(WORDS, templates=WAPITI), WORDS),
    "hashed_templates": (_model(WORDS, templates=FIELDCRAFT, gazetteers=[places()], hash_size=50), WORDS),
    "sparse": (_sparse, WORDS),
    "calibrated": (_calibrated, FREE),
    "states": (_model(FREE, states="labels+observed", beam=3), FREE),
}


def write_models(folder: Path, wanted: Iterable[str] = tuple(MODELS)) -> None:
    """Model files, one per name: today's that are wanted, and those of earlier formats."""
    for name in MODELS.keys() & set(wanted):
        MODELS[name][0](folder / f"{name}.fc")
    for number, old in OLD.items():
        for path in sorted(old.glob("*.fc")):
            (folder / f"{number}_{path.name}").write_bytes(path.read_bytes())


def input_of(name: str) -> Any:
    """Sequences that the model of that name can be asked about."""
    if name[:2] in ("1_", "2_"):
        old = {"templates": WORDS, "valued": VALUED, "matrices": MATRICES}
        return next((X for word, X in old.items() if word in name), FREE)
    return MODELS[name][1]

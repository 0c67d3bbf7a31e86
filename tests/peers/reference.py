"""python-crfsuite driven to its optimum on the workloads: what slow tests compare with.

    python tests/peers/reference.py W1 W2 W3     (about three minutes each)

Writes tests/peers/reference.json: per workload the loss that CRFsuite reports at c2 = 1 with delta
and epsilon of 1e-9, its number of features, and its tags of the test set (label numbers, one byte per
token, compressed). The digest of the attributes tells whether the data is still the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FILE = HERE / "reference.json"
SETTINGS: dict[str, Any] = {"c1": 0.0, "c2": 1.0, "delta": 1e-9, "epsilon": 1e-9}


def digest(X: list[Any], y: list[list[str]]) -> str:
    """Equal digests mean the same attributes and labels."""
    hasher = hashlib.sha256()
    for items, labels in zip(X, y):
        for item, label in zip(items, labels):
            hasher.update("\t".join([label, *item]).encode() + b"\n")
    return hasher.hexdigest()


def train(X: list[Any], y: list[list[str]], path: str, **settings: Any) -> float:
    """Train CRFsuite's L-BFGS into ``path``; the loss of its last iteration."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={**SETTINGS, **settings}, verbose=False)
    for items, labels in zip(X, y):
        trainer.append(items, labels)
    trainer.train(path)
    return float(trainer.logparser.last_iteration["loss"])


def tag(path: str, X: list[Any]) -> list[list[str]]:
    """The labels that a CRFsuite model gives."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return [tagger.tag(items) for items in X]


def weights_of(path: str) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """(attribute, label) -> weight and (label, label) -> weight, as printed: six decimals."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()
    return info.state_features, info.transitions


def pack(tags: list[list[str]], labels: list[str]) -> str:
    number = {label: i for i, label in enumerate(labels)}
    flat = bytes(number[label] for sequence in tags for label in sequence)
    return base64.b64encode(zlib.compress(flat, 9)).decode()


def unpack(text: str, labels: list[str]) -> list[str]:
    """All tags of the test set, end to end."""
    return [labels[k] for k in zlib.decompress(base64.b64decode(text))]


def measure(name: str) -> dict[str, Any]:
    from benchmarks.workloads import WORKLOADS

    workload = WORKLOADS[name]
    X, y = workload.features("train")
    labels = sorted({label for sequence in y for label in sequence})
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model"
        loss = train(X, y, path)
        states, transitions = weights_of(path)
        tags = tag(path, workload.features("test")[0])
    row: dict[str, Any] = {"loss": loss, "features": len(states) + len(transitions)}
    return {**row, "digest": digest(X, y), "labels": labels, "tags": pack(tags, labels)}


def main(names: list[str]) -> None:
    for name in names:
        row = measure(name)
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        FILE.write_text(json.dumps({**known, name: row}, indent=1, sort_keys=True) + "\n")
        print(name, row["loss"], row["features"], flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    main(sys.argv[1:] or ["W1", "W2", "W3"])

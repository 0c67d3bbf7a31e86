"""Text models of CRF++: four blocks behind a head, each ended by an empty line.

version: 100
cost-factor: 1
maxid: 152836
xsize: 2
                    the labels; the templates; "number text" for each attribute; the weights
"""

from __future__ import annotations

import numpy as np

from fieldcraft.store.importers.crfpp import model_of
from fieldcraft.store.importers.imported import Imported


def read(content: bytes) -> Imported:
    """The model in a file's content; ValueError if it is damaged."""
    parts = content.decode().split("\n\n", 4)
    if len(parts) != 5:
        raise ValueError(f"it has {len(parts)} of the five blocks of a text model")
    head, labels, lines, texts, numbers = parts
    entries = dict(line.split(": ", 1) for line in head.splitlines())
    if entries["version"] != "100":
        raise ValueError(f"version {entries['version']}; version 100 is known")
    weights = np.array(numbers.split(), np.float64) * float(entries["cost-factor"])
    if len(weights) != int(entries["maxid"]):
        raise ValueError(f"it has {len(weights)} of {entries['maxid']} weights")
    rows = [line.split(" ", 1) for line in texts.split("\n")]
    observations = [(text, int(number)) for number, text in rows]
    n_columns = int(entries["xsize"])
    return model_of(labels.split("\n"), lines.split("\n"), observations, weights, n_columns)

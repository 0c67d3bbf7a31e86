"""A model as plain dicts and as text: labels, attributes, and the weights of features."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.persistence import freeze


@dataclass(frozen=True)
class ParsedDump:
    """The content of a model, without features and attributes whose weights are all zero.

    Parameters
    ----------
    header : size in bytes and counts, as text
    labels, attributes : name -> number, as text
    transitions : (label before, label) -> weight
    state_features : (attribute, label) -> weight
    """

    header: dict[str, str]
    labels: dict[str, str]
    attributes: dict[str, str]
    transitions: dict[tuple[str, str], float]
    state_features: dict[tuple[str, str], float]

    def text(self) -> str:
        """Everything in the layout of CRFsuite's dump."""
        blocks = [
            _block("FILEHEADER", [f"{name}: {value}" for name, value in self.header.items()]),
            _block("LABELS", [f"{number:>5}: {name}" for name, number in self.labels.items()]),
            _block("ATTRIBUTES", [f"{number:>5}: {name}" for name, number in self.attributes.items()]),
            _block("TRANSITIONS", _arrows(1, self.transitions)),
            _block("STATE_FEATURES", _arrows(0, self.state_features)),
        ]
        return "\n".join(blocks)


def describe(crf: ChainCRF) -> ParsedDump:
    """The dicts of a fitted model."""
    index, names = crf.features_, crf.classes_.tolist()
    active = crf.weights_ != 0.0
    plain = active & (index.attribute < 0)
    states = active & (index.previous < 0) & (index.attribute >= 0)
    used, position = np.unique(index.attribute[states], return_inverse=True)
    attributes = crf.encoder_.attribute_text(used.tolist())
    transitions = zip(
        index.previous[plain].tolist(), index.label[plain].tolist(), crf.weights_[plain].tolist()
    )
    features = zip(position.tolist(), index.label[states].tolist(), crf.weights_[states].tolist())
    header = {
        "size": size_in_bytes(crf),
        "type": "FOMC",
        "version": 1,
        "num_features": int(np.count_nonzero(active)),
        "num_labels": len(names),
        "num_attrs": len(used),
    }
    return ParsedDump(
        {name: str(value) for name, value in header.items()},
        {name: str(i) for i, name in enumerate(names)},
        {name: str(i) for i, name in enumerate(attributes)},
        {(names[a], names[b]): weight for a, b, weight in transitions},
        {(attributes[a], names[b]): weight for a, b, weight in features},
    )


def size_in_bytes(crf: ChainCRF) -> int:
    """Bytes of the model as it is copied and pickled: a description, and all arrays."""
    state: dict[str, Any] = freeze(crf)
    text = json.dumps(state["header"], default=str)
    arrays = sum(int(array.nbytes) for array in state["arrays"].values())
    return len(text.encode("utf-8", "surrogatepass")) + arrays


def _block(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title} = {{", *(f"  {line}" for line in lines), "}\n"])


def _arrows(kind: int, weights: dict[tuple[str, str], float]) -> list[str]:
    return [f"({kind}) {a} --> {b}: {weight:.6f}" for (a, b), weight in weights.items()]

"""The model file: its size beside the peer's, how soon a new process has it, and its first answer."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

# In a new interpreter with the estimator imported; the file is in the disk cache.
CODE = """
import sys, time
import fieldcraft as fc
fc.ChainCRF, fc.load
clock = getattr(time, sys.argv[2])
t = clock()
crf = fc.load(sys.argv[1])
loaded = clock() - t
first = eval(sys.stdin.read())
t = clock()
crf.predict(first)
print(loaded, clock() - t)
"""


def seconds(model: str, first: Any, *, repeat: int, clock: str = "perf_counter") -> tuple[float, float]:
    """Best of ``repeat`` new processes: seconds to load, and then to tag one sentence.

    ``clock`` names a function of the module time.
    """
    found = []
    for _ in range(repeat):
        command = [sys.executable, "-c", CODE, model, clock]
        done = subprocess.run(command, input=repr(first), check=True, capture_output=True, text=True)
        found.append([float(x) for x in done.stdout.split()])
    loaded, tagged = (min(column) for column in zip(*found))
    return loaded, tagged


def model_file(
    source: Any, *, peer_model: str, lists_model: str, columns_model: str, repeat: int
) -> dict[str, float]:
    """Sizes in bytes and seconds, for a model of attribute lists and one of templates over raw columns."""
    out: dict[str, float] = {"peer_bytes": os.path.getsize(peer_model)}
    firsts = {"lists": source.features("test")[0][:1], "columns": source.load("test")[0][:1]}
    for name, path in (("lists", lists_model), ("columns", columns_model)):
        out[f"{name}_bytes"] = os.path.getsize(path)
        out[f"{name}_share"] = out[f"{name}_bytes"] / out["peer_bytes"]
        out[f"{name}_load"], out[f"{name}_first"] = seconds(path, firsts[name], repeat=repeat)
    return out


TASKS = {"model_file": model_file}

"""Cycles of everything in one process: its memory must not grow."""

from __future__ import annotations

import time
from pathlib import Path

from attack.children import start
from attack.report import Result

ALLOWED = 24  # MB that may come and go
PROGRAM = """
import gc, sys, time, pathlib
import fieldcraft as fc
corpus = fc.datasets.addresses(n=60)  # synthetic
path = pathlib.Path(sys.argv[1]) / "model.fc"
X = [[["a", "b"], {"c": 1.5, "d": "e"}]] * 20
y = [["N", "V"]] * 20

def cycle():
    crf = fc.ChainCRF("word[-1..1]", optimiser=fc.LBFGS(max_iterations=2), n_jobs=2).fit(corpus)
    crf.save(path)
    crf = fc.load(path)
    crf.predict(corpus), crf.k_best(corpus[:5], 3), crf.sample(corpus[:5], 2), str(crf.explain(corpus[0]))
    free = fc.ChainCRF(optimiser="averaged_perceptron", prior=None).fit(X, y)
    free.export(str(path) + ".crfsuite")
    fc.load(str(path) + ".crfsuite").predict(X)
    for bad in ([[[1]]], [[{"a": float("nan")}]], "x", [[None]]):
        try:
            free.predict(bad)
        except fc.FieldcraftError:
            pass
    try:
        fc.load(path.read_bytes()[:-9])
    except fc.FieldcraftError:
        pass

def resident():
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

for _ in range(15):
    cycle()
before, n, end = resident(), 0, time.monotonic() + float(sys.argv[2])
while time.monotonic() < end or n < 40:
    cycle()
    n += 1
print(n, before, resident())
"""


def attack(folder: Path, seconds: float, first: int, limit: int | None) -> Result:
    """One child that cycles for so long."""
    del first, limit
    if not Path("/proc/self/statm").exists():
        return Result(0, [], ("leaks (no /proc)",))
    begin = time.monotonic()
    child = start(PROGRAM, folder, seconds)
    out, errors = child.communicate(timeout=seconds + 600)
    if child.returncode:
        return Result(0, [{"problem": f"ended with {child.returncode}: {errors[-1500:]}"}])
    cycles, before, after = (float(number) for number in out.split())
    problem = f"{before:.0f} MB grew to {after:.0f} MB in {cycles:.0f} cycles"
    finds = [{"problem": problem}] if after - before > ALLOWED else []
    return Result(int(cycles), finds, seconds=time.monotonic() - begin)

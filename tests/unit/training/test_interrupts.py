"""Ctrl-C, and what a training shows: real signals, a real pipe and a real terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF
from fieldcraft.models.progress import Progress
from fieldcraft.optimisers.loop import Interrupts, Record
from unit.training.corpora import draw

pytestmark = pytest.mark.alone
TESTS = str(Path(__file__).resolve().parents[2])
HEAD = f"""
import os, sys; sys.path.insert(0, {TESTS!r})
if os.environ.get("FIELDCRAFT_CORE"):
    import conftest
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
import time
import numpy as np
from fieldcraft import ChainCRF, LBFGS
from unit.training.corpora import draw
X, y = draw(np.random.default_rng(0), 3, [5] * 40, n_names=20)
endless = LBFGS(max_iterations=100_000, tolerance=0.0, objective_tolerance=-1.0)
def show(record):
    print(record.iteration, flush=True)
    time.sleep(0.02)
"""
ANSWERS = """
print("reason:", crf.stop_reason_, crf.converged_, crf.n_iter_ == len(crf.training_log_))
print("labels:", sum(len(p) for p in crf.predict(X)), bool(np.isfinite(crf.weights_).all()))
"""


def start(body: str, **streams: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", HEAD + body], text=True, **streams)


def read_until(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    while (seen := process.stdout.readline().strip()) != line:
        assert seen, "the process ended too soon"


def test_ctrl_c_leaves_a_usable_model() -> None:
    body = "crf = ChainCRF(optimiser=endless).fit(X, y, callbacks=[show])" + ANSWERS
    with start(body, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        read_until(process, "3")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "reason: interrupted False True" in out
    assert "labels: 200 True" in out


def test_a_second_ctrl_c_is_immediate() -> None:
    body = """
def hang(record):
    print(record.iteration, flush=True)
    if record.iteration == 3:
        time.sleep(60)
crf = ChainCRF(optimiser=endless)
try:
    crf.fit(X, y, callbacks=[hang])
except KeyboardInterrupt:
    print("untouched:", not hasattr(crf, "weights_"))
"""
    with start(body, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        read_until(process, "3")
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "untouched: True" in out
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("optimiser", ["endless", "SGD(max_iterations=3)"])
def test_a_second_ctrl_c_is_immediate_inside_one_call_of_the_core(optimiser: str) -> None:
    """One evaluation, or one pass, takes seconds: 300 labels at 20,000 tokens."""
    body = f"""
from fieldcraft import SGD
rng = np.random.default_rng(0)
labels = [str(i) for i in range(300)]
y = [[labels[i] for i in row] for row in rng.integers(0, 300, (200, 100))]
X = [[[f"w{{label}}"] for label in row] for row in y]
crf = ChainCRF(optimiser={optimiser}, n_jobs=1, labels=labels, features="all_transitions")
class Told:
    def begin(self, *facts):
        print("begin", flush=True)
    def __call__(self, record):
        print("iteration", flush=True)
try:
    crf.fit(X, y, callbacks=[Told()])
except KeyboardInterrupt:
    print("interrupted:", not hasattr(crf, "weights_"), flush=True)
"""
    with start(body, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        read_until(process, "begin")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.4)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        answer = process.stdout.readline()
        waited = time.monotonic() - begun
        process.communicate(timeout=60)
    assert answer == "interrupted: True\n"
    assert waited < 1.0


def test_the_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    ChainCRF(optimiser=LBFGS(max_iterations=2)).fit(*draw(np.random.default_rng(0), 2, [3, 4]))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_foreign_handler_is_respected() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        assert (seen, interrupts.seen) == ([signal.SIGINT], False)
    finally:
        signal.signal(signal.SIGINT, before)


def test_training_outside_the_main_thread() -> None:
    X, y = draw(np.random.default_rng(0), 2, [3, 4])
    found: list[ChainCRF] = []
    worker = threading.Thread(target=lambda: found.append(ChainCRF().fit(X, y)))
    worker.start()
    worker.join(30)
    assert found[0].weights_.tobytes() == ChainCRF().fit(X, y).weights_.tobytes()


VERBOSE = "ChainCRF(optimiser=LBFGS(max_iterations=4, tolerance=0.0), verbose=True).fit(X, y)"


def test_log_lines_in_a_pipe_and_nothing_on_stdout() -> None:
    with start(VERBOSE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)
    assert out == ""
    assert "\r" not in err
    lines = err.splitlines()
    assert len(lines) == 3  # the first, the last and the reason: less than a few seconds lie between them
    for i, line in zip((1, 4), lines):
        assert line.startswith(f"iteration {i}/4  objective ")
        assert "gradient" in line
        assert "left" in line
    assert lines[-1] == "stopped: maximum number of iterations"


def test_one_renewed_line_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    try:
        with start(VERBOSE, stdout=subprocess.PIPE, stderr=theirs) as process:
            os.close(theirs)
            shown = read_terminal(ours)
            out, _ = process.communicate(timeout=60)
    finally:
        os.close(ours)
    assert out == ""
    assert shown.count("\r\n") == 2  # behind the progress line and behind the reason
    progress, reason, _ = shown.split("\r\n")
    seen = [int(i) for i in re.findall(r"iteration (\d)/4  objective", progress)]
    assert sorted(set(seen)) == [1, 2, 3, 4]
    assert seen == sorted(seen)
    assert progress.count("\r") >= 3  # each iteration writes over the one before
    assert "\x1b[?25h" in reason  # the cursor is back
    assert reason.endswith("stopped: maximum number of iterations")


def read_terminal(descriptor: int) -> str:
    """Everything written to a terminal until its writer is gone."""
    data = b""
    while select.select([descriptor], [], [], 60)[0]:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # Linux's way to say that the other side was closed
            break
        if not piece:
            break
        data += piece
    return data.decode()


def test_silence_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    ChainCRF(optimiser=LBFGS(max_iterations=3)).fit(*draw(np.random.default_rng(0), 2, [3, 4]))
    assert capfd.readouterr() == ("", "")


def test_what_a_line_says() -> None:
    line = Progress(10).line(Record(4, 123.456, 0.01234, 2.0, 6, held_out=0.9, active=17))
    expected = ["iteration 4/10", "objective 123.46", "gradient 0.0123", "held-out 0.9000"]
    assert line.split("  ") == [*expected, "active 17", "2.0 s, at most 3 s left"]
    line = Progress(10).line(Record(4, 123.456, 0.01234, 2.0, 6, gap=0.00123))
    assert line.split("  ")[:3] == [*expected[:2], "gap 0.0012"]

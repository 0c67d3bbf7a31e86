"""Work in a fork of this process: it shares the data, and its own memory is freed at the end.

A fork copies pages only when they are written to, so that entries of a bake-off share one encoded corpus, and
the memory of each is measured from the same start. Where fork is not safe (other systems than Linux) the
work is done in this process. The core keeps no threads between calls, so that forking between calls is safe.

Protocol: the child sends ("progress", x) any number of times, then ("done", x) or ("failed", text); any
message to the child asks it to stop.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fieldcraft.errors import FieldcraftError

Tell = Callable[[Any], Any]
Work = Callable[[Tell, Callable[[], bool]], Any]  # (tell, stopped) -> outcome
MOMENT = 0.25  # seconds between checks whether to stop


class WorkError(FieldcraftError):
    """Work ended with an error."""


def apart() -> bool:
    """Whether work can be done in a fork of this process."""
    return sys.platform == "linux"


def run_work(work: Work, tell: Tell, stopped: Callable[[], bool]) -> Any:
    """The result of ``work``, run in a fork of this process if possible; or WorkError."""
    if not apart():
        return _outcome(*_attempt(work, tell, stopped))
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_in_the_copy, args=(work, there, here), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # because of NumPy's idle threads
        process.start()
    there.close()
    try:
        return _outcome(*_listen(here, process, tell, stopped))
    finally:
        process.kill()
        process.join()
        here.close()


def _listen(here: Any, process: Any, tell: Tell, stopped: Callable[[], bool]) -> tuple[str, Any]:
    asked = False
    while True:
        if stopped() and not asked:
            asked = True
            with suppress(OSError):
                here.send("stop")
        if not here.poll(MOMENT):
            continue
        try:
            kind, content = here.recv()
        except (EOFError, OSError):
            process.join()
            return "failed", f"its process ended with exit code {process.exitcode} (-9: out of memory?)"
        if kind != "progress":
            return kind, content
        tell(content)


def _in_the_copy(work: Work, there: Any, here: Any) -> None:
    here.close()
    gc.freeze()  # existing objects are not visited again, and so not copied
    with suppress(OSError, KeyboardInterrupt):  # the parent has gone
        there.send(_attempt(work, lambda x: there.send(("progress", x)), there.poll))


def _attempt(work: Work, tell: Tell, stopped: Callable[[], bool]) -> tuple[str, Any]:
    try:
        return "done", work(tell, stopped)
    except FieldcraftError as error:
        return "failed", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


def _outcome(kind: str, content: Any) -> Any:
    if kind == "failed":
        raise WorkError(content)
    return content

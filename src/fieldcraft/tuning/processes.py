"""Work in a copy of this process: what it reads is shared, what it takes is its own and gone afterwards.

A fork copies nothing until it is written to, so entries of a bake-off read one encoded corpus, and the memory
of each is counted from the same start. Where there is no safe fork (other systems than Linux) work is done
here. The core keeps no threads between calls, so a fork between them is whole.

Protocol: the copy sends ("told", x) any number of times, then ("done", x) or ("failed", text); anything
sent to it means: stop.
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
MOMENT = 0.25  # seconds between looks at whether to stop


class WorkError(FieldcraftError):
    """Work ended by an error; the text says which."""


def apart() -> bool:
    """Can work be done in a copy of this process."""
    return sys.platform == "linux"


def run_work(work: Work, tell: Tell, stopped: Callable[[], bool]) -> Any:
    """What ``work`` returns, done in a copy of this process where that can be; or WorkError."""
    if not apart():
        return _outcome(*_attempt(work, tell, stopped))
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_in_the_copy, args=(work, there, here), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's idle threads, which nobody waits for
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
        if kind != "told":
            return kind, content
        tell(content)


def _in_the_copy(work: Work, there: Any, here: Any) -> None:
    here.close()
    gc.freeze()  # what is here already is not looked at again, and so not copied
    with suppress(OSError, KeyboardInterrupt):  # nobody listens any more
        there.send(_attempt(work, lambda x: there.send(("told", x)), there.poll))


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

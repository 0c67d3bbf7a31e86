"""The command line: a file per command; each is thin and calls what Python users call.

Habits: data goes to standard output, everything else to standard error; `-` is standard input or
output. Exit codes: 0 done, 1 refused (one line says why), 2 wrong usage, 130 after Ctrl-C, 141
when the reader of our output went away.
Hazard: `fieldcraft --help` must stay quick, so modules here import NumPy and the rest of the package
only inside functions.
"""

from __future__ import annotations


def main() -> None:
    """The entry point of the command `fieldcraft`."""
    import sys

    from fieldcraft.cli.streams import READER_GONE, Silent, complain, described, flushed, open_streams
    from fieldcraft.distributed import launched

    open_streams()
    started = launched()
    if started is not None and started.rank > 0:  # rank 0 prints for all
        sys.stdout = sys.stderr = Silent()
    from fieldcraft.cli.app import app

    try:
        app(prog_name="fieldcraft")
    except SystemExit as end:
        gone = isinstance(end.__context__, BrokenPipeError)  # of help, which typer and rich print
        sys.exit(READER_GONE if gone else flushed(end.code))
    except OSError as error:  # while help was printed, before any command was called
        complain(described(error))
        sys.exit(flushed(1))

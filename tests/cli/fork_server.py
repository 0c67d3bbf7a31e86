"""The command `fieldcraft` in a process of its own, without the time that Python takes to import everything.

A server has imported the package and forks for each command; the child gets the file descriptors, the working
folder and the environment of the client, a small script that waits for the exit code. So a shell sees what it
sees of the real command (pipes, exit codes, both outputs), at a tenth of the cost.

    python fork_server.py serve SOCKET     ends when its standard input does
    python fork_server.py SOCKET ...       the client: runs `fieldcraft ...`

Signals for the client do not reach the command: tests of signals start the real one.
"""

import _socket  # half of the time of `import socket`
import marshal
import os
import sys

SIZE = 8  # bytes of a message's length


def connect(path: str) -> _socket.socket:
    """A connection to the server."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(path)
    return connection


def ask(path: str, arguments: list[str]) -> int:
    """The exit code of `fieldcraft *arguments`, run by the server for this process."""
    connection = connect(path)
    message = marshal.dumps((arguments, os.getcwd(), dict(os.environ)))
    fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (0, 1, 2))
    connection.sendmsg([len(message).to_bytes(SIZE, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    while message:
        message = message[connection.send(message) :]
    code = connection.recv(1)
    return code[0] if code else 70  # the command was killed


def serve(path: str) -> None:
    """Fork for each client until standard input ends."""
    import select

    _import_everything()
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(16)
    print("ready", flush=True)
    while 0 not in (ready := select.select([listener, 0], [], [])[0]) and ready:
        fd, _ = listener._accept()
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
        if os.fork() == 0:
            try:
                command(connection)
            finally:
                os._exit(0)
        connection.close()
        _reap()
    listener.close()


def _import_everything() -> None:
    """What commands import, also while they run."""
    from contextlib import redirect_stderr, redirect_stdout, suppress
    from io import StringIO

    import fieldcraft as fc
    from fieldcraft.cli import loading, outputs, reading, summary, texts, training
    from fieldcraft.cli.app import app

    assert [loading, outputs, reading, summary, texts, training]
    for name in fc.__all__:
        getattr(fc, name)
    for arguments in (["--help"], ["score", os.devnull]):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
            app(arguments)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def command(connection: _socket.socket) -> None:
    """In the child: become the client, run the command, report the exit code."""
    room = _socket.CMSG_SPACE(3 * 4)
    head, rights, *_ = connection.recvmsg(SIZE, room)
    fds = [int.from_bytes(rights[0][2][i : i + 4], sys.byteorder) for i in (0, 4, 8)]
    message, size = b"", int.from_bytes(head, "big")
    while len(message) < size:
        message += connection.recv(size - len(message))
    arguments, folder, environment = marshal.loads(message)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    escaped = {"encoding": "utf-8", "errors": "surrogateescape"}
    sys.stdin = open(0, **escaped, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", **escaped, closefd=False)  # noqa: SIM115
    escaped["errors"] = "backslashreplace"
    sys.stderr = open(2, "w", **escaped, closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["fieldcraft", *arguments]
    connection.send(bytes([_exit_code()]))


def _exit_code() -> int:
    """Run the command as Python runs a module: what ends it becomes an exit code."""
    from fieldcraft.cli import main

    try:
        main()
        sys.stdout.flush()
    except SystemExit as end:
        sys.stdout.flush()
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))

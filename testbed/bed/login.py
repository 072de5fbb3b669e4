"""What launchers take for ssh on the nodes: `ask` sends the command and its own stdin, stdout and
stderr to the node, where `serve` starts it as a login shell would, with a fresh environment.

    login.py serve SOCKET HOME-OF-TEMPORARY-FILES
    login.py ask DIRECTORY-OF-SOCKETS [ssh's options] HOST COMMAND...

A namespace of processes cannot be entered from its neighbour: hence a server on each node. When
whoever asked goes away, what it had started is ended, as sshd does.
"""

from __future__ import annotations

import os
import pwd
import select
import signal
import socket
import sys
from pathlib import Path

WITH_VALUE = frozenset("bceiFIlLmoOpQRSwWD")
REQUEST_BYTES_MAX = 1 << 20
NO_CONNECTION = 255


def serve(path: str, temporary: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(128)
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        asker, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os._exit(answer(asker, temporary))
        asker.close()


def answer(asker: socket.socket, temporary: str) -> int:
    command, descriptors, _, _ = socket.recv_fds(asker, REQUEST_BYTES_MAX, 3)
    child = os.fork()
    if child == 0:
        start(command.decode(), descriptors, temporary)
    for descriptor in descriptors:
        os.close(descriptor)
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([ended, asker], [], [])
    if ended not in ready:
        os.killpg(child, signal.SIGHUP)
        if not select.select([ended], [], [], 1)[0]:
            os.killpg(child, signal.SIGKILL)
        return 0
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    asker.sendall(bytes([status % 256 if status >= 0 else 128 - status]))
    return 0


def start(command: str, descriptors: list[int], temporary: str) -> None:
    os.setsid()
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
    user = pwd.getpwuid(os.getuid())
    environment = {
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "SHELL": "/bin/sh",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TMPDIR": temporary,
    }
    os.chdir(user.pw_dir)
    os.execve("/bin/sh", ["sh", "-c", command], environment)


def ask(directory: str, arguments: list[str]) -> int:
    host, command = without_options(arguments)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(Path(directory) / node_of(host)))
    except OSError:
        print(f"ssh: connect to host {host}: no such node, or it has ended", file=sys.stderr)
        return NO_CONNECTION
    socket.send_fds(connection, [" ".join(command).encode()], [0, 1, 2])
    status = connection.recv(1)
    return status[0] if status else NO_CONNECTION


def without_options(arguments: list[str]) -> tuple[str, list[str]]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at][1:] in WITH_VALUE else 1
    if at >= len(arguments):
        print("ssh: there is no host", file=sys.stderr)
        sys.exit(NO_CONNECTION)
    return arguments[at].rpartition("@")[2], arguments[at + 1 :]


def node_of(host: str) -> str:
    """Nodes go by name or by address (links.address())."""
    last = host.rpartition(".")[2]
    return f"node{int(last) - 10}" if host.count(".") == 3 and last.isdigit() else host


if __name__ == "__main__":
    verb, place, *rest = sys.argv[1:]
    sys.exit(serve(place, rest[0]) if verb == "serve" else ask(place, rest))

"""Starting programs in tests, and waiting for what they do."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tailrace.bench import guardian

# What is awaited comes within seconds on a quiet machine, or within half a minute where capture has
# to be compiled first; what has not come by then hangs.
LONGEST_WAIT_S = 600


@contextlib.contextmanager
def started(command: Sequence[str | Path], **options: object) -> Iterator[subprocess.Popen]:
    """The process, which ends with the block, and all that it has started with it: a test that
    fails leaves no ranks that write."""
    process = subprocess.Popen(list(map(str, command)), **options)
    try:
        yield process
    finally:
        guardian.send(guardian.family([process.pid]), signal.SIGKILL)
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


def said_on_a_terminal(command: Sequence[str | Path], **options: object) -> str:
    """What a command that succeeds says on stderr, where somebody watches."""
    watcher, terminal = pty.openpty()
    try:
        with started(command, stderr=terminal, **options) as process:
            os.close(terminal)
            said = b""
            with contextlib.suppress(OSError):  # how Linux says that the other side is closed
                while piece := os.read(watcher, 65536):
                    said += piece
            assert process.wait() == 0, said
    finally:
        os.close(watcher)
    return said.decode().replace("\r\n", "\n")


def until(condition: Callable[[], object], process: subprocess.Popen | None = None) -> None:
    """Waits for it, as long as the process, if one is given, goes on."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not condition():
        assert process is None or process.poll() is None, f"{process.args} has ended"
        assert time.monotonic() < deadline, "what the test waits for does not come"
        time.sleep(0.01)

"""Processes that a run left behind. Everything that a study starts carries its mark in the environment, so that what is
still there (of a runner that was killed, of a command that put something into the background) is found and ended,
wherever it has gone in the tree of processes, and nothing else is.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "TAILRACE_STUDY"
GRACE_S = 5.0


def marked(mark: str) -> list[int]:
    """The processes with this mark, other than we ourselves."""
    wanted = f"{MARK}={mark}".encode()
    own = {os.getpid(), os.getppid()}
    numbers = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())
    return [pid for pid in numbers if pid not in own and wanted in _environment(pid).split(b"\0")]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def end(mark: str) -> int:
    """Kills what has the mark, waits until it is gone, and says how many there were."""
    found: set[int] = set()
    deadline = time.monotonic() + GRACE_S
    while (left := marked(mark)) and time.monotonic() < deadline:
        found.update(left)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return len(found)

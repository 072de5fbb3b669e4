"""Processes that a run left behind. Everything that a study starts carries its mark in the
environment, so that what is still there (of a runner that was killed, of a command that put
something into the background) is found and ended, wherever it has gone in the tree of processes,
and nothing else is.

To read every process's environment takes long where there are thousands. So the runner adopts what
its runs leave (PR_SET_CHILD_SUBREAPER): after a run that left nothing it has no child, and there is
nothing to look for.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tailrace.bench import guardian

MARK = "TAILRACE_STUDY"
GRACE_S = 5.0
# While a process is replaced by another program (execve) it shows no environment; on a busy machine
# that may take so long.
REPLACED_S = 0.25
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37


@contextlib.contextmanager
def adopted() -> Iterator[None]:
    """Meanwhile, processes whose parent has ended are our children. Not beyond: nobody would wait
    for them."""
    guardian.mark()  # started before, it does not become our child
    before = ctypes.c_int()
    _prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _prctl(PR_SET_CHILD_SUBREAPER, before.value)


def _prctl(option: int, value: object) -> None:
    """Where it is refused, what a run leaves is found later, at the end of the study."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def of_block(mark: str, block: int) -> str:
    """The mark of what one block starts, where several are made side by side."""
    return f"{mark}-{block:04}"


def marked(mark: str) -> list[int]:
    """The processes with this mark, or that of any block of it, other than we ourselves."""
    return sorted(guardian.marked(f"{MARK}={mark}{ending}".encode() for ending in ("\0", "-")))


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


def end_of_run(mark: str) -> None:
    """The same, quickly, after a run of ours, when every child that we know of was waited for."""
    deadline = time.monotonic() + REPLACED_S
    while not _childless():
        end(mark)
        if _childless() or not _has_bare_child() or time.monotonic() > deadline:
            return
        time.sleep(0.005)


def _has_bare_child() -> bool:
    """Whether a child that has not ended shows no environment, and so no mark."""
    numbers = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())
    return any(_is_child(pid) and not guardian.environment(pid) for pid in numbers)


def _is_child(pid: int) -> bool:
    """Ours, and neither ended nor gone."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return False
    return state not in "ZX" and int(parent) == os.getpid()


def _childless() -> bool:
    """Waits for the children that have ended; whether there are no others."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return False
    return True

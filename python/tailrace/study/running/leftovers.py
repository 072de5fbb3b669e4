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

from tailrace.bench import guardian

MARK = "TAILRACE_STUDY"
GRACE_S, LOOKS_EVERY_S = 5.0, 0.01
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
    """Kills what has the mark, waits until it is gone, and says how many there were. What execve is
    just replacing shows no mark, so that one look does not tell."""
    found: set[int] = set()
    deadline, quiet = time.monotonic() + GRACE_S, 0
    while quiet < guardian.QUIET_LOOKS and time.monotonic() < deadline:
        left = marked(mark)
        found.update(left)
        guardian.send(left, signal.SIGKILL)
        quiet = 0 if left else quiet + 1
        time.sleep(LOOKS_EVERY_S)
    return len(found)


def end_of_run(mark: str) -> None:
    """The same, quickly, after a run of ours, when every child that we know of was waited for."""
    if not _childless():
        end(mark)
        _childless()


def _childless() -> bool:
    """Waits for the children that have ended; whether there are no others."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return False
    return True

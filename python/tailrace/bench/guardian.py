"""Ends what we started when we are gone, whatever ended us.

SIGKILL leaves nobody who could end an mpiexec and its ranks, and they would write on until the disk
is full. So everything that `bench` and `study` start carries a mark in its environment, and a
guardian, a process of its own in a session of its own, waits at the end of a pipe that only we hold
open. When it closes, the guardian ends whatever still has the mark, and what that has started,
wherever it is in the tree of processes.

The guardian runs this file by itself: it needs the standard library only.
"""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

MARK = "TAILRACE_STARTED_BY"
# A launcher that is asked to end also ends its ranks on other nodes. What is not gone then is
# killed.
ASKED_FOR_S = 1.5
LOOKS_EVERY_S = 0.1
# What is between fork and exec has no mark yet.
QUIET_LOOKS = 5
GIVES_UP_AFTER_S = 60.0


@functools.cache
def mark() -> dict[str, str]:
    """What to put into the environment of everything that is not to outlive this process. The first
    call starts the guardian."""
    value = uuid.uuid4().hex
    reading, _kept_open_until_we_end = os.pipe()
    own = {name: text for name, text in os.environ.items() if not name.startswith("TAILRACE_")}
    with contextlib.suppress(OSError):  # without it, only SIGKILL leaves something running
        # It leaves at once a process that is not our child: who waits for all of ours meets none.
        subprocess.run(
            [sys.executable, "-I", "-S", str(Path(__file__).absolute()), value],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=own,
            cwd="/",
            start_new_session=True,
            check=False,
        )
    os.close(reading)
    return {MARK: value}


def marked(starts: Iterable[bytes]) -> set[int]:
    """The processes with an entry in their environment that begins like one of these, other than
    ourselves and our parent."""
    wanted, own = tuple(starts), {os.getpid(), os.getppid()}
    numbers = {int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()}
    return {pid for pid in numbers - own if _has(_environment(pid), wanted)}


def _has(environment: bytes, wanted: tuple[bytes, ...]) -> bool:
    """Whether an entry begins so; each is ended by a zero."""
    return environment.startswith(wanted) or any(b"\0" + start in environment for start in wanted)


def _environment(pid: int) -> bytes:
    """Empty where the process is gone, belongs to another user, or has ended and was not waited
    for."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def family(roots: Iterable[int]) -> dict[int, str]:
    """These processes and all below them that are alive, each with when it was born: a number may
    be another process's later."""
    found = set(roots)
    words = {
        int(entry.name): _stat(int(entry.name))
        for entry in os.scandir("/proc")
        if entry.name.isdigit()
    }
    while (
        more := {pid for pid, fields in words.items() if fields and int(fields[1]) in found} - found
    ):
        found |= more
    return {pid: words[pid][19] for pid in found if words.get(pid)}


def alive(processes: dict[int, str]) -> dict[int, str]:
    """Those of a family that are still there."""
    return {pid: born for pid, born in processes.items() if _stat(pid)[19:20] == [born]}


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat after the name, which may hold anything: state, parent, …; empty where the
    process has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return []
    words = text.rpartition(")")[2].split()
    return [] if words[:1] == ["Z"] else words


def send(processes: Iterable[int], number: int) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_all(value: str) -> None:
    """Ends everything with this mark, and what it has started."""
    entry = f"{MARK}={value}\0".encode()
    begin, quiet = time.monotonic(), 0
    known: dict[int, str] = {}
    while quiet < QUIET_LOOKS and time.monotonic() - begin < GIVES_UP_AFTER_S:
        found = family(marked([entry]) | alive(known).keys())
        if time.monotonic() - begin > ASKED_FOR_S:
            send(found, signal.SIGKILL)
        else:
            send(found.keys() - known.keys(), signal.SIGTERM)
        known |= found
        quiet = 0 if found else quiet + 1
        time.sleep(LOOKS_EVERY_S)


def _guard(value: str) -> None:
    """Waits at the pipe, which is standard input, until nobody holds its other end."""
    if os.fork():
        os._exit(0)
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    end_all(value)


if __name__ == "__main__":
    _guard(sys.argv[1])
